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
    assert_eq!(answer["nmstate_version"], imagelib::network::NMSTATE_VERSION);

    let bad = "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    address:\n    - {ip: 192.0.2.1, prefix-length: 24}\n";
    let answer = Answer::of(dayone.post("/v1/check", bad)).await.ok();
    assert_eq!((&answer["hosts"], &answer["errors"]), (&json!([{}]), &json!(1)));
    let finding = &answer["findings"][0];
    let explanation = imagelib::report::explain("ip-not-enabled").unwrap();
    assert_eq!(finding["code"], explanation.code);
    assert_eq!(finding["position"], json!({"line": 4, "column": 3}));
    assert_eq!(
        (&finding["consequence"], &finding["mend"]),
        (&json!(explanation.consequence), &json!(explanation.mend))
    );
    assert_eq!(Answer::of(dayone.post_json("/v1/check", &json!({"documents": bad}))).await.ok(), answer);

    let broken = Answer::of(dayone.post("/v1/check", "a: [")).await.ok();
    assert_eq!((&broken["findings"][0]["code"], &broken["hosts"]), (&json!("invalid-yaml"), &json!([])));
    assert_eq!(broken["findings"][0]["position"]["line"], 2);
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
        (json!({"documents": NMSTATE, "base": "coreos"}), "malformed-request"),
        (json!({"documents": NMSTATE, "host": "worker-0"}), "unknown-host"),
    ] {
        Answer::of(dayone.post_json("/v1/check", &body)).await.problem(kind);
    }
    Answer::of(dayone.post("/v1/check?base=coreos", NMSTATE)).await.problem("wrong-parameter");
}

#[tokio::test]
async fn codes_are_explained() {
    let dayone = Dayone::start().await;
    let all = Answer::of(dayone.get("/v1/explanations")).await.ok();
    assert_eq!(all["explanations"].as_array().unwrap().len(), imagelib::report::explanations().len());
    let one = Answer::of(dayone.get("/v1/explanations/ip-not-enabled")).await.ok();
    assert!(all["explanations"].as_array().unwrap().contains(&one));
    Answer::of(dayone.get("/v1/explanations/none")).await.problem("not-found");
}
