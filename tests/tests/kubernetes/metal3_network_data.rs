//! Hosts' network data: Secrets that come late, are wrong, are edited and go, and what the baremetal-operator, played here,
//! makes of the images at every moment.

use std::time::{Duration, Instant};

use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{Replica, Site, Verdict, condition, image_url, is_acceptable, is_true, verdict};
use reqwest::Method;
use serde_json::{Value, json};

const NMSTATE: &str = "interfaces:
- name: eno1
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}
";

fn start() -> (Site<'static>, Replica) {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    (site, replica)
}

fn spec(secret: &str) -> Value {
    json!({"architecture": "x86_64", "acceptFormats": ["iso", "initrd"], "networkDataName": secret})
}

fn message(image: &Value) -> &str {
    condition(image, "Error")["message"].as_str().unwrap_or_default()
}

/// Waits until the image is one of the Secret as it is now.
fn wait_until_acceptable(site: &Site, image: &str, secret: &str) -> Value {
    let path = site.secret_path(secret);
    site.wait_for_image(image, "acceptable", |image| is_acceptable(image, site.admin().find(&path).as_ref()))
}

/// Waits until the baremetal-operator shows an error at the host, for this reason; the Secret is as it is now.
fn wait_for_error_at_host(site: &Site, image: &str, secret: &str, reason: &str) -> Value {
    let path = site.secret_path(secret);
    let found = site.wait_for_image(image, "refused at its host", |image| {
        matches!(verdict(image, site.admin().find(&path).as_ref()), Verdict::Error(_))
    });
    assert_eq!(condition(&found, "Error")["reason"], reason);
    found
}

#[test]
fn a_secret_may_come_after_its_image_and_is_claimed() {
    let (site, replica) = start();
    site.create_image("late", &spec("network"));
    let image = site.wait_for_error("late", "MissingNetworkData");
    assert_eq!(message(&image), "NetworkData secret not found");
    assert_eq!(condition(&image, "Ready")["reason"], "MissingNetworkData");
    assert_eq!(image_url(&image), "");

    let path = format!("/api/v1/namespaces/{}/secrets", site.namespace);
    let owner = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": "late", "uid": "1",
        "controller": true, "blockOwnerDeletion": true});
    let secret = json!({"metadata": {"name": "network", "labels": {"a": "b"}, "annotations": {"c": "d"},
        "finalizers": ["baremetalhost.metal3.io/secret"], "ownerReferences": [owner]},
        "type": "example.com/network", "stringData": {"nmstate": NMSTATE, "other": "kept"}});
    let before = site.admin().create(&path, &secret);
    let created = Instant::now();
    let ready = wait_until_acceptable(&site, "late", "network");
    assert!(created.elapsed() < Duration::from_secs(14), "{:?}", created.elapsed());
    assert_eq!(replica.status(image_url(&ready)), Ok(200));

    // A label, and an owner that is no controller; nothing else.
    let mut after = site.secret("network");
    let mut expected = before;
    for object in [&mut after, &mut expected] {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
    }
    expected["metadata"]["labels"]["environment.metal3.io"] = json!("baremetal");
    expected["metadata"]["ownerReferences"].as_array_mut().unwrap().push(json!({"apiVersion": "metal3.io/v1alpha1",
        "kind": "PreprovisioningImage", "name": "late", "uid": image["metadata"]["uid"]}));
    assert_eq!(after, expected);

    // A second object may use the same.
    site.create_image("second", &spec("network"));
    wait_until_acceptable(&site, "second", "network");
    let owners = site.secret("network")["metadata"]["ownerReferences"].as_array().unwrap().len();
    assert_eq!(owners, 3);
    // The first one was made of a version that is there no more.
    wait_until_acceptable(&site, "late", "network");

    // And it may go: labelled, that is told at once.
    site.patch_secret("network", &json!({"metadata": {"finalizers": null}}));
    site.admin().request(Method::DELETE, &site.secret_path("network"), None);
    for name in ["late", "second"] {
        let image = site.wait_for_error(name, "MissingNetworkData");
        assert_eq!((image_url(&image), is_true(&image, "Ready")), ("", false));
    }
}

#[test]
fn a_secret_without_the_key_is_refused_unless_it_is_empty() {
    let (site, _replica) = start();
    let required = "Cannot generate image: network data Secret provided but missing required 'nmstate' key";
    site.create_secret("value", &json!({"value": NMSTATE}));
    site.create_image("value", &spec("value"));
    let image = wait_for_error_at_host(&site, "value", "value", "ImageBuildInvalid");
    assert!(message(&image).starts_with(required), "{}", message(&image));
    assert_eq!(condition(&image, "Ready")["reason"], "ImageBuildInvalid");

    // As the baremetal-operator calls it: network_data.json, or NMState with a warning. Beside the other, it does not count.
    let (other, wrong) = ("networkData", json!({"interfaces": "none"}).to_string());
    let link = json!({"id": "eno1", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"});
    let network = json!({"id": "n", "type": "ipv4", "link": "eno1", "ip_address": "192.0.2.10/24"});
    let document = json!({"links": [link], "networks": [network], "services": []}).to_string();
    let profile = "[connection]\nid=eno1\ntype=ethernet\ninterface-name=eno1\n";
    site.create_secret("network-data", &json!({other: document}));
    site.create_secret("profile", &json!({"eno1.nmconnection": profile, "beside": "it"}));
    site.create_secret("wrong-key", &json!({"nmstate": document}));
    site.create_secret("other-key", &json!({other: NMSTATE}));
    site.create_secret("both-keys", &json!({other: wrong, "nmstate": NMSTATE}));
    site.create_secret("wrong", &json!({other: wrong}));
    for name in ["other-key", "both-keys", "wrong", "network-data", "profile", "wrong-key"] {
        site.create_image(name, &spec(name));
    }
    wait_until_acceptable(&site, "network-data", "network-data");
    wait_until_acceptable(&site, "profile", "profile");
    let image = wait_for_error_at_host(&site, "wrong-key", "wrong-key", "ImageBuildInvalid");
    assert!(message(&image).contains("data.nmstate: is network_data.json"), "{}", message(&image));
    wait_until_acceptable(&site, "other-key", "other-key");
    wait_until_acceptable(&site, "both-keys", "both-keys");
    let image = wait_for_error_at_host(&site, "wrong", "wrong", "ImageBuildInvalid");
    assert!(message(&image).contains("Secret/wrong: data.networkData: interfaces"), "{}", message(&image));

    for (name, data) in [("empty", json!({})), ("empty-key", json!({"nmstate": ""}))] {
        site.create_secret(name, &data);
        site.create_image(name, &spec(name));
    }
    let urls = ["empty", "empty-key"].map(|name| image_url(&wait_until_acceptable(&site, name, name)).to_owned());
    // They differ by the host's name alone.
    assert_ne!(urls[0], urls[1]);

    site.patch_secret("value", &json!({"stringData": {"nmstate": NMSTATE}}));
    wait_until_acceptable(&site, "value", "value");
}

#[test]
fn what_is_wrong_in_the_nmstate_is_told_by_its_path_and_without_any_value() {
    let (site, replica) = start();
    let wrong = NMSTATE.replace("192.0.2.10", "hunter2-no-address");
    site.create_secret("network", &json!({"nmstate": wrong}));
    site.create_image("host", &spec("network"));
    let image = wait_for_error_at_host(&site, "host", "network", "ImageBuildInvalid");
    let first = message(&image).to_owned();
    assert!(first.starts_with("Cannot generate image: "), "{first}");
    for part in ["Secret/network", "nmstate", "interfaces[0]"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    replica.wait("an Event", Duration::from_secs(10), || {
        site.events("host").iter().any(|(kind, reason, _)| kind == "Warning" && reason == "ImageBuildInvalid")
    });

    let no_yaml = "interfaces: [{name: hunter2-eno1";
    site.patch_secret("network", &json!({"stringData": {"nmstate": no_yaml}}));
    site.wait_for_image("host", "another error", |image| message(image) != first);
    wait_for_error_at_host(&site, "host", "network", "ImageBuildInvalid");
    let key = "interfaces: [{name: eno1, type: ethernet, 802.1x: {identity: a, eap-methods: [tls], password: \
               hunter2-hunter2, nonsense: hunter2}}]";
    site.patch_secret("network", &json!({"stringData": {"nmstate": key}}));
    std::thread::sleep(Duration::from_secs(2));
    let shown = format!("{:#} {:?} {}", site.image("host"), site.events("host"), replica.log());
    let leaks: Vec<_> = shown.lines().filter(|line| line.contains("hunter2")).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");

    site.patch_secret("network", &json!({"stringData": {"nmstate": NMSTATE}}));
    let ready = wait_until_acceptable(&site, "host", "network");
    assert_eq!(message(&ready), "");
}

#[test]
fn findings_that_are_no_errors_are_events() {
    let (site, _replica) = start();
    // What nmstate reports of a running system, and nothing sets.
    let with_warning = format!("{NMSTATE}  driver: ixgbe\n");
    site.create_secret("network", &json!({"nmstate": with_warning}));
    site.create_image("host", &spec("network"));
    wait_until_acceptable(&site, "host", "network");
    let told = |events: &[(String, String, String)]| {
        events.iter().any(|(kind, reason, note)| {
            kind == "Warning" && reason == "NetworkDataFinding" && note.contains("interfaces[0]")
        })
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while !told(&site.events("host")) {
        assert!(Instant::now() < deadline, "{:#?}", site.events("host"));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_edited_secret_is_another_image_that_nobody_takes_for_the_old_one() {
    let (site, replica) = start();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &spec("network"));
    let first = wait_until_acceptable(&site, "host", "network");
    let history = site.follow("host", &replica);
    let old = site.secret("network");
    let edited =
        site.patch_secret("network", &json!({"stringData": {"nmstate": NMSTATE.replace("192.0.2.10", "192.0.2.11")}}));
    let second = wait_until_acceptable(&site, "host", "network");
    assert_ne!(image_url(&second), image_url(&first));

    let steps: Vec<_> = history.between(&first, &second).into_iter().map(|sighting| sighting.object).collect();
    let version = |secret: &Value| secret["metadata"]["resourceVersion"].clone();
    let shown: Vec<_> = steps
        .iter()
        .map(|step| (image_url(step), is_true(step, "Ready"), step["status"]["networkData"]["version"].clone()))
        .collect();
    let expected = [
        (image_url(&first), false, version(&old)),
        ("", false, version(&edited)),
        (image_url(&second), true, version(&edited)),
    ];
    assert_eq!(shown, expected, "{steps:#?}");
    for step in &steps[..2] {
        let ready = condition(step, "Ready");
        assert_eq!((&ready["reason"], &ready["message"]), (&json!("ImageSuccess"), &json!("Config changed")));
        assert!(!is_true(step, "Error"));
    }
    let accepted = |secret: &Value| steps.iter().map(|step| is_acceptable(step, Some(secret))).collect::<Vec<_>>();
    assert_eq!((accepted(&old), accepted(&edited)), (vec![false; 3], vec![false, false, true]));
    history.assert_ready_images_answered();
    assert_eq!(replica.status(image_url(&first)), Ok(200), "what a BMC reads now comes to its end");

    // What is edited back has the URL back.
    site.patch_secret("network", &json!({"stringData": {"nmstate": NMSTATE}}));
    assert_eq!(image_url(&wait_until_acceptable(&site, "host", "network")), image_url(&first));
    history.assert_ready_images_answered();
}

#[test]
fn what_is_written_beside_a_secrets_content_leaves_the_image_as_it_is() {
    let (site, replica) = start();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &spec("network"));
    let first = wait_until_acceptable(&site, "host", "network");
    let history = site.follow("host", &replica);
    let edits = [
        json!({"metadata": {"finalizers": ["baremetalhost.metal3.io/secret"]}}),
        json!({"metadata": {"labels": {"rack": "7"}}}),
        json!({"stringData": {"beside": "it"}}),
        // Written otherwise, and the same.
        json!({"stringData": {"nmstate": format!("# A comment\n{NMSTATE}")}}),
    ];
    for edit in &edits {
        site.patch_secret("network", edit);
        let image = wait_until_acceptable(&site, "host", "network");
        assert_eq!(image_url(&image), image_url(&first), "{edit}");
    }
    let steps = history.between(&first, &site.image("host"));
    assert_eq!(steps.len(), edits.len(), "one write each: {steps:#?}");
    assert!(steps.iter().all(|step| is_true(&step.object, "Ready") && step.answered == Some(Ok(200))), "{steps:#?}");
    let since = |object: &Value| condition(object, "Ready")["lastTransitionTime"].clone();
    assert_eq!(since(&site.image("host")), since(&first), "it has been ready all the time");
}

#[test]
fn the_rule_of_the_operator_refuses_what_is_not_as_it_was_asked_for() {
    let secret = json!({"metadata": {"resourceVersion": "7"}});
    let ready =
        |status: &str, generation: u64| json!({"type": "Ready", "status": status, "observedGeneration": generation});
    let good = json!({"metadata": {"generation": 2}, "spec": spec("network"),
        "status": {"architecture": "x86_64", "format": "iso", "networkData": {"name": "network", "version": "7"},
            "conditions": [ready("True", 2), {"type": "Error", "status": "False"}]}});
    assert!(is_acceptable(&good, Some(&secret)));
    assert!(!is_acceptable(&good, None));
    for (pointer, value) in [
        ("/status/architecture", json!("aarch64")),
        ("/status/format", json!("usb")),
        ("/status/networkData/version", json!("6")),
        ("/status/networkData/name", json!("other")),
        ("/status/conditions/0", ready("True", 1)),
        ("/status/conditions/0", ready("False", 2)),
        ("/status/conditions/1/status", json!("True")),
        ("/status/conditions", json!([])),
    ] {
        let mut image = good.clone();
        *image.pointer_mut(pointer).unwrap() = value;
        assert!(!is_acceptable(&image, Some(&secret)), "{pointer}");
    }
}
