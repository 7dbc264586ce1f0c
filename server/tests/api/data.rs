//! Data images: drives without a base.

use serde_json::{Value, json};

use super::support::{Answer, Dayone, NMSTATE, bare_metal_host};

const ORDER: &str = "/v1/images?format=data&data=config-2";

/// With the MAC address by which a config drive's readers find the NIC.
fn with_mac() -> String {
    format!("{NMSTATE}  identifier: mac-address\n  mac-address: 52:54:00:00:00:01\n")
}

fn nmstate() -> Value {
    serde_yaml::from_str(&with_mac()).unwrap()
}

#[tokio::test]
async fn a_drive_is_created_served_and_survives_a_restart() {
    let dayone = Dayone::start().await;
    let mac = "type: ethernet\n      identifier: mac-address\n      mac-address: 52:54:00:00:00:01";
    let host = bare_metal_host("worker-0").replace("type: ethernet", mac);
    for (order, name) in [
        (ORDER.to_owned(), "data.iso"),
        (format!("{ORDER}&publisher=worker-0"), "data.iso"),
        (format!("{ORDER}&file_system=vfat"), "data.img"),
        ("/v1/images?data=cidata&hostname=x".to_owned(), "data.iso"),
        ("/v1/images?data=combustion".to_owned(), "data.iso"),
    ] {
        let answer = Answer::of(dayone.post(&order, host.clone())).await;
        assert_eq!(answer.status, 201, "{order}: {answer:?}");
        let image = answer.ok();
        assert_eq!((&image["format"], &image["label"]), (&json!("data"), &json!("worker-0")));
        assert!(image.get("base").is_none() && image.get("ipxe").is_none(), "{image}");
        let url = image["url"].as_str().unwrap();
        assert!(url.ends_with(&format!("/{name}")), "{url}");
        let media = Answer::of(dayone.client.get(url)).await;
        assert_eq!((media.status.as_u16(), media.header("etag")), (200, image["etag"].as_str().unwrap()));
        assert_eq!(media.body.len() as u64, image["size"].as_u64().unwrap());
        let streamed = Answer::of(dayone.post(&order, host.clone()).header("accept", "application/octet-stream")).await;
        assert!(streamed.body == media.body && streamed.header("etag") == media.header("etag"), "{order}");
        let sha256 = imagelib::digest::Digest::of(&media.body).to_string();
        let digest = Answer::of(dayone.get(&format!("/v1/images/{}/sha256", image["id"].as_str().unwrap()))).await;
        assert_eq!(String::from_utf8(digest.body).unwrap(), format!("{sha256}  {name}\n"));
    }
    let listed = Answer::of(dayone.get("/v1/images")).await.ok();
    let dayone = dayone.restart().await;
    assert_eq!(Answer::of(dayone.get("/v1/images")).await.ok(), listed);
    assert_eq!(listed["images"].as_array().unwrap().len(), 5);
    let again = Answer::of(dayone.post(ORDER, host)).await;
    assert_eq!(again.status, 200);
    let image = again.ok();
    let media = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await;
    assert_eq!((media.status.as_u16(), media.header("etag")), (200, image["etag"].as_str().unwrap()));
}

#[tokio::test]
async fn equal_requests_in_other_forms_give_the_same_drive() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post(ORDER, with_mac())).await.ok();
    let drive = json!({"kind": "config-2"});
    for (number, request) in [
        dayone.post_json(ORDER, &nmstate()),
        dayone.post("/v1/images?data=config-2&file_system=iso&auto_default=true&replace_embedded=true", with_mac()),
        dayone.post_json("/v1/images", &json!({"format": "data", "data": drive, "documents": with_mac()})),
        dayone.post_json("/v1/images", &json!({"data": drive, "nmstate": nmstate()})),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = Answer::of(request).await;
        assert_eq!((answer.status.as_u16(), &answer.ok()["id"]), (200, &image["id"]), "{number}");
    }
}

#[tokio::test]
async fn files_of_a_drive_are_listed_by_digest_only() {
    let dayone = Dayone::start().await;
    // "#!/bin/sh\n# hunter2\n"
    let user_data = "IyEvYmluL3NoCiMgaHVudGVyMgo=";
    // Without documents: "{}\n" is the network data of the user's own.
    let drive = json!({"kind": "config-2", "user_data": user_data, "network_data": "e30K"});
    let order = json!({"format": "data", "data": drive, "hostname": "worker-0"});
    let image = Answer::of(dayone.post_json("/v1/images", &order)).await.ok();
    let id = image["id"].as_str().unwrap();
    let answer = Answer::of(dayone.get(&format!("/v1/images/{id}/files"))).await;
    let found = answer.ok();
    let files = found["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(
        paths,
        ["meta_data.json", "network_data.json", "user_data"].map(|file| format!("/openstack/latest/{file}"))
    );
    let digest = |content: &[u8]| imagelib::digest::Digest::of(content).to_string();
    assert_eq!(files[1]["sha256"], digest(b"{}\n"));
    assert_eq!((&files[2]["sha256"], &files[2]["size"]), (&json!(digest(b"#!/bin/sh\n# hunter2\n")), &json!(20)));
    assert!(files.iter().all(|file| file["delivered_by"] == "drive"));
    assert!(!String::from_utf8_lossy(&answer.body).contains("hunter2"));
    let changes = Answer::of(dayone.get(&format!("/v1/images/{id}/changes"))).await.ok();
    assert_eq!(
        (&changes["changes"][0]["subject"], &changes["changes"][0]["action"]),
        (&json!("data.iso"), &json!("made"))
    );

    let seed = json!({"data": {"kind": "cidata", "user_data": user_data}});
    assert_eq!(Answer::of(dayone.post_json("/v1/images", &seed)).await.status, 201);
}

#[tokio::test]
async fn invalid_drive_requests_name_the_error() {
    let dayone = Dayone::start().await;
    for (path, kind, reason) in [
        ("/v1/images?format=data", "wrong-parameter", "config-2, cidata or combustion"),
        ("/v1/images?data=floppy", "wrong-parameter", "\"floppy\""),
        ("/v1/images?data=config-2&file_system=ext4", "wrong-parameter", "\"ext4\""),
        ("/v1/images?data=config-2&base=coreos", "wrong-parameter", "a data image has none"),
        (
            "/v1/images?data=config-2&format=iso&base=coreos",
            "wrong-parameter",
            "only images of the format data have it",
        ),
        ("/v1/images?base=coreos&publisher=x", "wrong-parameter", "only data images have"),
        ("/v1/images?format=iso", "wrong-parameter", "give the name of a base"),
        ("/v1/images?data=cidata&publisher=x", "image-refused", "a cidata drive has no place for it"),
        ("/v1/images?data=cidata&karg_append=a", "image-refused", "a kernel argument"),
        ("/v1/images?data=cidata&profile=dracut", "image-refused", "a delivery profile"),
    ] {
        let problem = Answer::of(dayone.post(path, NMSTATE)).await.problem(kind);
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{path}: {problem}");
    }
    // Without a MAC address.
    let problem = Answer::of(dayone.post(ORDER, NMSTATE)).await.problem("documents-refused");
    assert_eq!(problem["findings"][0]["code"], "not-in-network-data", "{problem}");
    for (body, kind, reason) in [
        (json!({"data": {"kind": "config-2"}}), "image-refused", "would be empty"),
        (json!({"format": "data", "documents": NMSTATE}), "malformed-request", "config-2, cidata or combustion"),
        (json!({"format": "data"}), "malformed-request", "neither"),
        (json!({"data": {"file_system": "iso"}}), "malformed-request", "kind"),
        (
            json!({"data": {"kind": "cidata", "user_data": "hunter2"}}),
            "malformed-request",
            "data.user_data: this is not base64",
        ),
        (
            json!({"documents": NMSTATE, "data": {"kind": "cidata", "network_data": "e30K"}}),
            "malformed-request",
            "the network twice",
        ),
        (json!({"data": {"kind": "config-2", "network_data": "W10K"}}), "image-refused", "is not a JSON object"),
        (json!({"data": {"kind": "config-2"}, "base": "coreos", "documents": NMSTATE}), "malformed-request", "none"),
    ] {
        let problem = Answer::of(dayone.post_json("/v1/images", &body)).await.problem(kind);
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{body}: {problem}");
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
    }
    // The order is in the body, and the query says something of it, too.
    let both = dayone.post_json("/v1/images?format=iso", &json!({"base": "coreos", "documents": NMSTATE}));
    let problem = Answer::of(both).await.problem("wrong-parameter");
    assert!(problem["detail"].as_str().unwrap().contains("everything in its body"), "{problem}");
    assert!(dayone.place.records().is_empty());
}
