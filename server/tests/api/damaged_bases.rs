//! The server's copies of added bases that are lost or damaged: no image shows their bytes, and adding the base again repairs it.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use dayone::services::Config;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::added_bases::{add, allow, files, iso, next_release, settled, start, until_files_are};
use super::http_source::HttpSource;
use super::support::{Answer, Dayone, NMSTATE};

/// What can happen to a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// One byte is another.
    Byte,
    /// The end is missing.
    Truncated,
    /// Everything is missing.
    Empty,
    /// There is no file.
    Removed,
}

impl Damage {
    const ALL: [Self; 4] = [Self::Byte, Self::Truncated, Self::Empty, Self::Removed];

    fn to(self, path: &Path) {
        let file = fs::File::options().read(true).write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        match self {
            Self::Byte => {
                let mut byte = [0];
                file.read_exact_at(&mut byte, length / 2).unwrap();
                file.write_all_at(&[byte[0] ^ 1], length / 2).unwrap();
            }
            Self::Truncated => file.set_len(length / 2).unwrap(),
            Self::Empty => file.set_len(0).unwrap(),
            Self::Removed => fs::remove_file(path).unwrap(),
        }
    }
}

async fn until_unavailable(dayone: &Dayone, name: &str) -> Value {
    let start = Instant::now();
    loop {
        let base = Answer::of(dayone.get(&format!("/v1/bases/{name}"))).await.ok();
        // The file counts as being written for two seconds.
        let reason = base["reason"].as_str().unwrap_or_default();
        if reason.contains("add the base again") {
            return base;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{base}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Asserts that nothing is made from the base, and that the image over it does not answer.
async fn assert_out_of_service(dayone: &Dayone, image: &Value) {
    Answer::of(dayone.post("/v1/images?base=fcos", NMSTATE)).await.problem("base-unavailable");
    assert_eq!(dayone.get("/readyz").send().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    let served = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
    assert_eq!(served.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_damaged_copy_is_never_taken_for_the_base_and_is_repaired_by_adding_it_again() {
    let source = HttpSource::start().await;
    let mut dayone = start(&source).await;
    // Not the bytes of the configured base, which its images would use.
    let (url, sha256) = source.put("/live.iso", &next_release(&iso(&dayone)));
    let order = json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}});
    add(&dayone, &order).await.ok();
    let identity = settled(&dayone, "fcos").await["identity"].clone();
    let image = Answer::of(dayone.post("/v1/images?base=fcos", NMSTATE)).await.ok();
    let before = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await.body;
    for (number, damage) in (1..).zip(Damage::ALL) {
        let copy = format!("{number:08}.iso");
        damage.to(&dayone.place.path("data/base-files").join(&copy));
        // The running server notices it, and a restarted one does not believe the file either.
        let running = until_unavailable(&dayone, "fcos").await;
        assert_out_of_service(&dayone, &image).await;
        dayone = dayone.restart_with(|config| allow(config, &[source.url("/")])).await;
        let base = until_unavailable(&dayone, "fcos").await;
        assert_eq!(base["reason"], running["reason"], "{damage:?}");
        assert_out_of_service(&dayone, &image).await;

        // The same request is not answered with the base that is there.
        assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED, "{damage:?}");
        let base = settled(&dayone, "fcos").await;
        assert_eq!((&base["state"], &base["identity"]), (&json!("available"), &identity), "{damage:?}: {base}");
        assert_eq!((&base["files"]["iso"]["sha256"], &base["images"]), (&json!(sha256), &json!(1)));
        let served = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
        assert_eq!((served.status, served.body == before), (StatusCode::OK, true), "{damage:?}");
        // The damaged copy does not stay, although an image uses the base.
        until_files_are(&dayone, &[&format!("{:08}.iso", number + 1)]).await;
        assert!(dayone.get("/readyz").send().await.unwrap().status().is_success());
    }
    assert_eq!(add(&dayone, &order).await.status, StatusCode::OK, "what is not damaged is there");
}

#[tokio::test]
async fn a_lost_copy_of_a_file_on_the_server_is_made_again() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let given = dayone.place.path("given.iso");
    fs::write(&given, next_release(&iso(&dayone))).unwrap();
    let order = json!({"name": "fcos", "iso": {"path": given}});
    add(&dayone, &order).await.ok();
    settled(&dayone, "fcos").await;
    let image = Answer::of(dayone.post("/v1/images?base=fcos", NMSTATE)).await.ok();
    // Without a digest, the server always makes a copy, and drops it if it has the same already.
    add(&dayone, &order).await.ok();
    assert_eq!(settled(&dayone, "fcos").await["version"], 1);
    until_files_are(&dayone, &["00000001.iso"]).await;

    fs::remove_file(dayone.place.path("data/base-files/00000001.iso")).unwrap();
    until_unavailable(&dayone, "fcos").await;
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);
    assert_eq!(settled(&dayone, "fcos").await["version"], 3);
    let served = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
    assert_eq!(served.status, StatusCode::OK);
    assert_eq!(files(&dayone), ["00000003.iso"]);
}

#[tokio::test]
async fn when_a_base_is_there_again_so_are_all_its_images() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/live.iso", &next_release(&iso(&dayone)));
    let order = json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}});
    add(&dayone, &order).await.ok();
    settled(&dayone, "fcos").await;
    // To plan them all takes longer than it takes to ask for the last one.
    let mut images = Vec::new();
    for number in 0..150 {
        let document = format!("hostname: {{config: worker-{number}}}\n{NMSTATE}");
        images.push(Answer::of(dayone.post("/v1/images?base=fcos", document)).await.ok());
    }

    fs::remove_file(dayone.place.path("data/base-files/00000001.iso")).unwrap();
    until_unavailable(&dayone, "fcos").await;
    assert_eq!(add(&dayone, &order).await.status, StatusCode::ACCEPTED);
    settled(&dayone, "fcos").await;
    for image in images.iter().rev() {
        let head = dayone.client.head(image["url"].as_str().unwrap()).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::OK, "{}", image["hosts"]);
    }
}

#[tokio::test]
async fn a_start_reads_unchanged_copies_no_more() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let (url, sha256) = source.put("/live.iso", &iso(&dayone));
    add(&dayone, &json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}})).await.ok();
    settled(&dayone, "fcos").await;
    // What the cache says of the file counts: otherwise the server would read it.
    let cache = dayone.place.path("data/base-digests.json");
    let other = imagelib::digest::Digest::of(b"other").to_string();
    // While no server runs, which could write it again.
    let change = |config: &mut Config| {
        let changed = fs::read_to_string(&cache).unwrap().replace(&sha256, &other);
        assert!(changed.contains(&other));
        fs::write(&cache, changed).unwrap();
        allow(config, &[source.url("/")]);
    };
    let mut dayone = dayone.restart_with(change).await;
    let mut base = Answer::of(dayone.get("/v1/bases/fcos")).await.ok();
    // The last check of the server before may have written the cache once more.
    for _ in 0..3 {
        if base["reason"].is_null() {
            dayone = dayone.restart_with(change).await;
            base = Answer::of(dayone.get("/v1/bases/fcos")).await.ok();
        }
    }
    assert!(base["reason"].as_str().is_some_and(|reason| reason.contains(&other)), "{base}");
}
