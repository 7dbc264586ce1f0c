//! `GET /v1/images/{id}/reading`

use reqwest::header::{RANGE, USER_AGENT};
use serde_json::{Value, json};

use super::support::{Answer, Dayone, NMSTATE};

async fn reading(service: &Dayone, id: &Value) -> Value {
    Answer::of(service.get(&format!("/v1/images/{}/reading", id.as_str().unwrap()))).await.ok()
}

fn content<'a>(reading: &'a Value, name: &str) -> &'a Value {
    let contents = reading["contents"].as_array().unwrap();
    contents.iter().find(|content| content["name"] == name).unwrap_or_else(|| panic!("no {name}: {reading:#}"))
}

#[tokio::test]
async fn reading_lists_the_files_of_the_image() {
    let service = Dayone::start().await;
    let image = Answer::of(service.post("/v1/images?base=coreos&format=iso", NMSTATE)).await.json();
    let (id, url) = (&image["id"], image["url"].as_str().unwrap());
    let before = reading(&service, id).await;
    assert_eq!((&before["summary"], &before["sent"]), (&json!("not requested yet"), &json!(0)));
    assert_eq!((&before["contents"], &before["files"]), (&json!([]), &json!([])));

    let bmc = reqwest::Client::new();
    let size = bmc.head(url).header(USER_AGENT, "bmc/1").send().await.unwrap().headers()["content-length"].clone();
    let asked = reading(&service, id).await;
    assert_eq!(asked["summary"], "requested, nothing read yet");
    let [kernel, initrd] = ["vmlinuz", "initrd.img"].map(|name| {
        let content = content(&asked, &format!("/images/pxeboot/{name}"));
        assert_eq!((&content["read"], &content["percent"]), (&json!(0), &json!(0)));
        content["size"].as_u64().unwrap()
    });

    // As firmware does: a few sectors, the kernel and the first half of the initramfs, block by block.
    let volume = bmc.get(url).send().await.unwrap().bytes().await.unwrap();
    let at = |path: &str| {
        let volume = volume.to_vec();
        let iso = imagelib::iso::Volume::open(&volume).unwrap();
        iso.find(&volume, path).unwrap().unwrap().extents[0].offset
    };
    let (service, bmc) = (service.restart().await, reqwest::Client::new());
    let (kernel_at, initrd_at) = (at("/images/pxeboot/vmlinuz"), at("/images/pxeboot/initrd.img"));
    assert_eq!(reading(&service, id).await["summary"], "not requested yet", "a restart forgets");
    let mut blocks = vec![0..2048, 0x8000..0x8800];
    let mut block = 4096;
    while block < kernel + 4096 {
        blocks.push(kernel_at + block - 4096..kernel_at + kernel.min(block));
        block += 4096;
    }
    blocks.push(initrd_at..initrd_at + initrd / 2);
    for range in blocks.iter().filter(|range| !range.is_empty()) {
        let range = format!("bytes={}-{}", range.start, range.end - 1);
        let answer = bmc.get(url).header(RANGE, range).header(USER_AGENT, "bmc/2").send().await.unwrap();
        assert_eq!(answer.status(), 206);
        answer.bytes().await.unwrap();
    }
    let read = reading(&service, id).await;
    let summary = read["summary"].as_str().unwrap();
    let half = initrd / 2 * 100 / initrd;
    assert!(summary.starts_with(&format!("kernel read, initrd {half} %, ")), "{summary}");
    assert_eq!(content(&read, "/images/pxeboot/vmlinuz")["percent"], 100);
    assert_eq!(content(&read, "/images/pxeboot/initrd.img")["read"], initrd / 2);
    assert_eq!(content(&read, "volume descriptors")["structure"], true);
    let total: u64 = blocks.iter().map(|range| range.end - range.start).sum();
    let [file] = read["files"].as_array().unwrap().as_slice() else { panic!("{read:#}") };
    assert_eq!((&file["name"], &file["sent"], &file["read"]), (&json!("boot.iso"), &json!(total), &json!(total)));
    assert_eq!(file["size"].to_string(), size.to_str().unwrap());
    let [client] = file["clients"].as_array().unwrap().as_slice() else { panic!("{file:#}") };
    assert_eq!((&client["address"], &client["user_agent"]), (&json!("127.0.0.1"), &json!("bmc/2")));
    assert_eq!((&client["gets"], &client["heads"]), (&client["range_requests"], &json!(0)));
    assert!(!serde_json::to_string(&read).unwrap().contains(url.rsplit('/').nth(1).unwrap()), "no token");
}

#[tokio::test]
async fn reading_lists_files_for_network_boot() {
    let service = Dayone::start().await;
    let image = Answer::of(service.post("/v1/images?base=ipa&format=initrd", NMSTATE)).await.json();
    let url = image["files"]["initrd.img"]["url"].as_str().unwrap();
    reqwest::get(url).await.unwrap().bytes().await.unwrap();
    reqwest::get(image["ipxe"].as_str().unwrap()).await.unwrap().bytes().await.unwrap();
    let read = reading(&service, &image["id"]).await;
    assert!(read["summary"].as_str().unwrap().starts_with("initrd read, "), "{}", read["summary"]);
    for name in ["the base's initrd", "the archive behind it", "boot.ipxe"] {
        assert_eq!(content(&read, name)["percent"], 100, "{name}");
    }
    assert_eq!(read["files"].as_array().unwrap().len(), 2, "nobody asked for the kernel");
    assert!(read.get("stalled_seconds").is_none());
}

#[tokio::test]
async fn reading_of_an_unknown_image_is_not_found() {
    let service = Dayone::start().await;
    let path = format!("/v1/images/{}/reading", "0".repeat(64));
    Answer::of(service.get(&path)).await.problem("not-found");
}
