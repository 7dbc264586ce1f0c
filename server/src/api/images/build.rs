//! From an order to a recipe, and from there to an image that is published, or only planned.

use std::sync::Arc;

use imagelib::ignition::Additions;
use imagelib::image::ImageError;
use imagelib::recipe::{Recipe, RootfsLocation};
use imagelib::report::Report;

use super::order::Order;
use crate::api::documents;
use crate::api::problem::{Problem, ProblemKind};
use crate::media_url::MediaUrl;
use crate::store::{BaseState, OpenBase, RegisteredBase, Store, StoreError};

/// An order, understood.
pub(super) struct Understood {
    /// The base.
    pub base: Arc<RegisteredBase>,
    /// The base's files.
    pub open: Arc<OpenBase>,
    /// What goes into the image.
    pub recipe: Recipe,
    /// What the user calls the host.
    pub label: Option<String>,
    /// Warnings about the documents.
    pub report: Report,
}

/// Reads the order's documents, converts the network, and writes the recipe. Some 100 µs for a usual host.
pub(super) fn understand(store: &Store, media_url: &MediaUrl, order: Order) -> Result<Understood, Problem> {
    let base = store.base(&order.base).ok_or_else(|| unknown_base(store, &order.base))?;
    let (host, mut report) = documents::one_host(&order.documents, order.host.as_deref())?;
    // After the documents: what is wrong with them is wrong whether the base is there or not.
    let open = available(&base)?;
    let delivery = order.profile.or(base.profile());
    let files = delivery.unwrap_or_else(|| open.base.profile()).network_files();
    let network = documents::network(&host, files, !order.auto_default, &mut report)?;
    let hostname = order.hostname.or(network.hostname);
    let label = host.name.or_else(|| hostname.as_ref().map(ToString::to_string));
    let additions = Additions {
        keyfiles: network.keyfiles,
        networkd_units: network.networkd_units,
        no_auto_default: !order.auto_default,
        hostname,
        ssh_authorized_keys: order.ssh_authorized_keys,
        files: order.files,
        units: order.units,
    };
    let rootfs = match order.rootfs_url {
        Some(url) => Some(RootfsLocation::Url(url)),
        None if open.base.fetches_rootfs(order.format) => Some(RootfsLocation::MediaPlane(media_url.to_string())),
        None => None,
    };
    let recipe = Recipe {
        base: open.identity,
        format: order.format,
        additions,
        ignition: order.ignition,
        kernel_arguments: order.kernel_arguments,
        boot_entries: order.boot_entries,
        delivery,
        rootfs,
        replace_embedded: order.replace_embedded,
    };
    Ok(Understood { base, open, recipe, label, report })
}

fn available(base: &RegisteredBase) -> Result<Arc<OpenBase>, Problem> {
    match base.state() {
        BaseState::Available(open) => Ok(open),
        BaseState::Unavailable { reason } => {
            let detail = format!("the base '{}' is not available at the moment; /readyz says which are", base.name());
            Err(Problem::new(ProblemKind::BaseUnavailable, detail).with_cause(reason))
        }
    }
}

fn unknown_base(store: &Store, name: &str) -> Problem {
    let known: Vec<String> = store.bases().iter().map(|base| base.name().to_string()).collect();
    let detail = match known.as_slice() {
        [] => "this server has no bases; add one with --base NAME=PATH".to_owned(),
        known => format!("there is no base {name:?}; there are: {}", known.join(", ")),
    };
    Problem::new(ProblemKind::UnknownBase, detail).with_known(known)
}

impl From<ImageError> for Problem {
    fn from(error: ImageError) -> Self {
        let detail = error.to_string();
        match error {
            ImageError::Growth(error) => match error.sizes() {
                Some((size, capacity)) => Self::new(ProblemKind::DoesNotFit, detail).with_sizes(size, capacity),
                None => Self::new(ProblemKind::ImageRefused, detail),
            },
            ImageError::OtherBase { .. } | ImageError::Overlay(_) | ImageError::Compression(_) => {
                Self::internal(detail)
            }
            _ => Self::new(ProblemKind::ImageRefused, detail),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let kind = match error {
            StoreError::Image(error) => return error.into(),
            StoreError::UnknownBase(_) => ProblemKind::UnknownBase,
            StoreError::BaseUnavailable { .. } | StoreError::BaseReplaced(_) => ProblemKind::BaseUnavailable,
            StoreError::OtherBytes | StoreError::Unreadable => ProblemKind::ImageConflict,
            StoreError::Internal(_) | StoreError::Write(_) => ProblemKind::Internal,
        };
        let problem = Self::new(kind, detail);
        match cause {
            Some(cause) => problem.with_cause(cause),
            None => problem,
        }
    }
}
