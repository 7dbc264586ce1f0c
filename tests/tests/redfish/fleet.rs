//! One request boots a host behind the BMC of every vendor, and undoes it: `POST /v1/boots` against all of
//! `fixtures/redfish/`. And dayone dies in the middle of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{Machine, Vendor};
use acceptance::fleet::Fleet;
use acceptance::server::Server;
use reqwest::Client;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_mins(2);

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
    let server = blocking(|| Server::start("coreos", &coreos_iso(&[]))).await;
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

/// Runs what blocks where blocking is allowed.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn boots_that_were_in_flight_when_dayone_died_end_well() {
    const HOSTS: usize = 12;
    let mut server = blocking(|| Server::start("coreos", &coreos_iso(&[]))).await;
    // Slow enough for a death in any step, and between what a BMC has accepted and what it then does.
    let slow = json!({
        "insert": {"answer": 202}, "eject": {"answer": 202}, "task": {"takes_ms": 400}, "power": {"takes_ms": 400},
    });
    let vendors = (0..HOSTS).map(|_| Vendor::named("hpe-ilo6").with(slow.clone()));
    // dayone serves the images as well: who reads must try again.
    let machine = Machine {
        reads: 1 << 20,
        starts_in: Duration::from_millis(500),
        patience: Duration::from_secs(30),
        ..Machine::default()
    };
    let fleet = Fleet::start(vendors, &machine).await;
    let client = Client::new();
    let url = format!("{}/v1/boots?base=coreos&wait_for=boot-progress", server.api);
    let request = client.post(url).header("Content-Type", "application/yaml").body(fleet.documents());
    assert_eq!(request.send().await.unwrap().status(), 201);

    let mut states = Vec::new();
    for pause in [400, 900, 1500] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        states.push(steps(&client, &server.api).await);
        server = blocking(move || {
            server.kill_and_start_again();
            server
        })
        .await;
    }
    let boots = wait(&client, &server.api, &["booted", "failed"], HOSTS).await;
    for (number, bmc) in fleet.0.iter().enumerate() {
        let boot = &boots[&format!("host-{number}")];
        assert_eq!(boot["state"], "booted", "after {states:?}: {boot:#}");
        let last = bmc.boots().pop().unwrap_or_else(|| panic!("it was never switched on: {boot:#}"));
        assert!(last.image.is_some() && last.end == Some(Ok(())), "{last:?}\n{boot:#}");
    }
    for boot in boots.values() {
        let id = boot["id"].as_str().unwrap();
        client.delete(format!("{}/v1/boots/{id}", server.api)).send().await.unwrap().error_for_status().unwrap();
    }
    wait(&client, &server.api, &["ejected"], HOSTS).await;
    for bmc in &fleet.0 {
        assert_eq!(bmc.member("/redfish/v1/Managers/1/VirtualMedia/2", "/Inserted"), json!(false));
        assert_eq!(bmc.member("/redfish/v1/Systems/1", "/Boot/BootSourceOverrideEnabled"), json!("Disabled"));
    }
}

/// How many boots are in which step.
async fn steps(client: &Client, api: &str) -> BTreeMap<String, usize> {
    let list: Value = client.get(format!("{api}/v1/boots?limit=1000")).send().await.unwrap().json().await.unwrap();
    let mut steps = BTreeMap::new();
    for boot in list["boots"].as_array().unwrap() {
        let running = boot["steps"].as_array().unwrap().iter().find(|step| step["state"] == "running");
        let step = running.map_or_else(|| boot["state"].to_string(), |step| step["step"].to_string());
        *steps.entry(step).or_default() += 1;
    }
    steps
}
