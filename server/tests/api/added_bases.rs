//! Bases that are added, replaced and removed while the server runs.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dayone::bases::{AllowedSources, Patience};
use dayone::services::Config;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::http_source::HttpSource;
use super::support::{Answer, Dayone, NMSTATE, Place, tamper};

/// Lets the server fetch from these places.
pub(crate) fn allow(config: &mut Config, sources: &[String]) {
    let sources = sources.iter().map(|source| source.parse().unwrap()).collect();
    config.fetches.allowed = AllowedSources::only(sources);
    config.fetches.patience = Patience { attempts: 3, longest_wait: Duration::from_millis(50) };
}

/// A server that may fetch from `source`, and from the directory with the configured bases.
pub(crate) async fn start(source: &HttpSource) -> Dayone {
    let place = Place::new();
    let mut config = place.config();
    allow(&mut config, &[source.url("/"), place.path("").display().to_string()]);
    Dayone::start_with(place, config).await
}

/// The ISO of the base `coreos`.
pub(crate) fn iso(dayone: &Dayone) -> Vec<u8> {
    fs::read(dayone.place.path("coreos.iso")).unwrap()
}

/// Another ISO that dayone can customise: a later release has other bytes somewhere.
pub(crate) fn next_release(iso: &[u8]) -> Vec<u8> {
    let mut next = iso.to_vec();
    // The volume's application identifier (ECMA-119 §8.4.20), which decides nothing.
    next[16 * 2048 + 574] ^= 1;
    next
}

pub(crate) async fn add(dayone: &Dayone, order: &Value) -> Answer {
    Answer::of(dayone.post_json("/v1/bases", order)).await
}

/// Waits until the server no longer fetches the base, and returns it.
pub(crate) async fn settled(dayone: &Dayone, name: &str) -> Value {
    wait_for(dayone, name, |base| {
        let fetch = &base["fetch"];
        fetch.is_null() || fetch["state"] == "failed"
    })
    .await
}

pub(crate) async fn wait_for(dayone: &Dayone, name: &str, condition: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let base = Answer::of(dayone.get(&format!("/v1/bases/{name}"))).await.ok();
        if condition(&base) {
            return base;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{base}");
        // A file counts as being written for two seconds, and each question costs the processor milliseconds.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) async fn delete(dayone: &Dayone, path: &str) -> Answer {
    Answer::of(dayone.client.delete(dayone.url(path))).await
}

/// The names of the files of added bases.
pub(crate) fn files(dayone: &Dayone) -> Vec<String> {
    let entries = fs::read_dir(dayone.place.path("data/base-files")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) async fn until_files_are(dayone: &Dayone, expected: &[&str]) {
    let start = Instant::now();
    while files(dayone) != expected {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", files(dayone));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_base_from_a_url_is_fetched_used_kept_and_removed() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let bytes = iso(&dayone);
    let (url, sha256) = source.put("/live.iso", &bytes);
    let order = json!({"name": "fcos", "iso": {"url": format!("{url}?token=hunter2"), "sha256": sha256}});
    let answer = add(&dayone, &order).await;
    assert_eq!((answer.status, answer.header("location")), (StatusCode::ACCEPTED, "/v1/bases/fcos"));
    let first = answer.json();
    assert_eq!((&first["state"], &first["origin"]), (&json!("unavailable"), &json!("added")));
    assert!(first["reason"].as_str().unwrap().contains("being fetched"), "{first}");
    assert!(!first.to_string().contains("hunter2"), "{first}");

    let base = settled(&dayone, "fcos").await;
    let coreos = Answer::of(dayone.get("/v1/bases/coreos")).await.ok();
    assert_eq!((&base["state"], &base["identity"]), (&json!("available"), &coreos["identity"]));
    assert_eq!(base["files"], json!({"iso": {"size": bytes.len(), "sha256": sha256}}));
    assert_eq!((&base["version"], &base["images"], &base["transfers"]), (&json!(1), &json!(0), &json!(0)));
    assert_eq!(base["sources"]["iso"]["url"], format!("{url}?…"));
    assert_eq!(coreos["origin"], "configured");
    let names: Vec<Value> = Answer::of(dayone.get("/v1/bases")).await.ok()["bases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|base| base["name"].clone())
        .collect();
    assert_eq!(names, ["coreos", "fcos", "ipa", "plain"]);
    assert_eq!(source.state().requests, [("/live.iso".to_owned(), None)]);

    // The same again changes nothing, and needs no server.
    source.state().files.clear();
    assert_eq!(add(&dayone, &order).await.status, StatusCode::OK);
    let image = Answer::of(dayone.post("/v1/images?base=fcos", NMSTATE)).await.ok();
    let dayone = dayone.restart_with(|config| allow(config, &[source.url("/")])).await;
    let base = Answer::of(dayone.get("/v1/bases/fcos")).await.ok();
    assert_eq!((&base["state"], &base["images"]), (&json!("available"), &json!(1)));
    let served = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
    assert_eq!((served.status, served.header("etag")), (StatusCode::OK, image["etag"].as_str().unwrap()));

    let problem = delete(&dayone, "/v1/bases/fcos").await.problem("base-in-use");
    let id = image["id"].as_str().unwrap();
    assert_eq!(problem["status"], 409);
    assert!(problem["detail"].as_str().unwrap().starts_with("1 published image(s) use the base"), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(id), "{problem}");
    assert_eq!(files(&dayone), ["00000001.iso"]);
    assert_eq!(delete(&dayone, &format!("/v1/images/{id}")).await.status, StatusCode::NO_CONTENT);
    assert_eq!(delete(&dayone, "/v1/bases/fcos").await.status, StatusCode::NO_CONTENT);
    until_files_are(&dayone, &[]).await;
    delete(&dayone, "/v1/bases/fcos").await.problem("not-found");
    Answer::of(dayone.post("/v1/images?base=fcos", NMSTATE)).await.problem("unknown-base");
    assert_eq!(fs::read_dir(dayone.place.path("data/bases")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_base_from_a_path_is_a_copy_of_its_own() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let given = dayone.place.path("given.iso");
    fs::write(&given, iso(&dayone)).unwrap();
    let order = json!({"name": "copy", "iso": {"path": given}});
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);
    let base = settled(&dayone, "copy").await;
    assert_eq!(base["sources"]["iso"]["path"], given.display().to_string());
    let image = Answer::of(dayone.post("/v1/images?base=copy", NMSTATE)).await.ok();
    let before = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await.body;
    tamper(&given);
    fs::remove_file(&given).unwrap();
    // Until the store has looked again.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let after = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
    assert_eq!(after.status, StatusCode::OK);
    assert!(after.body == before, "the copy has not changed");
}

#[tokio::test]
async fn several_files_make_a_base() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (kernel, sha256) = source.put("/kernel", b"the kernel");
    let initrd = dayone.place.path("initrd");
    let order = json!({"name": "ramdisk", "kernel": {"url": kernel, "sha256": sha256}, "initrd": {"path": initrd}});
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);
    let base = settled(&dayone, "ramdisk").await;
    assert_eq!(base["kind"], "kernel-initrd", "{base}");
    assert_eq!(base["identity"], Answer::of(dayone.get("/v1/bases/ipa")).await.ok()["identity"]);
    assert_eq!(files(&dayone), ["00000001.initrd", "00000001.kernel"]);
}

#[tokio::test]
async fn sources_that_the_operator_does_not_allow_are_refused() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let other = HttpSource::start().await;
    let (elsewhere, sha256) = other.put("/live.iso", &iso(&dayone));
    let (signature, _) = other.put("/live.iso.sig", b"x");
    let iso_of = |iso: Value| json!({"name": "fcos", "iso": iso});
    let at = |path: PathBuf| path.display().to_string();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(outside.path(), dayone.place.path("link.iso")).unwrap();
    for refused in [
        json!({"url": elsewhere, "sha256": sha256}),
        json!({"url": source.url("/live.iso"), "signature": signature}),
        json!({"path": "/etc/passwd"}),
        json!({"path": at(dayone.place.path("link.iso"))}),
        json!({"path": at(dayone.place.path("../../etc/passwd"))}),
        json!({"path": at(dayone.place.path("missing.iso"))}),
    ] {
        let problem = add(&dayone, &iso_of(refused.clone())).await.problem("source-refused");
        assert!(problem["detail"].as_str().unwrap().contains("--base-source"), "{refused}: {problem}");
    }
    assert!(other.state().requests.is_empty());

    // Neither does a redirect lead there.
    source.state().redirects.insert("/moved.iso".to_owned(), elsewhere);
    let order = iso_of(json!({"url": source.url("/moved.iso"), "sha256": sha256}));
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);
    let base = settled(&dayone, "fcos").await;
    let error = base["fetch"]["error"].as_str().unwrap();
    assert!(error.contains("redirected") && error.contains(&other.url("/live.iso")), "{base}");
    assert!(other.state().requests.is_empty());
    assert!(base["reason"].as_str().unwrap().contains("redirected"), "{base}");
    // A path that some servers resolve to another place does not lead out of the source either.
    let hidden = "/images/..%2fsecret.iso";
    source.state().redirects.insert("/moved.iso".to_owned(), source.url(hidden));
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);
    let error = settled(&dayone, "fcos").await["fetch"]["error"].to_string();
    assert!(error.contains(&source.url(hidden)) && error.contains("an encoded slash"), "{error}");
    let order = iso_of(json!({"url": source.url(hidden), "sha256": sha256}));
    let problem = add(&dayone, &order).await.problem("source-refused");
    assert!(problem["detail"].as_str().unwrap().contains("an encoded slash"), "{problem}");
    assert!(!source.state().requests.iter().any(|(path, _)| path.contains("secret")));
    // A redirect within the source is followed.
    let (_, sha256) = source.put("/live.iso", &iso(&dayone));
    source.state().redirects.insert("/moved.iso".to_owned(), source.url("/live.iso"));
    let order = iso_of(json!({"url": source.url("/moved.iso"), "sha256": sha256}));
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);
    assert_eq!(settled(&dayone, "fcos").await["state"], "available");
}

#[tokio::test]
async fn wrong_requests_are_refused() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/live.iso", &iso(&dayone));
    let good = json!({"url": url, "sha256": sha256});
    for (order, kind, detail) in [
        (json!({"name": "fcos", "iso": {"url": url}}), "malformed-request", "SHA-256"),
        (
            json!({"name": "fcos", "iso": {"url": "ftp://192.0.2.1/x", "sha256": sha256}}),
            "malformed-request",
            "http and https",
        ),
        (json!({"name": "FCOS", "iso": good}), "malformed-request", "not a name"),
        (json!({"name": "fcos", "iso": good, "size": 1}), "malformed-request", "unknown field"),
        (json!({"iso": good}), "malformed-request", "missing field `name`"),
        (json!({"name": "fcos"}), "base-refused", "give either an ISO"),
        (json!({"name": "fcos", "iso": good, "kernel": good}), "base-refused", "give either an ISO"),
        (json!({"name": "fcos", "iso": {"url": format!("{url}.xz"), "sha256": sha256}}), "base-refused", "compressed"),
        (
            json!({"name": "fcos", "iso": {"url": source.url("/cloud.qcow2"), "sha256": sha256}}),
            "base-refused",
            "qemu-img convert -O raw",
        ),
        (json!({"name": "coreos", "iso": good}), "base-configured", "--base"),
    ] {
        let problem = add(&dayone, &order).await.problem(kind);
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{order}: {problem}");
    }
    let form = dayone.client.post(dayone.url("/v1/bases")).body("name=fcos");
    Answer::of(form).await.problem("unsupported-media-type");
    delete(&dayone, "/v1/bases/coreos").await.problem("base-configured");
    delete(&dayone, "/v1/bases/coreos/fetch").await.problem("not-found");
    assert!(source.state().requests.is_empty());
    assert_eq!(fs::read_dir(dayone.place.path("data/bases")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_is_not_what_was_ordered_never_becomes_a_base() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let bytes = iso(&dayone);
    let (url, sha256) = source.put("/live.iso", &bytes);
    source.put("/live.iso", &next_release(&bytes));
    let order = json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}});
    add(&dayone, &order).await.ok();
    let base = settled(&dayone, "fcos").await;
    assert_eq!((&base["state"], &base["fetch"]["state"]), (&json!("unavailable"), &json!("failed")));
    assert!(base["reason"].as_str().unwrap().contains(&format!("should be {sha256}")), "{base}");
    assert_eq!(files(&dayone), [""; 0]);
    Answer::of(dayone.post("/v1/images?base=fcos", NMSTATE)).await.problem("unknown-base");

    let page = String::from_utf8(Answer::of(dayone.get("/bases").header("accept", "text/html")).await.body).unwrap();
    assert!(page.contains("The base is not fetched") && page.contains(&sha256), "{page}");

    // A failure survives a restart, and the same request tries again.
    let dayone = dayone.restart_with(|config| allow(config, &[source.url("/")])).await;
    assert_eq!(settled(&dayone, "fcos").await["fetch"]["state"], "failed");
    source.put("/live.iso", &bytes);
    add(&dayone, &order).await.ok();
    assert_eq!(settled(&dayone, "fcos").await["state"], "available");

    // What has the digest, but is no base, and what is not there.
    let (url, sha256) = source.put("/text", b"this is not an ISO");
    add(&dayone, &json!({"name": "text", "iso": {"url": url, "sha256": sha256}})).await.ok();
    let error = settled(&dayone, "text").await["fetch"]["error"].to_string();
    assert!(error.contains("ISO 9660"), "{error}");
    add(&dayone, &json!({"name": "text", "iso": {"url": source.url("/missing"), "sha256": sha256}})).await.ok();
    let base = settled(&dayone, "text").await;
    assert!(base["fetch"]["error"].as_str().unwrap().contains("404"), "{base}");
    assert_eq!(delete(&dayone, "/v1/bases/text").await.status, StatusCode::NO_CONTENT);
    delete(&dayone, "/v1/bases/text").await.problem("not-found");
    until_files_are(&dayone, &["00000001.iso"]).await;
}

#[tokio::test]
async fn a_download_continues_where_the_connection_broke() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/live.iso", &iso(&dayone));
    source.state().cut = Some(100_000);
    add(&dayone, &json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}})).await.ok();
    assert_eq!(settled(&dayone, "fcos").await["state"], "available");
    let requests = source.state().requests.clone();
    let whole = ("/live.iso".to_owned(), None);
    assert_eq!(requests, [whole.clone(), ("/live.iso".to_owned(), Some("bytes=100000-".to_owned()))]);

    // If the file has changed meanwhile, it is fetched anew.
    let (url, _) = source.put("/next.iso", &iso(&dayone));
    let next = next_release(&iso(&dayone));
    source.state().pause = Some(50_000);
    source.state().cut = Some(60_000);
    let sha256 = imagelib::digest::Digest::of(&next).to_string();
    add(&dayone, &json!({"name": "next", "iso": {"url": url, "sha256": sha256}})).await.ok();
    wait_for(&dayone, "next", |base| base["fetch"]["bytes"].as_u64() >= Some(50_000)).await;
    source.put("/next.iso", &next);
    source.proceed();
    assert_eq!(settled(&dayone, "next").await["state"], "available");
    let ranges: Vec<_> = source.state().requests.iter().skip(2).map(|(_, range)| range.clone()).collect();
    assert_eq!(ranges, [None, Some("bytes=60000-".to_owned())]);
}

#[tokio::test]
async fn a_restarted_server_continues_a_download() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let bytes = iso(&dayone);
    let (url, sha256) = source.put("/live.iso", &bytes);
    source.state().pause = Some(2_000_000.min(bytes.len() / 2));
    add(&dayone, &json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}})).await.ok();
    let base = wait_for(&dayone, "fcos", |base| base["fetch"]["bytes"].as_u64() > Some(0)).await;
    assert_eq!((&base["fetch"]["state"], &base["fetch"]["total"]), (&json!("fetching"), &json!(bytes.len())));
    let dayone = dayone.restart_with(|config| allow(config, &[source.url("/")])).await;
    assert_eq!(settled(&dayone, "fcos").await["state"], "available");
    let requests = source.state().requests.clone();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert_eq!(files(&dayone), ["00000001.iso"]);
}

#[tokio::test]
async fn fetching_can_be_stopped() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/live.iso", &iso(&dayone));
    let order = json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}});
    for path in ["/v1/bases/fcos/fetch", "/v1/bases/fcos"] {
        source.state().pause = Some(1000);
        add(&dayone, &order).await.ok();
        assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED, "the same fetch");
        wait_for(&dayone, "fcos", |base| base["fetch"]["bytes"] == 1000).await;
        assert_eq!(delete(&dayone, path).await.status, StatusCode::NO_CONTENT);
        Answer::of(dayone.get("/v1/bases/fcos")).await.problem("not-found");
        until_files_are(&dayone, &[]).await;
        source.proceed();
    }
    // Another request of the same name replaces the one under way.
    source.state().pause = Some(1000);
    add(&dayone, &order).await.ok();
    wait_for(&dayone, "fcos", |base| base["fetch"]["bytes"] == 1000).await;
    let (url, sha256) = source.put("/next.iso", &next_release(&iso(&dayone)));
    add(&dayone, &json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}})).await.ok();
    assert_eq!(settled(&dayone, "fcos").await["files"]["iso"]["sha256"], sha256);
    until_files_are(&dayone, &["00000004.iso"]).await;
}

#[tokio::test]
async fn an_added_base_and_a_configured_one_do_not_share_a_name() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/live.iso", &iso(&dayone));
    add(&dayone, &json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}})).await.ok();
    settled(&dayone, "fcos").await;
    let Dayone { place, server, .. } = dayone;
    server.stop().await;
    let mut config = place.config();
    config.bases.push(format!("fcos={}", place.path("plain.iso").display()).parse().unwrap());
    let error = dayone::services::Server::start(config).await.unwrap_err().to_string();
    assert!(error.contains("'fcos'") && error.contains("dayone base rm fcos"), "{error}");
}
