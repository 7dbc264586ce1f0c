//! `/v1/boots`, as a test uses it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use reqwest::blocking::Client;
use serde_json::Value;

use crate::server::Server;

const NMSTATE: &str = "
    interfaces:
    - name: eth0
      type: ethernet
      state: up
      ipv4:
        enabled: true
        address:
        - ip: 192.0.2.20
          prefix-length: 24
";

/// A BareMetalHost with the Secrets of its network and of its BMC, which is at `origin` and asks for the user `admin`.
pub fn documents(name: &str, origin: &str, system: &str, password: &str) -> String {
    // worker-1 has 192.0.2.21.
    let number = name.rsplit('-').next().and_then(|number| number.parse::<u8>().ok()).unwrap_or_default();
    let nmstate = NMSTATE.replace("192.0.2.20", &format!("192.0.2.{}", 20 + number));
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-network}}\nstringData:\n  nmstate: |{nmstate}---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-bmc}}\nstringData: {{username: admin, password: {password}}}\n---\n\
         apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}}}\nspec:\n  \
           preprovisioningNetworkDataName: {name}-network\n  bmc:\n    address: redfish-virtualmedia+{origin}{system}\n    \
           credentialsName: {name}-bmc\n---\n"
    )
}

/// Asks for the boot of one host; the query begins with `?`. Returns its id.
#[track_caller]
pub fn begin(server: &Server, query: &str, documents: &str) -> String {
    let request = Client::new().post(format!("{}/v1/boots{query}", server.api));
    let answer = request.header("content-type", "application/yaml").body(documents.to_owned()).send();
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), 201, "{}", answer.text().expect("text"));
    let body: Value = answer.json().expect("JSON");
    body["boots"][0]["id"].as_str().expect("an id").to_owned()
}

/// A boot as it is.
pub fn show(server: &Server, id: &str) -> Value {
    let answer = Client::new().get(format!("{}/v1/boots/{id}", server.api)).send();
    answer.expect("an answer").json().expect("JSON")
}

/// Asks for the end of a boot that is not ended.
#[track_caller]
pub fn delete(server: &Server, id: &str) {
    let answer = Client::new().delete(format!("{}/v1/boots/{id}", server.api)).send().expect("an answer");
    assert_eq!(answer.status(), 202, "{}", answer.text().expect("text"));
}

/// Waits until a boot is as it should be.
#[track_caller]
pub fn until(server: &Server, id: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let boot = show(server, id);
        if is(&boot) {
            return boot;
        }
        // Each look at it is in the log, too.
        let log = || server.log().lines().filter(|line| !line.contains("api::trace")).collect::<Vec<_>>().join("\n");
        assert!(Instant::now() < deadline, "not {what}: {boot:#}\n{}", log());
        thread::sleep(Duration::from_millis(250));
    }
}

/// Waits until a boot is in this state.
#[track_caller]
pub fn until_state(server: &Server, id: &str, state: &str) -> Value {
    until(server, id, state, |boot| boot["state"] == state)
}

/// One of its steps.
pub fn step<'a>(boot: &'a Value, name: &str) -> &'a Value {
    boot["steps"].as_array().expect("steps").iter().find(|step| step["step"] == name).expect("the step")
}

/// No file of the data directory, no line of the log and no boot shows a secret.
#[track_caller]
pub fn nothing_shows(server: &Server, secret: &str) {
    let mut directories = vec![server.directory().join("data")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("one").path()) {
            if entry.is_dir() {
                directories.push(entry);
            } else {
                // Temporary files come and go.
                let bytes = fs::read(&entry).unwrap_or_default();
                assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", entry.display());
            }
        }
    }
    assert!(!server.log().contains(secret));
    let boots = Client::new().get(format!("{}/v1/boots", server.api)).send().expect("an answer");
    assert!(!boots.text().expect("text").contains(secret));
}
