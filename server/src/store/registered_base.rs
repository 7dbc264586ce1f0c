//! Configured bases, and what is known of each at the moment.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use imagelib::delivery::DeliveryProfile;
use media::{SingleFlight, WAIT_LIMIT};

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
    answering: Arc<SingleFlight<()>>,
    opening: Arc<SingleFlight<Opened>>,
}

/// A base that was opened by another thread, for whoever takes it first.
type Opened = Arc<Mutex<Option<Result<OpenBase, OpenBaseError>>>>;

impl RegisteredBase {
    pub(super) fn new(definition: BaseDefinition, state: BaseState) -> Self {
        Self { definition, state: RwLock::new(state), answering: Arc::default(), opening: Arc::default() }
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

    /// Opens its files, however long reading them takes, unless their file system does not answer.
    pub(super) fn open(&self, digests: &DigestCache, fresh: Fresh) -> Result<OpenBase, OpenBaseError> {
        self.answers()?;
        OpenBase::open(&self.definition, digests, fresh)
    }

    /// [`open`](Self::open), for callers that have other bases to look at: where reading takes long it goes on without
    /// them, and a later call has what came of it.
    pub(super) fn open_in_time(&self, digests: &Arc<DigestCache>, fresh: Fresh) -> Result<OpenBase, OpenBaseError> {
        self.answers()?;
        let take = |opened: Opened| opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(since_the_last_call) = self.opening.last().and_then(take) {
            return since_the_last_call;
        }
        let (definition, digests) = (self.definition.clone(), Arc::clone(digests));
        let opened = self
            .opening
            .run(move || Arc::new(Mutex::new(Some(OpenBase::open(&definition, &digests, fresh)))))
            .map_err(|source| OpenBaseError::Read { path: self.first_path(), source })?;
        opened.and_then(take).unwrap_or_else(|| Err(OpenBaseError::BeingRead(self.first_path())))
    }

    fn first_path(&self) -> PathBuf {
        self.definition.files.iter().next().map(|(_, path)| path.to_owned()).unwrap_or_default()
    }

    /// Whether the file system of its files answers at all.
    fn answers(&self) -> Result<(), OpenBaseError> {
        let paths: Vec<_> = self.definition.files.iter().map(|(_, path)| path.to_owned()).collect();
        let answered = self.answering.run(move || {
            for path in paths {
                // What is wrong with a file is for opening it to say, and a FIFO must not be waited for.
                if path.metadata().is_ok_and(|metadata| metadata.is_file()) {
                    let _ = File::open(path).and_then(|mut file| file.read(&mut [0]));
                }
            }
        });
        match answered {
            Ok(Some(())) => Ok(()),
            Ok(None) => {
                let waited = self.answering.running_for().unwrap_or(WAIT_LIMIT);
                Err(OpenBaseError::Unresponsive { path: self.first_path(), waited })
            }
            Err(source) => Err(OpenBaseError::Read { path: self.first_path(), source }),
        }
    }

    pub(super) fn set_state(&self, state: BaseState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
