//! What the API says about bases, and what happens when one goes.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Answer, Dayone, NMSTATE, tamper};

#[tokio::test]
async fn bases_say_what_can_be_done_with_them() {
    let dayone = Dayone::start().await;
    let list = Answer::of(dayone.get("/v1/bases")).await.ok();
    let names: Vec<&Value> = list["bases"].as_array().unwrap().iter().map(|base| &base["name"]).collect();
    assert_eq!(names, ["coreos", "ipa", "plain"]);
    for base in list["bases"].as_array().unwrap() {
        let path = format!("/v1/bases/{}", base["name"].as_str().unwrap());
        assert_eq!(Answer::of(dayone.get(&path)).await.ok(), *base);
        assert_eq!(base["state"], "available");
    }
    let [coreos, ipa, plain] = list["bases"].as_array().unwrap().as_slice() else { panic!("{list}") };
    let iso = fs::read(dayone.place.path("coreos.iso")).unwrap();
    let digest = imagelib::digest::Digest::of(&iso).to_string();
    assert_eq!(coreos["files"], json!({"iso": {"size": iso.len(), "sha256": digest}}));
    assert_eq!(coreos["formats"], json!(["iso", "initrd", "usb"]));
    assert_eq!((&coreos["kind"], &coreos["embed_area"]), (&json!("coreos-iso"), &json!(262_144)));
    assert_eq!(coreos["features"]["live-initrd-network"], true);
    assert_eq!((&ipa["kind"], &ipa["profile"]), (&json!("kernel-initrd"), &json!("root-in-initramfs")));
    assert_eq!(ipa["features"]["network-manager"], true);
    assert_eq!((&plain["kind"], &plain["formats"]), (&json!("iso"), &json!([])));
    Answer::of(dayone.get("/v1/bases/nope")).await.problem("not-found");
}

#[tokio::test]
async fn a_base_that_was_changed_is_out_of_use() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE)).await.ok();
    assert_eq!(Answer::of(dayone.get("/readyz")).await.status, 200);
    tamper(&dayone.place.path("coreos.iso"));
    // Before anybody has looked.
    let answer = Answer::of(dayone.post("/v1/images?base=coreos&hostname=other", NMSTATE)).await;
    assert_eq!(answer.status, 503);
    answer.problem("base-unavailable");
    let streamed = dayone.post("/v1/images?base=coreos", NMSTATE).header("accept", "application/octet-stream");
    Answer::of(streamed).await.problem("base-unavailable");
    assert_eq!(Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await.status, 503);

    // After the store has.
    let mut waited = 0;
    let ready = loop {
        let ready = Answer::of(dayone.get("/readyz")).await;
        if ready.status == 503 || waited > 100 {
            break ready;
        }
        waited += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(ready.status, 503);
    assert_eq!(ready.json()["bases"], json!({"coreos": "unavailable", "ipa": "available", "plain": "available"}));
    assert!(!String::from_utf8_lossy(&ready.body).contains("coreos.iso"), "readiness needs no token and names no file");
    let base = Answer::of(dayone.get("/v1/bases/coreos")).await.ok();
    assert_eq!(base["state"], "unavailable");
    assert!(base["reason"].as_str().unwrap().contains("coreos.iso"), "{base}");
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    let shown = Answer::of(dayone.get(&path)).await.ok();
    assert_eq!((&shown["available"], &shown["url"]), (&json!(false), &Value::Null));
    for part in ["files", "sha256"] {
        Answer::of(dayone.get(&format!("{path}/{part}"))).await.problem("base-unavailable");
    }
    let problem = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE)).await;
    assert_eq!(problem.header("retry-after"), "10");
    problem.problem("base-unavailable");
    // The others are not affected.
    assert_eq!(Answer::of(dayone.post("/v1/images?base=ipa&format=initrd", NMSTATE)).await.status, 201);
}

#[tokio::test]
async fn a_base_that_was_replaced_under_its_name_is_named_wherever_its_images_are_missed() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE)).await.ok();
    let before = Answer::of(dayone.get("/v1/bases/coreos")).await.ok();
    assert_eq!(Answer::of(dayone.get("/readyz")).await.ok()["problems"], json!([]));
    // Another ISO, as a new release is put in the place of an old one.
    fs::copy(dayone.place.path("plain.iso"), dayone.place.path("new.iso")).unwrap();
    fs::rename(dayone.place.path("new.iso"), dayone.place.path("coreos.iso")).unwrap();
    let mut after = before.clone();
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    for _ in 0..200 {
        after = Answer::of(dayone.get("/v1/bases/coreos")).await.ok();
        let reason = Answer::of(dayone.get(&path)).await.ok()["reason"].as_str().unwrap_or_default().to_owned();
        // The images learn of it after the base.
        if after["state"] == "available" && after["identity"] != before["identity"] && reason.contains("replaced") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (was, now) = (before["identity"].as_str().unwrap(), after["identity"].as_str().unwrap());
    assert_ne!(was, now);
    let names = |text: &Value| {
        let text = text.as_str().unwrap();
        text.contains("'coreos'") && text.contains("replaced") && text.contains(was) && text.contains(now)
    };

    let ready = Answer::of(dayone.get("/readyz")).await;
    assert_eq!(ready.status, 503);
    let ready = ready.json();
    assert_eq!((&ready["ready"], &ready["bases"]["coreos"]), (&json!(false), &json!("available")));
    assert!(names(&ready["problems"][0]) && ready["problems"].as_array().unwrap().len() == 1, "{ready}");

    let shown = Answer::of(dayone.get(&path)).await.ok();
    assert_eq!(shown["available"], false);
    assert!(names(&shown["reason"]), "{shown}");
    let listed = Answer::of(dayone.get("/v1/images")).await.ok();
    assert!(names(&listed["images"][0]["reason"]), "{listed}");
    for part in ["files", "changes", "sha256"] {
        let problem = Answer::of(dayone.get(&format!("{path}/{part}"))).await.problem("base-unavailable");
        assert!(names(&problem["detail"]), "{problem}");
    }

    let metrics = async || String::from_utf8(Answer::of(dayone.get("/metrics")).await.body).unwrap();
    let text = metrics().await;
    for line in ["dayone_base_changes_total{base=\"coreos\"} 1", "dayone_base_orphaned_images{base=\"coreos\"} 1"] {
        assert!(text.lines().any(|there| there == line), "{line}\n{text}");
    }

    // Where nobody misses it any more, all is well.
    assert_eq!(dayone.client.delete(dayone.url(&path)).send().await.unwrap().status(), 204);
    assert!(metrics().await.contains("dayone_base_orphaned_images{base=\"coreos\"} 0"));
    assert_eq!(Answer::of(dayone.get("/readyz")).await.ok()["problems"], json!([]));
}

/// For `dayone controller`, a base is gone when its file is away. Its metric must not go with it, because an alert looks at that.
#[tokio::test]
async fn a_base_that_is_gone_counts_as_not_available_until_no_image_needs_it() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE)).await.ok();
    let dayone = dayone.restart_with(|config| config.bases.retain(|base| base.name.as_str() != "coreos")).await;
    let metrics = async || String::from_utf8(Answer::of(dayone.get("/metrics")).await.body).unwrap();
    let text = metrics().await;
    assert!(text.lines().any(|line| line == "dayone_base_available{base=\"coreos\"} 0"), "{text}");
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    assert_eq!(dayone.client.delete(dayone.url(&path)).send().await.unwrap().status(), 204);
    assert!(!metrics().await.contains("base=\"coreos\""));
}
