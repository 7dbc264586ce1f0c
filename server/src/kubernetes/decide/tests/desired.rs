//! What an object asks for.

use super::*;
use crate::host_images::HostFormat;

const PROTECTION: &str = "baremetalhost.metal3.io/preprovisioningImage";

#[test]
fn the_finalizer_is_added_beside_others_and_removed_last() {
    let mut object = object();
    assert_eq!(finalizers(&object), None);
    object.metadata.finalizers = Some(vec![PROTECTION.to_owned()]);
    assert_eq!(finalizers(&object).unwrap(), [PROTECTION, FINALIZER]);
    object.metadata.finalizers = None;
    assert_eq!(finalizers(&object).unwrap(), [FINALIZER]);

    object.metadata.deletion_timestamp = Some(Time(at(5)));
    assert_eq!(finalizers(&object), None, "none is added to an object that is being deleted");
    object.metadata.finalizers = Some(vec![FINALIZER.to_owned(), PROTECTION.to_owned()]);
    assert_eq!(finalizers(&object), None);
    assert!(matches!(desired(&object, |_| Support::Supported), Desired::Image(_)), "hosts may still boot from it");
    object.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    assert_eq!(finalizers(&object), Some(Vec::new()));
    assert_eq!(desired(&object, |_| Support::Supported), Desired::Deleted);
}

#[test]
fn the_first_acceptable_format_is_used_and_errors_are_upstreams() {
    let refused = |object: &PreprovisioningImage| match desired(object, only_x86_64) {
        Desired::Impossible(Obstacle::Invalid(failure) | Obstacle::NoBase(failure)) => {
            (failure.reason, failure.message)
        }
        other => panic!("{other:?}"),
    };
    let mut object = object();
    assert_eq!(image_of(&object).format, HostFormat::Iso);
    object.spec.accept_formats = vec!["floppy".to_owned(), "initrd".to_owned(), "iso".to_owned()];
    assert_eq!(image_of(&object).format, HostFormat::Initrd);
    object.spec.accept_formats = vec!["floppy".to_owned()];
    assert_eq!(refused(&object), ("ConfigurationError", "No acceptable image format supported".to_owned()));
    object.spec.accept_formats = Vec::new();
    assert_eq!(refused(&object), ("ConfigurationError", "No acceptable image format supported".to_owned()));
    object.spec.architecture = "m68k".to_owned();
    assert_eq!(refused(&object), ("ConfigurationError", "Architecture not supported".to_owned()));
    let unknown = desired(&object, |_| Support::Unknown("there are no base images".to_owned()));
    assert_eq!(unknown, Desired::Impossible(Obstacle::Unknown("there are no base images".to_owned())));
}

#[test]
fn kernel_arguments_and_the_stream_come_from_labels_and_annotations() {
    let mut object = object();
    assert_eq!(image_of(&object).stream, None);
    let pair = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
    object.metadata.labels = Some(pair("coreos.openshift.io/stream", "rhel-10"));
    object.metadata.annotations = Some(pair("dayone.metal3.io/kernel-arguments", "console=ttyS0 quiet"));
    let image = image_of(&object);
    assert_eq!(image.stream.as_deref(), Some("rhel-10"));
    assert_eq!(image.kernel_arguments.unwrap().len(), 2);
    object.metadata.annotations = Some(pair("dayone.metal3.io/kernel-arguments", "a;b"));
    let Desired::Image(DesiredImage { kernel_arguments: Err(failure), .. }) = desired(&object, |_| Support::Supported)
    else {
        panic!("accepted")
    };
    assert_eq!(failure.reason, "ImageBuildInvalid");
    assert!(failure.message.starts_with("Cannot generate image: "), "{}", failure.message);
}
