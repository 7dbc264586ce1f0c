//! The bases: configured at the start of `dayone serve` or by a controller, and added while the server runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imagelib::base::BaseIdentity;
use parking_lot::RwLock;
use tokio::sync::watch;
use tracing::{error, info};

use super::added_bases::ReadyBase;
use super::base_record::BaseVersion;
use super::definition::{BaseDefinition, BaseName, DefinitionError};
use super::digest_cache::DigestCache;
use super::error::OpenError;
use super::open_base::{Fresh, OpenBase, OpenBaseError};
use super::registered_base::RegisteredBase;
use super::stored_image::StoredImage;

/// What to do at the start if a base is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnUnusable {
    /// Fail: the configuration is wrong.
    Fail,
    /// Go on without the base, and look for it at every recheck.
    Continue,
}

/// The bases, by name.
#[derive(Debug)]
pub(super) struct Bases {
    by_name: RwLock<BTreeMap<BaseName, Arc<RegisteredBase>>>,
    /// Added bases that a later one has replaced, and that images may still use.
    replaced: RwLock<Vec<Arc<RegisteredBase>>>,
    /// Counts the changes of bases.
    changes: watch::Sender<u64>,
}

/// Checks that no two bases have the same name.
pub(crate) fn check_names(definitions: &[BaseDefinition]) -> Result<(), DefinitionError> {
    let mut names = BTreeSet::new();
    match definitions.iter().find(|base| !names.insert(&base.name)) {
        Some(duplicate) => Err(DefinitionError::DuplicateName(duplicate.name.clone())),
        None => Ok(()),
    }
}

impl Bases {
    /// Opens configured bases with unique names, and added ones, of which the last of a name is the present one. Reads those whose
    /// digests it does not know.
    pub(super) fn open(
        definitions: Vec<BaseDefinition>,
        added: Vec<ReadyBase>,
        digests: &DigestCache,
        on_unusable: OnUnusable,
    ) -> Result<Self, OpenError> {
        let reason = || Err("it has not been read yet".to_owned());
        let configured = definitions.into_iter().map(|base| (RegisteredBase::new(base, reason()), on_unusable));
        let added = added.into_iter().map(|ReadyBase { version, definition, digests }| {
            // The operator cannot correct the configuration of such a base before the start.
            (RegisteredBase::added(version, definition, digests, reason()), OnUnusable::Continue)
        });
        let (mut by_name, mut replaced) = (BTreeMap::new(), Vec::new());
        for (base, on_unusable) in configured.chain(added) {
            let name = base.name().clone();
            let state = match base.open(digests, Fresh::Accept) {
                Ok(open) => {
                    info!(base = %name, identity = %open.identity, "base is available");
                    Ok(Arc::new(open))
                }
                // A file server that does not answer comes back. A wrong configuration stays wrong.
                Err(source)
                    if on_unusable == OnUnusable::Fail && !matches!(source, OpenBaseError::Unresponsive { .. }) =>
                {
                    return Err(OpenError::Base { name, source });
                }
                Err(error) => {
                    error!(base = %name, %error, "base is not available; images over it answer 503 until it is");
                    Err(error.to_string())
                }
            };
            base.set_state(state);
            replaced.extend(by_name.insert(name, Arc::new(base)));
        }
        let (by_name, replaced) = (RwLock::new(by_name), RwLock::new(replaced));
        Ok(Self { by_name, replaced, changes: watch::Sender::new(0) })
    }

    /// Adds a base. One of the same name stays, for the images that use it.
    pub(super) fn add(&self, base: Arc<RegisteredBase>) {
        let mut by_name = self.by_name.write();
        if let Some(before) = by_name.get(base.name()) {
            base.follows(before);
        }
        let before = by_name.insert(base.name().clone(), base);
        self.replaced.write().extend(before);
        drop(by_name);
        self.notify();
    }

    /// Removes an added base.
    pub(super) fn remove(&self, version: BaseVersion) {
        self.by_name.write().retain(|_, base| base.version() != Some(version));
        self.replaced.write().retain(|base| base.version() != Some(version));
        self.notify();
    }

    /// The bases that later ones have replaced.
    pub(super) fn replaced(&self) -> Vec<Arc<RegisteredBase>> {
        self.replaced.read().clone()
    }

    /// The present bases, then those that they have replaced.
    pub(super) fn with_replaced(&self) -> Vec<Arc<RegisteredBase>> {
        let mut all = self.all();
        all.extend(self.replaced());
        all
    }

    pub(super) fn all(&self) -> Vec<Arc<RegisteredBase>> {
        self.by_name.read().values().cloned().collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<RegisteredBase>> {
        self.by_name.read().get(name).cloned()
    }

    /// Returns an open base with this identity. Prefers the base with this name.
    pub(super) fn with_identity(&self, identity: &BaseIdentity, name: Option<&BaseName>) -> Option<Arc<OpenBase>> {
        let named = name.and_then(|name| self.get(name.as_str()));
        let open = named.into_iter().chain(self.with_replaced()).filter_map(|base| base.available());
        open.into_iter().find(|open| open.identity == *identity)
    }

    /// Whether a later base of the same name has the same files as a replaced one, and can be used: images find it in its place.
    pub(super) fn is_there_again(&self, replaced: &RegisteredBase, identity: &BaseIdentity) -> bool {
        self.with_replaced().iter().any(|later| {
            later.name() == replaced.name()
                && later.version() > replaced.version()
                && later.available().is_some_and(|open| open.identity == *identity)
        })
    }

    /// Replaces the configured bases. A base with an unchanged definition keeps its state; a new one is unavailable until
    /// the next recheck. Returns whether anything has changed.
    pub(super) fn replace(&self, definitions: Vec<BaseDefinition>) -> bool {
        let mut by_name = self.by_name.write();
        let mut before = std::mem::take(&mut *by_name);
        let mut changed = false;
        for definition in definitions {
            let same = before.remove(&definition.name).filter(|base| *base.definition() == definition);
            let base = same.unwrap_or_else(|| {
                changed = true;
                info!(base = %definition.name, "base is added");
                let reason = "it was added a moment ago and is still being read".to_owned();
                Arc::new(RegisteredBase::new(definition, Err(reason)))
            });
            by_name.insert(base.name().clone(), base);
        }
        for removed in before.keys() {
            changed = true;
            info!(base = %removed, "base is removed; images over it answer 503");
        }
        drop(by_name);
        if changed {
            self.notify();
        }
        changed
    }

    /// Notifies those who wait for a change of a base.
    pub(super) fn notify(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Why there is no base for the image.
    pub(super) fn reason_for_none(&self, image: &StoredImage) -> String {
        let identity = image.base();
        let Some(name) = image.base_name() else { return format!("it was published over the base {identity}") };
        let why = match self.get(name.as_str()).map(|base| base.state()) {
            None => "which is not configured, and was not added".to_owned(),
            Some(Err(reason)) => format!("which is not available: {reason}"),
            Some(Ok(other)) => format!(
                "which was replaced and is another image now (identity {}); register the old file under any name, or \
                 delete the image and order it again",
                other.identity
            ),
        };
        format!("it was published over the base '{name}' (identity {identity}), {why}")
    }
}
