//! All boots of a server: who begins them, who finds them, who ends them.

use std::io;
use std::sync::{Arc, Mutex};

use imagelib::recipe::RecipeId;
use media::{CallHomes, MediaUrl};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::boot::{self, Boot};
use super::credentials::{CredentialsName, Keeper, NoCredentials};
use super::engine;
use super::error::{CreateError, DeleteError};
use super::id::BootId;
use super::metrics::BootMetrics;
use super::record::{BootRecord, BootState, NewBoot};
use super::records;
use super::seal::Seal;
use super::shared::{BootSettings, MOST_ACTIVE, Shared, name_of};
use super::step::Step;
use crate::store::Store;

/// Boots that have ended and are still shown; of more, the newest.
const MOST_ENDED: usize = 1000;

/// What came of a wish to delete a boot.
#[derive(Debug)]
pub enum Deleted {
    /// It had ended, and is forgotten.
    Forgotten,
    /// It is being undone.
    Ejecting(Arc<Boot>),
}

/// All boots of a server. Clones are the same.
#[derive(Clone)]
pub struct Boots(pub(super) Arc<Shared>);

impl Boots {
    /// Reads the records and goes on with what was under way. Until `stopping` is cancelled.
    pub async fn start(
        store: Arc<Store>,
        media_url: MediaUrl,
        call_homes: CallHomes,
        settings: BootSettings,
        metrics: BootMetrics,
        stopping: CancellationToken,
    ) -> io::Result<Self> {
        let reading = Arc::clone(&store);
        let found = tokio::task::spawn_blocking(move || records::load(&reading)).await.map_err(io::Error::other)??;
        let seal = Seal::new(|purpose| store.derived_key(purpose)).map_err(io::Error::other)?;
        let at_once = settings.at_once.clamp(1, MOST_ACTIVE);
        let boots = Self(Arc::new(Shared {
            store,
            media_url,
            call_homes,
            keeper: Keeper::new(settings.credentials.clone(), seal),
            settings,
            metrics,
            stopping,
            turns: Arc::new(Semaphore::new(at_once)),
            eject_turns: Arc::new(Semaphore::new(at_once)),
            boots: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        }));
        for record in found {
            let boot = Arc::new(Boot::new(record, true));
            if !boot.record().is_ended() {
                info!(boot = %boot.id(), state = boot.record().state.as_str(), "a boot goes on");
            }
            boots.take_up(boot);
        }
        Ok(boots)
    }

    /// All boots, in the order in which they were asked for.
    pub fn all(&self) -> Vec<Arc<Boot>> {
        self.0.boots().values().cloned().collect()
    }

    /// The boot of this id.
    pub fn find(&self, id: BootId) -> Option<Arc<Boot>> {
        self.0.boots().get(&id).cloned()
    }

    /// A boot that has not ended and is from this image.
    pub fn of_image(&self, image: &RecipeId) -> Option<BootId> {
        let uses = |boot: &&Arc<Boot>| {
            let record = boot.record();
            record.image == *image && !record.is_ended()
        };
        self.0.boots().values().find(uses).map(|boot| boot.id())
    }

    /// The BMC of the host that boots, or was booted last, from this image; none where several hosts share it.
    pub fn bmc_of_image(&self, image: &RecipeId) -> Option<String> {
        let mut bmcs: Vec<String> = self
            .all()
            .iter()
            .map(|boot| boot.record())
            .filter(|record| record.image == *image)
            .map(|record| record.bmc.address.to_string())
            .collect();
        bmcs.dedup();
        let last = bmcs.pop();
        last.filter(|_| bmcs.is_empty())
    }

    /// Begins boots, all of them or none. When this returns, they outlive a restart.
    pub async fn begin(&self, new: Vec<NewBoot>) -> Result<Vec<Arc<Boot>>, CreateError> {
        let boots = self.clone();
        // To the end, even if the client does not wait for it.
        let begun = tokio::spawn(async move { boots.begin_all(new).await }).await;
        begun.map_err(|error| CreateError::Internal(io::Error::other(error)))?
    }

    async fn begin_all(&self, new: Vec<NewBoot>) -> Result<Vec<Arc<Boot>>, CreateError> {
        let shared = &self.0;
        let _turn = shared.beginning.lock().await;
        shared.check(&new)?;
        let mut records = Vec::new();
        for new in new {
            let id = BootId::new().map_err(|error| CreateError::Internal(io::Error::other(error)))?;
            let credentials = shared
                .keeper
                .keep(id, &new.credentials)
                .map_err(|source| CreateError::Credentials { host: name_of(&new), source })?;
            let mut record = BootRecord::new(id, new, credentials);
            record.done(Step::Image, "published");
            records.push(record);
        }
        for (number, record) in records.iter().enumerate() {
            if let Err(error) = boot::write(&shared.store, record).await {
                for written in records.iter().take(number + 1) {
                    // What cannot be written may not be removable either; then the next start finds a queued boot.
                    let _ = shared.remove(written.id).await;
                }
                return Err(CreateError::Write(error));
            }
        }
        let begun: Vec<_> = records.into_iter().map(|record| Arc::new(Boot::new(record, false))).collect();
        for boot in &begun {
            info!(boot = %boot.id(), bmc = %boot.record().bmc.address, host = boot.record().host, "a boot is begun");
            self.take_up(Arc::clone(boot));
        }
        self.prune().await;
        Ok(begun)
    }

    /// Undoes a boot, or forgets it if it has ended. With `forget` it is forgotten however its BMC is.
    pub async fn delete(&self, id: BootId, power_off: Option<bool>, forget: bool) -> Result<Deleted, DeleteError> {
        let boot = self.find(id).ok_or(DeleteError::Unknown)?;
        if boot.record().is_ended() || forget {
            boot.forget().await;
            self.0.remove(id).await.map_err(DeleteError::Write)?;
            self.0.boots().remove(&id);
            if !boot.record().is_ended() {
                warn!(boot = %id, bmc = %boot.record().bmc.address, "a boot was forgotten; its BMC may have a medium");
            }
            return Ok(Deleted::Forgotten);
        }
        let change = |record: &mut BootRecord| {
            record.options.power_off = power_off.unwrap_or(record.options.power_off);
            record.delete();
        };
        self.0.change(&boot, change).await.map_err(DeleteError::Write)?;
        Ok(Deleted::Ejecting(boot))
    }

    /// Whether these boots can be begun at the moment.
    pub fn check(&self, new: &[NewBoot]) -> Result<(), CreateError> {
        self.0.check(new)
    }

    /// Whether the server has credentials for BMCs of which nothing else is said.
    pub fn has_usual_credentials(&self) -> bool {
        Keeper::has_usual()
    }

    /// Whether the credentials that the server keeps under this name can be used. Waits for the disk.
    pub fn check_credentials(&self, name: &CredentialsName) -> Result<(), NoCredentials> {
        self.0.keeper.named(name).map(drop)
    }

    /// Whether the server keeps credentials under this name.
    pub fn keeps(&self, name: &CredentialsName) -> bool {
        self.0.keeper.knows(name)
    }

    /// Brings the gauges of boots in line with the boots that there are.
    pub fn measure(&self) {
        let boots = self.0.boots();
        let count = |state| boots.values().filter(|boot| boot.record().state == state).count();
        self.0.metrics.measured(count(BootState::Queued), count(BootState::Running));
    }

    fn take_up(&self, boot: Arc<Boot>) {
        self.0.boots().insert(boot.id(), Arc::clone(&boot));
        if !boot.record().is_ended() {
            tokio::spawn(engine::drive(Arc::clone(&self.0), boot));
        }
    }

    /// Forgets the oldest boots that have ended.
    async fn prune(&self) {
        let ended: Vec<BootId> =
            self.all().iter().filter(|boot| boot.record().is_ended()).map(|boot| boot.id()).collect();
        for id in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            match self.0.remove(*id).await {
                Ok(()) => drop(self.0.boots().remove(id)),
                Err(error) => warn!(boot = %id, %error, "the record of a boot that has ended cannot be removed"),
            }
        }
    }
}
