//! Converting without an image.

use base64::prelude::*;
use serde_json::json;

use super::support::{Answer, Dayone, NMSTATE, bare_metal_host};

#[tokio::test]
async fn every_host_gets_its_keyfiles_and_nothing_is_stored() {
    let dayone = Dayone::start().await;
    let documents = format!("{}---\n{}", bare_metal_host("worker-0"), bare_metal_host("worker-1"));
    let answer = Answer::of(dayone.post("/v1/keyfiles", &*documents)).await.ok();
    assert_eq!(answer["nmstate_version"], hosts::network::NMSTATE_VERSION);
    assert_eq!(answer["findings"], json!([]));
    let hosts = answer["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 2);
    for (host, (name, address)) in hosts.iter().zip([("worker-0", "192.0.2.20/24"), ("worker-1", "192.0.2.21/24")]) {
        assert_eq!((&host["name"], &host["hostname"]), (&json!(name), &json!(name)));
        let [keyfile] = host["keyfiles"].as_array().unwrap().as_slice() else { panic!("{host}") };
        assert_eq!(keyfile["name"], "eth0.nmconnection");
        assert!(keyfile["content"].as_str().unwrap().contains(address), "{keyfile}");
    }
    let one = Answer::of(dayone.post("/v1/keyfiles?host=worker-1", &*documents)).await.ok();
    assert_eq!(one["hosts"], json!([hosts[1]]));
    let request = json!({"documents": documents, "host": "worker-1"});
    assert_eq!(Answer::of(dayone.post_json("/v1/keyfiles", &request)).await.ok(), one);
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn documents_are_files_with_names_too() {
    let dayone = Dayone::start().await;
    let host = "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: worker-0}, spec: {}}";
    let profile = "[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n\n[ipv4]\nmethod=auto\n";
    let data = BASE64_STANDARD.encode(profile);
    let files = json!([{"name": "host.yaml", "text": host}, {"name": "worker-0/eth0.nmconnection", "data": data}]);
    let answer = Answer::of(dayone.post_json("/v1/keyfiles", &json!({"documents": files}))).await.ok();
    let keyfiles = json!([{"name": "eth0.nmconnection", "content": profile}]);
    assert_eq!(answer["hosts"], json!([{"name": "worker-0", "hostname": "worker-0", "keyfiles": keyfiles}]));
    let image = Answer::of(dayone.post_json("/v1/images", &json!({"base": "coreos", "documents": files}))).await;
    assert_eq!(image.status, 201);

    let files = json!([{"name": "host.yaml", "text": host}, {"name": "net.yaml", "text": "interfaces:\n- mtu: x\n"}]);
    let answer = Answer::of(dayone.post_json("/v1/keyfiles", &json!({"documents": files}))).await;
    let problem = answer.problem("documents-refused");
    let places = problem["findings"].as_array().unwrap().iter().map(|finding| &finding["position"]["file"]);
    assert_eq!(places.collect::<Vec<_>>(), ["host.yaml", "net.yaml"], "{problem:#}");
}

#[tokio::test]
async fn nmstate_by_itself_has_no_name() {
    let dayone = Dayone::start().await;
    let nmstate: serde_json::Value = serde_yaml::from_str(NMSTATE).unwrap();
    let answer = Answer::of(dayone.post_json("/v1/keyfiles", &json!({"nmstate": nmstate}))).await.ok();
    assert_eq!(answer["hosts"][0].as_object().unwrap().keys().collect::<Vec<_>>(), ["keyfiles"]);
    assert_eq!(Answer::of(dayone.post("/v1/keyfiles", nmstate.to_string())).await.ok(), answer);
}

#[tokio::test]
async fn bad_requests_are_refused() {
    let dayone = Dayone::start().await;
    for (body, kind) in [
        (json!({}), "malformed-request"),
        (json!({"documents": NMSTATE, "nmstate": {}}), "malformed-request"),
        (json!({"documents": NMSTATE, "base": "coreos"}), "malformed-request"),
        (json!({"documents": NMSTATE, "host": "worker-0"}), "unknown-host"),
        (json!({"documents": ""}), "documents-refused"),
    ] {
        Answer::of(dayone.post_json("/v1/keyfiles", &body)).await.problem(kind);
    }
    Answer::of(dayone.post("/v1/keyfiles?base=coreos", NMSTATE)).await.problem("wrong-parameter");
    Answer::of(dayone.post_json("/v1/keyfiles?host=a", &json!({"documents": NMSTATE})))
        .await
        .problem("wrong-parameter");
}
