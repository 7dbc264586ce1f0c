//! `/v1/boots`, as a test uses it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base64::prelude::*;
use reqwest::blocking::Client;
use serde_json::Value;

use crate::one_host::nmstate_of;
use crate::server::Server;

/// A BareMetalHost with the Secrets of its network and of its BMC, which is at `origin` and asks for the user `admin`.
pub fn documents(name: &str, origin: &str, system: &str, password: &str) -> String {
    let nmstate = nmstate_of(name).replace('\n', "\n    ");
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-network}}\nstringData:\n  nmstate: |\n    {nmstate}\n---\n\
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

/// The systems of hosts, where a BMC has no machine that would boot one: each calls what the script in its image calls,
/// again and again from the beginning, so that calls before the host is switched on are among them. Until dropped.
pub struct Callers {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Callers {
    /// Of all images that dayone makes somewhere in this directory.
    pub fn start(directory: &Path) -> Self {
        let (directory, stop) = (directory.to_owned(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let client = Client::builder().no_proxy().timeout(Duration::from_secs(5)).build().expect("a client");
            while !stopped.load(Ordering::Relaxed) {
                for url in call_homes(&directory) {
                    // Nobody may listen any more.
                    let _ = client.get(url).send();
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it panicked over is in its own words already.
            let _ = thread.join();
        }
    }
}

/// What the scripts in the images call that are recorded somewhere in this directory.
pub fn call_homes(directory: &Path) -> BTreeSet<String> {
    let mut directories = vec![directory.to_owned()];
    let mut urls = BTreeSet::new();
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
        for path in entries.map(|entry| entry.path()) {
            let is_record = directory.ends_with("images") && path.extension().is_some_and(|suffix| suffix == "json");
            if is_record {
                urls.extend(call_home(&path));
            } else if path.is_dir() {
                directories.push(path);
            }
        }
    }
    urls
}

fn call_home(record: &PathBuf) -> Option<String> {
    let record: Value = serde_json::from_slice(&fs::read(record).ok()?).ok()?;
    let mut values = vec![&record];
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => {
                let script = BASE64_STANDARD.decode(text).ok().and_then(|text| String::from_utf8(text).ok());
                let url = script.as_deref().unwrap_or_default().lines().find_map(|line| line.strip_prefix("url='"));
                if let Some(url) = url.and_then(|url| url.strip_suffix('\'')) {
                    return Some(url.to_owned());
                }
            }
            Value::Array(members) => values.extend(members),
            Value::Object(members) => values.extend(members.values()),
            _ => {}
        }
    }
    None
}
