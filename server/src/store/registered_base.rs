//! Configured bases, and what is known of each at the moment.

use std::fs::File;
use std::io::Read as _;
use std::sync::{Arc, PoisonError, RwLock};

use imagelib::delivery::DeliveryProfile;

use super::bounded::{BOUND, Bounded};
use super::definition::{BaseDefinition, BaseName};
use super::digest_cache::DigestCache;
use super::open_base::{Fresh, OpenBase, OpenBaseError};

/// Whether a configured base can be used.
#[derive(Debug, Clone)]
pub enum BaseState {
    /// It can.
    Available(Arc<OpenBase>),
    /// It cannot, for now. It is looked at again every few seconds.
    Unavailable {
        /// Why, for operators: it names files.
        reason: String,
    },
}

/// A configured base.
#[derive(Debug)]
pub struct RegisteredBase {
    definition: BaseDefinition,
    state: RwLock<BaseState>,
    answering: Arc<Bounded<()>>,
}

impl RegisteredBase {
    pub(super) fn new(definition: BaseDefinition, state: BaseState) -> Self {
        Self { definition, state: RwLock::new(state), answering: Arc::default() }
    }

    /// What users call it.
    pub fn name(&self) -> &BaseName {
        &self.definition.name
    }

    /// How its system takes what is added, where the operator says so.
    pub fn profile(&self) -> Option<DeliveryProfile> {
        self.definition.profile
    }

    /// What the operator configured.
    pub fn definition(&self) -> &BaseDefinition {
        &self.definition
    }

    /// Whether it can be used at the moment.
    pub fn state(&self) -> BaseState {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The open base, where it can be used at the moment.
    pub fn available(&self) -> Option<Arc<OpenBase>> {
        match self.state() {
            BaseState::Available(open) => Some(open),
            BaseState::Unavailable { .. } => None,
        }
    }

    /// Opens its files, unless their file system does not answer: whoever waited for that could look at no other base.
    pub(super) fn open(&self, digests: &DigestCache, fresh: Fresh) -> Result<OpenBase, OpenBaseError> {
        let paths: Vec<_> = self.definition.files.iter().map(|(_, path)| path.to_owned()).collect();
        let first = paths.first().cloned().unwrap_or_default();
        let answered = self.answering.run(move || {
            for path in paths {
                // What is wrong with a file is for opening it to say, and a FIFO must not be waited for.
                if path.metadata().is_ok_and(|metadata| metadata.is_file()) {
                    let _ = File::open(path).and_then(|mut file| file.read(&mut [0]));
                }
            }
        });
        match answered {
            Ok(Some(())) => OpenBase::open(&self.definition, digests, fresh),
            Ok(None) => {
                let waited = self.answering.running_for().unwrap_or(BOUND);
                Err(OpenBaseError::Unresponsive { path: first, waited })
            }
            Err(source) => Err(OpenBaseError::Read { path: first, source }),
        }
    }

    pub(super) fn set_state(&self, state: BaseState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
