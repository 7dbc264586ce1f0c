//! Which bases are configured: fixed at the start of `dayone serve`, added and removed while a controller runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use imagelib::base::BaseIdentity;
use tokio::sync::watch;
use tracing::{error, info};

use super::definition::{BaseDefinition, BaseName, DefinitionError};
use super::digest_cache::DigestCache;
use super::error::OpenError;
use super::open_base::{Fresh, OpenBase, OpenBaseError};
use super::registered_base::{BaseState, RegisteredBase};
use super::stored_image::StoredImage;

/// What becomes of a start with a base that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It fails: a mistake in the configuration.
    Refused,
    /// It goes on without the base, which is looked for again at every look at the bases.
    Awaited,
}

/// The configured bases, by name.
#[derive(Debug)]
pub(super) struct Bases {
    by_name: RwLock<BTreeMap<BaseName, Arc<RegisteredBase>>>,
    /// Counts what happened to them.
    changes: watch::Sender<u64>,
}

/// Makes sure that no two bases have one name.
pub(super) fn check_names(definitions: &[BaseDefinition]) -> Result<(), DefinitionError> {
    let mut names = BTreeSet::new();
    match definitions.iter().find(|base| !names.insert(&base.name)) {
        Some(twice) => Err(DefinitionError::NameTwice(twice.name.clone())),
        None => Ok(()),
    }
}

impl Bases {
    /// Opens bases, each with a name of its own. Reads those whose digests are not known.
    pub(super) fn open(
        definitions: Vec<BaseDefinition>,
        digests: &DigestCache,
        unusable: Unusable,
    ) -> Result<Self, OpenError> {
        let mut by_name = BTreeMap::new();
        for definition in definitions {
            let name = definition.name.clone();
            let reason = "it has not been read yet".to_owned();
            let base = RegisteredBase::new(definition, BaseState::Unavailable { reason });
            let state = match base.open(digests, Fresh::Accept) {
                Ok(open) => {
                    info!(base = %name, identity = %open.identity, "base is available");
                    BaseState::Available(Arc::new(open))
                }
                // A server that is away comes back; a mistake in the configuration stays.
                Err(source)
                    if unusable == Unusable::Refused && !matches!(source, OpenBaseError::Unresponsive { .. }) =>
                {
                    return Err(OpenError::Base { name, source });
                }
                Err(error) => {
                    error!(base = %name, %error, "base is not available; images over it answer 503 until it is");
                    BaseState::Unavailable { reason: error.to_string() }
                }
            };
            base.set_state(state);
            by_name.insert(name, Arc::new(base));
        }
        Ok(Self { by_name: RwLock::new(by_name), changes: watch::Sender::new(0) })
    }

    pub(super) fn all(&self) -> Vec<Arc<RegisteredBase>> {
        self.read().values().cloned().collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<RegisteredBase>> {
        self.read().get(name).cloned()
    }

    /// The open base of this identity: that of the name if it has it, or any other.
    pub(super) fn of_identity(&self, identity: &BaseIdentity, name: Option<&BaseName>) -> Option<Arc<OpenBase>> {
        let named = name.and_then(|name| self.get(name.as_str()));
        let open = named.into_iter().chain(self.all()).filter_map(|base| base.available());
        open.into_iter().find(|open| open.identity == *identity)
    }

    /// From now on, these are the bases. One that is defined as before stays what it is; another one is not available
    /// until it was looked at. False: nothing has changed.
    pub(super) fn replace(&self, definitions: Vec<BaseDefinition>) -> bool {
        let mut by_name = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *by_name);
        let mut changed = false;
        for definition in definitions {
            let same = before.remove(&definition.name).filter(|base| *base.definition() == definition);
            let base = same.unwrap_or_else(|| {
                changed = true;
                info!(base = %definition.name, "base is added");
                let reason = "it was added a moment ago and is still being read".to_owned();
                Arc::new(RegisteredBase::new(definition, BaseState::Unavailable { reason }))
            });
            by_name.insert(base.name().clone(), base);
        }
        for removed in before.keys() {
            changed = true;
            info!(base = %removed, "base is removed; images over it answer 503");
        }
        drop(by_name);
        if changed {
            self.tell();
        }
        changed
    }

    /// Tells those who wait for it that something happened to a base.
    pub(super) fn tell(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Why there is no base for the image.
    pub(super) fn reason_for_none(&self, image: &StoredImage) -> String {
        let identity = image.recipe().base;
        let Some(name) = image.base_name() else { return format!("it was published over the base {identity}") };
        let why = match self.get(name.as_str()).map(|base| base.state()) {
            None => "which is not configured".to_owned(),
            Some(BaseState::Unavailable { reason }) => format!("which is not available: {reason}"),
            Some(BaseState::Available(other)) => format!(
                "which was replaced and is another image now (identity {}); register the old file under any name, or \
                 delete the image and order it again",
                other.identity
            ),
        };
        format!("it was published over the base '{name}' (identity {identity}), {why}")
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<BaseName, Arc<RegisteredBase>>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner)
    }
}
