//! Checking documents.

use serde_json::json;

use super::support::{Answer, Dayone, NMSTATE, bare_metal_host};

#[tokio::test]
async fn a_check_that_finds_errors_has_succeeded() {
    let dayone = Dayone::start().await;
    let good = bare_metal_host("worker-0");
    let answer = Answer::of(dayone.post("/v1/check", &*good)).await.ok();
    assert_eq!(answer["hosts"], json!([{"name": "worker-0", "hostname": "worker-0"}]));
    assert_eq!((&answer["errors"], &answer["warnings"], &answer["findings"]), (&json!(0), &json!(0), &json!([])));
    assert_eq!(answer["nmstate_version"], hosts::network::NMSTATE_VERSION);

    let bad = "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    address:\n    - {ip: 192.0.2.1, prefix-length: 24}\n";
    let answer = Answer::of(dayone.post("/v1/check", bad)).await.ok();
    assert_eq!((&answer["hosts"], &answer["errors"]), (&json!([{}]), &json!(1)));
    let finding = &answer["findings"][0];
    let explanation = vocabulary::report::explain("ip-not-enabled").unwrap();
    assert_eq!(finding["code"], explanation.code);
    assert_eq!(finding["position"], json!({"line": 4, "column": 3}));
    assert_eq!((&finding["effect"], &finding["fix"]), (&json!(explanation.effect), &json!(explanation.fix)));
    assert_eq!(Answer::of(dayone.post_json("/v1/check", &json!({"documents": bad}))).await.ok(), answer);

    let broken = Answer::of(dayone.post("/v1/check", "a: [")).await.ok();
    assert_eq!((&broken["findings"][0]["code"], &broken["hosts"]), (&json!("invalid-yaml"), &json!([])));
    assert_eq!(broken["findings"][0]["position"], json!({"line": 1, "column": 4}));
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn one_of_several_hosts_can_be_checked() {
    let dayone = Dayone::start().await;
    let documents = format!("{}---\n{}", bare_metal_host("worker-0"), bare_metal_host("worker-1"));
    let all = Answer::of(dayone.post("/v1/check", &*documents)).await.ok();
    assert_eq!(all["hosts"].as_array().unwrap().len(), 2);
    let one = Answer::of(dayone.post("/v1/check?host=worker-1", &*documents)).await.ok();
    assert_eq!(one["hosts"], json!([all["hosts"][1]]));
    Answer::of(dayone.post("/v1/check?host=worker-2", &*documents)).await.problem("unknown-host");
    for (body, kind) in [
        (json!({}), "malformed-request"),
        (json!({"documents": NMSTATE, "profile": "coreos"}), "malformed-request"),
        (json!({"documents": NMSTATE, "host": "worker-0"}), "unknown-host"),
    ] {
        Answer::of(dayone.post_json("/v1/check", &body)).await.problem(kind);
    }
    Answer::of(dayone.post("/v1/check?profile=coreos", NMSTATE)).await.problem("wrong-parameter");
}

#[tokio::test]
async fn documents_are_checked_for_the_named_release_or_that_of_a_base() {
    let dayone = Dayone::start().await;
    let documents = NMSTATE.replace("    enabled: true\n", "    enabled: true\n    forwarding: true\n");
    let check = async |query: &str| Answer::of(dayone.post(&format!("/v1/check{query}"), documents.clone())).await;
    let assumed = check("").await.ok();
    assert_eq!(assumed["network_manager"], json!({"version": "1.42.4", "assumed": true}));
    let message = assumed["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("1.42, which dayone assumes, ignores it"), "{message}");

    let newer = check("?network_manager=1:1.54.0-1.fc43").await.ok();
    assert_eq!(newer["network_manager"], json!({"version": "1.54.0", "assumed": false}));
    assert_eq!(newer["findings"], json!([]));
    let body = json!({"documents": documents, "network_manager": "1.54.0"});
    assert_eq!(Answer::of(dayone.post_json("/v1/check", &body)).await.ok(), newer);

    let of_base = check("?base=ipa").await.ok();
    assert_eq!(of_base["network_manager"], json!({"version": "1.52.1", "assumed": false}));
    let message = of_base["findings"][0]["message"].as_str().unwrap();
    assert!(
        message.ends_with("needs NetworkManager 1.54 or later: the host has 1.52.1, which ignores it"),
        "{message}"
    );
    let body = json!({"documents": documents, "base": "ipa"});
    assert_eq!(Answer::of(dayone.post_json("/v1/check", &body)).await.ok(), of_base);
    // The image over it says the same, and over a base that shows no release what is assumed.
    let made = Answer::of(dayone.post("/v1/images?base=ipa&format=initrd", documents.clone())).await;
    assert_eq!(made.json()["findings"][0]["message"], message, "{}", made.json());
    assert_eq!(check("?base=coreos").await.ok(), assumed);

    check("?network_manager=new").await.problem("wrong-parameter");
    check("?base=ipa&network_manager=1.54").await.problem("wrong-parameter");
    check("?base=none").await.problem("unknown-base");
    for (body, kind) in [
        (json!({"documents": documents, "network_manager": "new"}), "malformed-request"),
        (json!({"documents": documents, "network_manager": "1.54.0", "base": "ipa"}), "wrong-parameter"),
    ] {
        Answer::of(dayone.post_json("/v1/check", &body)).await.problem(kind);
    }
    let body = json!({"documents": documents});
    Answer::of(dayone.post_json("/v1/check?network_manager=1.54.0", &body)).await.problem("wrong-parameter");
}

#[tokio::test]
async fn codes_are_explained() {
    let dayone = Dayone::start().await;
    let all = Answer::of(dayone.get("/v1/explanations")).await.ok();
    assert_eq!(all["explanations"].as_array().unwrap().len(), vocabulary::report::explanations().len());
    let one = Answer::of(dayone.get("/v1/explanations/ip-not-enabled")).await.ok();
    assert!(all["explanations"].as_array().unwrap().contains(&one));
    Answer::of(dayone.get("/v1/explanations/none")).await.problem("not-found");
}
