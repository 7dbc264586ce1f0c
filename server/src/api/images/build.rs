//! From an order to a recipe, and from there to an image that is published, or only planned.

use std::sync::Arc;

use hosts::network::ConvertedNetwork;
use imagelib::ignition::Additions;
use imagelib::image::ImageError;
use imagelib::recipe::{DataDrive, PartOrder, Recipe, RootfsLocation};
use vocabulary::host::HostSpec;
use vocabulary::report::Report;

use super::order::Order;
use crate::api::documents;
use crate::api::problem::{Problem, ProblemKind};
use crate::media_url::MediaUrl;
use crate::store::{BaseState, OpenBase, Publication, RegisteredBase, Store, StoreError, StoredImage};

/// An order, understood.
pub(in crate::api) struct Understood {
    /// The base; a data image has none.
    pub base: Option<Arc<RegisteredBase>>,
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
    let base = base_of(store, &order)?;
    let Some(documents) = order.documents.clone() else {
        return understand_host(store, media_url, order, base, None, Report::new());
    };
    let (host, report) = documents::one_host(&documents, order.host.as_deref())?;
    let mut understood = understand_host(store, media_url, order, base, Some(&host), report)?;
    documents::locate(&documents, &mut understood.report);
    Ok(understood)
}

/// The base that an order names.
pub(in crate::api) fn base_of(store: &Store, order: &Order) -> Result<Option<Arc<RegisteredBase>>, Problem> {
    order.base.as_deref().map(|name| base_called(store, name)).transpose()
}

fn base_called(store: &Store, name: &str) -> Result<Arc<RegisteredBase>, Problem> {
    store.base(name).ok_or_else(|| unknown_base(store, name))
}

/// The files of the base of this name, which must be available.
pub(in crate::api) fn open_base(store: &Store, name: &str) -> Result<Arc<OpenBase>, Problem> {
    available(&*base_called(store, name)?)
}

/// Converts the network of one host of the order's documents, and writes the recipe.
pub(in crate::api) fn understand_host(
    store: &Store,
    media_url: &MediaUrl,
    order: Order,
    base: Option<Arc<RegisteredBase>>,
    host: Option<&HostSpec>,
    mut report: Report,
) -> Result<Understood, Problem> {
    // After the documents: what is wrong with them is wrong whether the base is there or not.
    let open = base.as_deref().map_or_else(|| Ok(store.nothing()), available)?;
    let delivery = order.profile.or_else(|| base.as_ref().and_then(|base| base.profile()));
    let files = match &order.data {
        Some(drive) => drive.kind.network_files(),
        None => delivery.unwrap_or_else(|| open.base.profile()).network_files(),
    };
    // A drive says nothing of NICs that the documents do not mention.
    let no_auto_default = !order.auto_default && order.data.is_none();
    let network = match host {
        Some(host) => {
            let (documents, release) = (order.documents.as_ref(), open.base.network_manager_version());
            documents::network(host, documents, files, release, no_auto_default, &mut report)?
        }
        None => ConvertedNetwork::default(),
    };
    let hostname = order.hostname.or(network.hostname);
    let label = host.and_then(|host| host.name.clone()).or_else(|| hostname.as_ref().map(ToString::to_string));
    let data = order.data.map(|drive| {
        let network_data = network.network_data.map(Into::into).or(drive.network_data);
        DataDrive { network_data, ..drive }
    });
    let additions = Additions {
        keyfiles: network.keyfiles,
        networkd_units: network.networkd_units,
        no_auto_default,
        hostname,
        ssh_authorized_keys: order.ssh_authorized_keys,
        files: order.files,
        units: order.units,
    };
    let rootfs = match order.rootfs_url {
        Some(url) => Some(RootfsLocation::Url(url)),
        None if open.base.has_rootfs_to_fetch(order.format) => Some(RootfsLocation::MediaPlane(media_url.to_string())),
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
        data,
        replace_embedded: order.replace_embedded,
        order: PartOrder::Canonical,
    };
    Ok(Understood { base, open, recipe, label, report })
}

impl Understood {
    /// Publishes the image.
    pub(in crate::api) fn publish(self, store: &Store) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        match self.base {
            Some(base) => store.publish(base.name().as_str(), self.recipe, self.label),
            None => store.publish_data(self.recipe, self.label),
        }
    }
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
            StoreError::Write(cause) => return Self::storage(detail, &cause),
            StoreError::UnknownBase(_) => ProblemKind::UnknownBase,
            StoreError::BaseUnavailable { .. } | StoreError::BaseReplaced(_) => ProblemKind::BaseUnavailable,
            StoreError::OtherBytes | StoreError::Unreadable => ProblemKind::ImageConflict,
            StoreError::Name { .. } | StoreError::Internal(_) => ProblemKind::Internal,
        };
        let problem = Self::new(kind, detail);
        match cause {
            Some(cause) => problem.with_cause(cause),
            None => problem,
        }
    }
}
