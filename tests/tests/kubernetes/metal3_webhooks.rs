//! `dayone controller` beside admission webhooks and controllers that hold up, refuse or take back what it writes.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use acceptance::kubernetes::{ApiServer, webhook};
use acceptance::metal3::{Replica, Site, condition, image_url, is_acceptable, is_true};
use serde_json::{Value, json};

const NMSTATE: &str = "interfaces: [{name: eno1, type: ethernet, state: up}]";
const SECRETS: (&str, &str) = ("", "secrets");
const PREPROVISIONING_IMAGES: (&str, &str) = ("metal3.io", "preprovisioningimages");

fn spec() -> Value {
    json!({"architecture": "x86_64", "acceptFormats": ["iso"]})
}

fn with_network(secret: &str) -> Value {
    json!({"architecture": "x86_64", "acceptFormats": ["iso"], "networkDataName": secret})
}

/// How many objects have requests that keep failing.
fn stuck(replica: &Replica) -> Option<f64> {
    replica.metric("dayone_kubernetes_failing_objects{reason=\"ReconciliationFailed\"}")
}

fn wait_for_event(site: &Site, replica: &Replica, name: &str, reason: &str) {
    replica.wait(reason, Duration::from_secs(20), || {
        site.events(name).iter().any(|(kind, found, _)| kind == "Warning" && found == reason)
    });
}

#[test]
fn hosts_behind_a_webhook_that_hangs_hold_up_no_other_host_and_are_told_why() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    replica.wait("it leads", Duration::from_secs(20), || replica.leads());
    // The system accepts the connections, and nothing answers on them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    site.create_secret("probe", &json!({"nmstate": NMSTATE}));
    let client = json!({"url": format!("https://{}/", silent.local_addr().unwrap())});
    server.add_webhook(SECRETS, &client, &site.secret_path("probe"), 500);
    for index in 0..32 {
        site.create_secret(&format!("network-{index}"), &json!({"nmstate": NMSTATE}));
        site.create_image(&format!("behind-{index}"), &with_network(&format!("network-{index}")));
    }
    replica.wait_for_log(&["WARN", "cannot label the Secret", "does not answer within 5 s"]);
    // Each has had one attempt: 32 of 5 s, by 8 workers.
    replica.wait("all of them are counted", Duration::from_secs(90), || stuck(&replica) == Some(32.0));
    wait_for_event(&site, &replica, "behind-0", "ReconciliationFailed");
    let image = site.wait_for_image("behind-0", "its condition", |image| {
        condition(image, "Ready")["message"].as_str().is_some_and(|message| message.contains("cannot label the Secret"))
    });
    assert!(!is_true(&image, "Ready") && !is_true(&image, "Error"), "{image:#}");

    let begun = Instant::now();
    for name in ["fresh-0", "fresh-1"] {
        site.create_image(name, &spec());
        site.wait_until_ready(name);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());

    server.remove_webhook();
    replica.wait("all have their images", Duration::from_secs(120), || stuck(&replica) == Some(0.0));
    let image = site.wait_until_ready("behind-0");
    assert!(is_acceptable(&image, Some(&site.secret("network-0"))), "{image:#}");
}

/// Such as a webhook that guards the owners of Secrets, or all of a Secret that another program manages.
fn refuses(secret: &Value) -> bool {
    let metadata = &secret["metadata"];
    metadata["ownerReferences"].is_array() || metadata["name"].as_str().is_some_and(|name| name.starts_with("sealed"))
}

#[test]
fn a_webhook_that_refuses_without_a_code_is_quoted_and_one_that_guards_owners_alone_costs_only_the_owner() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    for name in ["sealed", "owned"] {
        site.create_secret(name, &json!({"nmstate": NMSTATE}));
    }
    let client = webhook::refusing("Secrets are managed elsewhere", refuses);
    server.add_webhook(SECRETS, &client, &site.secret_path("sealed"), 400);
    site.create_image("sealed", &with_network("sealed"));
    let image = site.wait_for_error("sealed", "SecretForbidden");
    let message = condition(&image, "Error")["message"].as_str().unwrap();
    assert!(message.contains("label the Secret sealed") && message.contains("managed elsewhere"), "{message}");
    wait_for_event(&site, &replica, "sealed", "SecretForbidden");
    assert_eq!(replica.metric("dayone_kubernetes_failing_objects{reason=\"SecretForbidden\"}"), Some(1.0));
    assert_eq!(replica.metric("dayone_kubernetes_owner_references_refused"), Some(0.0));

    site.create_image("owned", &with_network("owned"));
    site.wait_until_ready("owned");
    let secret = site.secret("owned");
    assert_eq!(secret["metadata"]["labels"]["environment.metal3.io"], "baremetal");
    assert!(secret["metadata"]["ownerReferences"].is_null(), "{secret:#}");
    assert_eq!(replica.metric("dayone_kubernetes_owner_references_refused"), Some(1.0));
}

#[test]
fn a_finalizer_that_cannot_be_written_is_in_the_condition_in_an_event_and_in_a_metric() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    site.create_image("before", &spec());
    let before = site.wait_until_ready("before");
    // Nothing listens there.
    let client = json!({"url": "https://127.0.0.1:1/"});
    server.add_webhook(PREPROVISIONING_IMAGES, &client, &site.image_path("before"), 500);
    site.create_image("host", &spec());
    let image = site.wait_for_image("host", "its condition", |image| {
        condition(image, "Ready")["message"].as_str().is_some_and(|message| message.contains("change the finalizers"))
    });
    let message = condition(&image, "Ready")["message"].as_str().unwrap();
    assert!(message.contains("guard.example.test") && !is_true(&image, "Ready"), "{message}");
    wait_for_event(&site, &replica, "host", "ReconciliationFailed");
    replica.wait("it is counted", Duration::from_secs(10), || stuck(&replica) == Some(1.0));
    assert_eq!(replica.metric("dayone_kubernetes_failures_total{reason=\"ReconciliationFailed\"}"), Some(1.0));
    // The condition changes less and less often, whatever it says.
    std::thread::sleep(Duration::from_secs(3));
    let writes = site.writes("dayone");
    let writes = writes.iter().filter(|one| one.starts_with("patch preprovisioningimages/status host")).count();
    assert!(writes <= 3, "{writes} writes");
    assert_eq!(site.image("before")["status"], before["status"], "an image that a host may boot from stays");

    server.remove_webhook();
    replica.wait("its image", Duration::from_secs(60), || is_true(&site.image("host"), "Ready"));
    replica.wait("it is not counted any more", Duration::from_secs(10), || stuck(&replica) == Some(0.0));
}

#[test]
fn an_error_in_the_status_stays_while_a_request_fails() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    site.create_secret("probe", &json!({"nmstate": NMSTATE}));
    // Nothing listens there.
    let client = json!({"url": "https://127.0.0.1:1/"});
    server.add_webhook(SECRETS, &client, &site.secret_path("probe"), 500);
    site.create_image("host", &with_network("network"));
    let before = site.wait_for_error("host", "MissingNetworkData");
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    let failed = || replica.metric("dayone_kubernetes_failures_total{reason=\"ReconciliationFailed\"}");
    replica.wait("requests keep failing", Duration::from_secs(90), || failed() == Some(1.0));
    // Longer than dayone takes to write a condition.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(condition(&site.image("host"), "Error"), condition(&before, "Error"));

    server.remove_webhook();
    replica.wait("its image", Duration::from_secs(90), || is_true(&site.image("host"), "Ready"));
}

/// As a controller does that keeps the metadata of its Secrets as they are in a repository or in a vault.
#[test]
fn a_controller_that_removes_the_label_each_time_is_left_the_secret_and_the_host_gets_its_image() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &with_network("network"));
    let bare = json!({"metadata": {"labels": null, "ownerReferences": null}});
    let revert = || {
        if !site.secret("network")["metadata"]["labels"].is_null() {
            site.patch_secret("network", &bare);
        }
    };
    let told = || site.events("host").into_iter().find(|(_, reason, _)| reason == "AnotherController");
    replica.wait("an Event", Duration::from_secs(30), || {
        revert();
        told().is_some()
    });
    let (kind, _, note) = told().unwrap();
    assert_eq!(kind, "Warning");
    assert!(note.contains("the Secret network") && note.contains("environment.metal3.io"), "{note}");
    replica.wait("it is counted", Duration::from_secs(5), || {
        replica.metric("dayone_kubernetes_contested_objects") == Some(1.0)
    });
    let claims = || site.writes("dayone").iter().filter(|one| one.starts_with("update secrets/")).count();
    let before = claims();
    assert!(before <= 4, "{before} writes");
    let path = site.secret_path("network");
    let acceptable = |image: &Value| is_acceptable(image, site.admin().find(&path).as_ref());
    let image = site.wait_for_image("host", "acceptable", acceptable);
    assert_eq!(replica.status(image_url(&image)), Ok(200));

    // No watch reports a change of a Secret without the label.
    site.patch_secret("network", &json!({"stringData": {"nmstate": NMSTATE.replace("eno1", "eno2")}}));
    let changed = |found: &Value| acceptable(found) && image_url(found) != image_url(&image);
    site.admin().wait_until_within(Duration::from_secs(60), &site.image_path("host"), "another image", changed);
    assert_eq!(claims(), before, "dayone leaves the Secret alone");
}
