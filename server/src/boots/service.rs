//! All boots of a server: who begins them, who finds them, who ends them.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use imagelib::recipe::RecipeId;
use media::{CallHomes, MediaUrl};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use url::Host;

use super::bmc_key::BmcKey;
use super::boot::{self, Boot};
use super::credentials::{CredentialsName, Keeper, NoCredentials};
use super::engine;
use super::error::{CreateError, DeleteError};
use super::id::BootId;
use super::metrics::BootMetrics;
use super::record::{BootRecord, BootState, NewBoot};
use super::records;
use super::seal::Seal;
use super::step::Step;
use crate::store::Store;
use redfish::bmc::Limits;
use redfish::{ClientOptions, Verification};

/// Boots that have not ended, at most.
const MOST_ACTIVE: usize = 4096;

/// Boots that have ended and are still shown; of more, the newest.
const MOST_ENDED: usize = 1000;

/// How a server boots hosts.
#[derive(Debug, Clone)]
pub struct BootSettings {
    /// Directory of the credentials that requests name.
    pub credentials: Option<PathBuf>,
    /// How many boots are under way at a time; the others are queued.
    pub at_once: usize,
    /// How BMCs are talked to, and where they may be.
    pub client: ClientOptions,
    /// How long is waited for BMCs.
    pub limits: Limits,
    /// How their certificates are verified.
    pub verification: Verification,
}

impl Default for BootSettings {
    fn default() -> Self {
        Self {
            credentials: None,
            at_once: 32,
            client: ClientOptions::default(),
            limits: Limits::default(),
            verification: Verification::System,
        }
    }
}

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

/// What all boots share.
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) media_url: MediaUrl,
    pub(super) call_homes: CallHomes,
    pub(super) settings: BootSettings,
    pub(super) metrics: BootMetrics,
    pub(super) keeper: Keeper,
    pub(super) stopping: CancellationToken,
    /// Boots under way.
    pub(super) turns: Arc<Semaphore>,
    /// Boots being undone: these do not wait for those that are under way.
    pub(super) eject_turns: Arc<Semaphore>,
    boots: Mutex<BTreeMap<BootId, Arc<Boot>>>,
    /// Held while boots are begun, so that two requests do not begin two boots of one BMC.
    beginning: tokio::sync::Mutex<()>,
}

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

impl Shared {
    fn boots(&self) -> MutexGuard<'_, BTreeMap<BootId, Arc<Boot>>> {
        self.boots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a boot's record, and counts what that means.
    pub(super) async fn change(
        &self,
        boot: &Boot,
        change: impl FnOnce(&mut BootRecord),
    ) -> io::Result<Arc<BootRecord>> {
        let old = boot.record();
        let new = boot.update(&self.store, change).await?;
        self.metrics.changed(&old, &new);
        Ok(new)
    }

    /// Whether other boots that are under way have the same image.
    pub(super) fn is_shared(&self, boot: &Boot) -> bool {
        let image = boot.record().image;
        let same = |other: &Arc<Boot>| {
            let record = other.record();
            other.id() != boot.id() && record.image == image && record.state == BootState::Running
        };
        self.boots().values().any(same)
    }

    async fn remove(&self, id: BootId) -> io::Result<()> {
        let store = Arc::clone(&self.store);
        let removed = tokio::task::spawn_blocking(move || store.remove_boot(id.as_str())).await;
        removed.map_err(io::Error::other)?.map(|_| ())
    }

    /// Whether these boots can be begun.
    fn check(&self, new: &[NewBoot]) -> Result<(), CreateError> {
        let active: Vec<Arc<Boot>> = self.boots().values().filter(|boot| !boot.record().is_ended()).cloned().collect();
        if active.len() + new.len() > MOST_ACTIVE {
            return Err(CreateError::TooMany(active.len()));
        }
        let networks = &self.settings.client.networks;
        let mut keys: Vec<(BmcKey, &NewBoot)> = Vec::new();
        for new in new {
            let literal = match new.address.host() {
                Host::Ipv4(address) => Some(address.into()),
                Host::Ipv6(address) => Some(address.into()),
                // Checked when it is resolved.
                Host::Domain(_) => None,
            };
            if let Some(Err(source)) = literal.map(|address| networks.check(address)) {
                return Err(CreateError::Network { host: name_of(new), source, networks: networks.to_string() });
            }
            let key = BmcKey::of(&new.address);
            if let Some((_, other)) = keys.iter().find(|(other, _)| other.meets(&key)) {
                return Err(CreateError::SameBmc(name_of(other), name_of(new)));
            }
            if let Some(running) = active.iter().find(|boot| boot.key.meets(&key)) {
                let host = running.record().host.clone().unwrap_or_else(|| "no host name".to_owned());
                return Err(CreateError::Busy { bmc: new.address.to_string(), running: running.id(), host });
            }
            keys.push((key, new));
        }
        Ok(())
    }
}

/// What to call a boot in a sentence: its host, or its BMC.
fn name_of(new: &NewBoot) -> String {
    new.host.clone().unwrap_or_else(|| format!("the host at {}", new.address))
}
