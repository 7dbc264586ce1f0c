//! Makes recipes from orders, and publishes their images.

use std::sync::Arc;

use hosts::network::{ConvertedNetwork, Target};
use imagelib::ignition::Additions;
use imagelib::image::ImageError;
use imagelib::recipe::{PartOrder, Recipe, RootfsLocation, SealedRecipe};
use media::MediaUrl;
use media::access::AccessLimits;
use vocabulary::host::HostSpec;
use vocabulary::report::{Report, Reported};

use super::order::{ImageRequest, Order};
use crate::api::documents;
use crate::api::problem::{Problem, ProblemKind};
use crate::compose::{NetworkOrder, check_secure_boot, compose_installer};
use crate::store::{BaseName, NewImage, OpenBase, Publication, RegisteredBase, Store, StoreError, StoredImage};

/// An image that is not published yet, to whose recipe the caller can still add.
pub(in crate::api) struct Draft {
    /// The base; a data image has none.
    base: Option<Arc<RegisteredBase>>,
    /// The base's files.
    pub open: Arc<OpenBase>,
    /// The recipe.
    pub recipe: Recipe,
    /// What the user calls the host.
    pub label: Option<String>,
    /// The limits on the access to the image.
    limits: AccessLimits,
    /// Warnings about the documents.
    pub report: Report,
}

/// Reads the order's documents, converts the network, and composes the recipe. Takes some 100 µs for a usual host.
pub(super) fn draft(store: &Store, media_url: &MediaUrl, mut order: Order) -> Result<Draft, Problem> {
    let base = OrderedBase::find(store, &order.request)?;
    let Some(documents) = order.documents.take() else { return base.compose(media_url, order, None, Report::new()) };
    let target = base.target(&order.request);
    let (host, network, report) = documents::one_host(&documents, order.request.host.as_deref(), target)?;
    base.compose(media_url, order, Some((&host, network)), report)
}

/// The base of an order.
pub(in crate::api) struct OrderedBase {
    /// The base; a data image has none.
    registered: Option<Arc<RegisteredBase>>,
    /// The base's files, if they are available.
    open: Result<Arc<OpenBase>, Unavailable>,
}

impl OrderedBase {
    /// Finds the base. It may be unavailable: errors in the documents are reported first, as they apply in any case.
    pub(in crate::api) fn find(store: &Store, request: &ImageRequest) -> Result<Self, Problem> {
        let registered = request.base.as_deref().map(|name| registered_base(store, name)).transpose()?;
        let open = registered.as_deref().map_or_else(|| Ok(store.empty_base()), available);
        Ok(Self { registered, open })
    }

    /// Returns the target to convert the hosts' networks for.
    pub(in crate::api) fn target(&self, request: &ImageRequest) -> Target {
        self.network_order(request).target(self.open.as_ref().ok().map(|open| &open.base))
    }

    fn network_order(&self, request: &ImageRequest) -> NetworkOrder {
        NetworkOrder {
            data: request.data.as_ref().map(|drive| drive.kind),
            delivery: request.profile.or_else(|| self.registered.as_ref().and_then(|base| base.profile())),
            answers: request.answers.as_ref().map(|answers| answers.kind),
            auto_default: request.auto_default,
        }
    }

    /// Fails if the base is not available.
    pub(in crate::api) fn check_available(&self) -> Result<(), Problem> {
        self.open.as_ref().map(drop).map_err(|unavailable| unavailable.clone().into())
    }

    /// Composes the recipe, for a host of the order's documents if there are any.
    pub(in crate::api) fn compose(
        &self,
        media_url: &MediaUrl,
        Order { format, ignition, limits, request, .. }: Order,
        host: Option<(&HostSpec, ConvertedNetwork)>,
        mut report: Report,
    ) -> Result<Draft, Problem> {
        let network_order = self.network_order(&request);
        let open = self.open.clone()?;
        if let Some((host, _)) = host.as_ref().filter(|_| request.data.is_none()) {
            check_secure_boot(host, || open.secure_boot.report(), &mut report);
        }
        let rootfs = match request.rootfs_url {
            Some(url) => Some(RootfsLocation::Url(url)),
            None if open.base.has_rootfs_to_fetch(format) => Some(RootfsLocation::MediaPlane(media_url.to_string())),
            None => None,
        };
        let ordered = Recipe {
            base: open.identity,
            format,
            additions: Additions {
                no_auto_default: network_order.no_auto_default(),
                hostname: request.hostname,
                ssh_authorized_keys: request.ssh_authorized_keys,
                files: request.files,
                units: request.units,
                ..Additions::default()
            },
            ignition,
            kernel_arguments: request.kernel_arguments,
            boot_entries: request.boot_entries,
            delivery: network_order.delivery,
            rootfs,
            initramfs_network: None,
            data: request.data,
            addon_signatures: None,
            replace_embedded: request.replace_embedded,
            order: PartOrder::Canonical,
        };
        let name = host.as_ref().and_then(|(host, _)| host.name.clone());
        let network = host.map(|(_, network)| network).unwrap_or_default();
        let recipe = compose_installer(ordered, network, request.answers.as_ref(), &open.base, &mut report)
            .map_err(|Reported| documents::refused(&report))?;
        let label = name.or_else(|| recipe.additions.hostname.as_ref().map(ToString::to_string));
        Ok(Draft { base: self.registered.clone(), open, recipe, label, limits, report })
    }
}

fn registered_base(store: &Store, name: &str) -> Result<Arc<RegisteredBase>, Problem> {
    store.base(name).ok_or_else(|| unknown_base(store, name))
}

/// Returns the files of the base with this name, which must be available.
pub(in crate::api) fn open_base(store: &Store, name: &str) -> Result<Arc<OpenBase>, Problem> {
    Ok(available(&*registered_base(store, name)?)?)
}

impl Draft {
    /// Completes the recipe. Signs what the site's key must sign.
    pub(in crate::api) fn seal(self, store: &Store) -> Result<Sealed, ImageError> {
        let recipe = store.seal(self.recipe, &self.open)?;
        Ok(Sealed { base: self.base, recipe, label: self.label, limits: self.limits })
    }
}

/// An image that can be published.
pub(in crate::api) struct Sealed {
    /// The base; a data image has none.
    base: Option<Arc<RegisteredBase>>,
    /// The recipe.
    pub recipe: SealedRecipe,
    /// What the user calls the host.
    pub label: Option<String>,
    /// The limits on the access to the image.
    pub limits: AccessLimits,
}

impl From<Sealed> for NewImage {
    fn from(Sealed { base, recipe, label, limits }: Sealed) -> Self {
        Self { base: base.map(|base| base.name().clone()), recipe, label, limits }
    }
}

impl Sealed {
    /// Publishes the image.
    pub(in crate::api) fn publish(self, store: &Store) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        store.publish_image(self.into())
    }
}

/// A registered base whose files are missing or have changed.
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
        let detail = format!("the base '{name}' is not available at the moment; see /readyz");
        Self::new(ProblemKind::BaseUnavailable, detail).with_cause(reason)
    }
}

fn unknown_base(store: &Store, name: &str) -> Problem {
    let known: Vec<String> = store.bases().iter().map(|base| base.name().to_string()).collect();
    let detail = match known.as_slice() {
        [] => "this server has no bases; add one with --base NAME=PATH".to_owned(),
        known => format!("the base {name:?} is unknown; known bases: {}", known.join(", ")),
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
        let kind = match error {
            StoreError::Image(error) => return error.into(),
            StoreError::Write(ref cause) => return Self::storage(error.to_string(), cause),
            StoreError::UnknownBase(_) => ProblemKind::UnknownBase,
            StoreError::BaseUnavailable { .. } | StoreError::BaseReplaced(_) => ProblemKind::BaseUnavailable,
            StoreError::OtherBytes | StoreError::Unreadable => ProblemKind::ImageConflict,
            StoreError::Name { .. } | StoreError::Internal(_) => ProblemKind::Internal,
        };
        Self::from_error(kind, &error)
    }
}
