//! An image's life: made, found, fetched, deleted.

use base64::prelude::*;
use dayone::services::Config;
use serde_json::{Value, json};

use super::support::{Answer, Dayone, NMSTATE, Place, bare_metal_host};

const ORDER: &str = "/v1/images?base=coreos&hostname=worker-0";

#[tokio::test]
async fn a_repeated_request_finds_the_image() {
    let dayone = Dayone::start().await;
    let created = Answer::of(dayone.post(ORDER, NMSTATE)).await;
    assert_eq!(created.status, 201);
    let image = created.ok();
    let id = image["id"].as_str().unwrap();
    assert_eq!(created.header("location"), format!("/v1/images/{id}"));
    assert_eq!(
        (&image["base"], &image["format"], &image["label"]),
        (&json!("coreos"), &json!("iso"), &json!("worker-0"))
    );
    assert_eq!(image["url"], image["files"]["boot.iso"]["url"]);
    assert!(image["url"].as_str().unwrap().starts_with(&format!("{}/i/", dayone.server.media_url())));

    let again = Answer::of(dayone.post(ORDER, NMSTATE)).await;
    assert_eq!((again.status.as_u16(), again.header("location")), (200, created.header("location")));
    assert_eq!(again.ok(), image);
    let shown = Answer::of(dayone.get(created.header("location"))).await.ok();
    assert_eq!(shown, image);

    let other = Answer::of(dayone.post("/v1/images?base=coreos&hostname=worker-1", NMSTATE)).await;
    assert_eq!(other.status, 201);
    assert_ne!(other.ok()["url"], image["url"]);
}

#[tokio::test]
async fn the_bmc_gets_the_promised_bytes() {
    let dayone = Dayone::start().await;
    for order in [ORDER, "/v1/images?base=coreos&format=initrd", "/v1/images?base=ipa&format=initrd"] {
        let image = Answer::of(dayone.post(order, NMSTATE)).await.ok();
        let media = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
        assert_eq!(media.status, 200);
        assert_eq!(media.header("etag"), image["etag"]);
        assert_eq!(media.body.len() as u64, image["size"].as_u64().unwrap());

        let streamed = Answer::of(dayone.post(order, NMSTATE).header("accept", "application/octet-stream")).await;
        assert_eq!(streamed.status, 200);
        assert!(streamed.body == media.body, "the streamed image is another one");
        assert_eq!(streamed.header("etag"), media.header("etag"));
        assert_eq!(streamed.header("content-length"), media.body.len().to_string());
        let name = image["url"].as_str().unwrap().rsplit('/').next().unwrap();
        assert_eq!(streamed.header("content-disposition"), format!("attachment; filename=\"{name}\""));

        for (file, entry) in image["files"].as_object().unwrap() {
            let bytes = Answer::of(dayone.client.get(entry["url"].as_str().unwrap())).await;
            let digest = format!("/v1/images/{}/sha256?file={file}", image["id"].as_str().unwrap());
            let text = Answer::of(dayone.get(&digest)).await;
            let sha256 = imagelib::digest::Digest::of(&bytes.body).to_string();
            assert_eq!(String::from_utf8(text.body).unwrap(), format!("{sha256}  {file}\n"));
            let json = Answer::of(dayone.get(&digest).header("accept", "application/json")).await.ok();
            assert_eq!(json, json!({"file": file, "size": bytes.body.len(), "sha256": sha256}));
        }
    }
}

/// For a slow digest, see the acceptance tests: a base on a file system that hangs.
#[tokio::test]
async fn a_quick_digest_is_answered_at_once_even_if_the_client_accepts_202() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE)).await.ok();
    let path = format!("/v1/images/{}/sha256", image["id"].as_str().unwrap());
    let ask = || Answer::of(dayone.get(&path).header("prefer", "respond-async, wait=20"));
    // Two requests at the same time share one computation.
    let (one, another) = tokio::join!(ask(), ask());
    let media = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
    let expected = format!("{}  boot.iso\n", imagelib::digest::Digest::of(&media.body));
    for answer in [one, another, Answer::of(dayone.get(&path).header("prefer", "respond-async")).await] {
        assert_eq!((answer.status.as_u16(), String::from_utf8(answer.body).unwrap()), (200, expected.clone()));
    }
}

#[tokio::test]
async fn firmware_learns_from_the_media_type_what_to_boot() {
    let dayone = Dayone::start().await;
    for (format, file, media_type) in [
        ("iso", "boot.iso", "application/vnd.efi-iso"),
        ("usb", "boot.img", "application/vnd.efi-img"),
        ("initrd", "rootfs.img", "application/octet-stream"),
        ("initrd", "initrd.img", "application/octet-stream"),
    ] {
        let order = format!("/v1/images?base=coreos&format={format}");
        let image = Answer::of(dayone.post(&order, NMSTATE)).await.ok();
        let url = image["files"][file]["url"].as_str().unwrap_or_else(|| panic!("{image:#}"));
        let head = Answer::of(dayone.client.head(url)).await;
        assert_eq!((head.status.as_u16(), head.header("content-type")), (200, media_type), "{format} {file}");
    }
}

#[tokio::test]
async fn a_streamed_image_is_not_stored() {
    let dayone = Dayone::start().await;
    let streamed = Answer::of(dayone.post(ORDER, NMSTATE).header("accept", "application/octet-stream")).await;
    assert_eq!((streamed.status.as_u16(), streamed.header("location")), (200, ""));
    assert!(dayone.place.records().is_empty());
    assert_eq!(Answer::of(dayone.get("/v1/images")).await.ok()["images"], json!([]));
}

#[tokio::test]
async fn images_and_their_urls_survive_a_restart() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post(ORDER, bare_metal_host("worker-0"))).await.ok();
    let url = image["url"].as_str().unwrap().to_owned();
    let before = Answer::of(dayone.client.get(&url)).await;
    let dayone = dayone.restart().await;
    let after = Answer::of(dayone.client.get(&url)).await;
    assert_eq!(after.status, 200);
    assert!(after.body == before.body);
    for header in ["etag", "last-modified"] {
        assert_eq!(after.header(header), before.header(header));
    }
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    assert_eq!(Answer::of(dayone.get(&path)).await.ok(), image);
    assert_eq!(Answer::of(dayone.post(ORDER, bare_metal_host("worker-0"))).await.status, 200);
}

#[tokio::test]
async fn a_deleted_image_is_gone() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post(ORDER, NMSTATE)).await.ok();
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    assert_eq!(Answer::of(dayone.client.delete(dayone.url(&path))).await.status, 204);
    assert_eq!(Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await.status, 404);
    Answer::of(dayone.client.delete(dayone.url(&path))).await.problem("not-found");
    for path in [path.clone(), format!("{path}/files"), format!("{path}/sha256"), "/v1/images/x".to_owned()] {
        let answer = Answer::of(dayone.get(&path)).await;
        answer.problem("not-found");
    }
    let again = Answer::of(dayone.post(ORDER, NMSTATE)).await;
    assert_eq!((again.status.as_u16(), &again.ok()["url"]), (201, &image["url"]));
}

#[tokio::test]
async fn lists_come_in_pages_and_without_urls() {
    let dayone = Dayone::start().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let order = format!("/v1/images?base=coreos&hostname=worker-{number}");
        ids.push(Answer::of(dayone.post(&order, NMSTATE)).await.ok()["id"].clone());
    }
    ids.sort_by_key(Value::to_string);
    let (mut seen, mut path) = (Vec::new(), "/v1/images?limit=2".to_owned());
    loop {
        let page = Answer::of(dayone.get(&path)).await;
        assert!(!String::from_utf8_lossy(&page.body).contains("/i/"));
        let page = page.ok();
        let images = page["images"].as_array().unwrap();
        assert!((1..=2).contains(&images.len()));
        seen.extend(images.iter().map(|image| image["id"].clone()));
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/images?limit=2&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ids);
    assert_eq!(Answer::of(dayone.get("/v1/images")).await.ok()["images"].as_array().unwrap().len(), 5);
    for wrong in ["limit=0", "limit=1001", "limit=x", "after=x", "page=2", "limit=1&limit=2"] {
        let answer = Answer::of(dayone.get(&format!("/v1/images?{wrong}"))).await;
        assert_eq!(answer.status, 400);
        answer.problem("wrong-parameter");
    }
}

#[tokio::test]
async fn embedded_files_are_listed_by_digest_only() {
    let dayone = Dayone::start().await;
    let order = json!({"base": "coreos", "documents": NMSTATE, "hostname": "worker-0",
        "files": [{"path": "/etc/secret", "contents": "aHVudGVyMg=="}]});
    let image = Answer::of(dayone.post_json("/v1/images", &order)).await.ok();
    let answer = Answer::of(dayone.get(&format!("/v1/images/{}/files", image["id"].as_str().unwrap()))).await;
    let files = answer.ok();
    let files = files["files"].as_array().unwrap();
    let find =
        |path: &str| files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path}: {files:?}"));
    let keyfile = find("/etc/coreos-firstboot-network/eth0.nmconnection");
    assert_eq!((&keyfile["mode"], &keyfile["delivered_by"]), (&json!("0600"), &json!("initramfs")));
    let secret = find("/etc/secret");
    assert_eq!(secret["sha256"], imagelib::digest::Digest::of(b"hunter2").to_string());
    assert_eq!((&secret["size"], &secret["delivered_by"]), (&json!(7), &json!("ignition")));
    assert!(!String::from_utf8_lossy(&answer.body).contains("hunter2"));

    let wrong = format!("/v1/images/{}/sha256?file=rootfs.img", image["id"].as_str().unwrap());
    let problem = Answer::of(dayone.get(&wrong)).await.problem("not-found");
    assert!(problem["detail"].as_str().unwrap().contains("boot.iso"), "{problem}");
}

#[tokio::test]
async fn the_same_content_in_another_order_is_the_same_image() {
    let dayone = Dayone::start().await;
    let (a, b) = (json!({"path": "/etc/a", "contents": "YQ=="}), json!({"path": "/etc/b", "contents": "Yg=="}));
    let key = |byte: u8| {
        let blob = [&[0, 0, 0, 11], &b"ssh-ed25519"[..], &[0, 0, 0, 32], &[byte; 32]].concat();
        json!(format!("ssh-ed25519 {} {byte}", BASE64_STANDARD.encode(&blob)))
    };
    let units = [json!({"name": "a.service", "enabled": true}), json!({"name": "b.service", "enabled": true})];
    let order = |files: &[&Value], keys: &[u8], units: &[Value], ignition: &str| {
        let keys: Vec<Value> = keys.iter().map(|byte| key(*byte)).collect();
        let ignition: Value = serde_json::from_str(ignition).unwrap();
        json!({"base": "coreos", "documents": NMSTATE, "files": files, "ssh_authorized_keys": keys, "units": units,
               "ignition": ignition})
    };
    let (one, other) = (
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/x"}, {"path": "/etc/y", "mode": 384}]}}"#,
        r#"{"storage": {"files": [{"mode": 384, "path": "/etc/y"}, {"path": "/etc/x"}]}, "ignition": {"version": "3.2.0"}}"#,
    );
    let first = Answer::of(dayone.post_json("/v1/images", &order(&[&a, &b], &[1, 2], &units, one))).await;
    assert_eq!(first.status, 201);
    let [x, y] = units.clone();
    let again = Answer::of(dayone.post_json("/v1/images", &order(&[&b, &a], &[2, 1, 2], &[y, x], other))).await;
    assert_eq!(again.status, 200);
    assert_eq!(first.ok(), again.ok());
}

/// The host has the network 192.0.2.0/24 and no route.
#[tokio::test]
async fn a_media_url_that_the_host_does_not_reach_is_warned_of() {
    let own_url = "&karg_append=coreos.live.rootfs_url=http://192.0.2.6/rootfs.img";
    for (media_url, more, expected) in [
        ("http://192.0.2.5:8081", "", false),
        ("http://[::ffff:192.0.2.5]:8081", "", false),
        ("http://boot.example.com", "", false),
        ("http://198.51.100.5:8081", "", true),
        ("http://[2001:db8::5]:8081", "", true),
        ("http://198.51.100.5:8081", "&rootfs_url=http://192.0.2.6/rootfs.img", false),
        ("http://198.51.100.5:8081", own_url, false),
    ] {
        let place = Place::new();
        let mut config = Config { media_url: Some(media_url.parse().unwrap()), ..place.config() };
        place.add_packed(&mut config);
        let dayone = Dayone::start_with(place, config).await;
        let order = dayone.post(&format!("/v1/images?base=packed&format=minimal-iso{more}"), NMSTATE);
        let image = Answer::of(order).await.ok();
        let findings = image["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_warned_of = findings.iter().any(|finding| finding["code"] == "root-server-unreachable");
        assert_eq!(is_warned_of, expected, "{media_url} {more}: {image}");
    }
}
