//! What all boots of a server share.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use media::{CallHomes, MediaUrl};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio_util::sync::CancellationToken;
use url::Host;

use super::blocking::BlockingThreads;
use super::bmc_key::BmcKey;
use super::boot::{Boot, Change};
use super::clients::BootOnlyFrom;
use super::credentials::CredentialsStore;
use super::error::CreateError;
use super::id::BootId;
use super::listing::Listing;
use super::method::BootMethod;
use super::metrics::BootMetrics;
use super::permits::Permits;
use super::record::{BootRecord, BootState, NewBoot};
use super::record_writer::RecordWriter;
use super::step::Step;
use super::time::Timestamp;
use crate::audit::{Audit, Event, Who};
use crate::store::Store;
use redfish::bmc::Limits;
use redfish::{ClientOptions, Unfinished, Verification};

/// The maximum number of boots that have not ended: as many as a fleet may have hosts.
pub(super) const MAX_ACTIVE: usize = 10_000;

/// The settings for boots.
#[derive(Debug, Clone)]
pub struct BootSettings {
    /// Directory of the credentials that requests name.
    pub credentials: Option<PathBuf>,
    /// How many boots run at a time; the others are queued.
    pub at_once: usize,
    /// The options of the Redfish client, with the networks where BMCs may be.
    pub client: ClientOptions,
    /// How long to wait for BMCs.
    pub limits: Limits,
    /// How to verify their certificates.
    pub verification: Verification,
    /// Who may read the images that boots order.
    pub only_from: BootOnlyFrom,
    /// Whether users can send requests to this server. Otherwise, errors do not ask for any: `dayone boot` without `--server` restores the
    /// BMCs itself.
    pub has_api: bool,
}

impl Default for BootSettings {
    fn default() -> Self {
        Self {
            credentials: None,
            at_once: 32,
            client: ClientOptions::default(),
            limits: Limits::default(),
            verification: Verification::System,
            only_from: BootOnlyFrom::default(),
            has_api: true,
        }
    }
}

/// What all boots share.
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) writer: RecordWriter,
    pub(super) media_url: MediaUrl,
    pub(super) call_homes: CallHomes,
    /// The settings, which can change while boots run.
    pub(super) settings: RwLock<Arc<BootSettings>>,
    pub(super) metrics: BootMetrics,
    pub(super) audit: Audit,
    pub(super) credentials: CredentialsStore,
    pub(super) stopping: CancellationToken,
    /// Counts the boots that this process works on, and the sessions of theirs that are being closed.
    pub(super) unfinished: Unfinished,
    /// Permits of running boots.
    pub(super) boot_permits: Permits,
    /// Permits of boots that eject: these do not wait for running boots.
    pub(super) eject_permits: Permits,
    /// For work on images. The file system of a base may hang.
    pub(super) blocking: BlockingThreads,
    /// For reading credentials. They have permits of their own, so that a base that hangs does not keep dayone from ejecting media.
    pub(super) reading_credentials: BlockingThreads,
    pub(super) boots: Mutex<BTreeMap<BootId, Arc<Boot>>>,
    /// The names of the boots whose records could not be read at the start.
    pub(super) unreadable: Vec<String>,
    /// The last listing. Taken before `boots`.
    pub(super) listing: Mutex<Arc<Listing>>,
    /// The id of the last boot that has begun. Later boots have greater ids. The lock is held while boots begin, so that two requests do not
    /// begin two boots with the same BMC.
    pub(super) beginning: tokio::sync::Mutex<Option<BootId>>,
    /// Held while records of boots that have ended are removed.
    pub(super) pruning: tokio::sync::Mutex<()>,
    /// Held while a boot claims slots that boots of other Systems may use, so that two boots do not claim the same slot.
    pub(super) claiming: tokio::sync::Mutex<()>,
}

impl Shared {
    /// The settings at the moment.
    pub(super) fn settings(&self) -> Arc<BootSettings> {
        Arc::clone(&self.settings.read())
    }

    pub(super) fn boots(&self) -> MutexGuard<'_, BTreeMap<BootId, Arc<Boot>>> {
        self.boots.lock()
    }

    /// Changes a boot's record, and updates the metrics.
    pub(super) fn change<'a>(
        &'a self,
        boot: &'a Boot,
        change: impl FnOnce(&mut BootRecord) + Send + 'a,
    ) -> impl Future<Output = io::Result<Arc<BootRecord>>> + 'a {
        self.make_change(boot, Box::new(change))
    }

    async fn make_change(&self, boot: &Boot, change: Change<'_>) -> io::Result<Arc<BootRecord>> {
        let (old, new) = boot.update(&self.writer, change).await?;
        self.note(&old, &new);
        Ok(new)
    }

    /// Shows a change of a boot's record that the disk does not accept, and updates the metrics.
    pub(super) async fn show_unwritten(&self, boot: &Boot, change: impl FnOnce(&mut BootRecord)) {
        let (old, new) = boot.show_unwritten(change).await;
        self.note(&old, &new);
    }

    /// Updates the metrics for a change of a record, and records the end of a boot in the audit log.
    fn note(&self, old: &BootRecord, new: &BootRecord) {
        self.metrics.changed(old, new);
        // The state stays the same when dayone undoes a failed boot, or ejects the medium of one that has booted.
        if new.is_ended() && !old.is_ended() {
            let event = Event::BootEnded {
                boot: new.id.to_string(),
                image: new.image.to_string(),
                host: new.host.clone(),
                bmc: new.bmc.address.to_string(),
                state: new.state.to_string(),
            };
            self.audit.record(Who::SERVER, event);
        }
    }

    /// Whether another host has the same image, or is about to get it. Its system reads the image and may call home as long as the
    /// medium is in, also after the host has booted.
    pub(super) fn is_shared(&self, boot: &Boot) -> bool {
        let image = boot.record().image;
        let same = |other: &Arc<Boot>| {
            let record = other.record();
            other.id() != boot.id()
                && record.image == image
                && (record.state == BootState::Running || (record.was_started() && !record.is_ended()))
        };
        self.boots().values().any(same)
    }

    /// Whether another host has the same image, or had it at or after this moment.
    pub(super) fn was_shared_since(&self, boot: &Boot, moment: Timestamp) -> bool {
        let image = boot.record().image;
        let had = |other: &Arc<Boot>| {
            let record = other.record();
            // A boot that was deleted before its turn never had the image.
            let began = record.step(Step::Insert).is_some_and(|step| step.started.is_some());
            let ended = record.step(Step::Ejected).and_then(|step| step.ended);
            other.id() != boot.id() && record.image == image && began && ended.is_some_and(|ended| ended >= moment)
        };
        self.is_shared(boot) || self.boots().values().any(had)
    }

    /// The boots of other Systems at the same BMC that have not ended.
    pub(super) fn neighbours(&self, boot: &Boot) -> Vec<Arc<Boot>> {
        let is_neighbour = |other: &&Arc<Boot>| {
            other.id() != boot.id() && other.key.is_at_same_bmc(&boot.key) && !other.record().is_ended()
        };
        self.boots().values().filter(is_neighbour).cloned().collect()
    }

    /// The boot of another System that has its medium in this slot of the same BMC, or is inserting it there.
    pub(super) fn holder(&self, boot: &Boot, slot: &str) -> Option<Arc<Boot>> {
        let holds = |other: &Arc<Boot>| {
            let record = other.record();
            let at_bmc = record.at_bmc.as_ref().filter(|_| record.method == BootMethod::VirtualMedia);
            at_bmc.is_some_and(|at_bmc| match &at_bmc.slot {
                Some(taken) => taken == slot,
                None => at_bmc.plan.slots.iter().any(|planned| planned.path == slot),
            })
        };
        self.neighbours(boot).into_iter().find(holds)
    }

    /// Writes the records of new boots: all of them or none.
    pub(super) async fn write_new(&self, records: &[BootRecord]) -> io::Result<()> {
        let named = |record: &BootRecord| Ok((record.id.to_string(), record.to_json()?));
        let records = records.iter().map(named).collect::<io::Result<_>>()?;
        let store = Arc::clone(&self.store);
        let written = tokio::task::spawn_blocking(move || store.write_new_boots(records)).await;
        written.map_err(io::Error::other)?
    }

    pub(super) async fn remove(&self, id: BootId) -> io::Result<()> {
        let store = Arc::clone(&self.store);
        let removed = tokio::task::spawn_blocking(move || store.remove_boot(id.as_str())).await;
        removed.map_err(io::Error::other)?.map(|_| ())
    }

    /// Checks whether these boots can begin.
    pub(super) fn check(&self, new: &[NewBoot]) -> Result<(), CreateError> {
        let active: Vec<Arc<Boot>> = self.boots().values().filter(|boot| !boot.record().is_ended()).cloned().collect();
        if active.len() + new.len() > MAX_ACTIVE {
            return Err(CreateError::TooMany { new: new.len(), active: active.len(), most: MAX_ACTIVE });
        }
        let settings = self.settings();
        let networks = &settings.client.networks;
        let mut keys: Vec<(BmcKey, &NewBoot)> = Vec::new();
        for new in new {
            let literal = match new.address.host() {
                Host::Ipv4(address) => Some(address.into()),
                Host::Ipv6(address) => Some(address.into()),
                // The client checks the addresses when it resolves the name.
                Host::Domain(_) => None,
            };
            if let Some(Err(source)) = literal.map(|address| networks.check(address)) {
                return Err(CreateError::Network { host: name_of(new), source, networks: networks.to_string() });
            }
            let key = BmcKey::of(&new.address);
            if let Some((_, other)) = keys.iter().find(|(other, _)| other.overlaps(&key)) {
                return Err(CreateError::SameBmc(name_of(other), name_of(new)));
            }
            if let Some(running) = active.iter().find(|boot| boot.key.overlaps(&key)) {
                let host = running.record().host.clone().unwrap_or_else(|| "no host name".to_owned());
                return Err(CreateError::Busy { bmc: new.address.to_string(), running: running.id(), host });
            }
            keys.push((key, new));
        }
        Ok(())
    }
}

/// The name of a boot for messages: its host, or its BMC.
pub(super) fn name_of(new: &NewBoot) -> String {
    new.host.clone().unwrap_or_else(|| format!("the host at {}", new.address))
}
