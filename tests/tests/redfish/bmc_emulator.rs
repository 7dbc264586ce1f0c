//! The emulated BMC does what the tests of the Redfish client rely on.

use std::time::Duration;

use acceptance::bmc::{
    EmulatedBmc, Failure, Fault, Identity, ImageServer, Machine, Options, PASSWORD, USERNAME, Vendor,
};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

const SYSTEM: &str = "/redfish/v1/Systems/1";
const CD: &str = "/redfish/v1/Managers/1/VirtualMedia/2";
const LIMIT: Duration = Duration::from_secs(20);

/// A client that does nothing by itself.
struct Hand<'a>(&'a EmulatedBmc, Client);

impl Hand<'_> {
    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> reqwest::Result<Response> {
        let request = self.1.request(method, format!("{}{path}", self.0.origin()));
        let request = request.basic_auth(USERNAME, Some(PASSWORD));
        match body {
            Some(body) => request.json(&body).send().await,
            None => request.send().await,
        }
    }

    async fn status(&self, method: Method, path: &str, body: Value) -> u16 {
        self.send(method, path, Some(body)).await.unwrap().status().as_u16()
    }

    async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, None).await.unwrap().json().await.unwrap()
    }

    async fn boot_once(&self, target: &str) {
        let boot = json!({"Boot": {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once"}});
        assert_eq!(self.status(Method::PATCH, SYSTEM, boot).await, 204);
        let reset = format!("{SYSTEM}/Actions/ComputerSystem.Reset");
        assert_eq!(self.status(Method::POST, &reset, json!({"ResetType": "ForceRestart"})).await, 200);
    }
}

fn insert(slot: &str) -> String {
    format!("{slot}/Actions/VirtualMedia.InsertMedia")
}

#[tokio::test]
async fn every_vendors_file_is_a_tree_that_hangs_together() {
    let vendors = Vendor::all();
    assert!(vendors.len() >= 15, "{}", vendors.len());
    for vendor in vendors {
        let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
        assert!(!vendor.source.is_empty(), "{}: where is it from?", vendor.name);
        for (path, resource) in &vendor.resources {
            let own = resource["@odata.id"].as_str().unwrap_or_default().trim_end_matches('/');
            assert_eq!(own, path, "{}", vendor.name);
            for link in links(resource) {
                let known = vendor.resources.contains_key(link.trim_end_matches('/'));
                let beyond = ["/Sessions", "/DumpService"].iter().any(|end| link.trim_end_matches('/').ends_with(end));
                assert!(known || beyond, "{}: {path} links to {link}", vendor.name);
            }
        }
        drop(bmc);
    }
}

fn links(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => {
            let own = members.get("@odata.id").and_then(Value::as_str);
            own.into_iter().chain(members.values().flat_map(links)).collect()
        }
        Value::Array(members) => members.iter().flat_map(links).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn a_machine_boots_from_the_medium_once_and_then_from_its_disk() {
    let images = ImageServer::start(vec![7; 300_000], None).await;
    let machine = Machine { reads: 200_000, starts_in: Duration::from_millis(20), ..Machine::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("hpe-ilo6"), Options { machine, ..Options::default() }).await;
    let hand = Hand(&bmc, Client::new());
    let image = images.url("one");
    assert_eq!(hand.status(Method::POST, &insert(CD), json!({"Image": image})).await, 200);
    assert_eq!(bmc.member(CD, "/Image"), json!(image));
    bmc.call_home(&images.url("call"));

    hand.boot_once("Cd").await;
    let boot = bmc.booted(0, LIMIT).await;
    assert_eq!((boot.image.as_deref(), boot.read, boot.end), (Some(&*image), 200_000, Some(Ok(()))));
    assert_eq!(boot.called_home, Some(200));
    // At insertion and at boot HEAD, four ranges, the call.
    assert_eq!(images.requests(), 7);
    assert_eq!(hand.get(SYSTEM).await["BootProgress"]["LastState"], "OSRunning");

    let reset = format!("{SYSTEM}/Actions/ComputerSystem.Reset");
    assert_eq!(hand.status(Method::POST, &reset, json!({"ResetType": "ForceRestart"})).await, 200);
    assert_eq!(bmc.booted(1, LIMIT).await.image, None);
}

#[tokio::test]
async fn taking_the_medium_out_while_it_is_read_ends_the_boot() {
    let images = ImageServer::start(vec![7; 300_000], None).await;
    let machine = Machine { starts_in: LIMIT, ..Machine::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("hpe-ilo5"), Options { machine, ..Options::default() }).await;
    let hand = Hand(&bmc, Client::new());
    hand.status(Method::POST, &insert(CD), json!({"Image": images.url("one")})).await;
    hand.boot_once("Cd").await;
    let eject = format!("{CD}/Actions/VirtualMedia.EjectMedia");
    assert_eq!(hand.send(Method::POST, &eject, None).await.unwrap().status(), 400, "iLO wants a body");
    assert_eq!(hand.status(Method::POST, &eject, json!({})).await, 200);
    let end = bmc.booted(0, LIMIT).await.end.unwrap();
    assert!(end.unwrap_err().contains("taken out"));
    assert_eq!(bmc.member(CD, "/Image"), json!(""));
}

#[tokio::test]
async fn refusals_are_worded_as_firmware_words_them() {
    let images = ImageServer::start(vec![7; 3000], None).await;
    let bmc = EmulatedBmc::start(&Vendor::named("supermicro-x11"), Options::default()).await;
    let hand = Hand(&bmc, Client::new());
    let slot = "/redfish/v1/Managers/1/VirtualMedia/CD1";
    let body = json!({"Image": images.url("one"), "Inserted": true});
    let answer = hand.send(Method::POST, &insert(slot), Some(body)).await.unwrap();
    assert_eq!(answer.status(), 400);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["error"]["@Message.ExtendedInfo"][0]["MessageId"], "Base.1.8.PropertyUnknown");

    // A task, and what becomes of it.
    let answer = hand.send(Method::POST, &insert(slot), Some(json!({"Image": images.url("one")}))).await.unwrap();
    assert_eq!(answer.status(), 202);
    let task = answer.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(hand.get(&task).await["TaskState"], "Running");
    assert_eq!(bmc.member(slot, "/Inserted"), json!(false));
    while hand.get(&task).await["TaskState"] == "Running" {}
    assert_eq!(hand.get(&task).await["TaskState"], "Completed");
    assert_eq!(bmc.member(slot, "/Inserted"), json!(true));
}

#[tokio::test]
async fn sessions_connections_and_certificates_fail_as_they_are_told_to() {
    let identity = Identity::of("127.0.0.1");
    let certificate = reqwest::Certificate::from_pem(identity.pem().as_bytes()).unwrap();
    let options = Options { identity: Some(identity), ..Options::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), options).await;
    assert!(Client::new().get(bmc.origin()).send().await.is_err(), "nobody knows this certificate");
    let client = Client::builder().tls_certs_only([certificate]).build().unwrap();
    let hand = Hand(&bmc, client.clone());
    let system = "/redfish/v1/Systems/437XR1138R2";
    assert_eq!(hand.send(Method::GET, system, None).await.unwrap().status(), 401, "it takes sessions only");
    let sessions = "/redfish/v1/SessionService/Sessions";
    let login = json!({"UserName": USERNAME, "Password": PASSWORD});
    let session = hand.send(Method::POST, sessions, Some(login)).await.unwrap();
    assert_eq!((session.status().as_u16(), bmc.sessions()), (201, 1));
    let token = session.headers()["x-auth-token"].clone();
    let get = || client.get(format!("{}{system}", bmc.origin())).header("X-Auth-Token", &token).send();
    assert_eq!(get().await.unwrap().status(), 200);

    bmc.inject(Fault::new("GET", system, 1, Failure::Status(500)));
    assert_eq!(get().await.unwrap().status(), 500);
    // HTTP clients try again on another connection.
    bmc.inject(Fault::new("GET", system, usize::MAX, Failure::Drop));
    assert!(get().await.is_err());
    bmc.heal();
    bmc.inject(Fault::new("GET", system, 1, Failure::LoseSession));
    assert_eq!(get().await.unwrap().status(), 401);
    assert_eq!(bmc.sessions(), 0);
    let seen = format!("{:?}", bmc.requests());
    assert!(!seen.contains(PASSWORD) && seen.contains("***"), "{seen}");
}
