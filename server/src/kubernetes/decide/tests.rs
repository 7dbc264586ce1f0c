//! Every branch, and how the baremetal-operator reads the result.

mod desired;
mod messages;

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use vocabulary::report::{DocumentPath, Report};

use super::*;
use crate::host_images::{PublishedImage, Support};
use crate::kubernetes::resources::{Condition, FINALIZER, PreprovisioningImage, PreprovisioningImageStatus};

pub(super) fn object() -> PreprovisioningImage {
    serde_json::from_value(json!({
        "metadata": {"namespace": "n", "name": "worker-0", "uid": "u", "generation": 3, "resourceVersion": "10",
            "finalizers": [FINALIZER]},
        "spec": {"networkDataName": "net", "architecture": "x86_64", "acceptFormats": ["iso", "initrd"]},
    }))
    .unwrap()
}

pub(super) fn secret(version: &str, keys: &[(&str, &str)]) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some("net".to_owned()),
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(
            keys.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()))).collect(),
        ),
        ..Secret::default()
    }
}

fn only_x86_64(architecture: &str) -> Support {
    if architecture == "x86_64" { Support::Supported } else { Support::Unsupported }
}

fn image_of(object: &PreprovisioningImage) -> DesiredImage {
    match desired(object, only_x86_64) {
        Desired::Image(image) => image,
        other => panic!("{other:?}"),
    }
}

fn image(url: &str) -> PublishedImage {
    PublishedImage { url: url.to_owned(), ..PublishedImage::default() }
}

/// The outcome if the image of the Secret with this version is published.
fn published(object: &PreprovisioningImage, url: &str, version: &str) -> Outcome {
    Outcome::Published(image(url), image_inputs(&image_of(object), Some(&secret(version, &[]))))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Writes one conclusion, if there is something to write.
fn write(object: &mut PreprovisioningImage, outcome: &Outcome, second: i64) -> bool {
    let conclusion = conclude(object, outcome, at(second));
    let writes = conclusion.status.is_some();
    if let Some(status) = conclusion.status {
        object.status = status;
    }
    writes
}

fn ready_object() -> PreprovisioningImage {
    let mut object = object();
    let outcome = published(&object, "http://d/one", "7");
    assert!(write(&mut object, &outcome, 100));
    assert!(!write(&mut object, &outcome, 200), "nothing is written twice");
    object
}

fn condition<'a>(object: &'a PreprovisioningImage, kind: &str) -> (&'a str, &'a str, &'a str) {
    let condition = object.status.condition(kind).unwrap_or_else(|| panic!("no condition {kind}"));
    (&condition.status, &condition.reason, &condition.message)
}

fn flipped(object: &PreprovisioningImage, kind: &str) -> i64 {
    object.status.condition(kind).unwrap().last_transition_time.as_ref().unwrap().0.as_second()
}

/// How the baremetal-operator reads a status.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The inputs are not those that it requested: it waits, and shows nothing on the host.
    Mismatch(&'static str),
    /// It shows a registration error with this message on the host.
    Error(String),
    /// It waits until the image is ready.
    Waits,
    /// The host boots from it.
    Accepted,
}

/// The operator's comparisons, in its order: `preprovImageAvailable` in metal3-io/baremetal-operator,
/// `internal/controller/metal3.io/baremetalhost_controller.go`. The Secret has this version.
fn verdict(object: &PreprovisioningImage, secret_version: &str) -> Verdict {
    let (spec, status) = (&object.spec, &object.status);
    if status.architecture != spec.architecture {
        return Verdict::Mismatch("architecture");
    }
    if !spec.accept_formats.contains(&status.format) {
        return Verdict::Mismatch("format");
    }
    if !spec.network_data_name.is_empty() && status.network_data.version != secret_version {
        return Verdict::Mismatch("version of the network data");
    }
    if status.network_data.name != spec.network_data_name {
        return Verdict::Mismatch("name of the network data");
    }
    if let Some(error) = object.status.condition("Error").filter(|error| error.is_true()) {
        return Verdict::Error(error.message.clone());
    }
    let observed = |ready: &Condition| ready.is_true() && ready.observed_generation == object.metadata.generation;
    if object.status.condition("Ready").is_some_and(observed) { Verdict::Accepted } else { Verdict::Waits }
}

/// Whether the baremetal-operator accepts the image of a Secret with this version.
fn accepted(object: &PreprovisioningImage, secret_version: &str) -> bool {
    verdict(object, secret_version) == Verdict::Accepted
}

/// The outcome if the image cannot be built from the Secret with this version.
fn invalid(object: &PreprovisioningImage, cause: &str, version: &str) -> Outcome {
    let inputs = image_inputs(&image_of(object), Some(&secret(version, &[])));
    Outcome::Failed(Failure::invalid(cause), Some(inputs), Duration::ZERO)
}

#[test]
fn a_new_image_is_written_at_once_and_accepted() {
    let object = ready_object();
    assert_eq!(object.status.image_url, "http://d/one");
    assert_eq!(condition(&object, "Ready"), ("True", "ImageSuccess", "Generated image"));
    assert_eq!(condition(&object, "Error"), ("False", "ImageSuccess", ""));
    assert!(accepted(&object, "7"));
    assert!(!accepted(&object, "8"));
}

#[test]
fn changed_content_is_withdrawn_before_the_new_url_is_written() {
    let mut object = ready_object();
    let outcome = published(&object, "http://d/two", "8");
    assert!(write(&mut object, &outcome, 300));
    assert_eq!(object.status.image_url, "http://d/one");
    assert_eq!(object.status.network_data.version, "7");
    assert_eq!(condition(&object, "Ready"), ("False", "ImageSuccess", "Config changed"));
    assert!(!accepted(&object, "7") && !accepted(&object, "8"));

    assert!(write(&mut object, &outcome, 301));
    assert_eq!(object.status.image_url, "");
    assert_eq!(object.status.network_data.version, "8");
    assert_eq!(condition(&object, "Ready"), ("False", "ImageSuccess", "Config changed"));
    assert!(!accepted(&object, "8"));

    assert!(write(&mut object, &outcome, 302));
    assert_eq!(object.status.image_url, "http://d/two");
    assert!(accepted(&object, "8"));
    assert!(!write(&mut object, &outcome, 303));
    assert_eq!((flipped(&object, "Ready"), flipped(&object, "Error")), (302, 100));
}

#[test]
fn changed_metadata_of_a_secret_costs_one_write_and_keeps_the_image_ready() {
    let mut object = ready_object();
    let outcome = published(&object, "http://d/one", "8");
    assert!(write(&mut object, &outcome, 300));
    assert!(accepted(&object, "8"));
    assert_eq!(flipped(&object, "Ready"), 100);
    assert!(!write(&mut object, &outcome, 301));
}

#[test]
fn the_same_order_with_another_image_is_written_at_once() {
    // Another version of dayone, another certificate: the order is the same, the old image is still there.
    let mut object = ready_object();
    let outcome = published(&object, "http://d/two", "7");
    assert!(write(&mut object, &outcome, 300));
    assert_eq!(object.status.image_url, "http://d/two");
    assert!(accepted(&object, "7"));
}

#[test]
fn a_new_generation_with_the_same_content_is_observed() {
    let mut object = ready_object();
    object.metadata.generation = Some(4);
    object.spec.accept_formats = vec!["iso".to_owned()];
    assert!(!accepted(&object, "7"));
    let outcome = published(&object, "http://d/one", "7");
    assert!(write(&mut object, &outcome, 300));
    assert!(accepted(&object, "7"));
    assert_eq!(object.status.condition("Error").unwrap().observed_generation, Some(4));
}

#[test]
fn every_write_observes_the_generation_on_both_conditions() {
    let mut ready = ready_object();
    ready.metadata.generation = Some(9);
    let not_ready = Outcome::NotReady(String::new(), Some(image_inputs(&image_of(&ready), None)), Duration::ZERO);
    for outcome in [
        published(&ready, "http://d/two", "8"),
        Outcome::Failed(Failure::missing_secret(), None, Duration::ZERO),
        not_ready,
    ] {
        let mut object = ready.clone();
        while write(&mut object, &outcome, 300) {
            let observed: Vec<_> = object.status.conditions.iter().map(|one| one.observed_generation).collect();
            assert_eq!(observed, [Some(9), Some(9)], "{outcome:?}");
        }
    }
}

#[test]
fn initramfs_have_a_kernel_and_parameters_and_an_iso_after_them_has_none() {
    let mut object = object();
    let initrd = PublishedImage {
        kernel_url: Some("http://d/kernel".to_owned()),
        extra_kernel_parameters: "coreos.live.rootfs_url=http://d/rootfs".to_owned(),
        ..image("http://d/initrd")
    };
    let order = image_inputs(&image_of(&object), None);
    assert!(write(&mut object, &Outcome::Published(initrd, order.clone()), 1));
    assert_eq!(object.status.kernel_url, "http://d/kernel");
    assert_eq!(object.status.extra_kernel_params, "coreos.live.rootfs_url=http://d/rootfs");
    assert!(write(&mut object, &Outcome::Published(image("http://d/iso"), order), 2));
    assert_eq!((object.status.kernel_url.as_str(), object.status.extra_kernel_params.as_str()), ("", ""));
    // A merge patch removes what is null.
    let patch = patch("10", &object.status);
    assert!(patch.pointer("/status/kernelUrl").unwrap().is_null());
    assert_eq!(patch.pointer("/metadata/resourceVersion").unwrap(), "10");
}

#[test]
fn a_failed_build_removes_the_url_and_records_its_inputs() {
    let mut object = ready_object();
    object.status.kernel_url = "http://d/kernel".to_owned();
    let outcome = invalid(&object, "two addresses are the same", "8");
    assert!(write(&mut object, &outcome, 300));
    assert_eq!(object.status.image_url, "");
    assert_eq!(object.status.kernel_url, "http://d/kernel");
    assert_eq!((object.status.format.as_str(), object.status.network_data.version.as_str()), ("iso", "8"));
    assert_eq!(condition(&object, "Ready"), ("False", "ImageBuildInvalid", ""));
    let message = "Cannot generate image: two addresses are the same";
    assert_eq!(condition(&object, "Error"), ("True", "ImageBuildInvalid", message));
    assert_eq!(verdict(&object, "8"), Verdict::Error(message.to_owned()));
    assert!(!write(&mut object, &outcome, 400), "it is not written again");
    assert_eq!(conclude(&object, &outcome, at(400)).again, None);
    // The Secret is corrected.
    let outcome = published(&object, "http://d/two", "9");
    assert!(write(&mut object, &outcome, 500));
    assert!(accepted(&object, "9"));
}

#[test]
fn the_first_build_of_a_host_that_fails_reaches_the_host() {
    let mut object = object();
    assert_eq!(verdict(&object, "7"), Verdict::Mismatch("architecture"));
    let outcome = invalid(&object, "two addresses are the same", "7");
    assert!(write(&mut object, &outcome, 300));
    assert_eq!(verdict(&object, "7"), Verdict::Error("Cannot generate image: two addresses are the same".to_owned()));
    // Somebody changes the Secret, and it is still wrong: the host must not wait for an image that never comes.
    let outcome = invalid(&object, "two addresses are the same", "8");
    assert!(write(&mut object, &outcome, 400));
    assert!(matches!(verdict(&object, "8"), Verdict::Error(_)));
    assert_eq!(flipped(&object, "Error"), 300);
}

#[test]
fn a_missing_secret_leaves_the_inputs_of_the_old_image() {
    let mut object = ready_object();
    assert!(write(&mut object, &Outcome::Failed(Failure::missing_secret(), None, Duration::ZERO), 300));
    assert_eq!((object.status.format.as_str(), object.status.network_data.version.as_str()), ("iso", "7"));
    assert!(matches!(verdict(&object, "7"), Verdict::Error(_)));
    assert!(!accepted(&object, "7"));
}

#[test]
fn a_missing_secret_is_read_again_after_10_s_then_at_growing_intervals_of_up_to_10_min() {
    // The object has failed for another reason for hours: the intervals count from when the Secret was missing.
    let mut object = object();
    let invalid = invalid(&object, "two addresses are the same", "7");
    assert!(write(&mut object, &invalid, 1));
    let (mut waits, mut since) = (Vec::new(), Duration::ZERO);
    for _ in 0..9 {
        let outcome = Outcome::Failed(Failure::missing_secret(), None, since);
        let now = 20_000_i64.saturating_add_unsigned(since.as_secs());
        let conclusion = conclude(&object, &outcome, at(now));
        let wait = conclusion.again.unwrap();
        assert_eq!(conclusion.status.is_some(), waits.is_empty(), "written once");
        object.status = conclusion.status.unwrap_or(object.status);
        waits.push(wait.as_secs());
        since += wait;
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
    assert_eq!(flipped(&object, "Error"), 1);
    assert_eq!(condition(&object, "Error"), ("True", "MissingNetworkData", "NetworkData secret not found"));
    assert_eq!(condition(&object, "Ready"), ("False", "MissingNetworkData", ""));
}

#[test]
fn an_image_that_will_be_the_same_stays_ready_while_its_base_is_read() {
    let mut ready = ready_object();
    let inputs_of = |version| image_inputs(&image_of(&ready_object()), Some(&secret(version, &[])));
    let not_ready = |seconds| {
        let waited = Duration::from_secs(seconds);
        Outcome::NotReady("the base is being read".to_owned(), Some(inputs_of("7")), waited)
    };
    let same = not_ready(59);
    let conclusion = conclude(&ready, &same, at(300));
    assert_eq!((conclusion.status, conclusion.again), (None, Some(Duration::from_secs(10))));
    let mut gone = ready.clone();
    assert!(write(&mut gone, &not_ready(60), 300));
    assert_eq!(condition(&gone, "Ready"), ("False", "ImageSuccess", "the base is being read"));
    // Whether there is a base is not known: neither are the inputs of the image.
    let unknown = |seconds| Outcome::NotReady("no base".to_owned(), None, Duration::from_secs(seconds));
    assert_eq!(conclude(&ready, &unknown(59), at(300)).status, None);
    let mut unknown_for_long = ready.clone();
    assert!(write(&mut unknown_for_long, &unknown(60), 300));
    assert_eq!(unknown_for_long.status.image_url, ready.status.image_url, "a host may be reading it");
    assert_eq!(condition(&unknown_for_long, "Ready"), ("False", "ImageSuccess", "no base"));
    let changed = Outcome::NotReady(String::new(), Some(inputs_of("8")), Duration::ZERO);
    assert!(write(&mut ready, &changed, 300));
    assert_eq!(condition(&ready, "Ready"), ("False", "ImageSuccess", "Image is not ready yet"));

    let mut new = object();
    assert!(write(&mut new, &same, 300));
    assert_eq!(condition(&new, "Ready"), ("False", "ImageSuccess", "the base is being read"));
    assert_eq!(condition(&new, "Error"), ("False", "ImageSuccess", ""));
    assert!(!accepted(&new, "7"));
}

#[test]
fn conditions_of_others_stay_and_times_have_no_fractions() {
    let mut object = object();
    let foreign = json!([{"type": "Cooking", "status": "Perhaps", "reason": "R", "message": "m"}]);
    object.status.conditions = serde_json::from_value(foreign).unwrap();
    let outcome = published(&object, "http://d/one", "7");
    let now = Timestamp::new(1_700_000_000, 123_456_789).unwrap();
    object.status = conclude(&object, &outcome, now).status.unwrap();
    assert_eq!(object.status.condition("Cooking").unwrap().status, "Perhaps");
    let patch = patch("10", &object.status);
    assert_eq!(patch.pointer("/status/conditions/1/lastTransitionTime").unwrap(), "2023-11-14T22:13:20Z");
}

#[test]
fn an_object_that_is_being_deleted_loses_its_image_with_another_content() {
    let ready = ready_object();
    assert_eq!(lost(&ready, &published(&ready, &ready.status.image_url, "8")), None);
    let failure = lost(&ready, &published(&ready, "http://d/other", "8")).unwrap();
    assert_eq!(failure.reason, "ImageLost");
    assert!(failure.message.contains("status.imageUrl"), "{}", failure.message);
    // During a rotation of the installation key.
    let under_both_keys = |url: &str, other_url: &str| {
        let image = PublishedImage { other_url: Some(other_url.to_owned()), ..image(url) };
        Outcome::Published(image, image_inputs(&image_of(&ready), None))
    };
    assert_eq!(lost(&ready, &under_both_keys("http://d/other", &ready.status.image_url)), None);
    assert!(lost(&ready, &under_both_keys("http://d/other", "http://d/former")).is_some());
    let missing = Failure::missing_secret();
    assert_eq!(lost(&ready, &Outcome::Failed(missing.clone(), None, Duration::ZERO)), Some(missing.clone()));
    for outcome in [published(&object(), "http://d/other", "8"), Outcome::Failed(missing, None, Duration::ZERO)] {
        assert_eq!(lost(&object(), &outcome), None, "no host has its URL");
    }
}
