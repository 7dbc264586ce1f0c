//! From an order to a recipe, and from there to an image that is published, or only planned.

use std::sync::Arc;

use hosts::network::{ConvertedNetwork, Target};
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::Additions;
use imagelib::image::ImageError;
use imagelib::recipe::{PartOrder, Recipe, RootfsLocation, SealedRecipe};
use media::MediaUrl;
use vocabulary::host::HostSpec;
use vocabulary::report::Report;

use super::order::Order;
use crate::api::documents;
use crate::api::problem::{Problem, ProblemKind};
use crate::compose::{NetworkOrder, compose};
use crate::store::{BaseName, OpenBase, Publication, RegisteredBase, Store, StoreError, StoredImage};

/// An order, understood.
pub(in crate::api) struct Understood {
    /// The base; a data image has none.
    base: Option<Arc<RegisteredBase>>,
    /// The base's files.
    pub open: Arc<OpenBase>,
    /// What goes into the image.
    pub recipe: Recipe,
    /// What the user calls the host.
    label: Option<String>,
    /// Warnings about the documents.
    pub report: Report,
}

/// Reads the order's documents, converts the network, and writes the recipe. Some 100 µs for a usual host.
pub(super) fn understand(store: &Store, media_url: &MediaUrl, order: Order) -> Result<Understood, Problem> {
    let place = Place::of(store, &order)?;
    let Some(documents) = &order.documents else { return place.compose(media_url, order, None, Report::new()) };
    let (host, network, report) = documents::one_host(documents, order.host.as_deref(), place.target(&order))?;
    place.compose(media_url, order, Some((&host, network)), report)
}

/// What an order is laid over.
pub(in crate::api) struct Place {
    /// The base; a data image has none.
    base: Option<Arc<RegisteredBase>>,
    /// The base's files, where they are available.
    open: Result<Arc<OpenBase>, Unavailable>,
}

impl Place {
    /// That of an order. After the documents comes whether the base is available: what is wrong with them is wrong either way.
    pub(in crate::api) fn of(store: &Store, order: &Order) -> Result<Self, Problem> {
        let base = order.base.as_deref().map(|name| base_called(store, name)).transpose()?;
        let open = base.as_deref().map_or_else(|| Ok(store.empty_base()), available);
        Ok(Self { base, open })
    }

    /// What the hosts' networks are to be converted for.
    pub(in crate::api) fn target(&self, order: &Order) -> Target {
        self.network_order(order).target(self.open.as_ref().ok().map(|open| &open.base))
    }

    fn network_order(&self, order: &Order) -> NetworkOrder {
        NetworkOrder {
            data: order.data.as_ref().map(|drive| drive.kind),
            delivery: self.delivery(order),
            auto_default: order.auto_default,
        }
    }

    fn delivery(&self, order: &Order) -> Option<DeliveryProfile> {
        order.profile.or_else(|| self.base.as_ref().and_then(|base| base.profile()))
    }

    /// Writes the recipe, for a host of the order's documents, where it has any.
    pub(in crate::api) fn compose(
        &self,
        media_url: &MediaUrl,
        order: Order,
        host: Option<(&HostSpec, ConvertedNetwork)>,
        report: Report,
    ) -> Result<Understood, Problem> {
        let (delivery, no_auto_default) = (self.delivery(&order), self.network_order(&order).no_auto_default());
        let open = self.open.clone()?;
        let rootfs = match order.rootfs_url {
            Some(url) => Some(RootfsLocation::Url(url)),
            None if open.base.has_rootfs_to_fetch(order.format) => {
                Some(RootfsLocation::MediaPlane(media_url.to_string()))
            }
            None => None,
        };
        let ordered = Recipe {
            base: open.identity,
            format: order.format,
            additions: Additions {
                no_auto_default,
                hostname: order.hostname,
                ssh_authorized_keys: order.ssh_authorized_keys,
                files: order.files,
                units: order.units,
                ..Additions::default()
            },
            ignition: order.ignition,
            kernel_arguments: order.kernel_arguments,
            boot_entries: order.boot_entries,
            delivery,
            rootfs,
            data: order.data,
            replace_embedded: order.replace_embedded,
            order: PartOrder::Canonical,
        };
        let name = host.as_ref().and_then(|(host, _)| host.name.clone());
        let recipe = compose(ordered, host.map(|(_, network)| network).unwrap_or_default());
        let label = name.or_else(|| recipe.additions.hostname.as_ref().map(ToString::to_string));
        Ok(Understood { base: self.base.clone(), open, recipe, label, report })
    }
}

fn base_called(store: &Store, name: &str) -> Result<Arc<RegisteredBase>, Problem> {
    store.base(name).ok_or_else(|| unknown_base(store, name))
}

/// The files of the base of this name, which must be available.
pub(in crate::api) fn open_base(store: &Store, name: &str) -> Result<Arc<OpenBase>, Problem> {
    Ok(available(&*base_called(store, name)?)?)
}

impl Understood {
    /// Nothing is added to the image any more.
    pub(in crate::api) fn seal(self) -> Sealed {
        Sealed { base: self.base, recipe: self.recipe.seal(), label: self.label }
    }
}

/// An order whose image can be published.
pub(in crate::api) struct Sealed {
    /// The base; a data image has none.
    base: Option<Arc<RegisteredBase>>,
    /// What goes into the image.
    pub recipe: SealedRecipe,
    /// What the user calls the host.
    pub label: Option<String>,
}

impl Sealed {
    /// Publishes the image.
    pub(in crate::api) fn publish(self, store: &Store) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        match self.base {
            Some(base) => store.publish(base.name().as_str(), self.recipe, self.label),
            None => store.publish_data(self.recipe, self.label),
        }
    }
}

/// A base that is registered, and whose files are not as they should be.
#[derive(Clone)]
struct Unavailable {
    name: BaseName,
    reason: String,
}

fn available(base: &RegisteredBase) -> Result<Arc<OpenBase>, Unavailable> {
    base.state().map_err(|reason| Unavailable { name: base.name().clone(), reason })
}

impl From<Unavailable> for Problem {
    fn from(Unavailable { name, reason }: Unavailable) -> Self {
        let detail = format!("the base '{name}' is not available at the moment; /readyz says which are");
        Self::new(ProblemKind::BaseUnavailable, detail).with_cause(reason)
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
