//! What an object asks for.

use std::collections::BTreeMap;

use imagelib::kernel_arguments::KernelArgument;

use super::Failure;
use crate::host_images::kernel_arguments;
use crate::kubernetes::kind::Kind as _;
use crate::kubernetes::provider::HostFormat;
use crate::kubernetes::resources::{FINALIZER, PreprovisioningImage, STREAM_LABEL};

/// What an object asks for.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::kubernetes) enum Asked {
    /// Nothing any more: it is being deleted, and nobody else holds it.
    Gone,
    /// An image.
    Image(Wanted),
    /// What cannot be.
    Refused(Failure),
}

/// An image that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct Wanted {
    pub(in crate::kubernetes) format: HostFormat,
    pub(in crate::kubernetes) architecture: String,
    pub(in crate::kubernetes) stream: Option<String>,
    pub(in crate::kubernetes) secret: Option<String>,
    pub(in crate::kubernetes) kernel_arguments: Result<Vec<KernelArgument>, Failure>,
}

/// Reads an object. One that is being deleted while others hold it still has its image: hosts may boot from it.
pub(in crate::kubernetes) fn asked(object: &PreprovisioningImage, supports: impl Fn(&str) -> bool) -> Asked {
    if object.is_deleting() && object.finalizers().iter().all(|finalizer| finalizer == FINALIZER) {
        return Asked::Gone;
    }
    if !supports(&object.spec.architecture) {
        return Asked::Refused(Failure::configuration("Architecture not supported"));
    }
    let Some(format) = object.spec.accept_formats.iter().find_map(|word| HostFormat::from_word(word)) else {
        return Asked::Refused(Failure::configuration("No acceptable image format supported"));
    };
    let (none, metadata) = (BTreeMap::new(), &object.metadata);
    let (labels, annotations) = (metadata.labels.as_ref(), metadata.annotations.as_ref());
    let kernel_arguments = kernel_arguments::of(labels.unwrap_or(&none), annotations.unwrap_or(&none))
        .map_err(|cause| Failure::invalid(&cause.to_string()));
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Asked::Image(Wanted {
        format,
        architecture: object.spec.architecture.clone(),
        stream: object.label(STREAM_LABEL).and_then(given),
        secret: given(&object.spec.network_data_name),
        kernel_arguments,
    })
}

/// The finalizers that the object should have, where it has others.
pub(in crate::kubernetes) fn finalizers(object: &PreprovisioningImage) -> Option<Vec<String>> {
    let have = object.finalizers();
    let ours = have.iter().any(|finalizer| finalizer == FINALIZER);
    let others = || have.iter().filter(|finalizer| *finalizer != FINALIZER).cloned().collect::<Vec<_>>();
    match (object.is_deleting(), ours) {
        (false, false) => Some(have.iter().cloned().chain([FINALIZER.to_owned()]).collect()),
        // Whoever else holds the object still uses its image.
        (true, true) => Some(others()).filter(Vec::is_empty),
        _ => None,
    }
}
