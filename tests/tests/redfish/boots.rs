//! `/v1/boots` against a real Redfish emulator (sushy-tools): whole boots, their ends, crashes in the middle, fleets.

use std::time::Duration;

use acceptance::bases::coreos_iso;
use acceptance::boots::{self, Callers, nothing_shows, step};
use acceptance::server::Server;
use acceptance::sushy::{Emulator, Options};
use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};

fn documents(name: &str, bmc: &Emulator, password: &str) -> String {
    boots::documents(name, &bmc.origin, &bmc.system, password)
}

struct Api<'a>(&'a Server);

impl Api<'_> {
    fn url(&self, path: &str) -> String {
        format!("{}/v1/boots{path}", self.0.api)
    }

    fn post(&self, query: &str, documents: &str) -> Response {
        let request = Client::new().post(self.url(query)).header("content-type", "application/yaml");
        request.body(documents.to_owned()).send().unwrap()
    }

    fn begin(&self, query: &str, documents: &str) -> Vec<String> {
        let answer = self.post(query, documents);
        let (status, body): (_, Value) = (answer.status(), answer.json().unwrap());
        assert_eq!(status, 201, "{body}");
        body["boots"].as_array().unwrap().iter().map(|boot| boot["id"].as_str().unwrap().to_owned()).collect()
    }

    fn delete(&self, id: &str, query: &str) -> u16 {
        Client::new().delete(self.url(&format!("/{id}{query}"))).send().unwrap().status().as_u16()
    }

    fn until(&self, id: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        boots::until(self.0, id, what, is)
    }

    fn until_state(&self, id: &str, state: &str) -> Value {
        self.until(id, state, |boot| boot["state"] == state)
    }
}

fn states(boot: &Value) -> Vec<&str> {
    boot["steps"].as_array().unwrap().iter().map(|step| step["state"].as_str().unwrap()).collect()
}

#[test]
fn a_host_is_booted_and_its_bmc_is_as_it_was_when_the_boot_is_deleted() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let options = Options { credentials: Some(("admin", "hunter2-hunter2")), ..Options::default() };
    let bmc = Emulator::start_with(&server.directory().join("bmc"), &options);
    let before = bmc.system_state()["Boot"].clone();
    let api = Api(&server);
    let documents = documents("worker-0", &bmc, "hunter2-hunter2");

    // The emulator starts no machine: the test calls home in its place. What a host reads is not seen at this BMC.
    let _callers = Callers::start(server.directory());
    let ids = api.begin("?base=coreos", &documents);
    let [id] = ids.as_slice() else { panic!("{ids:?}") };
    let boot = api.until_state(id, "booted");
    assert_eq!(states(&boot), ["done", "done", "done", "done", "skipped", "done", "waiting"], "{boot:#}");
    assert_eq!((boot["host"].as_str(), boot["inserted"].as_bool()), (Some("worker-0"), Some(true)));
    assert_eq!(boot["bmc"]["credentials"], "documents");
    assert_eq!(boot["addresses"], json!(["192.0.2.20"]));
    assert!(step(&boot, "reading")["detail"].as_str().unwrap().contains("saw no read"), "{boot:#}");
    assert!(step(&boot, "booted")["detail"].as_str().unwrap().starts_with("the host called home from "), "{boot:#}");

    let media = bmc.media();
    assert_eq!(media["Inserted"], true);
    assert!(media["Image"].as_str().unwrap().ends_with("/boot.iso"), "{media}");
    assert_eq!(bmc.system_state()["PowerState"], "On");
    // The emulator's machine has used it up.
    assert!(step(&boot, "boot-override")["detail"].as_str().unwrap().starts_with("Cd"), "{boot:#}");
    nothing_shows(&server, "hunter2");
    // As long as a boot has it, the picture of its network has the BMC in it.
    let picture = format!("{}/v1/images/{}/topology.svg", server.api, boot["image"].as_str().unwrap());
    let picture = Client::new().get(picture).send().unwrap().text().unwrap();
    assert!(picture.contains(">BMC<") && picture.contains("192.0.2.20"), "{picture}");

    // The BMC has one boot at a time, however its address is written.
    let answer = api.post("?base=coreos", &documents.replace("redfish-virtualmedia+http", "redfish+http"));
    assert_eq!(answer.status(), 409);
    let problem: Value = answer.json().unwrap();
    assert_eq!(problem["type"], "/v1/problems/boot-conflict");
    assert!(problem["detail"].as_str().unwrap().contains(id), "{problem}");

    assert_eq!(api.delete(id, "?power_off=true"), 202);
    let boot = api.until_state(id, "ejected");
    assert_eq!((boot["ended"].as_bool(), boot["inserted"].as_bool()), (Some(true), Some(false)), "{boot:#}");
    assert_eq!(boot["bmc"]["credentials"], "documents (forgotten)");
    assert_eq!(bmc.media()["Inserted"], false);
    assert_eq!(bmc.system_state()["PowerState"], "Off");
    assert_eq!(bmc.system_state()["Boot"]["BootSourceOverrideTarget"], before["BootSourceOverrideTarget"]);
    nothing_shows(&server, "hunter2");

    assert_eq!(api.delete(id, ""), 204);
    assert_eq!(api.delete(id, ""), 404);
}

#[test]
fn what_fails_before_the_host_is_switched_on_is_undone() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let options = Options { credentials: Some(("admin", "right")), ..Options::default() };
    let bmc = Emulator::start_with(&server.directory().join("bmc"), &options);
    let api = Api(&server);
    let ids = api.begin("?base=coreos&wait_for=reading", &documents("worker-0", &bmc, "wrong-wrong"));
    let boot = api.until_state(&ids[0], "failed");
    let error = step(&boot, "insert")["error"].as_str().unwrap();
    assert!(error.contains("401") || error.to_lowercase().contains("password"), "{error}");
    assert!(!error.contains("wrong-wrong"), "{error}");
    assert_eq!((boot["ended"].as_bool(), boot["inserted"].as_bool()), (Some(true), Some(false)), "{boot:#}");
    nothing_shows(&server, "wrong-wrong");

    // A boot that has ended leaves its BMC to others.
    let ids = api.begin("?base=coreos&wait_for=reading", &documents("worker-0", &bmc, "right"));
    api.until_state(&ids[0], "unknown");
}

#[test]
fn a_killed_server_goes_on_with_what_was_under_way() {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Emulator::start(&server.directory().join("bmc"));
    let documents = documents("worker-0", &bmc, "secret-of-worker-0");
    // Whatever the moment: the boot comes to its end, and the BMC to what it was.
    for (round, delay) in [0, 120, 300, 600, 1200].into_iter().enumerate() {
        let id = Api(&server).begin("?base=coreos&wait_for=reading", &documents).remove(0);
        std::thread::sleep(Duration::from_millis(delay));
        server.kill_and_start_again();
        let api = Api(&server);
        // The BMC copies the image, whenever it was told to: what it read shows nothing of the host.
        let boot = api.until_state(&id, "unknown");
        assert_eq!(bmc.media()["Inserted"], true, "round {round}: {boot:#}");
        assert_eq!(bmc.system_state()["PowerState"], "On", "round {round}: {boot:#}");
        assert_eq!(api.delete(&id, ""), 202);
        server.kill_and_start_again();
        let api = Api(&server);
        let boot = api.until_state(&id, "ejected");
        assert_eq!(bmc.media()["Inserted"], false, "round {round}: {boot:#}");
        nothing_shows(&server, "secret-of-worker-0");
    }
}

#[test]
fn a_request_for_a_fleet_begins_all_boots_or_none() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmcs: Vec<_> = (0..4).map(|n| Emulator::start(&server.directory().join(format!("bmc-{n}")))).collect();
    let api = Api(&server);
    let fleet: String = bmcs.iter().enumerate().map(|(n, bmc)| documents(&format!("worker-{n}"), bmc, "x")).collect();

    // One of them twice.
    let twice = format!("{fleet}{}", documents("worker-9", &bmcs[0], "x"));
    let answer = api.post("?base=coreos&wait_for=reading", &twice);
    assert_eq!(answer.status(), 422);
    let problem = answer.text().unwrap();
    assert!(problem.contains("worker-0") && problem.contains("worker-9"), "{problem}");
    let none: Value = Client::new().get(api.url("")).send().unwrap().json().unwrap();
    assert_eq!(none["boots"], json!([]));

    let _callers = Callers::start(server.directory());
    let ids = api.begin("?base=coreos&wait_for=call-home&eject=when-booted", &fleet);
    assert_eq!(ids.len(), 4);
    for (id, bmc) in ids.iter().zip(&bmcs) {
        let boot = api.until(id, "ended", |boot| boot["ended"] == true);
        assert_eq!((boot["state"].as_str(), boot["inserted"].as_bool()), (Some("booted"), Some(false)), "{boot:#}");
        assert_eq!(bmc.media()["Inserted"], false);
    }
    let listed: Value = Client::new().get(api.url("?ended=true&limit=3")).send().unwrap().json().unwrap();
    assert_eq!(listed["boots"].as_array().unwrap().len(), 3);
    // Those of the same millisecond have no order among them.
    let mut ordered = ids.clone();
    ordered.sort();
    assert_eq!(listed["next"], ordered[2]);
}

#[test]
fn events_tell_the_whole_story() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Emulator::start(&server.directory().join("bmc"));
    let api = Api(&server);
    let _callers = Callers::start(server.directory());
    let id = api.begin("?base=coreos&eject=when-booted", &documents("worker-0", &bmc, "x")).remove(0);
    let stream = Client::new().get(api.url(&format!("/{id}/events"))).timeout(Duration::from_secs(90)).send().unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    // It ends with the boot.
    let text = stream.text().unwrap();
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let revisions: Vec<u64> = events.iter().map(|event| event["revision"].as_u64().unwrap()).collect();
    assert!(revisions.is_sorted() && revisions.len() > 2, "{revisions:?}");
    let last = events.last().unwrap();
    assert_eq!((last["state"].as_str(), last["ended"].as_bool()), (Some("booted"), Some(true)), "{last:#}");
    let id_line = format!("id: {}", last["revision"]);
    assert!(text.lines().any(|line| line == id_line), "{text}");

    // Who has seen the last one is told that there is no more.
    let again = Client::new()
        .get(api.url(&format!("/{id}/events")))
        .header("last-event-id", last["revision"].to_string())
        .send()
        .unwrap();
    assert_eq!(again.status(), 204);
}
