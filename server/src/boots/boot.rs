//! One boot: its record, what is seen of it at the moment, and who is told of changes.

use std::io;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Instant;

use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

use super::bmc_key::BmcKey;
use super::id::BootId;
use super::machine::Work;
use super::progress::Progress;
use super::record::BootRecord;
use super::time::Timestamp;
use crate::store::Store;

/// What there is to know about a boot at one moment.
#[derive(Debug, Clone)]
pub struct View {
    /// Grows with every change, also over restarts.
    pub revision: u64,
    /// What is on the disk.
    pub record: Arc<BootRecord>,
    /// What is not: how far the running step has come.
    pub progress: Progress,
}

/// A boot.
#[derive(Debug)]
pub struct Boot {
    id: BootId,
    pub(super) key: BmcKey,
    /// Whether it was under way when the server started.
    pub(super) resumed: bool,
    /// Held while the record is changed and written, so that the disk has them in their order.
    writer: Arc<Mutex<()>>,
    view: watch::Sender<View>,
    /// When the BMC was told to start the host, where this process did that.
    started: Lock<Option<Instant>>,
    /// Cancelled when nobody wants to know of it any more.
    pub(super) forgotten: CancellationToken,
}

impl Boot {
    pub(super) fn new(record: BootRecord, resumed: bool) -> Self {
        let key = BmcKey::of(&record.bmc.address);
        let id = record.id;
        let view =
            View { revision: Timestamp::now().millis(), record: Arc::new(record), progress: Progress::default() };
        Self {
            id,
            key,
            resumed,
            writer: Arc::default(),
            view: watch::Sender::new(view),
            started: Lock::default(),
            forgotten: CancellationToken::new(),
        }
    }

    /// Its name.
    pub fn id(&self) -> BootId {
        self.id
    }

    /// What there is to know about it now.
    pub fn view(&self) -> View {
        self.view.borrow().clone()
    }

    /// What is on the disk.
    pub fn record(&self) -> Arc<BootRecord> {
        Arc::clone(&self.view.borrow().record)
    }

    /// Tells of every change.
    pub fn changes(&self) -> watch::Receiver<View> {
        self.view.subscribe()
    }

    /// The BMC is told to start the host now: what was seen before shows nothing.
    pub(super) fn starts_now(&self) {
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// When the BMC was told to start the host. None: before this process began, so that all it has seen came later.
    pub(super) fn started(&self) -> Option<Instant> {
        *self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn work(&self) -> Work {
        self.view.borrow().record.work()
    }

    /// Changes the record. When this returns, the change is on the disk.
    pub(super) async fn update(
        &self,
        store: &Arc<Store>,
        change: impl FnOnce(&mut BootRecord),
    ) -> io::Result<Arc<BootRecord>> {
        let turn = Arc::clone(&self.writer).lock_owned().await;
        if self.forgotten.is_cancelled() {
            return Err(io::Error::other("the boot was deleted"));
        }
        let old = self.record();
        let mut record = BootRecord::clone(&old);
        change(&mut record);
        if record == *old {
            return Ok(old);
        }
        let record = Arc::new(record);
        let json = record.to_json()?;
        let (store, id) = (Arc::clone(store), record.id);
        // The turn lasts until the disk is done, even if nobody waits for this any more: a record that is being written must
        // not come to the disk after it was removed.
        let written = tokio::task::spawn_blocking(move || (store.write_boot(id.as_str(), &json), turn));
        let (written, _turn) = written.await.map_err(io::Error::other)?;
        written?;
        self.show_record(Arc::clone(&record));
        Ok(record)
    }

    /// Ends all work on it. When this returns, its record is not written again.
    pub(super) async fn forget(&self) {
        self.forgotten.cancel();
        drop(self.writer.lock().await);
    }

    /// Changes what is shown, without the disk: where the disk does not take the change, people shall see it at least.
    pub(super) fn show(&self, change: impl FnOnce(&mut BootRecord)) {
        let mut record = BootRecord::clone(&self.record());
        change(&mut record);
        self.show_record(Arc::new(record));
    }

    fn show_record(&self, record: Arc<BootRecord>) {
        self.modify(|view| (view.record, view.progress.text) = (record, None));
    }

    /// Shows how far the running step has come.
    pub(super) fn progress(&self, progress: Progress) {
        if self.view.borrow().progress != progress {
            self.modify(|view| view.progress = progress);
        }
    }

    fn modify(&self, change: impl FnOnce(&mut View)) {
        self.view.send_modify(|view| {
            change(view);
            view.revision = Timestamp::now().millis().max(view.revision + 1);
        });
    }
}

/// Writes a record, where waiting for the disk is allowed.
pub(super) async fn write(store: &Arc<Store>, record: &BootRecord) -> io::Result<()> {
    let json = record.to_json()?;
    let (store, id) = (Arc::clone(store), record.id);
    let written = tokio::task::spawn_blocking(move || store.write_boot(id.as_str(), &json)).await;
    written.map_err(io::Error::other)?
}
