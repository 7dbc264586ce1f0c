//! All boots of a server: begins, finds and deletes them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use imagelib::recipe::RecipeId;
use media::{CallHomes, MediaUrl};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::blocking::BlockingThreads;
use super::boot::Boot;
use super::clients::BootOnlyFrom;
use super::credentials::{self, CredentialsName, CredentialsStore, NoCredentials};
use super::engine;
use super::error::{CreateError, DeleteError};
use super::id::BootId;
use super::listing::Listing;
use super::metrics::BootMetrics;
use super::permits::{Permit, Permits};
use super::record::{BootRecord, BootState, NewBoot};
use super::record_writer::RecordWriter;
use super::records::{self, Records};
use super::shared::{BootSettings, MAX_ACTIVE, Shared, name_of};
use super::step::Step;
use crate::audit::Audit;
use crate::store::Store;

/// How many boots that have ended the server keeps. The newest stay.
const MAX_ENDED: usize = 1000;

/// How long a server that stops waits for the sessions at BMCs to be closed.
const CLOSE_SESSIONS: Duration = Duration::from_secs(5);

/// How many records of new boots are written together. As many files are open meanwhile.
const WRITTEN_TOGETHER: usize = 256;

/// The result of a request to delete a boot.
#[derive(Debug)]
pub enum Deleted {
    /// The record is removed.
    Forgotten,
    /// dayone is restoring the BMC.
    Ejecting(Arc<Boot>),
}

/// All boots of a server. Clones share them.
#[derive(Clone)]
pub struct Boots(pub(super) Arc<Shared>);

impl fmt::Debug for Boots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Boots").finish_non_exhaustive()
    }
}

impl Boots {
    /// Reads the records, and continues the boots that have not ended, until `stopping` is cancelled.
    pub async fn start(
        store: Arc<Store>,
        media_url: MediaUrl,
        call_homes: CallHomes,
        settings: BootSettings,
        metrics: BootMetrics,
        audit: Audit,
        stopping: CancellationToken,
    ) -> io::Result<Self> {
        let reading = Arc::clone(&store);
        let read = tokio::task::spawn_blocking(move || records::load(&reading)).await.map_err(io::Error::other)??;
        let Records { found, unreadable } = read;
        let at_once = settings.at_once.clamp(1, MAX_ACTIVE);
        let unfinished = settings.client.unfinished.clone();
        let boots = Self(Arc::new(Shared {
            credentials: CredentialsStore::new(Arc::clone(&store)),
            writer: RecordWriter::start(Arc::clone(&store)),
            store,
            media_url,
            call_homes,
            settings: RwLock::new(Arc::new(settings)),
            metrics,
            audit,
            stopping,
            unfinished,
            boot_permits: Permits::new(at_once),
            eject_permits: Permits::new(at_once),
            blocking: BlockingThreads::default(),
            reading_credentials: BlockingThreads::default(),
            boots: Mutex::default(),
            unreadable,
            listing: Mutex::default(),
            beginning: tokio::sync::Mutex::new(found.last().map(|record| record.id)),
            pruning: tokio::sync::Mutex::default(),
            claiming: tokio::sync::Mutex::default(),
        }));
        boots.0.answer_recorded_calls(&found);
        let found = found.into_iter().map(|record| Arc::new(Boot::new(record, true)));
        // If a boot that is under way waited for others, its host would stay off, or would call home in vain.
        let take = |boot: &Arc<Boot>| boot.is_under_way().then(|| boots.0.boot_permits.take());
        // These boots take their permits before any other boot gets one.
        let found: Vec<_> = found.map(|boot| (take(&boot), boot)).collect();
        for (permit, boot) in found {
            if !boot.record().is_ended() {
                info!(boot = %boot.id(), state = %boot.record().state, "continuing a boot");
            }
            boots.add(boot, permit);
        }
        Ok(boots)
    }

    /// Takes over other settings. Boots that run use them from their next connection to a BMC on.
    pub fn configure(&self, mut settings: BootSettings) {
        settings.client.unfinished = self.0.unfinished.clone();
        let at_once = settings.at_once.clamp(1, MAX_ACTIVE);
        *self.0.settings.write() = Arc::new(settings);
        self.0.boot_permits.set(at_once);
        self.0.eject_permits.set(at_once);
    }

    /// Waits until this process no longer works on any boot, and the sessions at the BMCs are closed; for some seconds at most. Only after
    /// `stopping` was cancelled.
    pub async fn stopped(&self) {
        // If this takes too long, the BMC ends the session itself at some time.
        let _ = tokio::time::timeout(CLOSE_SESSIONS, self.0.unfinished.finished()).await;
    }

    /// All boots, in the order of their requests.
    pub fn all(&self) -> Vec<Arc<Boot>> {
        self.0.boots().values().cloned().collect()
    }

    /// All boots in the order in which people look at them. What has not changed since the last call is not computed again.
    pub fn listing(&self) -> Arc<Listing> {
        let mut last = self.0.listing.lock();
        let listing = Listing::updated(&last, &self.all());
        *last = Arc::clone(&listing);
        listing
    }

    /// The boot with this id.
    pub fn find(&self, id: BootId) -> Option<Arc<Boot>> {
        self.0.boots().get(&id).cloned()
    }

    /// A boot from this image that has not ended.
    pub fn of_image(&self, image: &RecipeId) -> Option<BootId> {
        let uses = |boot: &&Arc<Boot>| {
            let record = boot.record();
            record.image == *image && !record.is_ended()
        };
        self.0.boots().values().find(uses).map(|boot| boot.id())
    }

    /// The BMC of the host that boots, or last booted, from this image; `None` if several hosts share the image.
    pub fn bmc_of_image(&self, image: &RecipeId) -> Option<String> {
        let mut boots = self.all();
        boots.retain(|boot| boot.record().image == *image);
        let last = boots.last()?;
        let is_one = boots.iter().all(|boot| boot.key.overlaps(&last.key));
        is_one.then(|| last.record().bmc.address.to_string())
    }

    /// Begins all these boots, or none. When this returns, they survive a restart.
    pub async fn begin(&self, new: Vec<NewBoot>) -> Result<Vec<Arc<Boot>>, CreateError> {
        let boots = self.clone();
        // A task of its own runs to its end, even if the client does not wait for it.
        let begun = tokio::spawn(async move { boots.begin_all(new).await }).await;
        begun.map_err(|error| CreateError::Internal(io::Error::other(error)))?
    }

    async fn begin_all(&self, new: Vec<NewBoot>) -> Result<Vec<Arc<Boot>>, CreateError> {
        let shared = &self.0;
        let mut last = shared.beginning.lock().await;
        shared.check(&new)?;
        let mut records = Vec::new();
        for new in new {
            let id = BootId::after(*last).map_err(|error| CreateError::Internal(io::Error::other(error)))?;
            *last = Some(id);
            let credentials = shared
                .credentials
                .keep(shared.settings().credentials.as_deref(), id, &new.credentials)
                .map_err(|source| CreateError::Credentials { host: name_of(&new), source })?;
            let mut record = BootRecord::new(id, new, credentials);
            record.done(Step::Image, "published");
            records.push(record);
        }
        for (number, group) in records.chunks(WRITTEN_TOGETHER).enumerate() {
            if let Err(error) = shared.write_new(group).await {
                for written in records.iter().take(number * WRITTEN_TOGETHER) {
                    // If the record cannot be removed either, the next start finds a queued boot.
                    let _ = shared.remove(written.id).await;
                }
                return Err(CreateError::Write(error));
            }
        }
        let begun: Vec<_> = records.into_iter().map(|record| Arc::new(Boot::new(record, false))).collect();
        for boot in &begun {
            info!(boot = %boot.id(), bmc = %boot.record().bmc.address, host = boot.record().host, "a boot begins");
            self.add(Arc::clone(boot), None);
        }
        // The client does not wait for that: thousands of boots may have ended.
        let (boots, task) = (self.clone(), shared.unfinished.begin());
        tokio::spawn(async move {
            boots.prune().await;
            drop(task);
        });
        Ok(begun)
    }

    /// Deletes a boot: restores its BMC, or removes its record if the boot has ended. With `forget`, it only removes the
    /// record, and leaves the BMC as it is.
    pub async fn delete(&self, id: BootId, power_off: Option<bool>, forget: bool) -> Result<Deleted, DeleteError> {
        let boot = self.find(id).ok_or(DeleteError::Unknown)?;
        if !boot.record().is_ended() && !forget {
            let change = |record: &mut BootRecord| {
                // The boot may have ended while this waited for its record. Then no task works on it.
                if !record.is_ended() {
                    record.options.power_off = power_off.unwrap_or(record.options.power_off);
                    record.delete();
                }
            };
            let changed = self.0.change(&boot, change).await.map_err(DeleteError::Write)?;
            if !changed.is_ended() {
                return Ok(Deleted::Ejecting(boot));
            }
        }
        let (boots, forgotten) = (self.clone(), Arc::clone(&boot));
        // A task of its own runs to its end, even if the client does not wait for it.
        let removed = tokio::spawn(async move { boots.forget(&forgotten).await }).await;
        removed.map_err(|error| DeleteError::Write(io::Error::other(error)))?.map_err(DeleteError::Write)?;
        if !boot.record().is_ended() {
            warn!(boot = %id, bmc = %boot.record().bmc.address, "a boot was forgotten; its BMC may still have the medium");
        }
        Ok(Deleted::Forgotten)
    }

    /// Checks whether these boots can begin at the moment.
    pub fn check(&self, new: &[NewBoot]) -> Result<(), CreateError> {
        self.0.check(new)
    }

    /// Who may read the images that boots order, unless the request says so.
    pub fn only_from(&self) -> BootOnlyFrom {
        self.0.settings().only_from
    }

    /// Whether the server has default credentials for BMCs.
    pub fn has_default_credentials(&self) -> bool {
        CredentialsStore::has_default()
    }

    /// Checks whether the server has usable credentials with this name. Waits for the disk.
    pub fn check_credentials(&self, name: &CredentialsName) -> Result<(), NoCredentials> {
        credentials::named(self.0.settings().credentials.as_deref(), name).map(drop)
    }

    /// Whether the server keeps credentials with this name.
    pub fn has_credentials(&self, name: &CredentialsName) -> bool {
        credentials::has(self.0.settings().credentials.as_deref(), name)
    }

    /// Updates the gauges of boots.
    pub fn measure(&self) {
        let boots = self.0.boots();
        let count = |state| boots.values().filter(|boot| boot.record().state == state).count();
        self.0.metrics.measured(count(BootState::Queued), count(BootState::Running));
    }

    fn add(&self, boot: Arc<Boot>, permit: Option<Permit>) {
        self.0.boots().insert(boot.id(), Arc::clone(&boot));
        if !boot.record().is_ended() {
            let (shared, task) = (Arc::clone(&self.0), self.0.unfinished.begin());
            tokio::spawn(async move {
                engine::drive(shared, boot, permit).await;
                drop(task);
            });
        }
    }

    /// Removes the record of a boot, and ends all work on it.
    async fn forget(&self, boot: &Boot) -> io::Result<()> {
        boot.forget(self.0.remove(boot.id())).await?;
        self.0.boots().remove(&boot.id());
        Ok(())
    }

    /// Removes the oldest boots that have ended.
    async fn prune(&self) {
        let Ok(_pruning) = self.0.pruning.try_lock() else { return };
        let mut ended = self.all();
        ended.retain(|boot| boot.record().is_ended());
        for boot in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            if self.0.stopping.is_cancelled() {
                return;
            }
            if let Err(error) = self.forget(boot).await {
                warn!(boot = %boot.id(), %error, "cannot remove the record of a boot that has ended");
            }
        }
    }
}

#[cfg(test)]
mod tests;
