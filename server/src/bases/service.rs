//! All bases that a server fetches: begins, continues, stops and removes them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use imagelib::base::Role;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::download::Downloader;
use super::error::FetchError;
use super::fetch::{Fetcher, Order};
use super::metrics::{FetchMetrics, Outcome};
use super::progress::{FetchProgress, Phase, ProgressSnapshot};
use super::request_error::{AddError, RemoveError};
use super::settings::FetchSettings;
use crate::store::{
    AddBaseError, BaseRecord, BaseRecordState, BaseVersion, FinishBaseError, Finished, RemoveBaseError, Store,
};

/// How many bases are fetched at a time.
const AT_ONCE: usize = 2;

/// How long to wait before files that were written a moment ago are read.
const SETTLING: Duration = Duration::from_millis(500);

/// What a request to add a base has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// dayone fetches it.
    Fetching,
    /// The present base of this name has these files.
    Present,
}

/// All bases that a server fetches. Clones share them.
#[derive(Clone)]
pub struct BaseFetches(Arc<Inner>);

struct Inner {
    store: Arc<Store>,
    settings: FetchSettings,
    fetcher: Fetcher,
    metrics: FetchMetrics,
    permits: Semaphore,
    running: Mutex<BTreeMap<BaseVersion, Running>>,
    /// Held while a request changes which bases there are.
    changing: tokio::sync::Mutex<()>,
    stopping: CancellationToken,
}

/// A base that is being fetched.
struct Running {
    progress: Arc<FetchProgress>,
    cancelled: CancellationToken,
    task: Option<JoinHandle<()>>,
}

/// A base that is being fetched, or whose last attempt has failed.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// Its version.
    pub version: BaseVersion,
    /// Its record.
    pub record: BaseRecord,
    /// How far it is.
    pub progress: ProgressSnapshot,
}

impl BaseFetches {
    /// Continues what an earlier process has not finished, until `stopping` is cancelled.
    pub fn start(
        store: Arc<Store>,
        settings: FetchSettings,
        metrics: FetchMetrics,
        stopping: CancellationToken,
    ) -> Result<Self, String> {
        let FetchSettings { allowed, verification, keys, limit, patience } = settings.clone();
        let downloader = Downloader::new(allowed, &verification, patience, limit)?;
        let fetches = Self(Arc::new(Inner {
            store,
            settings,
            fetcher: Fetcher { downloader, keys },
            metrics,
            permits: Semaphore::new(AT_ONCE),
            running: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            stopping,
        }));
        for (version, record) in fetches.0.store.added_bases() {
            if record.state == BaseRecordState::Fetching {
                info!(base = %record.name, "continuing to fetch a base");
                fetches.spawn(version, record);
            }
        }
        Ok(fetches)
    }

    /// Adds a base, or replaces the one of its name. When this returns, the request survives a restart.
    pub async fn add(&self, record: BaseRecord) -> Result<Added, AddError> {
        let inner = &self.0;
        for source in record.sources.values() {
            source.refuse_packed()?;
            inner.settings.allowed.check(&source.location)?;
            source.signature.iter().try_for_each(|signature| inner.settings.allowed.check(signature))?;
        }
        let fetches = self.clone();
        // A task of its own runs to its end, even if the client does not wait for it.
        let added = tokio::spawn(async move { fetches.add_checked(record).await }).await;
        added.map_err(|error| AddError::Internal(io::Error::other(error)))?
    }

    async fn add_checked(&self, record: BaseRecord) -> Result<Added, AddError> {
        let inner = &self.0;
        let _alone = inner.changing.lock().await;
        // First, because an earlier attempt may be from a time when the name was free, and must not go on.
        if inner.store.is_configured(record.name.as_str()) {
            return Err(AddBaseError::Configured(record.name).into());
        }
        loop {
            // First, because a base that arrives meanwhile is present then.
            let unfinished = self.unfinished_of(record.name.as_str());
            let is_present =
                inner.store.usable_added_base(record.name.as_str()).is_some_and(|base| base.fulfils(&record));
            let mut has_arrived = false;
            for (version, other) in unfinished {
                let is_same = other.asks_for_the_same(&record);
                if is_same && !is_present && self.is_running(version) {
                    return Ok(Added::Fetching);
                }
                if is_same && !is_present {
                    // The attempt has failed. What has arrived is still there.
                    if !self.write(version, BaseRecordState::Fetching).await? {
                        return Ok(Added::Present);
                    }
                    self.spawn(version, other.with_state(BaseRecordState::Fetching));
                    return Ok(Added::Fetching);
                }
                // The last request counts.
                has_arrived |= !self.forget(version).await?;
            }
            // One that has arrived meanwhile is present now, in place of the one that was.
            if has_arrived {
                continue;
            }
            if is_present {
                return Ok(Added::Present);
            }
            break;
        }
        let (store, new) = (Arc::clone(&inner.store), record.clone());
        let version = blocking(move || store.begin_base(new)).await??;
        info!(base = %record.name, version = version.number(), "fetching a base");
        self.spawn(version, record);
        Ok(Added::Fetching)
    }

    /// Stops fetching a base and forgets what has arrived. Returns whether there was anything to stop.
    pub async fn stop(&self, name: &str) -> Result<bool, RemoveError> {
        let _alone = self.0.changing.lock().await;
        Ok(self.stop_all(&self.unfinished_of(name)).await? > 0)
    }

    /// Returns how many it has stopped: a base may have arrived before that.
    async fn stop_all(&self, unfinished: &[(BaseVersion, BaseRecord)]) -> Result<usize, RemoveError> {
        let mut stopped = 0;
        for (version, _) in unfinished {
            stopped += usize::from(self.forget(*version).await.map_err(RemoveError::Write)?);
        }
        Ok(stopped)
    }

    /// Removes a base, and stops fetching it.
    pub async fn remove(&self, name: &str) -> Result<(), RemoveError> {
        let _alone = self.0.changing.lock().await;
        loop {
            let unfinished = self.unfinished_of(name);
            let (store, removed) = (Arc::clone(&self.0.store), name.to_owned());
            match blocking(move || store.remove_base(&removed)).await.map_err(RemoveError::Write)? {
                Ok(()) => {}
                // A base that has never arrived is only a fetch.
                Err(RemoveBaseError::Unknown) if !unfinished.is_empty() => {}
                Err(error) => return Err(error.into()),
            }
            let stopped = self.stop_all(&unfinished).await?;
            // Otherwise one has arrived meanwhile, which is now the one to remove.
            if stopped == unfinished.len() || self.0.store.base(name).is_none() {
                return Ok(());
            }
        }
    }

    /// What is being fetched, or has failed, in the order of the requests.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        let records = self.0.store.added_bases().into_iter();
        records.filter_map(|(version, record)| self.describe(version, record)).collect()
    }

    fn describe(&self, version: BaseVersion, record: BaseRecord) -> Option<Unfinished> {
        let running = self.0.running.lock().get(&version).map(|running| running.progress.snapshot());
        let progress = match (&record.state, running) {
            (BaseRecordState::Ready(_), _) => return None,
            (BaseRecordState::Failed(reason), _) => {
                let trouble = Some(reason.clone());
                ProgressSnapshot { phase: Phase::Failed, bytes: 0, total: None, trouble }
            }
            (BaseRecordState::Fetching, Some(progress)) => progress,
            (BaseRecordState::Fetching, None) => {
                ProgressSnapshot { phase: Phase::Queued, bytes: 0, total: None, trouble: None }
            }
        };
        Some(Unfinished { version, record, progress })
    }

    fn unfinished_of(&self, name: &str) -> Vec<(BaseVersion, BaseRecord)> {
        let mut all = self.0.store.added_bases();
        all.retain(|(_, record)| record.name.as_str() == name && !record.is_ready());
        all
    }

    fn is_running(&self, version: BaseVersion) -> bool {
        self.0.running.lock().contains_key(&version)
    }

    async fn write(&self, version: BaseVersion, state: BaseRecordState) -> io::Result<bool> {
        let store = Arc::clone(&self.0.store);
        blocking(move || store.set_base_state(version, state)).await?
    }

    /// Stops fetching a base, waits until that has ended, and forgets it unless it has arrived.
    async fn forget(&self, version: BaseVersion) -> io::Result<bool> {
        let running = self.0.running.lock().get_mut(&version).map(|running| {
            running.cancelled.cancel();
            running.task.take()
        });
        if let Some(Some(task)) = running {
            let _ = task.await;
        }
        let store = Arc::clone(&self.0.store);
        blocking(move || store.forget_base(version)).await?
    }

    fn spawn(&self, version: BaseVersion, record: BaseRecord) {
        let progress = Arc::new(FetchProgress::new(record.sources.keys().copied()));
        let cancelled = self.0.stopping.child_token();
        let running = Running { progress: Arc::clone(&progress), cancelled: cancelled.clone(), task: None };
        self.0.running.lock().insert(version, running);
        let fetches = self.clone();
        let task = tokio::spawn(async move {
            fetches.run(version, &record, &progress, &cancelled).await;
            fetches.0.running.lock().remove(&version);
        });
        if let Some(running) = self.0.running.lock().get_mut(&version) {
            running.task = Some(task);
        }
    }

    /// Fetches a base, and takes it into service or records why that failed.
    async fn run(
        &self,
        version: BaseVersion,
        record: &BaseRecord,
        progress: &FetchProgress,
        cancelled: &CancellationToken,
    ) {
        let fetched = self.fetch(version, record, progress, cancelled).await;
        let reason = match fetched {
            Ok(finished) => {
                info!(base = %record.name, ?finished, "a base was fetched");
                self.0.metrics.ended(Outcome::Fetched);
                return;
            }
            // Whoever has stopped it sees to the rest. If that is the end of the process, the next one continues.
            Err(Unfetched::Cancelled) => return,
            Err(Unfetched::Failed(reason)) => reason,
        };
        error!(base = %record.name, reason, "a base cannot be fetched");
        self.0.metrics.ended(Outcome::Failed);
        if let Err(error) = self.write(version, BaseRecordState::Failed(reason)).await {
            warn!(base = %record.name, %error, "cannot record that a base cannot be fetched; the next start tries again");
        }
    }

    async fn fetch(
        &self,
        version: BaseVersion,
        record: &BaseRecord,
        progress: &FetchProgress,
        cancelled: &CancellationToken,
    ) -> Result<Finished, Unfetched> {
        // A base with this name may have been configured since the request. dayone would fetch the files in vain.
        if self.0.store.is_configured(record.name.as_str()) {
            return Err(Unfetched::Failed(FinishBaseError::Configured(record.name.clone()).to_string()));
        }
        let permit = tokio::select! {
            permit = self.0.permits.acquire() => permit,
            () = cancelled.cancelled() => return Err(Unfetched::Cancelled),
        };
        let _permit = permit.map_err(|_| Unfetched::Cancelled)?;
        for (role, source) in &record.sources {
            let target =
                self.0.store.base_file(version, *role).map_err(|error| Unfetched::Failed(error.to_string()))?;
            let order = Order { source, target: &target, file: progress.file(*role), progress, cancelled };
            let fetched = self.0.fetcher.fetch(&order).await;
            fetched.map_err(|error| Unfetched::of(*role, record.sources.len(), &error))?;
        }
        progress.set_phase(Phase::Verifying);
        loop {
            let store = Arc::clone(&self.0.store);
            let finished = blocking(move || store.finish_base(version)).await;
            match finished.map_err(|error| Unfetched::Failed(error.to_string()))? {
                Ok(Finished::Removed) => return Err(Unfetched::Cancelled),
                Ok(finished) => return Ok(finished),
                Err(FinishBaseError::TooFresh) => {
                    tokio::select! {
                        () = tokio::time::sleep(SETTLING) => {}
                        () = cancelled.cancelled() => return Err(Unfetched::Cancelled),
                    }
                }
                Err(error) => {
                    self.remove_files(version, record);
                    return Err(Unfetched::Failed(error.to_string()));
                }
            }
        }
    }

    /// Removes files that are complete and not usable, so that another attempt fetches them again.
    fn remove_files(&self, version: BaseVersion, record: &BaseRecord) {
        for role in record.sources.keys() {
            if let Ok(path) = self.0.store.base_file(version, *role) {
                // If it stays, another attempt finds it and fails again.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Why a base was not fetched.
enum Unfetched {
    Cancelled,
    Failed(String),
}

impl Unfetched {
    fn of(role: Role, files: usize, error: &FetchError) -> Self {
        match error {
            FetchError::Cancelled => Self::Cancelled,
            error if files == 1 => Self::Failed(error.to_string()),
            error => Self::Failed(format!("{role}: {error}")),
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}
