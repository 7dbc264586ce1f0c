//! The image that a PreprovisioningImage requests.

use std::collections::BTreeMap;

use imagelib::kernel_arguments::KernelArgument;

use super::Failure;
use crate::host_images::{HostFormat, Support, kernel_arguments};
use crate::kubernetes::kind::Kind as _;
use crate::kubernetes::resources::{FINALIZER, PreprovisioningImage, STREAM_LABEL};

/// What an object requests.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::kubernetes) enum Desired {
    /// Nothing any more: it is being deleted, and has no finalizer but dayone's.
    Deleted,
    /// An image.
    Image(DesiredImage),
    /// An image that dayone cannot make.
    Impossible(Obstacle),
}

/// Why dayone cannot make an image.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::kubernetes) enum Obstacle {
    /// The request is not valid.
    Invalid(Failure),
    /// There is no base for the architecture. There may have been one a moment ago.
    NoBase(Failure),
    /// dayone does not know whether there is a base, for this reason.
    Unknown(String),
}

/// A requested image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct DesiredImage {
    pub(in crate::kubernetes) format: HostFormat,
    pub(in crate::kubernetes) architecture: String,
    pub(in crate::kubernetes) stream: Option<String>,
    pub(in crate::kubernetes) secret: Option<String>,
    pub(in crate::kubernetes) kernel_arguments: Result<Vec<KernelArgument>, Failure>,
}

/// Reads an object. While other finalizers hold an object that is being deleted, it keeps its image: a host may boot from
/// it.
pub(in crate::kubernetes) fn desired(object: &PreprovisioningImage, supports: impl Fn(&str) -> Support) -> Desired {
    if object.is_deleting() && object.finalizers().iter().all(|finalizer| finalizer == FINALIZER) {
        return Desired::Deleted;
    }
    match supports(&object.spec.architecture) {
        Support::Supported => {}
        Support::Unsupported => {
            return Desired::Impossible(Obstacle::NoBase(Failure::configuration("Architecture not supported")));
        }
        Support::Unknown(reason) => return Desired::Impossible(Obstacle::Unknown(reason)),
    }
    let Some(format) = object.spec.accept_formats.iter().find_map(|word| HostFormat::from_word(word)) else {
        let failure = Failure::configuration("No acceptable image format supported");
        return Desired::Impossible(Obstacle::Invalid(failure));
    };
    let (none, metadata) = (BTreeMap::new(), &object.metadata);
    let (labels, annotations) = (metadata.labels.as_ref(), metadata.annotations.as_ref());
    let kernel_arguments = kernel_arguments::of(labels.unwrap_or(&none), annotations.unwrap_or(&none))
        .map_err(|cause| Failure::invalid(&cause.to_string()));
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Desired::Image(DesiredImage {
        format,
        architecture: object.spec.architecture.clone(),
        stream: object.label(STREAM_LABEL).and_then(given),
        secret: given(&object.spec.network_data_name),
        kernel_arguments,
    })
}

/// The finalizers that the object should have; `None` if it has them already.
pub(in crate::kubernetes) fn finalizers(object: &PreprovisioningImage) -> Option<Vec<String>> {
    let present = object.finalizers();
    let has_ours = present.iter().any(|finalizer| finalizer == FINALIZER);
    match (object.is_deleting(), has_ours) {
        (false, false) => Some(present.iter().cloned().chain([FINALIZER.to_owned()]).collect()),
        // Whoever holds the object with another finalizer still uses its image.
        (true, true) => present.iter().all(|finalizer| finalizer == FINALIZER).then(Vec::new),
        _ => None,
    }
}
