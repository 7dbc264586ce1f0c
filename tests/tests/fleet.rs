//! One request boots a host behind the BMC of every vendor, and undoes it: `POST /v1/boots` against all of
//! `fixtures/redfish/`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{Machine, Vendor};
use acceptance::fleet::Fleet;
use acceptance::server::Server;
use reqwest::Client;
use serde_json::Value;

const LIMIT: Duration = Duration::from_mins(3);

/// Boots by the names of their hosts, when all of them are over or show this state.
async fn wait(client: &Client, api: &str, states: &[&str], count: usize) -> BTreeMap<String, Value> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let list: Value = client.get(format!("{api}/v1/boots?limit=1000")).send().await.unwrap().json().await.unwrap();
        let boots = list["boots"].as_array().unwrap();
        if boots.len() == count && boots.iter().all(|boot| states.contains(&boot["state"].as_str().unwrap())) {
            return boots.iter().map(|boot| (boot["host"].as_str().unwrap().to_owned(), boot.clone())).collect();
        }
        assert!(Instant::now() < deadline, "not all are one of {states:?}: {list:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_boots_a_host_behind_every_vendors_bmc_or_says_why_not() {
    let server = tokio::task::spawn_blocking(|| Server::start("coreos", &coreos_iso(&[]))).await.unwrap();
    let vendors = Vendor::all();
    let machine = Machine { reads: 1 << 20, starts_in: Duration::from_millis(200), ..Machine::default() };
    let fleet = Fleet::start(vendors.clone(), &machine).await;
    let client = Client::new();
    let url = format!("{}/v1/boots?base=coreos&wait_for=boot-progress&wait_for=reading", server.api);
    let request = client.post(url).header("Content-Type", "application/yaml").body(fleet.documents());
    let answer = request.send().await.unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(status, 201, "{text}");
    assert!(!text.contains(acceptance::bmc::PASSWORD), "{text}");

    let boots = wait(&client, &server.api, &["booted", "failed"], vendors.len()).await;
    for (number, vendor) in vendors.iter().enumerate() {
        let boot = &boots[&format!("host-{number}")];
        let schemes = vendor.behaviour_member("/insert/schemes");
        let https_only = schemes.as_array().is_some_and(|schemes| !schemes.contains(&"http".into()));
        let state = boot["state"].as_str().unwrap();
        if https_only || vendor.expected["error"].is_string() {
            let failed = boot["steps"].as_array().unwrap().iter().find(|step| step["state"] == "failed");
            let failed = failed.unwrap_or_else(|| panic!("{}: {boot:#}", vendor.name));
            assert_eq!((state, &failed["step"]), ("failed", &"insert".into()), "{}: {failed:#}", vendor.name);
            assert!(failed["error"].as_str().is_some_and(|error| error.len() > 20), "{failed:#}");
        } else {
            assert_eq!(state, "booted", "{}: {boot:#}", vendor.name);
            let booted = fleet.0[number].booted(0, LIMIT).await;
            let from = booted.image.unwrap_or_else(|| panic!("{}: booted from its disk", vendor.name));
            assert!(from.ends_with("/boot.iso"), "{from}");
        }
    }

    for boot in boots.values() {
        let id = boot["id"].as_str().unwrap();
        let answer = client.delete(format!("{}/v1/boots/{id}", server.api)).send().await.unwrap();
        assert!(answer.status().is_success(), "{boot:#}");
    }
    // What had failed before anything was inserted is gone, or is undone as well.
    let deadline = Instant::now() + LIMIT;
    for (bmc, vendor) in fleet.0.iter().zip(&vendors) {
        for slot in vendor.resources.keys().filter(|path| path.contains("/VirtualMedia/") && !path.contains("Info")) {
            while bmc.member(slot, "/Inserted") == true {
                assert!(Instant::now() < deadline, "{}: {slot} has still an image", vendor.name);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        while bmc.sessions() > 0 {
            assert!(Instant::now() < deadline, "{}: a session was left behind", vendor.name);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
