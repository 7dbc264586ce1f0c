//! `/v1/boots` as far as it goes without a BMC that answers. What BMCs do is in the acceptance tests.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use dayone::boots::BootSettings;
use redfish::{AllowedNetworks, ClientOptions};
use serde_json::{Value, json};

use crate::support::{Answer, Dayone, NMSTATE, Place, TOKEN, nmstate_of};

/// A BMC that takes connections and never answers.
pub(crate) struct Silent(#[expect(dead_code, reason = "keeps the port")] TcpListener, SocketAddr);

impl Silent {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        Self(listener, address)
    }

    pub(crate) fn url(&self) -> String {
        format!("redfish-virtualmedia+http://{}/redfish/v1/Systems/1", self.1)
    }
}

/// A BareMetalHost with its Secrets. The password has its own name in it.
pub(crate) fn host(name: &str, bmc: &str) -> String {
    let nmstate = nmstate_of(name).replace('\n', "\n    ");
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-network}}\nstringData:\n  nmstate: |\n    {nmstate}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-bmc}}\nstringData: {{username: admin, password: hunter2-{name}}}\n---\n\
         apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}}}\nspec:\n  \
           preprovisioningNetworkDataName: {name}-network\n  bmc: {{address: '{bmc}', credentialsName: {name}-bmc}}\n---\n"
    )
}

pub(crate) async fn start(place: Place, boots: BootSettings) -> Dayone {
    let config = dayone::services::Config { boots, ..place.config() };
    Dayone::start_with(place, config).await
}

async fn begin(dayone: &Dayone, documents: &str) -> Vec<Value> {
    let answer = Answer::of(dayone.post("/v1/boots?base=coreos", documents)).await;
    assert!(!String::from_utf8_lossy(&answer.body).contains("hunter2"));
    answer.ok()["boots"].as_array().unwrap().clone()
}

async fn get(dayone: &Dayone, boot: &Value) -> Value {
    let answer = Answer::of(dayone.get(&format!("/v1/boots/{}", boot["id"].as_str().unwrap()))).await;
    assert!(!String::from_utf8_lossy(&answer.body).contains("hunter2"));
    answer.ok()
}

pub(crate) async fn until(dayone: &Dayone, boot: &Value, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..400 {
        let now = get(dayone, boot).await;
        if is(&now) {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("not {what}: {:#}", get(dayone, boot).await);
}

/// The BMC was asked, and does not answer.
async fn until_asked(dayone: &Dayone, boot: &Value) -> Value {
    until(dayone, boot, "asked", |boot| boot["steps"][1]["state"] == "running").await
}

fn records(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("data/boots")).unwrap().map(|entry| entry.unwrap().path());
    // Others are being written.
    entries.filter(|path| path.extension().is_some()).map(|path| fs::read_to_string(path).unwrap()).collect()
}

pub(crate) async fn delete(dayone: &Dayone, boot: &Value, query: &str) -> u16 {
    let url = dayone.url(&format!("/v1/boots/{}{query}", boot["id"].as_str().unwrap()));
    dayone.client.delete(url).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn boots_of_one_bmc_run_one_after_another() {
    let (one, two) = (Silent::new(), Silent::new());
    let dayone = start(Place::new(), BootSettings { at_once: 1, ..BootSettings::default() }).await;
    let fleet = host("worker-0", &one.url()) + &host("worker-1", &two.url());
    let boots = begin(&dayone, &fleet).await;
    let running = until_asked(&dayone, &boots[0]).await;
    assert_eq!(running["state"], "running");
    assert_eq!(running["wait_for"], json!(["call-home"]), "CoreOS has NetworkManager");
    assert_eq!(get(&dayone, &boots[1]).await["state"], "queued");
    let listed = Answer::of(dayone.get("/v1/boots?ended=false&host=worker-1")).await.ok();
    assert_eq!(listed["boots"][0]["id"], boots[1]["id"]);
    for (query, expected) in [("state=queued", 1), ("state=queued&state=running", 2), ("state=failed", 0)] {
        let listed = Answer::of(dayone.get(&format!("/v1/boots?{query}"))).await.ok();
        assert_eq!(listed["boots"].as_array().unwrap().len(), expected, "{query}: {listed}");
    }
    let problem = Answer::of(dayone.get("/v1/boots?state=asleep")).await.problem("wrong-parameter");
    assert!(problem["detail"].as_str().unwrap().contains("queued, running"), "{problem}");

    // The same BMC, in another way of writing; also that of a boot that is queued.
    for bmc in [one.1.to_string(), two.1.to_string(), format!("[::ffff:127.0.0.1]:{}", two.1.port())] {
        let again = host("worker-9", &format!("http://{bmc}"));
        let problem = Answer::of(dayone.post("/v1/boots?base=coreos", again)).await.problem("boot-conflict");
        assert!(problem["detail"].as_str().unwrap().contains("/v1/boots/"), "{problem}");
    }

    // What is queued has touched nothing, and ends at once.
    assert_eq!(delete(&dayone, &boots[1], "").await, 202);
    let ejected = until(&dayone, &boots[1], "ejected", |boot| boot["state"] == "ejected").await;
    assert_eq!((ejected["ended"].as_bool(), ejected["inserted"].as_bool()), (Some(true), Some(false)));
    assert_eq!(delete(&dayone, &boots[1], "").await, 204);
    assert_eq!(delete(&dayone, &boots[1], "").await, 404);

    let metrics = Answer::of(dayone.get("/metrics")).await;
    let metrics = String::from_utf8(metrics.body).unwrap();
    for line in ["dayone_boots_total{outcome=\"ejected\"} 1", "dayone_boots_running 1", "dayone_boots_queued 0"] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in {metrics}");
    }

    // A BMC that never answers can be given up.
    assert_eq!(delete(&dayone, &boots[0], "?forget=true").await, 204);
    assert_eq!(records(&dayone.place), Vec::<String>::new());
    let metrics = String::from_utf8(Answer::of(dayone.get("/metrics")).await.body).unwrap();
    for line in ["dayone_boots_running 0", "dayone_boots_queued 0"] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in {metrics}");
    }
    begin(&dayone, &host("worker-0", &one.url())).await;
}

#[tokio::test]
async fn boots_resume_after_a_restart_and_records_hold_no_password() {
    let bmc = Silent::new();
    let dayone = start(Place::new(), BootSettings::default()).await;
    let boot = begin(&dayone, &host("worker-0", &bmc.url())).await.remove(0);
    assert_eq!(boot["bmc"]["credentials"], "documents");
    until_asked(&dayone, &boot).await;
    let [record] = records(&dayone.place).try_into().unwrap();
    assert!(!record.contains("hunter2") && record.contains("\"sealed\""), "{record}");

    fs::write(dayone.place.path("data/boots/06gq1k2m5v8t3n4p.json"), "{}").unwrap();
    fs::write(dayone.place.path("data/boots/notes.txt"), "not ours").unwrap();
    let dayone = dayone.restart().await;
    let resumed =
        |boot: &Value| boot["remarks"].to_string().contains("was restarted, and continues with the step insert");
    let again = until(&dayone, &boot, "resumed", resumed).await;
    assert_eq!(again["host"], "worker-0");
    assert!(dayone.place.path("data/damaged/06gq1k2m5v8t3n4p.json").exists());
    assert!(dayone.place.path("data/boots/notes.txt").exists());
    let problem = Answer::of(dayone.post("/v1/boots?base=coreos", host("worker-1", &bmc.url()))).await;
    problem.problem("boot-conflict");
}

#[tokio::test]
async fn bmc_addresses_and_credentials_come_from_allowed_places() {
    let bmc = Silent::new();
    let place = Place::new();
    let kept = place.path("credentials");
    let keep = |name: &str| {
        fs::create_dir_all(kept.join(name)).unwrap();
        fs::write(kept.join(name).join("username"), "admin\n").unwrap();
        fs::write(kept.join(name).join("password"), "hunter2-kept\n").unwrap();
    };
    keep("rack-1");
    fs::create_dir_all(place.path("outside")).unwrap();
    fs::write(place.path("outside/username"), "admin").unwrap();
    fs::write(place.path("outside/password"), "hunter2-outside").unwrap();
    let networks: AllowedNetworks = ["127.0.0.0/8".parse().unwrap()].into_iter().collect();
    let settings = BootSettings {
        credentials: Some(kept.clone()),
        client: ClientOptions { networks, ..ClientOptions::default() },
        ..BootSettings::default()
    };
    let dayone = start(place, settings).await;
    let post = |query: &'static str, documents: String| {
        let request = dayone.post(&format!("/v1/boots?base=coreos{query}"), documents);
        async { Answer::of(request).await }
    };
    let detail = |answer: &Answer, kind: &str| {
        let detail = answer.problem(kind)["detail"].as_str().unwrap().to_owned();
        assert!(!detail.contains("hunter2"), "{detail}");
        detail
    };

    // Elsewhere, nowhere, nobody's, and no BMC at all.
    let outside = detail(&post("", host("w", "192.0.2.1")).await, "bmc-refused");
    assert!(outside.contains("192.0.2.1") && outside.contains("127.0.0.0/8"), "{outside}");
    let wrong = detail(&post("", host("w", "ipmi://127.0.0.1")).await, "bmc-refused");
    assert!(wrong.contains("redfish"), "{wrong}");
    let unknown = detail(&post("&bmc_credentials=rack-2", host("w", &bmc.url())).await, "bmc-refused");
    assert!(unknown.contains("rack-2/username"), "{unknown}");
    for name in ["..", "../outside", "/etc", "rack-1%2f..%2f..%2foutside", "Rack-1", ""] {
        let query = format!("/v1/boots?base=coreos&bmc_credentials={name}");
        Answer::of(dayone.post(&query, host("w", &bmc.url()))).await.problem("wrong-parameter");
    }
    let no_bmc = detail(&post("", NMSTATE.to_owned()).await, "bmc-refused");
    assert!(no_bmc.contains("spec.bmc.address"), "{no_bmc}");
    let without_secret = host("w", &bmc.url()).replace("name: w-bmc}", "name: other}");
    let missing = detail(&post("", without_secret.clone()).await, "bmc-refused");
    assert!(missing.contains("w-bmc") && missing.contains("--bmc-credentials"), "{missing}");
    assert_eq!(records(&dayone.place), Vec::<String>::new());
    let images = Answer::of(dayone.get("/v1/images")).await.ok();
    assert_eq!(images["images"], json!([]), "what is refused publishes nothing");

    // The server has the Secret that the documents only name.
    keep("w-bmc");
    let boot = post("", without_secret).await.ok()["boots"][0].clone();
    assert_eq!(boot["bmc"]["credentials"], "named w-bmc");
    assert_eq!(delete(&dayone, &boot, "?forget=true").await, 204);
    let boot = post("&bmc_credentials=rack-1", host("w", &bmc.url())).await.ok()["boots"][0].clone();
    assert_eq!(boot["bmc"]["credentials"], "named rack-1");
    assert!(!shows_a_password(&dayone.place.path("data/boots")));
}

/// Whether any file in a directory shows a password. A record that is being written is renamed meanwhile.
pub(crate) fn shows_a_password(directory: &Path) -> bool {
    let files = fs::read_dir(directory).unwrap().map(|entry| fs::read(entry.unwrap().path()));
    let mut read = files.filter(|file| !matches!(file, Err(error) if error.kind() == ErrorKind::NotFound));
    read.any(|bytes| String::from_utf8_lossy(&bytes.unwrap()).contains("hunter2"))
}

#[tokio::test]
async fn an_existing_image_is_booted_unless_it_is_no_medium() {
    let bmc = Silent::new();
    let dayone = start(Place::new(), BootSettings::default()).await;
    let image = |query: &str| {
        let request = dayone.post(&format!("/v1/images?{query}"), NMSTATE);
        async { Answer::of(request).await.ok()["id"].as_str().unwrap().to_owned() }
    };
    let (iso, initrd) = (image("base=coreos").await, image("base=ipa&format=initrd").await);
    let post = |body: Value| {
        let request = dayone.post_json("/v1/boots", &body);
        async { Answer::of(request).await }
    };
    let bmc_of = |bmc: &Silent| json!({"address": bmc.url()});

    let refused = post(json!({"image": initrd, "bmc": bmc_of(&bmc)})).await.problem("image-refused");
    assert!(refused["detail"].as_str().unwrap().contains("iso"), "{refused}");
    post(json!({"image": "0".repeat(64), "bmc": bmc_of(&bmc)})).await.problem("image-refused");
    let both = post(json!({"image": iso, "base": "coreos", "bmc": bmc_of(&bmc)})).await.problem("malformed-request");
    assert!(both["detail"].as_str().unwrap().contains("base"), "{both}");
    for (body, place) in [
        (json!({"image": iso, "bmc": {"adress": "x"}}), "bmc"),
        (json!({"image": iso, "bmc": {}, "wait_for": ["morning"]}), "wait_for"),
        (json!({"base": "coreos", "nmstate": {}, "bcm": {}}), "bcm"),
    ] {
        let problem = post(body).await.problem("malformed-request");
        assert!(problem["detail"].as_str().unwrap().contains(place), "{problem}");
    }
    let calls = post(json!({"image": iso, "bmc": bmc_of(&bmc), "wait_for": ["call-home"]})).await;
    calls.problem("image-refused");
    // One that calls home, for two hosts: they could not be told apart.
    let other = Silent::new();
    let calling = begin(&dayone, &host("worker-0", &bmc.url())).await.remove(0);
    assert_eq!(delete(&dayone, &calling, "?forget=true").await, 204);
    let fleet = host("worker-0", &bmc.url()) + &host("worker-1", &other.url());
    let both = json!({"image": calling["image"], "documents": fleet, "wait_for": ["call-home"]});
    let refused = post(both).await.problem("image-refused");
    assert!(refused["detail"].as_str().unwrap().contains("their calls look alike"), "{refused}");
    let one = json!({"image": calling["image"], "documents": host("worker-0", &bmc.url())});
    let boot = post(one).await.ok()["boots"][0].clone();
    assert_eq!(boot["wait_for"], json!(["call-home"]));
    assert_eq!(delete(&dayone, &boot, "?forget=true").await, 204);

    post(json!({"image": iso, "bmc": bmc_of(&bmc), "booted_within": 0})).await.problem("wrong-parameter");
    let boot = post(json!({"image": iso, "bmc": bmc_of(&bmc), "booted_within": 60})).await.ok()["boots"][0].clone();
    assert_eq!((boot["image"].as_str(), &boot["booted_within"]), (Some(iso.as_str()), &json!(60)));
    assert_eq!((&boot["wait_for"], &boot["bmc"]["credentials"]), (&json!(["boot-progress"]), &json!("none")));
    assert_eq!(boot["steps"][0]["state"], "done");
    until_asked(&dayone, &boot).await;

    // What a host boots from stays.
    let release = || Answer::of(dayone.client.delete(dayone.url(&format!("/v1/images/{iso}"))));
    let refused = release().await.problem("image-in-use");
    assert!(refused["detail"].as_str().unwrap().contains(boot["id"].as_str().unwrap()), "{refused}");
    assert_eq!(delete(&dayone, &boot, "?forget=true").await, 204);
    assert_eq!(release().await.status.as_u16(), 204);
}

#[tokio::test]
async fn several_hosts_are_all_booted_or_none() {
    let (one, two) = (Silent::new(), Silent::new());
    let dayone = start(Place::new(), BootSettings::default()).await;
    let fleet = host("worker-0", &one.url()) + &host("worker-1", &two.url());
    let same = host("worker-0", &one.url()) + &host("worker-1", &one.url());
    let problem = Answer::of(dayone.post("/v1/boots?base=coreos", same)).await.problem("documents-refused");
    assert_eq!(problem["findings"][0]["code"], "bmc-of-two-hosts", "{problem}");
    let address = format!("/v1/boots?base=coreos&bmc_address={}", one.1);
    Answer::of(dayone.post(&address, fleet.clone())).await.problem("several-hosts");
    assert_eq!(records(&dayone.place), Vec::<String>::new());

    let only = Answer::of(dayone.post("/v1/boots?base=coreos&host=worker-1", fleet.clone())).await;
    assert_eq!(only.header("location"), format!("/v1/boots/{}", only.ok()["boots"][0]["id"].as_str().unwrap()));
    assert_eq!(only.ok()["boots"][0]["host"], "worker-1");
    // The other one cannot begin without it.
    Answer::of(dayone.post("/v1/boots?base=coreos", fleet)).await.problem("boot-conflict");
    assert_eq!(records(&dayone.place).len(), 1);
}

#[tokio::test]
async fn a_request_refused_halfway_leaves_no_image() {
    let (one, two) = (Silent::new(), Silent::new());
    let dayone = start(Place::new(), BootSettings::default()).await;
    let fleet = host("worker-0", &one.url()) + &host("worker-1", &two.url());
    let boots = begin(&dayone, &fleet).await;
    let images: Vec<String> = boots.iter().map(|boot| boot["image"].as_str().unwrap().to_owned()).collect();
    for (boot, image) in boots.iter().zip(&images) {
        assert_eq!(delete(&dayone, boot, "?forget=true").await, 204);
        let released = dayone.client.delete(dayone.url(&format!("/v1/images/{image}"))).send().await.unwrap();
        assert_eq!(released.status(), 204);
    }
    // The image of the second host is there, as another version of dayone has stored it: it cannot be published.
    fs::write(dayone.place.path(&format!("data/images/{}.json", images[1])), r#"{"version": 99}"#).unwrap();
    let dayone = dayone.restart().await;
    let ours = dayone.place.path(&format!("data/images/{}.json", images[0]));
    Answer::of(dayone.post("/v1/boots?base=coreos", fleet.clone())).await.problem("image-conflict");
    assert_eq!(Answer::of(dayone.get("/v1/images")).await.ok()["images"], json!([]));
    assert!(!ours.exists());
    assert_eq!(records(&dayone.place), Vec::<String>::new());

    // What somebody else has ordered stays.
    let alone = begin(&dayone, &host("worker-0", &one.url())).await;
    assert_eq!(alone[0]["image"], images[0].as_str());
    assert_eq!(delete(&dayone, &alone[0], "?forget=true").await, 204);
    Answer::of(dayone.post("/v1/boots?base=coreos", fleet)).await.problem("image-conflict");
    assert!(ours.exists());
}

/// The next event of all boots.
async fn changes(stream: &mut reqwest::Response) -> Value {
    let mut text = String::new();
    loop {
        let chunk = tokio::time::timeout(Duration::from_secs(20), stream.chunk()).await.unwrap().unwrap().unwrap();
        text.push_str(&String::from_utf8_lossy(&chunk));
        if let Some((event, data)) = text.split_once("\ndata: ").filter(|_| text.ends_with("\n\n")) {
            assert_eq!(event.rsplit('\n').next(), Some("event: boots"));
            return serde_json::from_str(data.trim_end()).unwrap();
        }
    }
}

#[tokio::test]
async fn all_boots_are_followed_by_what_changes() {
    let (one, two) = (Silent::new(), Silent::new());
    let dayone = start(Place::new(), BootSettings { at_once: 1, ..BootSettings::default() }).await;
    let mut stream = dayone.get("/v1/boots/events").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(changes(&mut stream).await, json!({"boots": [], "ids": []}));
    let boots = begin(&dayone, &(host("worker-0", &one.url()) + &host("worker-1", &two.url()))).await;
    let begun = changes(&mut stream).await;
    assert_eq!(begun["ids"], json!([boots[0]["id"], boots[1]["id"]]), "{begun}");
    assert_eq!(begun["boots"][1]["counted_as"], "queued", "{begun}");
    assert!(!begun.to_string().contains("hunter2"), "{begun}");

    let mut of_host = dayone.get("/v1/boots/events?host=worker-1").send().await.unwrap();
    let first = changes(&mut of_host).await;
    assert_eq!((&first["boots"][0]["host"], &first["ids"]), (&json!("worker-1"), &json!([boots[1]["id"]])), "{first}");
    assert_eq!(delete(&dayone, &boots[1], "?forget=true").await, 204);
    assert_eq!(changes(&mut of_host).await, json!({"boots": [], "ids": []}));
    Answer::of(dayone.get("/v1/boots/events?hots=worker-1")).await.problem("wrong-parameter");
    dayone.server.stop().await;
    while of_host.chunk().await.is_ok_and(|chunk| chunk.is_some()) {}
}

#[tokio::test]
async fn a_stream_of_one_boot_ends_with_the_token_of_its_client_and_there_are_64_at_most() {
    const OTHER: &str = "a-token-that-is-removed";
    let place = Place::new();
    let config = |tokens: &[&str]| {
        let mut config = place.config();
        for token in tokens {
            config.api_clients.add(token, "the test").unwrap();
        }
        config
    };
    let (both, one) = (config(&[TOKEN, OTHER]), config(&[TOKEN]));
    let dayone = Dayone::start_with(place, both).await;
    let bmc = Silent::new();
    let order = dayone.post("/v1/boots?base=coreos", host("worker-0", &bmc.url())).bearer_auth(TOKEN);
    let boot = Answer::of(order).await.ok()["boots"][0].clone();
    let path = format!("/v1/boots/{}/events", boot["id"].as_str().unwrap());
    let follow = |token| dayone.get(&path).bearer_auth(token).send();
    let mut revoked = follow(OTHER).await.unwrap();
    assert!(revoked.chunk().await.unwrap().is_some());
    dayone.server.configure(one);
    let rest = async { while revoked.chunk().await.is_ok_and(|chunk| chunk.is_some()) {} };
    tokio::time::timeout(Duration::from_secs(10), rest).await.unwrap();
    assert_eq!(follow(OTHER).await.unwrap().status(), 401);

    let mut streams = Vec::new();
    for _ in 0..64 {
        let mut stream = follow(TOKEN).await.unwrap();
        assert!(stream.chunk().await.unwrap().is_some());
        streams.push(stream);
    }
    Answer::of(dayone.get(&path).bearer_auth(TOKEN)).await.problem("too-many-followers");
}
