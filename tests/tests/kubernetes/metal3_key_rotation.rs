//! The rotation of the installation key under two replicas of `dayone controller`.

use std::time::{Duration, SystemTime};

use acceptance::kubernetes::metal3::{API_VERSION, DATA_IMAGES, collection, object};
use acceptance::kubernetes::{ADMIN, ApiServer};
use acceptance::metal3::{OPERATOR_FINALIZER, Replica, Site, image_url};
use acceptance::peers::run_text;
use acceptance::server::dayone;
use base64::prelude::*;
use dayone::kubernetes::{KeySecretApi, connect};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Two looks of a replica at the Secret.
const NOTICED: Duration = Duration::from_secs(15);

fn secret(site: &Site, name: &str) -> Option<Value> {
    site.admin().find(&format!("/api/v1/namespaces/{}/secrets/{name}", site.namespace))
}

fn command(site: &Site, arguments: &[&str]) -> String {
    let mut command = dayone();
    command.arg("key").args(arguments).arg("--key-secret").arg(format!("{}/dayone-key", site.namespace));
    command.arg("--kubeconfig").arg(site.server.kubeconfig(ADMIN));
    run_text(&mut command)
}

/// Rotates the key as if that had been some seconds ago.
fn rotate(site: &Site, ago: u64) {
    let kubeconfig = site.server.kubeconfig(ADMIN);
    Runtime::new().unwrap().block_on(async {
        let client = connect(Some(&kubeconfig)).await.unwrap();
        let api = KeySecretApi::new(client, &site.namespace, "dayone-key");
        api.rotate(3600, SystemTime::now() - Duration::from_secs(ago)).await.unwrap();
    });
}

#[test]
fn all_replicas_serve_both_urls_and_give_out_the_new_one_until_the_previous_one_ends() {
    let site = Site::new(ApiServer::shared());
    let settings = site.settings("dayone");
    let replicas = [settings.start_ready("dayone-0"), settings.start_ready("dayone-1")];
    site.create_image("host", &json!({"architecture": "x86_64", "acceptFormats": ["iso"]}));
    let old = image_url(&site.wait_until_ready("host")).to_owned();
    let bytes = replicas[0].fetch(&old);
    let created = || secret(&site, "dayone-key").unwrap()["metadata"]["creationTimestamp"].clone();
    let created_before = created();

    // The replicas notice it before they give out a URL of the new key.
    rotate(&site, 20);
    // The creation time stays, so only this shows an operator that the key was rotated (docs/runbooks.md).
    assert!(secret(&site, "dayone-key").unwrap()["data"]["rotated-at"].is_string());
    assert_eq!(created(), created_before);
    let url = || {
        let object = site.image("host");
        object["status"]["imageUrl"].as_str().unwrap_or_default().to_owned()
    };
    let new = loop {
        let found = url();
        if !found.is_empty() && found != old {
            break found;
        }
        for replica in &replicas {
            assert_eq!(replica.status(&old), Ok(200), "{}", replica.log());
        }
        replicas[0].wait("another URL", Duration::from_secs(60), || url() != old);
    };
    for replica in &replicas {
        assert!(replica.fetch(&old) == bytes && replica.fetch(&new) == bytes, "{}", replica.log());
    }
    // A replica that starts now serves both, too.
    let late = settings.start_ready("dayone-2");
    late.wait("the image", NOTICED, || late.status(&new) == Ok(200));
    assert!(late.fetch(&old) == bytes);

    assert!(command(&site, &["show"]).contains("URLs of the previous key are valid until 2"));
    command(&site, &["end-grace"]);
    for replica in replicas.iter().chain([&late]) {
        replica.wait("the end of the previous URL", NOTICED, || replica.status(&old) == Ok(404));
        assert!(replica.fetch(&new) == bytes);
    }
    let key = secret(&site, "dayone-key").unwrap()["data"]["key"].as_str().unwrap().to_owned();
    let shown = BASE64_STANDARD.decode(key).unwrap();
    assert!(replicas.iter().all(|replica| !replica.log().contains(&data_encoding::HEXLOWER.encode(&shown))));
}

/// dayone writes nothing into objects that are paused or being deleted, so they keep the URL of the previous key.
#[test]
fn a_url_that_stays_in_its_object_is_lost_at_the_end_of_the_grace_period_and_not_before() {
    let site = Site::new(ApiServer::shared());
    let mut replica = site.start();
    let spec = json!({"architecture": "x86_64", "acceptFormats": ["iso"]});
    site.create_image_with("held", &json!({"finalizers": [OPERATOR_FINALIZER]}), &spec);
    site.create_image("free", &spec);
    let (held, free) = (site.wait_until_ready("held"), site.wait_until_ready("free"));
    site.delete_image("held");
    let annotations = json!({"dayone.metal3.io/data-image": "config-2"});
    let drive = json!({"apiVersion": API_VERSION, "kind": "DataImage",
        "metadata": {"name": "worker-0", "annotations": annotations}, "spec": {"url": ""}});
    site.admin().create(&collection(&site.namespace, DATA_IMAGES), &drive);
    let path = object(&site.namespace, DATA_IMAGES, "worker-0");
    let has_url = |drive: &Value| drive["spec"]["url"].as_str().is_some_and(|url| !url.is_empty());
    let drive = site.admin().wait_until(&path, "a URL", has_url);
    site.admin().patch(&path, &json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}}));
    let kept = [image_url(&held), drive["spec"]["url"].as_str().unwrap()];

    rotate(&site, 20);
    replica.wait("another URL", Duration::from_secs(60), || {
        let now = site.image("free");
        !image_url(&now).is_empty() && image_url(&now) != image_url(&free)
    });
    let failing = |replica: &Replica| replica.metric("dayone_kubernetes_failing_objects{reason=\"ImageLost\"}");
    let assert_kept = |replica: &Replica| {
        // All objects are reconciled again.
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(kept.map(|url| replica.status(url)), [Ok(200), Ok(200)]);
        assert_eq!(failing(replica), Some(0.0), "{}", replica.log());
        assert!(!replica.log().contains("ImageLost"), "{}", replica.log());
    };
    assert_kept(&replica);
    replica.kill();
    let replica = site.bare_settings("dayone").start_ready("dayone-1");
    replica.wait("it leads", Duration::from_secs(40), || replica.leads());
    assert_kept(&replica);

    command(&site, &["end-grace"]);
    replica.wait("the end of both URLs", NOTICED, || failing(&replica) == Some(2.0));
    assert_eq!(kept.map(|url| replica.status(url)), [Ok(404), Ok(404)]);
    for name in ["held", "worker-0"] {
        replica.wait("an Event", NOTICED, || site.events(name).iter().any(|(_, reason, _)| reason == "ImageLost"));
    }
    assert_eq!(replica.metric("dayone_kubernetes_failures_total{reason=\"ImageLost\"}"), Some(2.0));
}

#[test]
fn a_secret_that_is_immutable_is_replaced_and_an_interrupted_rotation_completed() {
    let site = Site::new(ApiServer::shared());
    let secrets = format!("/api/v1/namespaces/{}/secrets", site.namespace);
    let create = |name: &str, data: Value, immutable: bool| {
        site.admin().create(&secrets, &json!({"metadata": {"name": name}, "data": data, "immutable": immutable}));
    };
    let bytes = |byte: u8| BASE64_STANDARD.encode([byte; 32]);
    create("dayone-key", json!({"key": bytes(1)}), true);
    rotate(&site, 31);
    let present = secret(&site, "dayone-key").unwrap();
    assert_eq!((&present["data"]["previous-key"], &present["immutable"]), (&json!(bytes(1)), &Value::Null));
    assert_ne!(present["data"]["key"], bytes(1));
    assert!(secret(&site, "dayone-key-rotation").is_none());

    // Without a grace period that runs, the next one replaces it in place.
    command(&site, &["end-grace"]);
    let uid = present["metadata"]["uid"].clone();
    let said = command(&site, &["rotate", "--grace-seconds", "60"]);
    assert!(said.contains("The installation key is replaced"), "{said}");
    let again = secret(&site, "dayone-key").unwrap();
    assert_eq!((&again["data"]["previous-key"], &again["metadata"]["uid"]), (&present["data"]["key"], &uid));

    // Interrupted after each request of the way of an immutable Secret.
    let rotated = json!({"key": bytes(3), "previous-key": bytes(2), "rotated-at": BASE64_STANDARD.encode("1700000000"),
        "grace-seconds": BASE64_STANDARD.encode("60")});
    for has_old in [true, false] {
        for name in ["dayone-key", "dayone-key-rotation"] {
            if secret(&site, name).is_some() {
                site.admin().delete(&format!("{secrets}/{name}"));
            }
        }
        create("dayone-key-rotation", rotated.clone(), false);
        if has_old {
            create("dayone-key", json!({"key": bytes(2)}), true);
        } else {
            // A replica that starts in the middle creates no third key, and has the rotated ones.
            let replica = site.settings("dayone").start_ready("dayone-0");
            assert!(secret(&site, "dayone-key").is_none(), "{}", replica.log());
        }
        command(&site, &["rotate"]);
        assert_eq!(secret(&site, "dayone-key").unwrap()["data"], rotated);
        assert!(secret(&site, "dayone-key-rotation").is_none());
    }
}
