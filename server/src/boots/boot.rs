//! One boot: its record, its present progress, and notifications about changes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

use super::bmc_key::BmcKey;
use super::id::BootId;
use super::machine::Work;
use super::record::{BootRecord, BootState};
use super::record_writer::RecordWriter;
use super::time::Timestamp;

/// A change of a record. It is boxed, because the future of each asynchronous function on the way would otherwise have room for it, some of
/// them twice, for as long as the caller's future lives.
pub(super) type Change<'a> = Box<dyn FnOnce(&mut BootRecord) + Send + 'a>;

/// A record before and after a change.
pub(super) type OldAndNew = (Arc<BootRecord>, Arc<BootRecord>);

/// A snapshot of a boot.
#[derive(Debug, Clone)]
pub struct View {
    /// Grows with every change, and across restarts unless the clock was set back.
    pub revision: u64,
    /// The record, as it is on disk, or as it would be if the disk accepted it.
    pub record: Arc<BootRecord>,
    /// What the running step is doing. This is not on disk.
    pub progress: Option<String>,
}

/// A boot.
#[derive(Debug)]
pub struct Boot {
    id: BootId,
    pub(super) key: Arc<BmcKey>,
    /// Whether the record is from an earlier run of the server.
    resumed: bool,
    /// Whether the disk has an older record than the one that is shown, because it has not accepted the last change.
    is_unwritten: AtomicBool,
    /// Held while the record is changed and written, so that writes reach the disk in their order.
    writer: Arc<Mutex<()>>,
    view: watch::Sender<View>,
    /// When this process told the BMC to start the host.
    started: parking_lot::Mutex<Option<Instant>>,
    /// When the host was on, if this process saw it.
    powered: parking_lot::Mutex<Option<Instant>>,
    /// How many bytes of the image this process sent between the insert and the start of the host. `None` if this process does not know.
    sent_before: parking_lot::Mutex<Option<u64>>,
    /// Cancelled when the boot is forgotten.
    pub(super) forgotten: CancellationToken,
}

impl Boot {
    pub(super) fn new(record: BootRecord, resumed: bool) -> Self {
        let key = Arc::new(BmcKey::of(&record.bmc.address));
        let id = record.id;
        let view = View { revision: Timestamp::now().millis(), record: Arc::new(record), progress: None };
        Self {
            id,
            key,
            resumed,
            is_unwritten: AtomicBool::new(false),
            writer: Arc::default(),
            view: watch::Sender::new(view),
            started: parking_lot::Mutex::default(),
            powered: parking_lot::Mutex::default(),
            sent_before: parking_lot::Mutex::default(),
            forgotten: CancellationToken::new(),
        }
    }

    /// The boot's id.
    pub fn id(&self) -> BootId {
        self.id
    }

    /// A snapshot of the boot.
    pub fn view(&self) -> View {
        self.view.borrow().clone()
    }

    /// The number of the last change.
    pub(super) fn revision(&self) -> u64 {
        self.view.borrow().revision
    }

    /// The record, as it is on disk, or as it would be if the disk accepted it.
    pub fn record(&self) -> Arc<BootRecord> {
        Arc::clone(&self.view.borrow().record)
    }

    /// Notifies of every change.
    pub fn changes(&self) -> watch::Receiver<View> {
        self.view.subscribe()
    }

    /// Notes that the BMC starts the host now. Earlier signs do not count.
    pub(super) fn mark_started(&self) {
        *self.started.lock() = Some(Instant::now());
    }

    /// When the BMC was told to start the host. `None` if that was before this process began: then every sign that this
    /// process has seen came later.
    pub(super) fn started(&self) -> Option<Instant> {
        *self.started.lock()
    }

    /// Notes that the host is on.
    pub(super) fn mark_powered(&self) {
        *self.powered.lock() = Some(Instant::now());
    }

    /// When the host was on. `None` if that was before this process began.
    pub(super) fn powered(&self) -> Option<Instant> {
        *self.powered.lock()
    }

    /// Sets how many bytes of the image were sent since its insert. `None` if this process does not know.
    pub(super) fn set_sent_before(&self, bytes: Option<u64>) {
        *self.sent_before.lock() = bytes;
    }

    /// Adds bytes that were sent before the host is started.
    pub(super) fn add_sent_before(&self, bytes: u64) {
        let mut sent = self.sent_before.lock();
        *sent = sent.map(|sent| sent.saturating_add(bytes));
    }

    /// How many bytes of the image were sent between its insert and the start of the host. `None` if this process does not know:
    /// another one has inserted the image, or the BMC had it already.
    pub(super) fn sent_before(&self) -> Option<u64> {
        *self.sent_before.lock()
    }

    pub(super) fn work(&self) -> Work {
        self.view.borrow().record.work()
    }

    /// Whether the boot was running when the server started. Only valid until the boot has its permit:
    /// a queued boot runs then, too.
    pub(super) fn is_under_way(&self) -> bool {
        self.resumed && self.record().state == BootState::Running
    }

    /// Whether the disk has an older record than the one that is shown.
    pub(super) fn is_unwritten(&self) -> bool {
        self.is_unwritten.load(Ordering::Relaxed)
    }

    /// Changes the record, and returns it as it was before and as it is now. When this returns, the new record is on disk.
    pub(super) async fn update(&self, writer: &RecordWriter, change: Change<'_>) -> io::Result<OldAndNew> {
        let lock = Arc::clone(&self.writer).lock_owned().await;
        if self.forgotten.is_cancelled() {
            return Err(io::Error::other("the boot was deleted"));
        }
        let old = self.record();
        let record = changed(&old, change);
        if record == old && !self.is_unwritten() {
            return Ok((record, old));
        }
        // A record must not reach the disk after it was removed.
        let _lock = writer.write(Arc::clone(&record), lock).await?;
        self.is_unwritten.store(false, Ordering::Relaxed);
        self.show_record(Arc::clone(&record));
        Ok((old, record))
    }

    /// Removes the record, and ends all work on the boot. No later change writes the record again. If the removal fails, the work goes on: it
    /// may have to write that the boot failed, so that the next start does not begin the boot.
    pub(super) async fn forget(&self, remove: impl Future<Output = io::Result<()>>) -> io::Result<()> {
        let _lock = self.writer.lock().await;
        remove.await?;
        self.forgotten.cancel();
        Ok(())
    }

    /// Changes the record only in memory: users should see a change even if the disk does not accept it. The next [`update`](Self::update)
    /// writes the record, even if it changes nothing.
    pub(super) async fn show_unwritten(&self, change: impl FnOnce(&mut BootRecord)) -> OldAndNew {
        let _lock = self.writer.lock().await;
        let old = self.record();
        let record = changed(&old, change);
        self.is_unwritten.store(true, Ordering::Relaxed);
        self.show_record(Arc::clone(&record));
        (old, record)
    }

    /// Changes the record of a boot that is not on any disk.
    #[cfg(test)]
    pub(super) fn show(&self, change: impl FnOnce(&mut BootRecord)) {
        self.show_record(changed(&self.record(), change));
    }

    fn show_record(&self, record: Arc<BootRecord>) {
        self.modify(|view| (view.record, view.progress) = (record, None));
    }

    /// Shows what the running step is doing.
    pub(super) fn show_progress(&self, text: impl Into<String>) {
        let progress = Some(text.into());
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

fn changed(old: &BootRecord, change: impl FnOnce(&mut BootRecord)) -> Arc<BootRecord> {
    let mut record = old.clone();
    change(&mut record);
    Arc::new(record)
}
