//! `POST /v1/images?hosts=all`: one request, an answer for each host.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use base64::prelude::*;
use serde_json::{Value, json};

use super::support::{Answer, Dayone, NMSTATE, bare_metal_host, tamper};

const ORDER: &str = "/v1/images?base=coreos&hosts=all";

/// A fleet with a table of this many hosts, each with an address of its own.
fn fleet(hosts: usize) -> String {
    let mut text = "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {name: racks}\nspec:\n  template:\n    network:\n      \
                    interfaces:\n      - {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: '${address}', \
                    prefix-length: 16}]}}\n  hosts:\n    csv: |\n      name,address\n"
        .to_owned();
    for number in 0..hosts {
        writeln!(text, "      worker-{number},10.0.{}.{}", number / 250, number % 250 + 1).unwrap();
    }
    text
}

fn by_host(answer: &Value) -> Vec<(&str, u64)> {
    let hosts = answer["hosts"].as_array().unwrap().iter();
    hosts.map(|host| (host["host"].as_str().unwrap_or_default(), host["status"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn each_host_gets_the_image_that_it_gets_alone() {
    let dayone = Dayone::start().await;
    let documents = [0, 1, 2].map(|number| bare_metal_host(&format!("worker-{number}"))).join("---\n");
    let alone = Answer::of(dayone.post("/v1/images?base=coreos", bare_metal_host("worker-1"))).await.ok();

    let answer = Answer::of(dayone.post(ORDER, &*documents)).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (207, "application/json"));
    let all = answer.ok();
    assert_eq!(by_host(&all), [("worker-0", 201), ("worker-1", 200), ("worker-2", 201)]);
    assert_eq!((&all["failed"], &all["findings"]), (&json!(0), &json!([])));
    assert_eq!(all["hosts"][1]["image"], alone, "with its URLs");
    assert_eq!(dayone.place.records().len(), 3);
    for host in all["hosts"].as_array().unwrap() {
        let image = &host["image"];
        assert_eq!((&image["label"], host.get("problem")), (&host["host"], None));
        let shown = Answer::of(dayone.get(&format!("/v1/images/{}", image["id"].as_str().unwrap()))).await.ok();
        assert_eq!(&shown, image);
        let bytes = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
        assert_eq!((bytes.status.as_u16(), bytes.body.len() as u64), (200, image["size"].as_u64().unwrap()));
    }

    let again = Answer::of(dayone.post(ORDER, &*documents)).await.ok();
    assert_eq!(by_host(&again), [("worker-0", 200), ("worker-1", 200), ("worker-2", 200)]);
    let request = json!({"base": "coreos", "documents": documents, "hosts": "all"});
    assert_eq!(Answer::of(dayone.post_json("/v1/images", &request)).await.ok(), again);
    let kept: Vec<Value> = again["hosts"].as_array().unwrap().iter().map(|host| host["image"].clone()).collect();

    let dayone = dayone.restart().await;
    for image in kept {
        let shown = Answer::of(dayone.get(&format!("/v1/images/{}", image["id"].as_str().unwrap()))).await.ok();
        assert_eq!((&shown["url"], &shown["etag"]), (&image["url"], &image["etag"]));
    }
}

#[tokio::test]
async fn errors_of_one_host_leave_the_others_their_images() {
    let dayone = Dayone::start().await;
    let wrong = bare_metal_host("worker-3").replace("192.0.2.23", "192.0.2.300");
    let twin = bare_metal_host("worker-4").replace("192.0.2.24", "192.0.2.20");
    let secretless = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: worker-5}\n\
                      spec: {preprovisioningNetworkDataName: nowhere}\n";
    let good = [0, 1, 2].map(|number| bare_metal_host(&format!("worker-{number}"))).join("---\n");
    let all = Answer::of(dayone.post(ORDER, [&*good, &wrong, &twin, secretless].join("---\n"))).await;
    assert_eq!(all.status, 207);
    let all = all.ok();
    let expected = [
        ("worker-0", 422),
        ("worker-1", 201),
        ("worker-2", 201),
        ("worker-3", 422),
        ("worker-4", 422),
        ("worker-5", 422),
    ];
    assert_eq!((by_host(&all), &all["failed"]), (expected.to_vec(), &json!(4)));
    for (index, code) in [(0, "address-of-two-hosts"), (4, "address-of-two-hosts"), (5, "network-secret-missing")] {
        let problem = &all["hosts"][index]["problem"];
        assert_eq!((&problem["type"], &problem["status"]), (&json!("/v1/problems/documents-refused"), &json!(422)));
        let finding = &problem["findings"][0];
        assert_eq!((&finding["code"], &finding["severity"]), (&json!(code), &json!("error")), "{problem}");
        assert!(finding["position"]["line"].is_u64(), "{problem}");
        assert!(all["hosts"][index].get("image").is_none());
    }
    assert_eq!(dayone.place.records().len(), 2);
    // Images that cannot be made, as opposed to documents that are wrong.
    let long = format!("{ORDER}&karg_append={}", "x".repeat(2000));
    let all = Answer::of(dayone.post(&long, &*good)).await.ok();
    assert_eq!(all["failed"], 3);
    assert_eq!(all["hosts"][2]["problem"]["type"], "/v1/problems/does-not-fit");
    assert_eq!(all["hosts"][2]["problem"]["available"], 1919);
}

#[tokio::test]
async fn what_concerns_all_hosts_is_a_problem_of_the_request() {
    let dayone = Dayone::start().await;
    let two = format!("{}---\n{}", bare_metal_host("worker-0"), bare_metal_host("worker-1"));
    for (path, documents, kind, reason) in [
        ("/v1/images?base=nope&hosts=all", &*two, "unknown-base", "nope"),
        (ORDER, "interfaces: [", "documents-refused", "YAML"),
        (ORDER, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "documents-refused", "no host"),
        ("/v1/images?base=coreos&hosts=some", &two, "wrong-parameter", "the only value is all"),
        ("/v1/images?base=coreos&hosts=all&host=worker-0", &two, "wrong-parameter", "host: "),
        ("/v1/images?base=coreos&hosts=all&hostname=worker-0", &two, "wrong-parameter", "hostname: "),
    ] {
        let problem = Answer::of(dayone.post(path, documents)).await.problem(kind);
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{path}: {problem}");
    }
    let streamed = dayone.post(ORDER, &*two).header("accept", "application/octet-stream");
    Answer::of(streamed).await.problem("wrong-parameter");
    let no_documents = json!({"format": "data", "data": {"kind": "cidata"}, "hosts": "all"});
    Answer::of(dayone.post_json("/v1/images", &no_documents)).await.problem("malformed-request");
    tamper(&dayone.place.path("coreos.iso"));
    let problem = Answer::of(dayone.post(ORDER, &*two)).await;
    // The change is noticed at the next look at the base: by the request, or by each host.
    if problem.status == 207 {
        let hosts = problem.ok();
        assert!(hosts["hosts"].as_array().unwrap().iter().all(|host| host["status"] == 503), "{hosts}");
    } else {
        problem.problem("base-unavailable");
    }
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn hosts_that_look_alike_share_an_image() {
    let dayone = Dayone::start().await;
    // Without host names in the documents, two hosts with DHCP differ in nothing.
    let dhcp = NMSTATE
        .replace("address:\n    - ip: 192.0.2.20\n      prefix-length: 24", "dhcp: true")
        .replace('\n', "\n    ");
    let host = |mac: u8| {
        format!(
            "- hostname: ''\n  interfaces: [{{name: eth0, macAddress: '52:54:00:00:00:0{mac}'}}]\n  networkConfig:\n    {dhcp}\n"
        )
    };
    let agent =
        format!("apiVersion: v1beta1\nkind: AgentConfig\nmetadata: {{name: c}}\nhosts:\n{}{}", host(1), host(2));
    let agent = agent.replace("- hostname: ''\n  interfaces", "- interfaces");
    let all = Answer::of(dayone.post(ORDER, &*agent)).await.ok();
    let hosts = all["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 2, "{all}");
    assert!(hosts.iter().all(|host| host["host"] == Value::Null), "{all}");
    let ids: std::collections::BTreeSet<&str> =
        hosts.iter().map(|host| host["image"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), dayone.place.records().len());
}

#[tokio::test]
async fn a_fleet_is_published_in_groups_and_found_by_host() {
    let dayone = Dayone::start().await;
    let begun = Instant::now();
    let all = Answer::of(dayone.post(ORDER, fleet(300))).await.ok();
    println!("300 hosts in {:?}", begun.elapsed());
    assert_eq!((all["failed"].as_u64(), all["hosts"].as_array().unwrap().len()), (Some(0), 300));
    let names: Vec<String> = (0..300).map(|number| format!("worker-{number}")).collect();
    let answered: Vec<&str> = by_host(&all).into_iter().map(|(name, _)| name).collect();
    assert_eq!(answered, names, "in the order of the table");
    assert_eq!(dayone.place.records().len(), 300);

    let found = Answer::of(dayone.get("/v1/images?host=worker-217")).await.ok();
    assert_eq!(found["images"].as_array().unwrap().len(), 1);
    assert_eq!(found["images"][0]["id"], all["hosts"][217]["image"]["id"]);
    assert_eq!(Answer::of(dayone.get("/v1/images?host=worker-2170")).await.ok(), json!({"images": []}));

    // A second image of one host: pages of a filtered list.
    let one = "/v1/images?base=coreos&host=worker-217&karg_append=console=ttyS0";
    Answer::of(dayone.post(one, fleet(300))).await.ok();
    let first = Answer::of(dayone.get("/v1/images?host=worker-217&limit=1")).await.ok();
    let next = format!("/v1/images?host=worker-217&limit=1&after={}", first["next"].as_str().unwrap());
    let second = Answer::of(dayone.get(&next)).await.ok();
    assert_eq!((second["images"][0]["label"].as_str(), second.get("next")), (Some("worker-217"), None));
    assert_ne!(second["images"][0]["id"], first["images"][0]["id"]);
}

#[tokio::test]
async fn a_workbook_is_a_whole_request() {
    const FIXTURE: &str = "../fixtures/inputs/fleet/xlsx-own-document/fleet.xlsx";
    const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let dayone = Dayone::start().await;
    let workbook = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(FIXTURE)).unwrap();
    let post = |path: &str, media_type: &str, body: Vec<u8>| {
        let request = dayone.client.post(dayone.url(path)).header("content-type", media_type);
        Answer::of(request.body(body))
    };
    let all = post(ORDER, WORKBOOK, workbook.clone()).await;
    assert_eq!(all.status, 207);
    let all = all.ok();
    assert_eq!((by_host(&all), &all["failed"]), (vec![("worker-0", 201), ("worker-1", 201)], &json!(0)));
    // curl's default, by the content; and one of the hosts, from a file with a name.
    let again = post(ORDER, "application/x-www-form-urlencoded", workbook.clone()).await.ok();
    assert_eq!(again["hosts"][1]["image"], all["hosts"][1]["image"]);
    let file = json!([{"name": "rack.xlsx", "data": BASE64_STANDARD.encode(&workbook)}]);
    let request = json!({"base": "coreos", "documents": file, "host": "worker-1"});
    assert_eq!(Answer::of(dayone.post_json("/v1/images", &request)).await.ok(), all["hosts"][1]["image"]);
    let checked = post("/v1/check", &format!("{WORKBOOK}; charset=binary"), workbook).await.ok();
    assert_eq!(checked["hosts"].as_array().map(Vec::len), Some(2), "{checked}");
    let wrong = post(ORDER, WORKBOOK, b"interfaces: []".to_vec()).await.problem("documents-refused");
    assert_eq!(wrong["findings"][0]["code"], "fleet-workbook", "{wrong}");
}
