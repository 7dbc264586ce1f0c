//! What `dayone controller` makes of PreprovisioningImages, seen from the API server: finalizer, status, conditions,
//! Events, and who may read which URL when.

use std::thread;
use std::time::Duration;

use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{
    FINALIZER, OPERATOR_FINALIZER, PUBLISHED, Replica, Site, condition, image_url, is_acceptable, is_true,
};
use serde_json::{Value, json};

fn start() -> (Site<'static>, Replica) {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    (site, replica)
}

fn spec(architecture: &str, formats: &[&str]) -> Value {
    json!({"architecture": architecture, "acceptFormats": formats})
}

fn summary<'a>(image: &'a Value, kind: &str) -> (&'a str, &'a str, &'a str, &'a Value) {
    let condition = condition(image, kind);
    let text = |field: &str| condition[field].as_str().unwrap_or("missing");
    (text("status"), text("reason"), text("message"), &condition["observedGeneration"])
}

fn wait_until_gone(replica: &Replica, url: &str) {
    replica.wait("the image is gone", Duration::from_secs(15), || replica.status(url) == Ok(404));
}

#[test]
fn an_image_is_made_of_what_is_accepted_first() {
    let (site, replica) = start();
    let metadata = json!({"labels": {"a/b": "c"}, "annotations": {"d": "e"}, "finalizers": [OPERATOR_FINALIZER],
        "ownerReferences": [{"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": "iso", "uid": "1",
            "controller": true}]});
    let created = site.create_image_with("iso", &metadata, &spec("x86_64", &["iso", "initrd"]));
    let ready = site.wait_until_ready("iso");
    assert_eq!(ready["metadata"]["finalizers"], json!([OPERATOR_FINALIZER, FINALIZER]));
    for untouched in ["labels", "annotations", "ownerReferences", "generation"] {
        assert_eq!(ready["metadata"][untouched], created["metadata"][untouched], "{untouched}");
    }
    assert_eq!(ready["spec"], created["spec"]);
    let status = &ready["status"];
    assert_eq!((&status["format"], &status["architecture"]), (&json!("iso"), &json!("x86_64")), "{status:#}");
    for absent in ["kernelUrl", "extraKernelParams", "networkData"] {
        assert!(status[absent].is_null(), "{absent}: {status:#}");
    }
    assert_eq!(summary(&ready, "Ready"), ("True", "ImageSuccess", "Generated image", &json!(1)));
    assert_eq!(summary(&ready, "Error"), ("False", "ImageSuccess", "", &json!(1)));
    assert!(is_acceptable(&ready, None));
    assert!(image_url(&ready).starts_with(&format!("{PUBLISHED}/")), "{ready:#}");
    assert!(image_url(&ready).len() < 255);
    assert_eq!(replica.fetch(image_url(&ready)).len(), site.bases.read("ironic-python-agent.iso").len());

    site.create_image("network-boot", &spec("x86_64", &["initrd", "iso"]));
    let ready = site.wait_until_ready("network-boot");
    let status = &ready["status"];
    assert_eq!(status["format"], "initrd");
    let rootfs = "coreos.live.rootfs_url=http://192.0.2.1:6180/images/ironic-python-agent";
    assert_eq!(status["extraKernelParams"], format!("{rootfs}.rootfs"));
    let kernel = status["kernelUrl"].as_str().expect("a kernel");
    assert!(replica.fetch(kernel) == site.bases.read("ironic-python-agent.kernel"));
    assert!(is_acceptable(&ready, None));

    site.create_image("arm", &spec("aarch64", &["initrd"]));
    let ready = site.wait_until_ready("arm");
    let status = &ready["status"];
    assert_eq!(status["architecture"], "aarch64");
    assert_eq!(status["extraKernelParams"], format!("{rootfs}_aarch64.rootfs"));
    let kernel = status["kernelUrl"].as_str().expect("a kernel");
    assert!(replica.fetch(kernel) == site.bases.read("ironic-python-agent_aarch64.kernel"));
    let initrd = replica.fetch(image_url(&ready));
    assert!(initrd.starts_with(&site.bases.read("ironic-python-agent_aarch64.initramfs")));
    assert!(is_acceptable(&ready, None));

    replica.wait("an Event", Duration::from_secs(10), || {
        site.events("arm").iter().any(|(kind, reason, _)| kind == "Normal" && reason == "ImageReady")
    });
}

#[test]
fn what_cannot_be_made_is_said_until_it_can() {
    let (site, replica) = start();
    let nothing = "No acceptable image format supported";
    let refused = [
        ("s390x", "Architecture not supported", spec("s390x", &["iso"])),
        ("none", nothing, spec("x86_64", &[])),
        ("no-spec", nothing, Value::Null),
    ];
    for (name, _, spec) in &refused {
        site.create_image(name, spec);
    }
    for (name, message, _) in &refused {
        let image = site.wait_for_error(name, "ConfigurationError");
        assert_eq!(summary(&image, "Error"), ("True", "ConfigurationError", *message, &json!(1)));
        assert_eq!(summary(&image, "Ready"), ("False", "ConfigurationError", "", &json!(1)));
        assert_eq!((image_url(&image), is_acceptable(&image, None)), ("", false));
        assert_eq!(image["metadata"]["finalizers"], json!([FINALIZER]), "{name}");
    }
    site.patch_image("s390x", &json!({"spec": {"architecture": "x86_64"}}));
    let ready = site.wait_until_ready("s390x");
    assert_eq!(summary(&ready, "Error"), ("False", "ImageSuccess", "", &json!(2)));
    assert_eq!(replica.status(image_url(&ready)), Ok(200));
    let url = image_url(&ready).to_owned();

    // And back: the URL goes with the image's readiness.
    site.patch_image("s390x", &json!({"spec": {"architecture": "riscv64"}}));
    let image = site.wait_for_error("s390x", "ConfigurationError");
    assert_eq!((image_url(&image), is_true(&image, "Ready")), ("", false));
    site.patch_image("s390x", &json!({"spec": {"architecture": "x86_64"}}));
    assert_eq!(image_url(&site.wait_until_ready("s390x")), url, "the same image has the same URL");

    replica.wait("an Event", Duration::from_secs(10), || !site.events("no-spec").is_empty());
    let expected = ("Warning".to_owned(), "ConfigurationError".to_owned(), nothing.to_owned());
    assert_eq!(site.events("no-spec"), [expected]);
}

#[test]
fn another_format_and_another_architecture_are_another_image_that_is_ready_only_when_it_is_there() {
    let (site, replica) = start();
    site.create_image("host", &spec("x86_64", &["iso"]));
    let iso = site.wait_until_ready("host");
    let history = site.follow("host", &replica);
    site.patch_image("host", &json!({"spec": {"acceptFormats": ["initrd"]}}));
    let initrd = site.wait_until_ready("host");
    assert_eq!((&initrd["status"]["format"], initrd["status"]["kernelUrl"].is_string()), (&json!("initrd"), true));
    assert_ne!(image_url(&initrd), image_url(&iso));

    // Ready and withdrawn, then without a URL, then with the new one.
    let steps: Vec<_> = history.between(&iso, &initrd).into_iter().map(|sighting| sighting.object).collect();
    let shown: Vec<_> = steps
        .iter()
        .map(|step| {
            (image_url(step), is_true(step, "Ready"), condition(step, "Ready")["message"].as_str().unwrap_or(""))
        })
        .collect();
    let expected = [
        // The new spec; the status is still that of the old one, which nobody accepts.
        (image_url(&iso), true, "Generated image"),
        (image_url(&iso), false, "Config changed"),
        ("", false, "Config changed"),
        (image_url(&initrd), true, "Generated image"),
    ];
    assert_eq!(shown, expected, "{steps:#?}");
    let accepted: Vec<bool> = steps.iter().map(|step| is_acceptable(step, None)).collect();
    assert_eq!(accepted, [false, false, false, true]);
    assert_eq!(replica.status(image_url(&iso)), Ok(200), "what a BMC reads now comes to its end");

    site.patch_image("host", &json!({"spec": {"acceptFormats": ["iso"]}}));
    let again = site.wait_until_ready("host");
    assert_eq!(image_url(&again), image_url(&iso), "the same image has the same URL");
    assert!(again["status"]["kernelUrl"].is_null() && again["status"]["extraKernelParams"].is_null(), "{again:#}");

    site.patch_image("host", &json!({"spec": {"architecture": "aarch64"}}));
    let arm = site.wait_until_ready("host");
    assert_ne!(image_url(&arm), image_url(&iso));
    assert!(is_acceptable(&arm, None));
    let versions = |image: &Value| (summary(image, "Ready").3.clone(), image["metadata"]["generation"].clone());
    assert_eq!(versions(&arm), (json!(4), json!(4)));
    history.assert_ready_images_answered();
}

#[test]
fn objects_of_assisted_service_are_left_alone_also_when_they_become_so() {
    let (site, replica) = start();
    let label = json!({"labels": {"infraenvs.agent-install.openshift.io": "any"}});
    let foreign = site.create_image_with("foreign", &label, &spec("x86_64", &["iso"]));
    site.create_image("ours", &spec("x86_64", &["iso"]));
    let ours = site.wait_until_ready("ours");
    let unchanged = site.image("foreign");
    assert_eq!(unchanged["metadata"]["resourceVersion"], foreign["metadata"]["resourceVersion"], "{unchanged:#}");

    assert_eq!(replica.status(image_url(&ours)), Ok(200));
    let labelled = site.patch_image("ours", &json!({"metadata": label}));
    wait_until_gone(&replica, image_url(&ours));
    let after = site.image("ours");
    assert_eq!(after["metadata"]["resourceVersion"], labelled["metadata"]["resourceVersion"], "{after:#}");

    // And ours again.
    site.patch_image("ours", &json!({"metadata": {"labels": {"infraenvs.agent-install.openshift.io": null}}}));
    replica.wait("the image is back", Duration::from_secs(10), || replica.status(image_url(&ours)) == Ok(200));
}

#[test]
fn an_image_is_served_for_as_long_as_anybody_else_holds_its_object() {
    let (site, replica) = start();
    // Two that are not of one content, which would be one image.
    for (name, argument, finalizers) in [("held", "a=1", json!([OPERATOR_FINALIZER])), ("free", "a=2", json!([]))] {
        let annotations = json!({"dayone.metal3.io/kernel-arguments": argument});
        let metadata = json!({"annotations": annotations, "finalizers": finalizers});
        site.create_image_with(name, &metadata, &spec("x86_64", &["iso"]));
    }
    let (held, free) = (site.wait_until_ready("held"), site.wait_until_ready("free"));
    site.delete_image("free");
    site.wait_for_image("free", "gone", Value::is_null);
    wait_until_gone(&replica, image_url(&free));

    site.delete_image("held");
    thread::sleep(Duration::from_secs(1));
    let deleting = site.image("held");
    assert!(deleting["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(deleting["metadata"]["finalizers"], json!([OPERATOR_FINALIZER, FINALIZER]));
    assert_eq!(replica.status(image_url(&held)), Ok(200), "a host may boot from it");
    site.patch_image("held", &json!({"metadata": {"finalizers": [FINALIZER]}}));
    site.wait_for_image("held", "gone", Value::is_null);
    wait_until_gone(&replica, image_url(&held));

    // One of the same name is another object, with its own image.
    site.create_image("free", &spec("x86_64", &["iso"]));
    let again = site.wait_until_ready("free");
    assert_eq!(replica.status(image_url(&again)), Ok(200));
}

/// dayone keeps images in memory, and makes them again after a restart.
#[test]
fn an_image_whose_object_is_being_deleted_is_reported_as_lost_if_its_secret_changed_before_a_restart() {
    let (site, mut replica) = start();
    site.create_secret("network", &json!({"nmstate": "interfaces: [{name: eno1, type: ethernet, state: up}]"}));
    let mut with_network = spec("x86_64", &["iso"]);
    with_network["networkDataName"] = json!("network");
    site.create_image_with("held", &json!({"finalizers": [OPERATOR_FINALIZER]}), &with_network);
    let held = site.wait_until_ready("held");
    let both = json!([OPERATOR_FINALIZER, FINALIZER]);
    assert_eq!(held["metadata"]["finalizers"], both);
    site.delete_image("held");
    replica.kill();
    let changed = json!({"stringData": {"nmstate": "interfaces: [{name: eno2, type: ethernet, state: up}]"}});
    site.patch_secret("network", &changed);

    let replica = site.settings("dayone").start_ready("dayone-1");
    replica.wait("it leads", Duration::from_secs(40), || replica.leads());
    replica.wait("an Event", Duration::from_secs(20), || {
        site.events("held").iter().any(|(kind, reason, _)| kind == "Warning" && reason == "ImageLost")
    });
    assert_eq!(replica.status(image_url(&held)), Ok(404));
    assert_eq!(image_url(&site.image("held")), image_url(&held), "the operator decides what becomes of it");
    let failing = || replica.metric("dayone_kubernetes_failing_objects{reason=\"ImageLost\"}");
    assert_eq!(failing(), Some(1.0));
    let again = json!({"stringData": {"nmstate": "interfaces: [{name: eno3, type: ethernet, state: up}]"}});
    site.patch_secret("network", &again);
    thread::sleep(Duration::from_secs(2));
    let failures = |reason: &str| replica.metric(&format!("dayone_kubernetes_failures_total{{reason=\"{reason}\"}}"));
    assert_eq!(failures("ImageLost"), Some(1.0), "nobody has to hear of it again");
    let log = replica.log();
    assert!(log.matches("ImageLost").count() <= 2, "once before it leads, and once with the Event: {log}");

    // Hosts and their Secrets are often deleted together.
    site.admin().delete(&site.secret_path("network"));
    let missing = || replica.metric("dayone_kubernetes_failing_objects{reason=\"MissingNetworkData\"}");
    replica.wait("another reason", Duration::from_secs(10), || (missing(), failing()) == (Some(1.0), Some(0.0)));
    replica.wait("a failure", Duration::from_secs(5), || failures("MissingNetworkData") == Some(1.0));
    assert_eq!(site.image("held")["metadata"]["finalizers"], both, "somebody still holds it");
    site.patch_image("held", &json!({"metadata": {"finalizers": [FINALIZER]}}));
    site.wait_for_image("held", "gone", Value::is_null);
    replica.wait("nothing is lost", Duration::from_secs(10), || missing() == Some(0.0));
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let (site, mut replica) = start();
    site.create_secret("network", &json!({"nmstate": "interfaces: [{name: eno1, type: ethernet, state: up}]"}));
    let mut with_network = spec("x86_64", &["iso"]);
    with_network["networkDataName"] = json!("network");
    site.create_image("with-network", &with_network);
    site.create_image("iso", &spec("x86_64", &["iso"]));
    site.create_image("wrong", &spec("x86_64", &[]));
    let versions = || {
        let version = |object: Value| object["metadata"]["resourceVersion"].clone();
        let images = ["with-network", "iso", "wrong"].map(|name| version(site.image(name)));
        (images, version(site.secret("network")))
    };
    site.wait_until_ready("with-network");
    site.wait_until_ready("iso");
    site.wait_for_error("wrong", "ConfigurationError");
    // What was written last is in the log a moment later.
    thread::sleep(Duration::from_secs(2));
    let (before, writes) = (versions(), site.writes("dayone"));
    assert!(writes.iter().any(|write| write.starts_with("patch preprovisioningimages/status iso")), "{writes:#?}");
    // Each of the three: the finalizer and the status. The rest: the key, the Secret's claim, Events.
    let images = writes.iter().filter(|write| write.contains(" preprovisioningimages/")).count();
    assert!(images <= 7, "{writes:#?}");
    // Longer than bases and settings take to be looked at again, and a Lease to be renewed.
    thread::sleep(Duration::from_secs(8));
    assert_eq!(site.writes("dayone"), writes);

    // What is no business of ours.
    for name in ["with-network", "iso"] {
        site.patch_image(name, &json!({"metadata": {"labels": {"rack": "7"}}}));
    }
    let after_label = versions();
    assert_ne!(before, after_label);
    replica.kill();
    let replica = site.settings("dayone").start_ready("dayone-1");
    replica.wait("it leads", Duration::from_secs(40), || replica.leads());
    thread::sleep(Duration::from_secs(2));
    assert_eq!(versions(), after_label, "a restart writes nothing");
    assert_eq!(site.writes("dayone"), writes);
    assert_eq!(replica.metric("dayone_kubernetes_objects"), Some(3.0), "{:?}", replica.probe("metrics"));
}
