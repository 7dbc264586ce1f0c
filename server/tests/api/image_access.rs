//! Images that are ordered with limits on the access to them, over both planes.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use dayone::boots::{BootOnlyFrom, BootSettings};
use dayone::services::Config;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::boots::host;
use super::support::{Answer, Dayone, NMSTATE, Place, bare_metal_host};

const ORDER: &str = "/v1/images?base=coreos";

async fn status(dayone: &Dayone, method: Method, url: &Value, range: Option<&str>) -> StatusCode {
    let mut request = dayone.client.request(method, url.as_str().unwrap());
    if let Some(range) = range {
        request = request.header("range", format!("bytes={range}"));
    }
    Answer::of(request).await.status
}

fn only_from(image: &Value) -> &Value {
    &image["access"]["only_from"]
}

#[tokio::test]
async fn an_order_with_limits_is_the_same_image() {
    let dayone = Dayone::start().await;
    let plain = Answer::of(dayone.post(ORDER, NMSTATE)).await.ok();
    assert!(plain.get("access").is_none());
    let query = format!("{ORDER}&ttl=3600&max_reads=2&only_from=127.0.0.0/8&only_from=2001:db8::7");
    let (ttl, networks) = (3600, ["127.0.0.0/8", "2001:db8::7/128"]);
    let order = json!({"base": "coreos", "documents": NMSTATE, "ttl": ttl, "max_reads": 2, "only_from": networks});
    for request in [dayone.post(&query, NMSTATE), dayone.post_json("/v1/images", &order)] {
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 200);
        let image = answer.ok();
        for same in ["id", "url", "etag", "created", "size"] {
            assert_eq!(image[same], plain[same], "{same}");
        }
        assert_eq!((&image["access"]["max_reads"], only_from(&image)), (&json!(2), &json!(networks)));
        assert!(image["access"]["ends"].as_str().unwrap() > image["created"].as_str().unwrap());
        assert_eq!(image["files"]["boot.iso"]["reads"], 0);
        let listed = Answer::of(dayone.get("/v1/images")).await.ok();
        assert_eq!(listed["images"][0]["access"], image["access"]);
    }
    // Who orders it without limits, lifts them.
    assert!(Answer::of(dayone.post(ORDER, NMSTATE)).await.ok().get("access").is_none());
    assert_eq!(dayone.place.records().len(), 1);
}

#[tokio::test]
async fn other_clients_get_no_file_of_the_image() {
    let dayone = Dayone::start().await;
    let query = "/v1/images?base=coreos&format=initrd";
    let image = Answer::of(dayone.post(&format!("{query}&only_from=192.0.2.0/24"), NMSTATE)).await.ok();
    let mut urls: Vec<Value> = image["files"].as_object().unwrap().values().map(|file| file["url"].clone()).collect();
    urls.push(image["ipxe"].clone());
    assert_eq!(urls.len(), 4);
    for url in &urls {
        for (method, range) in [(Method::GET, None), (Method::HEAD, None), (Method::GET, Some("0-9"))] {
            assert_eq!(status(&dayone, method, url, range).await, 403, "{url}");
        }
    }
    let metrics = String::from_utf8(Answer::of(dayone.get("/metrics")).await.body).unwrap();
    let refused = "dayone_media_refused_requests_total{reason=\"address\"} 12";
    assert!(metrics.lines().any(|line| line == refused), "{metrics}");

    let dayone = dayone.restart().await;
    assert_eq!(status(&dayone, Method::GET, &urls[0], None).await, 403);
    Answer::of(dayone.post(&format!("{query}&only_from=127.0.0.1"), NMSTATE)).await.ok();
    for url in &urls {
        assert_eq!(status(&dayone, Method::GET, url, None).await, 200, "{url}");
    }
}

#[tokio::test]
async fn an_image_is_gone_when_its_time_is_over() {
    let dayone = Dayone::start().await;
    let ordered = Instant::now();
    let image = Answer::of(dayone.post(&format!("{ORDER}&ttl=2"), NMSTATE)).await.ok();
    while status(&dayone, Method::GET, &image["url"], Some("0-9")).await == 206 {
        assert!(ordered.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(ordered.elapsed() >= Duration::from_millis(1990), "{:?}", ordered.elapsed());
    for (method, range) in [(Method::GET, None), (Method::HEAD, None), (Method::GET, Some("0-9"))] {
        assert_eq!(status(&dayone, method, &image["url"], range).await, 404);
    }
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    Answer::of(dayone.get(&path)).await.problem("not-found");
    assert_eq!(Answer::of(dayone.get("/v1/images")).await.ok()["images"], json!([]));
    while !dayone.place.records().is_empty() {
        assert!(ordered.elapsed() < Duration::from_secs(20), "the record stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(Answer::of(dayone.post(&format!("{ORDER}&ttl=60"), NMSTATE)).await.status, 201);
}

#[tokio::test]
async fn a_restart_in_the_middle_of_a_reading_forgets_nothing() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post(&format!("{ORDER}&max_reads=1"), NMSTATE)).await.ok();
    let (url, size) = (&image["url"], image["size"].as_u64().unwrap());
    let half = size / 2;
    assert_eq!(status(&dayone, Method::GET, url, Some(&format!("0-{}", half - 1))).await, 206);
    let dayone = dayone.restart().await;
    assert_eq!(status(&dayone, Method::HEAD, url, None).await, 200);
    assert_eq!(status(&dayone, Method::GET, url, Some(&format!("{half}-"))).await, 206);
    assert_eq!(status(&dayone, Method::GET, url, Some("0-0")).await, 403);
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    assert_eq!(Answer::of(dayone.get(&path)).await.ok()["files"]["boot.iso"]["reads"], 1);
    let dayone = dayone.restart().await;
    assert_eq!(status(&dayone, Method::HEAD, url, None).await, 403);
}

#[tokio::test]
async fn limits_that_are_not_valid_are_named() {
    let dayone = Dayone::start().await;
    let query = [
        ("ttl=0", "1 to 315360000"),
        ("ttl=1h", "whole seconds"),
        ("max_reads=0", "max_reads"),
        ("max_reads=-1", "max_reads"),
        ("only_from=here", "\"here\""),
        ("only_from=192.0.2.0/33", "192.0.2.0/33"),
        ("ttl=1&ttl=2", "twice"),
    ];
    for (limit, reason) in query {
        let problem = Answer::of(dayone.post(&format!("{ORDER}&{limit}"), NMSTATE)).await.problem("wrong-parameter");
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{limit}: {problem}");
    }
    for (member, value, reason) in [
        ("ttl", json!(0), "1 to 315360000"),
        ("ttl", json!(-1), "1 to 315360000"),
        ("ttl", json!("1h"), "1 to 315360000"),
        ("max_reads", json!(0), "1 to 4294967295"),
        ("only_from", json!([]), ""),
        ("only_from", json!(["x"]), ""),
    ] {
        let mut order = json!({"base": "coreos", "documents": NMSTATE});
        order[member] = value;
        let problem = Answer::of(dayone.post_json("/v1/images", &order)).await.problem("malformed-request");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(member) && detail.contains(reason), "{problem}");
    }
    let stream = dayone.post(&format!("{ORDER}&ttl=60"), NMSTATE).header("accept", "application/octet-stream");
    let problem = Answer::of(stream).await.problem("wrong-parameter");
    assert!(problem["detail"].as_str().unwrap().contains("stores"), "{problem}");
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn limits_of_an_order_for_all_hosts_are_those_of_each_image() {
    let dayone = Dayone::start().await;
    let documents = format!("{}---\n{}", bare_metal_host("worker-0"), bare_metal_host("worker-1"));
    let answer = Answer::of(dayone.post(&format!("{ORDER}&hosts=all&max_reads=3"), documents)).await;
    assert_eq!(answer.status, 207);
    for host in answer.ok()["hosts"].as_array().unwrap() {
        assert_eq!(host["image"]["access"], json!({"max_reads": 3}));
    }
}

async fn image_of(dayone: &Dayone, boots: &Value) -> Value {
    let id = boots["boots"][0]["image"].as_str().unwrap();
    Answer::of(dayone.get(&format!("/v1/images/{id}"))).await.ok()
}

#[tokio::test]
async fn boots_limit_their_images_and_the_server_may_serve_only_the_bmc() {
    let place = Place::new();
    let boots = BootSettings { only_from: BootOnlyFrom::Bmc, ..BootSettings::default() };
    let mut config = Config { boots, ..place.config() };
    place.add_packed(&mut config);
    let dayone = Dayone::start_with(place, config).await;
    let post = async |query: &str, bmc: &str| {
        let base = if query.contains("minimal") { "packed" } else { "coreos" };
        let path = format!("/v1/boots?base={base}&{query}");
        Answer::of(dayone.post(&path, host("worker-0", bmc))).await
    };
    let forget = async |boots: &Value| {
        let url = dayone.url(&format!("/v1/boots/{}?forget=true", boots["boots"][0]["id"].as_str().unwrap()));
        assert_eq!(dayone.client.delete(url).send().await.unwrap().status(), 204);
    };
    // Nothing listens there, and no answer is needed.
    let bmc = "redfish-virtualmedia+http://127.0.0.77:9/redfish/v1/Systems/1";
    let begun = post("ttl=600", bmc).await.ok();
    let image = image_of(&dayone, &begun).await;
    assert_eq!(only_from(&image), &json!(["127.0.0.77/32"]));
    assert!(image["access"]["ends"].is_string());
    assert_eq!(status(&dayone, Method::GET, &image["url"], None).await, 403);

    // While a boot needs the image, another boot from it takes nothing away from it.
    let other = post("", "redfish-virtualmedia+http://127.0.0.78:9/redfish/v1/Systems/1").await.ok();
    assert_eq!(only_from(&image_of(&dayone, &other).await), &json!(["127.0.0.78/32", "127.0.0.77/32"]));
    forget(&begun).await;
    forget(&other).await;
    let begun = post("only_from=192.0.2.0/24", bmc).await.ok();
    assert_eq!(only_from(&image_of(&dayone, &begun).await), &json!(["192.0.2.0/24"]), "the request has its own");
    forget(&begun).await;

    // A host that fetches its root file system comes with its own address.
    let begun = post("format=minimal-iso", bmc).await.ok();
    assert_eq!(only_from(&image_of(&dayone, &begun).await), &json!(["127.0.0.77/32", "192.0.2.20/32"]));
    forget(&begun).await;

    let problem =
        post("", "redfish-virtualmedia+http://bmc.invalid:9/redfish/v1/Systems/1").await.problem("bmc-refused");
    assert!(problem["detail"].as_str().unwrap().contains("only_from"), "{problem}");
    let id = image["id"].as_str().unwrap();
    let existing = dayone.post(&format!("/v1/boots?image={id}&ttl=5"), host("worker-0", bmc));
    Answer::of(existing).await.problem("wrong-parameter");
}

/// The clients of a family read the images if the media URL has an address of that family.
#[tokio::test]
async fn only_clients_of_the_media_urls_family_count() {
    let (over_ipv4, over_ipv6) = ("redfish+http://127.0.0.77:9", "redfish+http://[2001:db8::77]:9");
    let through_nat64 = "redfish+http://[64:ff9b::7f00:4d]:9";
    for (media_url, bmc, expected) in [
        ("http://198.51.100.5:8081", over_ipv4, Ok(vec!["127.0.0.77/32", "192.0.2.20/32"])),
        ("http://198.51.100.5:8081", through_nat64, Ok(vec!["127.0.0.77/32", "192.0.2.20/32"])),
        ("http://198.51.100.5:8081", over_ipv6, Err(("bmc-refused", "an IPv4 address to read from 198.51.100.5"))),
        ("http://[2001:db8::5]:8081", over_ipv4, Err(("bmc-refused", "an IPv6 address to read from 2001:db8::5"))),
        ("http://[2001:db8::5]:8081", over_ipv6, Err(("image-refused", "it has no static IPv6 address"))),
        ("http://boot.example.com", over_ipv6, Ok(vec!["2001:db8::77/128", "192.0.2.20/32"])),
    ] {
        let place = Place::new();
        let boots = BootSettings { only_from: BootOnlyFrom::Bmc, ..BootSettings::default() };
        let mut config = Config { boots, media_url: Some(media_url.parse().unwrap()), ..place.config() };
        place.add_packed(&mut config);
        let dayone = Dayone::start_with(place, config).await;
        let order = dayone.post("/v1/boots?base=packed&format=minimal-iso", host("worker-0", bmc));
        let answer = Answer::of(order).await;
        match expected {
            Ok(networks) => {
                assert_eq!(only_from(&image_of(&dayone, &answer.ok()).await), &json!(networks), "{media_url} {bmc}");
            }
            Err((kind, reason)) => {
                let problem = answer.problem(kind);
                assert!(problem["detail"].as_str().unwrap().contains(reason), "{media_url} {bmc}: {problem}");
            }
        }
    }
}

#[tokio::test]
async fn the_command_line_orders_limits() {
    let dayone = Dayone::start().await;
    let documents = dayone.place.path("host.yaml");
    fs::write(&documents, host("worker-0", "redfish-virtualmedia+http://127.0.0.77:9/redfish/v1/Systems/1")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
    command.arg("boot").arg(documents).args(["--base", "coreos", "--server", &dayone.url("")]);
    command.args(["--ttl", "600", "--max-reads", "2", "--only-from", "192.0.2.0/24,2001:db8::7"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let boots = Answer::of(dayone.get("/v1/boots")).await.ok();
    let image = image_of(&dayone, &boots).await;
    assert_eq!(
        (&image["access"]["max_reads"], only_from(&image)),
        (&json!(2), &json!(["192.0.2.0/24", "2001:db8::7/128"]))
    );
    assert!(image["access"]["ends"].is_string());
}
