//! The rotation of the installation key with a running server: its command, its URLs, its boots, its audit log.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use dayone::audit::AuditSettings;
use dayone::services::Config;
use reqwest::Response;
use serde_json::{Value, json};

use super::support::{Answer, Dayone, NMSTATE, Place, bare_metal_host};

async fn start() -> Dayone {
    let place = Place::new();
    let mut config = place.config();
    config.audit = Some(AuditSettings { target: place.path("audit.jsonl").into(), max_bytes: None });
    Dayone::start_with(place, config).await
}

async fn key(dayone: &Dayone, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
    command.arg("key").args(arguments).arg("--data-dir").arg(dayone.place.path("data"));
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

async fn order(dayone: &Dayone) -> Value {
    Answer::of(dayone.post("/v1/images?base=coreos&format=iso", NMSTATE)).await.ok()
}

async fn read(dayone: &Dayone, url: &Value) -> Response {
    dayone.client.get(url.as_str().unwrap()).send().await.unwrap()
}

fn audit(dayone: &Dayone) -> Vec<Value> {
    let text = fs::read_to_string(dayone.place.path("audit.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn audited(dayone: &Dayone, event: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = audit(dayone).into_iter().find(|entry| entry["event"] == event) {
            return found;
        }
        assert!(Instant::now() < deadline, "no {event}: {:?}", audit(dayone));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_server_takes_the_key_over_and_says_so() {
    let dayone = start().await;
    let before = order(&dayone).await;
    let answer = read(&dayone, &before["url"]).await;
    let (headers, bytes) = (answer.headers().clone(), answer.bytes().await.unwrap());
    let secret = data_encoding::HEXLOWER.encode(&fs::read(dayone.place.path("data/key")).unwrap());

    let rotated = key(&dayone, &["rotate"]).await;
    let said = text(&rotated);
    assert!(rotated.status.success(), "{said}");
    assert!(
        said.contains("The server gives out URLs of the new key.\nURLs of the previous key are valid until 2"),
        "{said}"
    );
    let after = order(&dayone).await;
    assert_eq!(after["id"], before["id"]);
    assert_ne!(after["url"], before["url"]);
    let shown = Answer::of(dayone.get(&format!("/v1/images/{}", before["id"].as_str().unwrap()))).await.ok();
    assert_eq!(shown["url"], after["url"]);
    let old = read(&dayone, &before["url"]).await;
    assert_eq!(old.status(), 200);
    for header in ["etag", "last-modified", "content-length", "content-type", "accept-ranges"] {
        assert_eq!(old.headers().get(header), headers.get(header), "{header}");
    }
    assert!(old.bytes().await.unwrap() == bytes);
    assert!(read(&dayone, &after["url"]).await.bytes().await.unwrap() == bytes);
    let entry = audited(&dayone, "key-rotated").await;
    assert!(entry["previous-until"].is_string() && entry["who"] == "server", "{entry}");

    let again = key(&dayone, &["rotate"]).await;
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again).contains("dayone key end-grace"), "{}", text(&again));

    let ended = key(&dayone, &["end-grace"]).await;
    assert!(ended.status.success(), "{}", text(&ended));
    let gone = read(&dayone, &before["url"]).await;
    let unknown = before["url"].as_str().unwrap().replace("/i/", "/i/aaaaaa");
    let unknown = unknown.replace(&unknown[unknown.len() - "/boot.iso".len() - 6..], "/boot.iso");
    let unknown = read(&dayone, &json!(unknown)).await;
    assert_eq!((gone.status().as_u16(), unknown.status().as_u16()), (404, 404));
    let names = |answer: &Response| answer.headers().keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&gone), names(&unknown));
    assert_eq!(gone.text().await.unwrap(), unknown.text().await.unwrap());
    audited(&dayone, "previous-key-removed").await;
    assert_eq!(read(&dayone, &after["url"]).await.status(), 200);

    let logged = fs::read_to_string(dayone.place.path("audit.jsonl")).unwrap() + &said;
    let token = |url: &Value| url.as_str().unwrap().split('/').nth(4).unwrap().to_owned();
    for hidden in [secret, token(&before["url"]), token(&after["url"])] {
        assert!(!logged.contains(&hidden), "{hidden}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_server_is_told_of_and_a_reload_looks_at_once() {
    let place = Place::new();
    let config = Config { recheck: Duration::from_hours(1), ..place.config() };
    let dayone = Dayone::start_with(place, config).await;
    let before = order(&dayone).await;
    // The server looks in an hour, unless it is told to look.
    let rotating = key(&dayone, &["rotate", "--grace-seconds", "60"]);
    let reload = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        dayone.server.configure(dayone.place.config());
    };
    let (rotated, ()) = tokio::join!(rotating, reload);
    assert!(rotated.status.success(), "{}", text(&rotated));
    assert_ne!(order(&dayone).await["url"], before["url"]);
}

/// Begins a boot whose credentials are in its record. Returns its id and the record.
async fn begin(dayone: &Dayone) -> (String, PathBuf) {
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: bmc}\nstringData: {username: admin, password: hunter2-hunter2}\n";
    let bmc = "bmc: {address: 'redfish-virtualmedia+http://127.0.0.77:9/redfish/v1/Systems/1', credentialsName: bmc}, ";
    let documents = bare_metal_host("worker-0").replace("spec: {", &format!("spec: {{{bmc}")) + secret;
    let boots = Answer::of(dayone.post("/v1/boots?base=coreos", documents)).await.ok();
    let id = boots["boots"][0]["id"].as_str().unwrap().to_owned();
    let record = dayone.place.path(&format!("data/boots/{id}.json"));
    (id, record)
}

/// The records of boots depend on the key in two ways: the credentials, and the URL that the BMC has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_boot_that_waits_for_its_bmc_keeps_its_credentials() {
    let dayone = start().await;
    let (id, record) = begin(&dayone).await;
    let sealed = || {
        let json: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
        json["bmc"]["credentials"]["sealed"].as_str().map(str::to_owned)
    };
    let before = sealed().unwrap();
    let rotated = key(&dayone, &["rotate", "--grace-seconds", "0"]).await;
    assert!(rotated.status.success(), "{}", text(&rotated));
    audited(&dayone, "previous-key-removed").await;
    if let Some(after) = sealed() {
        assert_ne!(after, before);
    }
    let shown = Answer::of(dayone.get(&format!("/v1/boots/{id}"))).await.ok().to_string();
    assert!(!shown.contains("cannot decrypt"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_boot_whose_record_cannot_be_read_keeps_the_previous_key() {
    let dayone = start().await;
    let (id, record) = begin(&dayone).await;
    let (kept, key_file) = (dayone.place.path("kept.json"), dayone.place.path("data/key"));
    // More than dayone reads.
    let spoil = |_: &mut Config| {
        if !kept.exists() {
            fs::rename(&record, &kept).unwrap();
            File::create(&record).unwrap().set_len(1 << 30).unwrap();
        }
    };
    let dayone = dayone.restart_with(spoil).await;
    let rotated = key(&dayone, &["rotate", "--grace-seconds", "0"]).await;
    assert!(rotated.status.success(), "{}", text(&rotated));
    // The server looks ten times.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let holds_one_key = || fs::metadata(&key_file).unwrap().len() == 32;
    assert!(!holds_one_key(), "the credentials in the record are lost");

    let restore = |_: &mut Config| {
        if kept.exists() {
            fs::rename(&kept, &record).unwrap();
        }
    };
    let dayone = dayone.restart_with(restore).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds_one_key() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let shown = Answer::of(dayone.get(&format!("/v1/boots/{id}"))).await.ok().to_string();
    assert!(!shown.contains("cannot decrypt"), "{shown}");
}
