//! Missing rights, an API server that goes away, and objects that cannot be read.

use std::time::{Duration, Instant};

use acceptance::kubernetes::ApiServer;
use acceptance::kubernetes::metal3::{API_VERSION, PREPROVISIONING_IMAGES, collection};
use dayone::kubernetes::installation_key;
use serde_json::json;

use super::fixture::{Namespace, RIGHTS, Running, client, wait_for};
use super::spec;

#[test]
fn without_rights_to_leases_and_events_images_are_made_all_the_same() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", &RIGHTS[..3]);
    let running = Running::start(&namespace, &user, Some("alone"));
    namespace.create_secret("net", "nmstate", "a", &json!({}));
    namespace.create_image("worker-0", &json!({}), &spec("net"));
    namespace.accepted("worker-0");
    assert!(running.leads());
    assert!(namespace.asked(&user).contains(&"get leases 403".to_owned()));
}

#[test]
fn a_right_to_leases_that_goes_leaves_nobody_without_a_writer_and_one_that_returns_elects_one() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", RIGHTS);
    let first = Running::start(&namespace, &user, Some("first"));
    wait_for("the first leads", Duration::from_secs(10), || first.leads());
    let second = Running::start(&namespace, &user, Some("second"));
    // A replica that was never granted the right has no Lease to wait for. The first does not read its own.
    wait_for("the second sees the Lease", Duration::from_secs(10), || {
        namespace.asked(&user).iter().any(|one| one == "get leases")
    });
    // All but the right to Leases, which is the last. It is gone at some time within this call.
    let begun = Instant::now();
    namespace.account("dayone", &RIGHTS[..4]);
    wait_for("both lead", Duration::from_secs(40), || first.leads() && second.leads());
    let gone = begun.elapsed();
    assert!(gone > Duration::from_secs(10), "the Lease was not left its time: {gone:?}");
    namespace.create_image("worker-0", &json!({}), &spec(""));
    namespace.accepted("worker-0");
    let asked = namespace.asked(&user).iter().filter(|one| one.ends_with("leases 403")).count();
    assert!(asked < 40, "{asked} requests for the Lease in {gone:?}");

    namespace.account("dayone", RIGHTS);
    wait_for("one leads", Duration::from_secs(50), || first.leads() != second.leads());
    namespace.create_image("worker-1", &json!({}), &spec(""));
    namespace.accepted("worker-1");
}

#[test]
fn rights_that_come_late_are_enough() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", &[]);
    let running = Running::start(&namespace, &user, None);
    namespace.create_image("worker-0", &json!({}), &spec(""));
    std::thread::sleep(Duration::from_secs(1));
    assert!(!running.is_ready());
    namespace.account("dayone", RIGHTS);
    namespace.accepted("worker-0");
    wait_for("ready", Duration::from_secs(5), || running.is_ready());
}

#[test]
fn a_build_that_fails_badly_is_tried_again_and_holds_up_nobody() {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", RIGHTS);
    let running = Running::start(&namespace, &user, None);
    namespace.create_secret("net", "nmstate", "panic", &json!({"environment.metal3.io": "baremetal"}));
    namespace.create_image("bad", &json!({}), &spec("net"));
    namespace.create_image("good", &json!({}), &spec(""));
    namespace.accepted("good");
    namespace.change_secret("net", "nmstate", "fine");
    namespace.accepted("bad");
    assert_eq!(running.images.urls().len(), 2);
}

#[test]
fn an_api_server_that_goes_away_is_waited_for_and_what_is_known_is_served_on() {
    let server = ApiServer::start();
    let namespace = Namespace::new(&server);
    let (user, name) = (namespace.account("dayone", RIGHTS), namespace.name.clone());
    let kubeconfig = server.kubeconfig(&user);
    let mut running = Running::start_by(&kubeconfig, &name, Some("alone"));
    namespace.create_image("worker-0", &json!({}), &spec(""));
    namespace.accepted("worker-0");
    server.stop_api_server();
    // Longer than the Lease is relied upon.
    wait_for("does not lead", Duration::from_secs(20), || !running.leads());
    assert!(running.is_ready());
    assert_eq!(running.images.urls().len(), 1);
    // The key is waited for, too.
    let key = {
        let (kubeconfig, name) = (kubeconfig.clone(), name.clone());
        running.runtime.spawn(async move { installation_key(&client(&kubeconfig).await, &name, "dayone-key").await })
    };
    std::thread::sleep(Duration::from_secs(1));
    assert!(!key.is_finished());
    server.start_api_server();
    namespace.create_image("worker-1", &json!({}), &spec(""));
    namespace.admin().delete(&namespace.image("worker-0"));
    wait_for("leads again", Duration::from_secs(20), || running.leads());
    // The watch looks for the API server less and less often, but never leaves it alone for long.
    wait_for("the other image", Duration::from_secs(30), || {
        running.images.urls().keys().map(String::as_str).eq(["worker-1"])
    });
    namespace.accepted("worker-1");
    assert!(running.runtime.block_on(key).unwrap().is_ok());

    // One that never had an API server ends, too.
    server.stop_api_server();
    let mut never = Running::start_by(&kubeconfig, &name, Some("never"));
    assert!(!never.is_ready());
    std::thread::sleep(Duration::from_millis(500));
    let took = never.stop();
    assert!(took < Duration::from_secs(12), "{took:?}");
    let took = running.stop();
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[test]
fn an_object_that_cannot_be_read_hides_no_other() {
    let server = ApiServer::start();
    let namespace = Namespace::new(&server);
    let user = namespace.account("dayone", RIGHTS);
    // As a definition that is newer than what is known here.
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/preprovisioningimages.metal3.io";
    let anything = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let mut changed = server.admin().get(definition);
    changed["spec"]["versions"][0]["schema"] = anything;
    server.admin().replace(definition, &changed);
    let object = |name: &str, spec| {
        let metadata = json!({"name": name});
        json!({"apiVersion": API_VERSION, "kind": "PreprovisioningImage", "metadata": metadata, "spec": spec})
    };
    let images = collection(&namespace.name, PREPROVISIONING_IMAGES);
    // The new definition comes into force after a moment.
    wait_for("an odd object", Duration::from_secs(20), || {
        let odd = object("text", json!("text"));
        server.admin().request(reqwest::Method::POST, &images, Some(&odd)).status == 201
    });
    server.admin().create(&images, &object("number", json!({"architecture": 64})));
    server.admin().create(&images, &object("floppy", json!({"acceptFormats": ["floppy"]})));
    namespace.create_image("good", &json!({}), &spec(""));
    let running = Running::start(&namespace, &user, None);
    namespace.accepted("good");
    namespace.refused("floppy", "ConfigurationError");
    wait_for("ready", Duration::from_secs(5), || running.is_ready());
    server.admin().create(&images, &object("late", json!([1])));
    namespace.create_image("later", &json!({}), &spec(""));
    namespace.accepted("later");
    // One that was ours and cannot be read any more can be deleted.
    let mut bad = object("bad", json!("text"));
    bad["metadata"]["finalizers"] = json!(["preprovisioningimage.metal3.io"]);
    server.admin().create(&images, &bad);
    server.admin().delete(&namespace.image("bad"));
    server.admin().wait_until(&namespace.image("bad"), "gone", serde_json::Value::is_null);
    // What can be read once it is changed is looked after.
    server.admin().patch(&namespace.image("number"), &json!({"spec": spec("")}));
    namespace.accepted("number");
}
