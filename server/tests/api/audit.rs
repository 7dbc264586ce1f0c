//! The audit log: what is in it, and what happens when it cannot be written.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dayone::audit::{AuditSettings, LogText, NoteKind, verify};
use dayone::services::{Config, Server, StartError};
use serde_json::Value;

use super::support::{Answer, Dayone, NMSTATE, Place, TOKEN};

const READ_TOKEN: &str = "the-token-of-the-dashboard";

pub(super) fn config(place: &Place, max_bytes: Option<u64>) -> Config {
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the variable DAYONE_API_TOKEN").unwrap();
    let path = place.path("clients.yaml");
    let text = format!("clients:\n- {{name: dashboard, role: read, token: {READ_TOKEN}}}\n");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    config.api_clients.add_client_file(&path).unwrap();
    config.audit = Some(AuditSettings { target: place.path("audit.jsonl").into(), max_bytes });
    config
}

pub(super) async fn start() -> Dayone {
    let place = Place::new();
    let config = config(&place, None);
    Dayone::start_with(place, config).await
}

/// With the order of an image in the log, whose path is returned, too.
async fn start_with_an_order() -> (Dayone, PathBuf) {
    let dayone = start().await;
    order(&dayone, "a").await;
    let log = dayone.place.path("audit.jsonl");
    until_recorded(&log, "image-ordered").await;
    (dayone, log)
}

pub(super) async fn stop(dayone: Dayone) -> Place {
    let Dayone { server, place, .. } = dayone;
    server.stop().await;
    place
}

pub(super) fn entries(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

pub(super) fn events(path: &Path) -> Vec<String> {
    entries(path).iter().map(|entry| entry["event"].as_str().unwrap().to_owned()).collect()
}

pub(super) async fn until_recorded(log: &Path, event: &str) {
    let start = Instant::now();
    while !events(log).iter().any(|recorded| recorded == event) {
        assert!(start.elapsed() < Duration::from_mins(1), "{:?}", events(log));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The files of the log.
fn files(place: &Place) -> Vec<LogText> {
    let mut paths: Vec<PathBuf> = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("audit.jsonl"));
    paths.into_iter().map(|path| LogText::open(&path).unwrap()).collect()
}

pub(super) fn assert_intact(place: &Place) {
    let verified = verify(files(place), None).unwrap();
    assert!(verified.faults.is_empty() && verified.first == Some(1), "{verified:?}");
}

pub(super) async fn order(dayone: &Dayone, hostname: &str) -> Value {
    let path = format!("/v1/images?base=coreos&hostname={hostname}");
    Answer::of(dayone.post(&path, NMSTATE).bearer_auth(TOKEN)).await.ok()
}

#[tokio::test]
async fn the_log_tells_who_ordered_an_image_and_who_read_which_bytes_of_it() {
    let dayone = start().await;
    let image = order(&dayone, "worker-7").await;
    order(&dayone, "worker-7").await;
    let (id, url) = (image["id"].as_str().unwrap(), image["url"].as_str().unwrap());
    for range in ["bytes=100-199", "bytes=200-299", "bytes=1000-1000"] {
        let part = dayone.client.get(url).header("range", range).basic_auth("root", Some("hunter2"));
        assert_eq!(Answer::of(part).await.status, 206);
    }
    let path = format!("/v1/images/{id}");
    let refused = dayone.client.delete(dayone.url(&path)).bearer_auth(READ_TOKEN);
    Answer::of(refused).await.problem("role-too-small");
    let deleted = Answer::of(dayone.client.delete(dayone.url(&path)).bearer_auth(TOKEN)).await;
    assert_eq!(deleted.status, 204);
    let place = stop(dayone).await;

    let log = place.path("audit.jsonl");
    let all = entries(&log);
    let events: Vec<&str> = all.iter().map(|entry| entry["event"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        [
            "log-begun",
            "server-started",
            "image-ordered",
            "image-ordered",
            "request-refused",
            "image-read",
            "image-deleted",
            "server-stopped"
        ]
    );
    for (index, entry) in all.iter().enumerate() {
        assert_eq!(entry["sequence"], index + 1);
    }
    let ordered = &all[2];
    assert_eq!(ordered["who"], serde_json::json!({"token": "DAYONE_API_TOKEN"}));
    assert_eq!(ordered["address"], "127.0.0.1");
    assert_eq!(
        (&ordered["image"], &ordered["host"], &ordered["base"]),
        (&image["id"], &"worker-7".into(), &"coreos".into())
    );
    assert_eq!((&all[2]["new"], &all[3]["new"]), (&true.into(), &false.into()));
    assert_eq!(all[4]["who"], serde_json::json!({"token": "dashboard"}));
    assert_eq!((&all[4]["route"], &all[4]["needed-role"]), (&"/v1/images/{id}".into(), &"build".into()));
    let read = &all[5];
    assert_eq!(read["who"], "reader");
    assert!(read["address"].as_str().unwrap().parse::<IpAddr>().unwrap().is_loopback());
    assert_eq!((&read["image"], &read["host"], &read["file"]), (&image["id"], &"worker-7".into(), &"boot.iso".into()));
    assert_eq!(read["ranges"], serde_json::json!([[100, 300], [1000, 1001]]));
    assert_eq!(read["sent"], 201);
    assert_eq!(all[6]["host"], "worker-7");

    assert_intact(&place);
    let text = fs::read_to_string(&log).unwrap();
    let secret = url.split("/i/").nth(1).unwrap().split('/').next().unwrap();
    for secret in [secret, TOKEN, READ_TOKEN, "hunter2", "cm9vdD"] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_pause_is_enough_to_record_a_read() {
    let dayone = start().await;
    let image = order(&dayone, "worker-1").await;
    let part = dayone.client.get(image["url"].as_str().unwrap()).header("range", "bytes=0-9");
    assert_eq!(Answer::of(part).await.status, 206);
    until_recorded(&dayone.place.path("audit.jsonl"), "image-read").await;
}

#[tokio::test]
async fn the_chain_continues_after_restarts_and_renames() {
    let dayone = start().await;
    order(&dayone, "a").await;
    let log = dayone.place.path("audit.jsonl");
    // An order is answered when it is in the log.
    assert!(events(&log).contains(&"image-ordered".to_owned()));
    // What logrotate does, and systemctl reload.
    fs::rename(&log, dayone.place.path("audit.jsonl.1")).unwrap();
    dayone.server.configure(config(&dayone.place, None));
    order(&dayone, "b").await;
    let place = stop(dayone).await;
    assert_eq!(events(&log), ["log-begun", "settings-reloaded", "image-ordered", "server-stopped"]);
    assert_intact(&place);

    // While the server does not run.
    fs::rename(&log, place.path("audit.jsonl-20260228")).unwrap();
    let again = config(&place, None);
    let place = stop(Dayone::start_with(place, again).await).await;
    let first = &entries(&log)[0];
    assert_eq!((&first["event"], &first["earlier"]), (&"log-begun".into(), &"audit.jsonl-20260228".into()));
    assert_intact(&place);

    // A server that is killed in the middle of a line.
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 30]).unwrap();
    let again = config(&place, None);
    let place = stop(Dayone::start_with(place, again).await).await;
    assert!(events_with_torn(&log).contains(&"log-recovered".to_owned()));
    let verified = verify(files(&place), None).unwrap();
    assert!(verified.faults.is_empty(), "{verified:?}");
    let notes: Vec<_> = verified.notes.iter().map(|note| note.kind).collect();
    assert!(matches!(notes[..], [NoteKind::Unfinished(_), NoteKind::NotStopped]), "{notes:?}");
}

fn events_with_torn(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    entries.map(|entry| entry["event"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_file_that_is_large_enough_is_renamed() {
    let place = Place::new();
    let config = config(&place, Some(1000));
    let dayone = Dayone::start_with(place, config).await;
    for host in ["a", "b", "c", "d", "e"] {
        order(&dayone, host).await;
    }
    let place = stop(dayone).await;
    let files = files(&place);
    assert!(files.len() > 2, "{:?}", files.iter().map(|file| &file.path).collect::<Vec<_>>());
    assert_intact(&place);
}

#[tokio::test]
async fn without_its_log_the_server_changes_nothing_serves_images_and_says_so() {
    let dayone = start().await;
    let image = order(&dayone, "a").await;
    let log = dayone.place.path("audit.jsonl");
    // An order is answered when it is in the log.
    assert!(events(&log).contains(&"image-ordered".to_owned()));
    let ready = || async { Answer::of(dayone.get("/readyz")).await };
    assert_eq!(ready().await.json()["audit_log"], "available");
    // Opening it fails, even for root.
    fs::rename(&log, dayone.place.path("audit.jsonl.1")).unwrap();
    fs::create_dir(&log).unwrap();
    dayone.server.configure(config(&dayone.place, None));
    wait_until(async || ready().await.status == 503).await;
    let body = ready().await.json();
    assert_eq!(body["audit_log"], "unavailable");
    assert!(body["problems"][0].as_str().unwrap().contains("audit log"), "{body}");
    let request = || dayone.post("/v1/images?base=coreos&hostname=b", NMSTATE).bearer_auth(TOKEN);
    let refused = Answer::of(request()).await;
    assert_eq!(refused.status, 503);
    refused.problem("audit-unavailable");
    assert_eq!(refused.header("retry-after"), "10");
    assert_eq!(dayone.place.records().len(), 1, "nothing was made");
    let metrics = Answer::of(dayone.get("/metrics").bearer_auth(TOKEN)).await;
    assert!(String::from_utf8(metrics.body).unwrap().contains("\ndayone_audit_failing 1\n"));
    assert_eq!(Answer::of(dayone.post("/v1/check", NMSTATE).bearer_auth(TOKEN)).await.status, 200);
    let part = dayone.client.get(image["url"].as_str().unwrap()).header("range", "bytes=0-9");
    assert_eq!(Answer::of(part).await.status, 206, "BMCs do not notice");

    fs::remove_dir(&log).unwrap();
    wait_until(async || ready().await.status == 200).await;
    assert_eq!(Answer::of(request()).await.status, 201);
    let place = stop(dayone).await;
    assert_eq!(
        events(&log),
        ["log-begun", "settings-reloaded", "image-ordered", "image-read", "server-stopped"],
        "what waited was written"
    );
    assert_intact(&place);
}

/// Between the moment at which the log fails and that at which the server looks, which it does each second.
#[tokio::test]
async fn a_change_that_is_made_while_the_log_fails_is_answered_as_such() {
    let dayone = start().await;
    let log = dayone.place.path("audit.jsonl");
    let ready = || async { Answer::of(dayone.get("/readyz")).await.status };
    let mut hosts = 0;
    loop {
        hosts += 1;
        wait_until(async || ready().await == 200).await;
        fs::rename(&log, dayone.place.path(&format!("audit.jsonl.{hosts}"))).unwrap();
        fs::create_dir(&log).unwrap();
        let before = dayone.place.records().len();
        let path = format!("/v1/images?base=coreos&hostname=host-{hosts}");
        let answer = Answer::of(dayone.post(&path, NMSTATE).bearer_auth(TOKEN)).await;
        fs::remove_dir(&log).unwrap();
        assert_eq!(answer.status, 503);
        answer.problem("audit-unavailable");
        let is_made = dayone.place.records().len() > before;
        assert_eq!(answer.json()["detail"].as_str().unwrap().starts_with("the change is made"), is_made);
        if is_made {
            break;
        }
        // It had looked already.
        assert!(hosts < 20);
    }
    wait_until(async || ready().await == 200).await;
    let place = stop(dayone).await;
    assert!(events(&log).contains(&"image-ordered".to_owned()), "the entry was kept");
    assert_intact(&place);
}

#[tokio::test]
async fn a_server_whose_log_was_deleted_refuses_changes_and_continues_the_chain_in_a_new_file() {
    let (dayone, log) = start_with_an_order().await;
    fs::remove_file(&log).unwrap();
    // A new file cannot take its place yet.
    fs::create_dir(&log).unwrap();
    let ready = || async { Answer::of(dayone.get("/readyz")).await.status };
    wait_until(async || ready().await == 503).await;
    let refused = Answer::of(dayone.post("/v1/images?base=coreos&hostname=b", NMSTATE).bearer_auth(TOKEN)).await;
    refused.problem("audit-unavailable");
    assert_eq!(dayone.place.records().len(), 1, "nothing was made");
    fs::remove_dir(&log).unwrap();
    wait_until(async || ready().await == 200).await;
    order(&dayone, "b").await;
    let place = stop(dayone).await;
    assert_eq!(events(&log), ["log-begun", "image-ordered", "server-stopped"]);
    let verified = verify(files(&place), None).unwrap();
    assert_eq!((verified.faults, verified.first), (vec![], Some(4)), "the first three entries are gone");
}

#[tokio::test]
async fn a_log_that_was_renamed_is_opened_again_without_a_reload() {
    let (dayone, log) = start_with_an_order().await;
    fs::rename(&log, dayone.place.path("audit.jsonl.1")).unwrap();
    order(&dayone, "b").await;
    let place = stop(dayone).await;
    assert_eq!(events(&log), ["log-begun", "image-ordered", "server-stopped"]);
    assert_intact(&place);
}

/// What logrotate does with `copytruncate`.
#[tokio::test]
async fn a_log_that_was_copied_and_cut_is_begun_anew() {
    let (dayone, log) = start_with_an_order().await;
    fs::copy(&log, dayone.place.path("audit.jsonl.1")).unwrap();
    fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    order(&dayone, "b").await;
    let place = stop(dayone).await;
    assert_eq!(events(&log), ["log-begun", "image-ordered", "server-stopped"]);
    assert_intact(&place);
}

async fn wait_until(mut is_true: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_true().await {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_file_of_something_else_and_a_log_of_another_server_are_refused() {
    let place = Place::new();
    fs::write(place.path("audit.jsonl"), "root:x:0:0\n").unwrap();
    let error = Server::start(config(&place, None)).await.unwrap_err();
    assert!(matches!(error, StartError::Audit(_)) && error.to_string().contains("not an audit log"), "{error}");
    assert_eq!(fs::read_to_string(place.path("audit.jsonl")).unwrap(), "root:x:0:0\n");

    let dayone = start().await;
    let other = Place::new();
    let mut second = config(&other, None);
    second.audit = Some(AuditSettings { target: dayone.place.path("audit.jsonl").into(), max_bytes: None });
    let error = Server::start(second).await.unwrap_err();
    assert!(error.to_string().contains("another process writes"), "{error}");
}

#[tokio::test]
async fn logins_and_failed_attempts_are_recorded_and_nobody_can_fill_the_disk_with_them() {
    let dayone = start().await;
    let log = dayone.place.path("audit.jsonl");
    let login = |token: &str| {
        let form = dayone.client.post(dayone.url("/login")).header("content-type", "application/x-www-form-urlencoded");
        form.body(format!("token={token}")).send()
    };
    login(READ_TOKEN).await.unwrap();
    login("the-token-of-nobody").await.unwrap();
    for number in 0..200 {
        let request = dayone.client.get(dayone.url("/v1/images")).bearer_auth(format!("a-wrong-token-{number}"));
        assert_eq!(request.send().await.unwrap().status(), 401);
    }
    for _ in 0..200 {
        let request = dayone.client.delete(dayone.url("/v1/bases/coreos")).bearer_auth(READ_TOKEN);
        assert_eq!(request.send().await.unwrap().status(), 403);
    }
    let place = stop(dayone).await;
    let entries = entries(&log);
    let of = |event: &str| entries.iter().filter(|entry| entry["event"] == event).collect::<Vec<_>>();
    let (logins, failures) = (of("logged-in"), of("authentication-failed"));
    assert_eq!(logins.len(), 1);
    assert_eq!((&logins[0]["who"]["token"], &logins[0]["address"]), (&"dashboard".into(), &"127.0.0.1".into()));
    // At the end of a minute, twice as many.
    assert!((20..=40).contains(&failures.len()), "{}", failures.len());
    let refused = of("request-refused");
    assert!((20..=40).contains(&refused.len()), "{}", refused.len());
    assert_eq!((&failures[0]["who"], &failures[0]["login"]), (&"stranger".into(), &true.into()));
    assert_eq!((&failures[1]["login"], &failures[1]["address"]), (&false.into(), &"127.0.0.1".into()));
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.contains("a-wrong-token") && !text.contains("of-nobody") && !text.contains(READ_TOKEN));
    assert_intact(&place);
}

/// The page's scripts ask there, and so can anybody who guesses tokens.
#[tokio::test]
async fn a_wrong_token_at_the_events_of_the_page_is_recorded() {
    let dayone = start().await;
    let live = || dayone.get("/live");
    assert_eq!(Answer::of(live()).await.status, 401, "a page whose session has ended asks again and again");
    assert_eq!(Answer::of(live().bearer_auth("the-token-of-nobody")).await.status, 401);
    let log = dayone.place.path("audit.jsonl");
    let place = stop(dayone).await;
    let failures = events(&log).iter().filter(|event| *event == "authentication-failed").count();
    assert_eq!(failures, 1);
    assert_intact(&place);
}
