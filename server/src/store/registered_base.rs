//! A base, configured or added, and its present state.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use imagelib::base::{BaseIdentity, Role};
use imagelib::delivery::DeliveryProfile;
use imagelib::digest::Digest;
use media::{SingleFlight, WAIT_LIMIT};
use parking_lot::{Mutex, RwLock};

use super::base_record::BaseVersion;
use super::definition::{BaseDefinition, BaseName};
use super::digest_cache::DigestCache;
use super::open_base::{FileOwner, Fresh, OpenBase, OpenBaseError};

/// The open base if it can be used now. Otherwise the reason, which is for operators: it names files. The store checks the base
/// again every few seconds.
pub type BaseState = Result<Arc<OpenBase>, String>;

/// A base that is configured, or that was added while the server ran.
#[derive(Debug)]
pub struct RegisteredBase {
    definition: BaseDefinition,
    version: Option<BaseVersion>,
    owner: FileOwner,
    state: RwLock<BaseState>,
    history: Mutex<History>,
    answering: Arc<SingleFlight<()>>,
    opening: Arc<SingleFlight<Opened>>,
}

/// What the files of a base were before.
#[derive(Debug, Default)]
struct History {
    /// Its identity when it could be used last.
    identity: Option<BaseIdentity>,
    /// How many times it came back with another identity.
    changes: u64,
}

/// The result of opening a base on another thread, until somebody takes it.
type Opened = Arc<Mutex<Option<Result<OpenBase, OpenBaseError>>>>;

impl RegisteredBase {
    pub(super) fn new(definition: BaseDefinition, state: BaseState) -> Self {
        Self {
            definition,
            version: None,
            owner: FileOwner::Operator,
            state: RwLock::new(state),
            history: Mutex::default(),
            answering: Arc::default(),
            opening: Arc::default(),
        }
    }

    /// A base that was added while the server ran, with the digests of its record.
    pub(super) fn added(
        version: BaseVersion,
        definition: BaseDefinition,
        digests: BTreeMap<Role, Digest>,
        state: BaseState,
    ) -> Self {
        Self { version: Some(version), owner: FileOwner::Dayone(digests), ..Self::new(definition, state) }
    }

    /// A base whose files have just arrived.
    pub(super) fn arriving(version: BaseVersion, definition: BaseDefinition) -> Self {
        let state = Err("it is still being read".to_owned());
        Self { version: Some(version), owner: FileOwner::DayoneNew, ..Self::new(definition, state) }
    }

    /// The base with its files, whose digests are recorded. From now on they must have these.
    pub(super) fn arrived(self, open: OpenBase, digests: BTreeMap<Role, Digest>) -> Self {
        let base = Self { owner: FileOwner::Dayone(digests), ..self };
        base.set_state(Ok(Arc::new(open)));
        base
    }

    /// The version of an added base. A configured base has none.
    pub fn version(&self) -> Option<BaseVersion> {
        self.version
    }

    /// The base's name.
    pub fn name(&self) -> &BaseName {
        &self.definition.name
    }

    /// The delivery profile, if the operator sets one.
    pub fn profile(&self) -> Option<DeliveryProfile> {
        self.definition.profile
    }

    /// The base as the operator configured it.
    pub fn definition(&self) -> &BaseDefinition {
        &self.definition
    }

    /// Whether it can be used at the moment.
    pub fn state(&self) -> BaseState {
        self.state.read().clone()
    }

    /// The open base, if it can be used at the moment.
    pub fn available(&self) -> Option<Arc<OpenBase>> {
        self.state().ok()
    }

    /// Opens the base, however long reading it takes. Fails if the file system does not answer.
    pub(super) fn open(&self, digests: &DigestCache, fresh: Fresh) -> Result<OpenBase, OpenBaseError> {
        self.answers()?;
        OpenBase::open(&self.definition, &self.owner, digests, fresh)
    }

    /// Like [`open`](Self::open), for callers that must not wait long: if reading takes long, it continues on another
    /// thread, and a later call returns the result.
    pub(super) fn open_in_time(&self, digests: &Arc<DigestCache>, fresh: Fresh) -> Result<OpenBase, OpenBaseError> {
        self.answers()?;
        let take = |opened: Opened| opened.lock().take();
        if let Some(opened) = self.opening.last().and_then(take) {
            return opened;
        }
        let (definition, owner, digests) = (self.definition.clone(), self.owner.clone(), Arc::clone(digests));
        let opened = self
            .opening
            .run(move || Arc::new(Mutex::new(Some(OpenBase::open(&definition, &owner, &digests, fresh)))))
            .map_err(|source| OpenBaseError::Read { path: self.first_path(), source })?;
        opened.and_then(take).unwrap_or_else(|| Err(OpenBaseError::BeingRead(self.first_path())))
    }

    fn first_path(&self) -> PathBuf {
        self.definition.files.iter().next().map(|(_, path)| path.to_owned()).unwrap_or_default()
    }

    /// Checks that the file system of its files answers.
    fn answers(&self) -> Result<(), OpenBaseError> {
        let paths: Vec<_> = self.definition.files.iter().map(|(_, path)| path.to_owned()).collect();
        let answered = self.answering.run(move || {
            for path in paths {
                // Errors are ignored here: opening the base reports them. Only files are read, because reading a FIFO
                // would block.
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

    /// How many times other files have replaced those of the base since the process has known it.
    pub fn changes(&self) -> u64 {
        self.history.lock().changes
    }

    /// Counts on from the base that this one replaces under its name.
    pub(super) fn follows(&self, before: &Self) {
        let (mut own, before) = (self.history.lock(), before.history.lock());
        let is_other = own.identity.zip(before.identity).is_some_and(|(own, before)| own != before);
        own.changes += before.changes + u64::from(is_other);
    }

    pub(super) fn set_state(&self, state: BaseState) {
        if let Ok(open) = &state {
            self.history.lock().note(open.identity);
        }
        *self.state.write() = state;
    }
}

impl History {
    /// Notes the identity with which the base comes into service.
    fn note(&mut self, identity: BaseIdentity) {
        let before = self.identity.replace(identity);
        if before.is_some_and(|before| before != identity) {
            self.changes += 1;
        }
    }
}
