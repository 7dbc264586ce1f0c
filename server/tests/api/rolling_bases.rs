//! A base is replaced while images use it and hosts read them.

use std::fs;
use std::time::{Duration, Instant};

use dayone::bases::AllowedSources;
use imagelib::digest::Digest;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::http_source::HttpSource;
use super::support::{Answer, Dayone, NMSTATE, Place, bare_metal_host};

/// A base that is replaced.
struct Rolling {
    dayone: Dayone,
    source: HttpSource,
}

impl Rolling {
    /// With the base `ramdisk`, which has this kernel.
    async fn start(kernel: &[u8]) -> Self {
        let source = HttpSource::start().await;
        let place = Place::new();
        let mut config = place.config();
        let sources = [source.url("/"), place.path("").display().to_string()];
        config.fetches.allowed = AllowedSources::only(sources.iter().map(|source| source.parse().unwrap()).collect());
        // A reader that waits for the next version reads nothing meanwhile.
        config.media_idle = Duration::from_mins(5);
        let rolling = Self { dayone: Dayone::start_with(place, config).await, source };
        rolling.roll(kernel).await;
        rolling
    }

    /// Replaces the base by one with this kernel.
    async fn roll(&self, kernel: &[u8]) -> Value {
        let (url, sha256) = self.source.put("/kernel", kernel);
        let initrd = self.dayone.place.path("initrd");
        let order = json!({"name": "ramdisk", "kernel": {"url": url, "sha256": sha256}, "initrd": {"path": initrd}});
        Answer::of(self.dayone.post_json("/v1/bases", &order)).await.ok();
        let start = Instant::now();
        loop {
            let base = self.base().await;
            if base["fetch"].is_null() {
                assert_eq!(base["files"]["kernel"]["sha256"], sha256);
                return base;
            }
            assert!(base["fetch"]["state"] != "failed" && start.elapsed() < Duration::from_secs(30), "{base}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn base(&self) -> Value {
        Answer::of(self.dayone.get("/v1/bases/ramdisk")).await.ok()
    }

    async fn image(&self, host: &str) -> Value {
        let path = "/v1/images?base=ramdisk&format=initrd";
        Answer::of(self.dayone.post(path, bare_metal_host(host))).await.ok()
    }

    async fn kernel_of(&self, image: &Value) -> Vec<u8> {
        let url = image["url"].as_str().unwrap().replace("initrd.img", "vmlinuz");
        let answer = Answer::of(self.dayone.client.get(url)).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.body
    }

    async fn delete(&self, image: &Value) {
        let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
        assert_eq!(self.dayone.client.delete(self.dayone.url(&path)).send().await.unwrap().status(), 204);
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dayone.place.path("data/base-files")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    async fn until_files_are(&self, expected: &[&str]) {
        let start = Instant::now();
        while self.files() != expected {
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", self.files());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A kernel of 1 MiB.
fn kernel(release: u8) -> Vec<u8> {
    pages(256, release)
}

/// A kernel of 32 MiB: more than the buffers between a server and a client hold.
fn large_kernel(release: u8) -> Vec<u8> {
    pages(8192, release)
}

fn pages(count: u16, release: u8) -> Vec<u8> {
    let mut kernel = Vec::with_capacity(usize::from(count) * 4096);
    for page in 0..count {
        kernel.extend_from_slice(&[page.to_le_bytes()[0] ^ release; 4096]);
    }
    kernel
}

#[tokio::test]
async fn both_versions_are_served_until_nobody_uses_the_old_one() {
    let rolling = Rolling::start(&kernel(1)).await;
    let before = rolling.base().await;
    let old = rolling.image("worker-0").await;
    let after = rolling.roll(&kernel(2)).await;
    assert_ne!(before["identity"], after["identity"]);
    assert_eq!((&after["version"], &after["images"]), (&json!(2), &json!(0)));
    let replaced =
        json!([{"version": 1, "identity": before["identity"], "available": true, "images": 1, "transfers": 0}]);
    assert_eq!(after["replaced"], replaced);
    // The server is as ready as before.
    assert_eq!(Answer::of(rolling.dayone.get("/readyz")).await.ok()["problems"], json!([]));

    // The old image is what it was; a new order of the same host is another image.
    assert!(rolling.kernel_of(&old).await == kernel(1));
    let path = format!("/v1/images/{}", old["id"].as_str().unwrap());
    let shown = Answer::of(rolling.dayone.get(&path)).await.ok();
    assert_eq!((&shown["url"], &shown["etag"], &shown["available"]), (&old["url"], &old["etag"], &json!(true)));
    let new = rolling.image("worker-0").await;
    assert_ne!((&new["id"], &new["url"]), (&old["id"], &old["url"]));
    assert!(rolling.kernel_of(&new).await == kernel(2));

    // The same after a restart.
    let Rolling { dayone, source } = rolling;
    let rolling = Rolling { dayone: dayone.restart().await, source };
    assert_eq!(rolling.base().await["replaced"], replaced);
    assert!(rolling.kernel_of(&old).await == kernel(1) && rolling.kernel_of(&new).await == kernel(2));

    // No removal while either is used.
    let refusal = rolling.dayone.client.delete(rolling.dayone.url("/v1/bases/ramdisk"));
    let problem = Answer::of(refusal).await.problem("base-in-use");
    assert!(problem["detail"].as_str().unwrap().starts_with("2 published image(s)"), "{problem}");
    assert_eq!(rolling.files(), ["00000001.initrd", "00000001.kernel", "00000002.initrd", "00000002.kernel"]);
    rolling.delete(&old).await;
    rolling.until_files_are(&["00000002.initrd", "00000002.kernel"]).await;
    assert!(rolling.base().await.get("replaced").is_none());
    assert!(rolling.kernel_of(&new).await == kernel(2));
}

#[tokio::test]
async fn a_reader_of_the_old_version_reads_to_its_end() {
    let rolling = Rolling::start(&large_kernel(1)).await;
    let image = rolling.image("worker-0").await;
    let url = image["url"].as_str().unwrap().replace("initrd.img", "vmlinuz");
    let mut reading = rolling.dayone.client.get(url).send().await.unwrap();
    let mut read = reading.chunk().await.unwrap().unwrap().to_vec();
    assert_eq!(rolling.base().await["transfers"], 1);
    let base = rolling.roll(&large_kernel(2)).await;
    assert_eq!(base["replaced"][0]["transfers"], 1);

    // The image goes, but the file stays for the reader.
    rolling.delete(&image).await;
    let start = Instant::now();
    while !rolling.base().await["replaced"].is_null() {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(rolling.files().contains(&"00000001.kernel".to_owned()), "{:?}", rolling.files());
    while let Some(chunk) = reading.chunk().await.unwrap() {
        read.extend_from_slice(&chunk);
    }
    assert!(Digest::of(&read) == Digest::of(&large_kernel(1)), "{} bytes", read.len());
    rolling.until_files_are(&["00000002.initrd", "00000002.kernel"]).await;
}

#[tokio::test]
async fn orders_during_a_change_do_not_fail() {
    // Large, so that much of a change is reading it.
    let rolling = Rolling::start(&large_kernel(1)).await;
    let changing = async {
        for release in 2..5 {
            rolling.roll(&large_kernel(release)).await;
        }
    };
    tokio::pin!(changing);
    let mut made = 0;
    loop {
        let host = format!("worker-{}", made % 50);
        tokio::select! {
            () = &mut changing => break,
            image = rolling.image(&host) => {
                assert!(image["url"].is_string(), "{image}");
                made += 1;
                tokio::time::sleep(Duration::from_millis(60)).await;
            }
        }
    }
    assert!(made > 0);
    let base = rolling.base().await;
    let replaced = base["replaced"].as_array().map_or(0, Vec::len);
    let used: u64 =
        base["replaced"].as_array().into_iter().flatten().map(|version| version["images"].as_u64().unwrap()).sum();
    assert!(used + base["images"].as_u64().unwrap() > 0 && replaced <= 3, "{base}");
}

#[tokio::test]
async fn a_base_that_comes_back_is_listed_once() {
    let rolling = Rolling::start(&kernel(1)).await;
    let before = rolling.base().await;
    let image = rolling.image("worker-0").await;
    rolling.roll(&kernel(2)).await;
    let after = rolling.roll(&kernel(1)).await;
    assert_eq!((&after["identity"], &after["version"]), (&before["identity"], &json!(3)));
    assert_eq!(after["images"], 1);
    let mut replaced = after["replaced"].as_array().into_iter().flatten();
    assert!(replaced.all(|earlier| earlier["identity"] != before["identity"]), "{after}");
    // The earlier copy is not needed any more.
    rolling.until_files_are(&["00000003.initrd", "00000003.kernel"]).await;
    assert!(rolling.base().await.get("replaced").is_none());
    assert!(rolling.kernel_of(&image).await == kernel(1));
    let metrics = String::from_utf8(Answer::of(rolling.dayone.get("/metrics")).await.body).unwrap();
    assert!(metrics.contains("dayone_base_changes_total{base=\"ramdisk\"} 2\n"), "{metrics}");
}

#[tokio::test]
async fn an_unchanged_base_is_no_new_version() {
    let rolling = Rolling::start(&kernel(1)).await;
    let before = rolling.base().await;
    let after = rolling.roll(&kernel(1)).await;
    assert_eq!((&before["version"], &before["identity"]), (&after["version"], &after["identity"]));
    assert!(after["replaced"].is_null(), "{after}");
    rolling.until_files_are(&["00000001.initrd", "00000001.kernel"]).await;
    // Documents without a base of that name are unaffected.
    Answer::of(rolling.dayone.post("/v1/images?base=coreos", NMSTATE)).await.ok();
}
