//! The controller of PreprovisioningImages against a real API server; the baremetal-operator is played by its rules.

mod fixture;
mod key;
mod replicas;
mod trouble;

use std::time::{Duration, Instant};

use acceptance::kubernetes::ApiServer;
use acceptance::kubernetes::metal3::{PREPROVISIONING_IMAGES, collection};
use serde_json::{Value, json};

use fixture::{Namespace, RIGHTS, Running, condition, counted, wait_for};

const PROTECTION: &str = "baremetalhost.metal3.io/preprovisioningImage";
const FINALIZER: &str = "preprovisioningimage.metal3.io";

fn spec(secret: &str) -> Value {
    json!({"networkDataName": secret, "architecture": "x86_64", "acceptFormats": ["iso", "initrd"]})
}

fn start() -> (Namespace<'static>, String, Running) {
    let namespace = Namespace::new(ApiServer::shared());
    let user = namespace.account("dayone", RIGHTS);
    let running = Running::start(&namespace, &user, None);
    (namespace, user, running)
}

/// How long nothing more may happen.
const QUIET: Duration = Duration::from_millis(1500);

/// Objects and Secrets have a watch each, and neither waits for the other.
const READS: &str =
    "once to claim the Secret, and once more if the object's event is there before the claimed Secret's";

#[test]
fn an_image_is_made_and_told_in_five_requests() {
    let (namespace, user, running) = start();
    wait_for("ready", Duration::from_secs(10), || running.is_ready());
    namespace.create_secret("net", "nmstate", "odd", &json!({}));
    namespace.create_image("worker-0", &json!({}), &spec("net"));
    let image = namespace.accepted("worker-0");
    assert_eq!(image["status"]["imageUrl"], json!(running.images.urls()["worker-0"]));
    assert_eq!(image["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(condition(&image, "Ready")["message"], "Generated image");
    assert_eq!(condition(&image, "Error")["observedGeneration"], 1);

    let secret = namespace.admin().get(&namespace.secret("net"));
    assert_eq!(secret["metadata"]["labels"], json!({"environment.metal3.io": "baremetal"}));
    let owner = &secret["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("PreprovisioningImage"), &image["metadata"]["uid"]));
    assert_eq!(owner["controller"], Value::Null);

    wait_for("Events", Duration::from_secs(5), || namespace.events("worker-0", "NetworkDataFinding").len() == 10);
    assert_eq!(namespace.events("worker-0", "ImageReady")[0]["type"], "Normal");
    std::thread::sleep(QUIET);
    let asked = namespace.asked(&user);
    let mut asked = counted(&asked);
    assert!(matches!(asked.remove("get secrets"), Some(1..=2)), "{READS}");
    let expected = [
        ("create events", 11),
        ("patch preprovisioningimages", 1),
        ("patch preprovisioningimages/status", 1),
        ("update secrets", 1),
    ];
    assert_eq!(asked, expected.into());
}

#[test]
fn a_changed_secret_is_a_new_image_and_changed_metadata_is_none() {
    let (namespace, user, running) = start();
    namespace.create_secret("net", "nmstate", "one", &json!({}));
    namespace.create_image("worker-0", &json!({}), &spec("net"));
    let first = namespace.accepted("worker-0");
    let writes = || namespace.asked(&user).iter().filter(|one| one.ends_with("/status")).count();
    wait_for("its first write in the log", Duration::from_secs(5), || writes() == 1);

    let reads = || namespace.asked(&user).iter().filter(|one| *one == "get secrets").count();
    std::thread::sleep(QUIET);
    let first_reads = reads();
    assert!(matches!(first_reads, 1..=2), "{READS}");

    // As the baremetal-operator does.
    let finalizers = json!({"metadata": {"finalizers": ["baremetalhost.metal3.io/secret"]}});
    namespace.admin().patch(&namespace.secret("net"), &finalizers);
    let second = namespace.accepted("worker-0");
    assert_eq!(first["status"]["imageUrl"], second["status"]["imageUrl"]);
    let flipped = |image: &Value| condition(image, "Ready")["lastTransitionTime"].clone();
    assert_eq!(flipped(&first), flipped(&second));
    std::thread::sleep(QUIET);
    assert_eq!(writes(), 2);

    namespace.change_secret("net", "nmstate", "two");
    let third = namespace.accepted("worker-0");
    assert_ne!(first["status"]["imageUrl"], third["status"]["imageUrl"]);
    assert_eq!(third["status"]["imageUrl"], json!(running.images.urls()["worker-0"]));
    std::thread::sleep(QUIET);
    assert_eq!(writes(), 5, "not ready, no URL, the new one");

    // Another base: the same order.
    running.images.salt("another base");
    namespace.admin().wait_until(&namespace.image("worker-0"), "another image", |image| {
        image["status"]["imageUrl"] != third["status"]["imageUrl"]
    });
    namespace.accepted("worker-0");
    std::thread::sleep(QUIET);
    assert_eq!(writes(), 6);
    assert!(namespace.asked(&user).iter().all(|one| !one.ends_with("409")), "{:?}", namespace.asked(&user));
    assert_eq!(reads(), first_reads, "once it is labelled, it is watched");
}

#[test]
fn what_cannot_be_made_is_told_and_made_once_it_can() {
    let (namespace, _, _running) = start();
    let label = json!({"environment.metal3.io": "baremetal"});
    namespace.create_image("missing", &json!({}), &spec("later"));
    namespace.create_image("unlabelled", &json!({}), &spec("much-later"));
    namespace.create_image("elsewhere", &json!({}), &spec("../../../api/v1/namespaces/default/secrets/x"));
    let image = namespace.refused("missing", "MissingNetworkData");
    assert_eq!(condition(&image, "Error")["message"], "NetworkData secret not found");
    assert_eq!(condition(&image, "Ready")["reason"], "MissingNetworkData");
    namespace.refused("unlabelled", "MissingNetworkData");
    namespace.refused("elsewhere", "MissingNetworkData");
    // One tells, the other is asked for.
    namespace.create_secret("much-later", "nmstate", "b", &json!({}));
    namespace.create_secret("later", "nmstate", "a", &label);
    namespace.accepted("missing");

    namespace.create_secret("wrong", "password", "hunter2", &label);
    namespace.create_image("wrong", &json!({}), &spec("wrong"));
    let image = namespace.refused("wrong", "ImageBuildInvalid");
    let message = condition(&image, "Error")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("missing required 'nmstate' key") && !message.contains("hunter2"), "{message}");
    namespace.change_secret("wrong", "nmstate", "invalid");
    namespace.admin().wait_until(&namespace.image("wrong"), "another message", |image| {
        condition(image, "Error")["message"] == "Cannot generate image: it is invalid"
    });
    namespace.change_secret("wrong", "nmstate", "right");
    namespace.accepted("wrong");
    assert_eq!(namespace.events("wrong", "ImageBuildInvalid").len(), 1, "the second is counted upon the first");

    namespace.create_image("odd", &json!({}), &json!({"architecture": "m68k", "acceptFormats": ["iso"]}));
    let image = namespace.refused("odd", "ConfigurationError");
    assert_eq!(condition(&image, "Error")["message"], "Architecture not supported");
    namespace.admin().patch(&namespace.image("odd"), &json!({"spec": {"architecture": "x86_64", "acceptFormats": []}}));
    namespace.admin().wait_until(&namespace.image("odd"), "no format", |image| {
        condition(image, "Error")["message"] == "No acceptable image format supported"
    });
    namespace.admin().patch(&namespace.image("odd"), &json!({"spec": {"acceptFormats": ["initrd"]}}));
    assert_eq!(namespace.accepted("odd")["status"]["format"], "initrd");

    namespace.accepted("unlabelled");
}

#[test]
fn an_image_lasts_as_long_as_somebody_holds_its_object() {
    let (namespace, _, running) = start();
    let path = namespace.image("worker-0");
    namespace.create_image("worker-0", &json!({"finalizers": [PROTECTION]}), &spec(""));
    let image = namespace.accepted("worker-0");
    assert_eq!(image["metadata"]["finalizers"], json!([PROTECTION, FINALIZER]));
    namespace.admin().delete(&path);
    std::thread::sleep(QUIET);
    assert_eq!(running.images.urls().len(), 1);
    let image = namespace.admin().get(&path);
    assert_eq!(image["metadata"]["finalizers"], json!([PROTECTION, FINALIZER]));
    namespace.admin().patch(&path, &json!({"metadata": {"finalizers": [FINALIZER]}}));
    namespace.admin().wait_until(&path, "gone", Value::is_null);
    wait_for("discarded", Duration::from_secs(5), || running.images.urls().is_empty());
}

#[test]
fn objects_of_others_are_left_alone() {
    let (namespace, user, running) = start();
    let foreign = json!({"infraenvs.agent-install.openshift.io": "any"});
    namespace.create_image("theirs", &json!({"labels": foreign}), &spec(""));
    namespace.create_image("ours", &json!({}), &spec(""));
    namespace.accepted("ours");
    namespace.admin().patch(&namespace.image("ours"), &json!({"metadata": {"labels": foreign}}));
    wait_for("discarded", Duration::from_secs(5), || running.images.urls().is_empty());
    assert_eq!(namespace.admin().get(&namespace.image("theirs"))["status"], Value::Null);
    let writes = namespace.asked(&user);
    assert_eq!(writes.iter().filter(|one| one.starts_with("patch")).count(), 2, "{writes:?}");
}

/// Waits until all objects are ready, and says how long that took.
fn all_ready(namespace: &Namespace<'_>, count: usize) -> Duration {
    let started = Instant::now();
    let list = collection(&namespace.name, PREPROVISIONING_IMAGES);
    namespace.admin().wait_until_within(Duration::from_secs(120), &list, "all ready", |list| {
        let items = list["items"].as_array().unwrap();
        items.iter().filter(|image| condition(image, "Ready")["status"] == "True").count() == count
    });
    started.elapsed()
}

#[test]
fn two_hundred_hosts_at_once_cost_what_each_costs_alone() {
    let (namespace, user, running) = start();
    let count = 200;
    for host in 0..count {
        namespace.create_secret(&format!("net-{host}"), "nmstate", &format!("{host}"), &json!({}));
        namespace.create_image(&format!("host-{host}"), &json!({}), &spec(&format!("net-{host}")));
    }
    let took = all_ready(&namespace, count);
    println!("{count} images are ready {took:?} after the last was asked for");
    assert_eq!(running.images.urls().len(), count);
    std::thread::sleep(QUIET);
    let asked = namespace.asked(&user);
    let asked = counted(&asked);
    println!("{asked:?}");
    assert_eq!(asked["patch preprovisioningimages"], count);
    assert_eq!(asked["patch preprovisioningimages/status"], count);
    assert_eq!(asked["update secrets"], count);
    assert!((count..=count + count / 20).contains(&asked["get secrets"]), "{READS}, which is rare");
}

#[test]
fn hosts_with_one_secret_agree_on_its_version() {
    let (namespace, user, _running) = start();
    let count = 20;
    namespace.create_secret("net", "nmstate", "shared", &json!({}));
    for host in 0..count {
        namespace.create_image(&format!("host-{host}"), &json!({}), &spec("net"));
    }
    let took = all_ready(&namespace, count);
    println!("{count} images of one Secret are ready {took:?} after the last was asked for");
    for host in 0..count {
        namespace.accepted(&format!("host-{host}"));
    }
    std::thread::sleep(QUIET);
    let asked = namespace.asked(&user);
    let asked = counted(&asked);
    println!("{asked:?}");
    // The first claims it for all that are there. Those that come later make it another version for all.
    assert!(asked["patch preprovisioningimages/status"] < count * count / 4, "{asked:?}");
}
