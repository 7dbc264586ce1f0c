//! The thread that writes the audit log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::chain::Link;
use super::event::Event;
use super::log_file::{AuditError, Entry, FileState};
use super::metrics::AuditMetrics;
use super::target::{AuditTarget, Log};

/// How long to wait before the next attempt if the file cannot be written, and before the next look whether it is in its place.
const RETRY: Duration = Duration::from_secs(1);

/// How many entries wait for the file at most.
const MAX_PENDING: usize = 8192;

/// How many entries are written before they are synced to the disk. Requests that come meanwhile wait for the next batch together.
const BATCH: usize = 4096;

/// A request to the thread.
#[derive(Debug)]
pub(super) enum Message {
    /// Write this.
    Entry(Entry),
    /// Sync the file, and reply whether the disk has all that came before.
    Sync(oneshot::Sender<bool>),
    /// Read [`Shared`] again.
    Wake,
    /// Write all that waits, reply, and end.
    Stop(SyncSender<()>),
}

/// What the thread and its clients share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Whether the file cannot be written at the moment.
    pub(super) is_failing: AtomicBool,
    /// Since when the thread has been busy with the file.
    pub(super) busy_since: Mutex<Option<Instant>>,
    /// Whether to open the file again, because somebody may have renamed it.
    pub(super) reopen: AtomicBool,
    /// How many entries were lost and are not recorded as lost yet.
    pub(super) lost: AtomicU64,
    /// How many entries wait for the thread, or in it.
    pub(super) unwritten: AtomicU64,
    pub(super) metrics: AuditMetrics,
}

impl Shared {
    pub(super) fn count_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.metrics.lost.inc();
    }

    /// Notices that the thread has waited for the file for so long: storage hangs, or whoever reads the standard output does not. The
    /// next attempt that succeeds ends this state.
    pub(super) fn notice_stall(&self, limit: Duration) {
        // The thread takes the lock before it tells how it went, so that this never overwrites a later success.
        let busy_since = self.busy_since.lock();
        let stalled = busy_since.map(|since| since.elapsed()).filter(|stalled| *stalled >= limit);
        if let Some(stalled) = stalled
            && !self.is_failing.swap(true, Ordering::Relaxed)
        {
            self.metrics.failing.set(1);
            let seconds = stalled.as_secs();
            tracing::error!(
                seconds,
                "writing the audit log does not end: `dayone serve` refuses all changes by the API until it does; images are served"
            );
        }
    }

    /// How many entries the log lacks now.
    pub(super) fn missing(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed).saturating_add(self.lost.load(Ordering::Relaxed))
    }

    fn begin(&self) {
        *self.busy_since.lock() = Some(Instant::now());
    }

    fn end(&self) {
        *self.busy_since.lock() = None;
    }
}

/// The writer.
pub(super) struct Writer {
    pub(super) target: AuditTarget,
    /// The size in bytes from which on the writer rotates the file.
    pub(super) max_bytes: Option<u64>,
    pub(super) shared: Arc<Shared>,
    log: Option<Log>,
    /// Why the last attempt failed, if it did.
    reason: Option<String>,
    /// The end of the chain when the file was last open.
    link: Link,
    pending: VecDeque<Entry>,
    /// Who waits until all that is pending is on the disk.
    waiting: Vec<oneshot::Sender<bool>>,
}

impl Writer {
    /// Opens the log.
    pub(super) fn open(target: AuditTarget, max_bytes: Option<u64>, shared: Arc<Shared>) -> Result<Self, AuditError> {
        let log = target.open(Link::START)?;
        let link = log.link();
        let (pending, waiting) = (VecDeque::new(), Vec::new());
        Ok(Self { target, max_bytes, shared, log: Some(log), reason: None, link, pending, waiting })
    }

    /// Writes until the last sender is gone or says stop.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let mut stop = None;
            match messages.recv_timeout(RETRY) {
                Ok(message) => {
                    stop = self.take(message);
                    for message in messages.try_iter().take(BATCH) {
                        stop = self.take(message);
                        if stop.is_some() {
                            break;
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.is_idle() => continue,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.flush();
                    return self.give_up();
                }
            }
            self.flush();
            if let Some(reply) = stop {
                self.give_up();
                // If nobody waits any more, that is fine.
                let _ = reply.send(());
                return;
            }
        }
    }

    /// Returns whom to reply to at the end.
    fn take(&mut self, message: Message) -> Option<SyncSender<()>> {
        match message {
            Message::Entry(_) if self.pending.len() >= MAX_PENDING => {
                self.shared.unwritten.fetch_sub(1, Ordering::Relaxed);
                self.shared.count_lost();
            }
            Message::Entry(entry) => self.pending.push_back(entry),
            Message::Sync(reply) => self.waiting.push(reply),
            Message::Wake => {}
            Message::Stop(reply) => return Some(reply),
        }
        None
    }

    /// Whether there is nothing to write, and nothing wrong with the file. A server that is not asked for anything finds out here that
    /// the file is gone, before it makes a change that it could not record.
    fn is_idle(&self) -> bool {
        let is_in_place = |log: &Log| log.file_state().is_ok_and(|state| state == FileState::InPlace);
        self.shared.begin();
        let is_idle = self.pending.is_empty()
            && !self.shared.reopen.load(Ordering::Relaxed)
            && self.log.as_ref().is_some_and(is_in_place);
        self.shared.end();
        // The look may have taken so long that it counts as a failure.
        is_idle && !self.shared.is_failing.load(Ordering::Relaxed)
    }

    fn close(&mut self) {
        if let Some(log) = self.log.take() {
            self.link = log.link();
        }
    }

    /// Writes what waits.
    fn flush(&mut self) {
        if self.shared.reopen.swap(false, Ordering::Relaxed) {
            self.close();
        }
        self.shared.begin();
        let reason = self.write().err().map(|error| error.to_string());
        self.shared.end();
        let is_failing = reason.is_some();
        self.shared.metrics.failing.set(is_failing.into());
        let was_failing = self.shared.is_failing.swap(is_failing, Ordering::Relaxed);
        match &reason {
            None if was_failing => {
                tracing::info!(file = %self.target.path().display(), "the audit log can be written again");
            }
            // The reason may change, for example when there is room again but the file is gone.
            Some(error) if reason != self.reason => tracing::error!(
                %error,
                "the audit log cannot be written: `dayone serve` refuses all changes by the API until it can; images are served"
            ),
            _ => {}
        }
        self.reason = reason;
        if is_failing {
            // What was written in part is seen to when the file is opened again.
            self.close();
        }
        for reply in self.waiting.drain(..) {
            // Its client may have gone.
            let _ = reply.send(!is_failing);
        }
    }

    /// Says how many entries the log lacks because the server ends before it could write them.
    fn give_up(&mut self) {
        let pending = u64::try_from(self.pending.len()).unwrap_or(u64::MAX);
        self.pending.clear();
        self.shared.unwritten.fetch_sub(pending, Ordering::Relaxed);
        self.shared.metrics.lost.inc_by(pending);
        let lost = pending.saturating_add(self.shared.lost.swap(0, Ordering::Relaxed));
        if lost > 0 {
            tracing::error!(
                file = %self.target.path().display(),
                entries = lost,
                "the audit log lacks its last entries: it could not be written, and the server ends"
            );
        }
    }

    fn write(&mut self) -> Result<(), AuditError> {
        let path = self.target.path().to_owned();
        let failed = |source| AuditError::Write { path: path.clone(), source };
        if let Some(log) = &self.log {
            match log.file_state().map_err(failed)? {
                FileState::InPlace => {}
                FileState::Renamed => self.close(),
                FileState::Shortened => {
                    tracing::error!(
                        file = %path.display(),
                        "somebody has cut entries off the audit log while the server writes it: `dayone audit verify` tells which \
                         are missing. To rotate it, rename it"
                    );
                    self.close();
                }
            }
        }
        let mut log = match self.log.take() {
            Some(log) => log,
            None => self.target.open(self.link)?,
        };
        self.link = log.link();
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            self.shared.unwritten.fetch_add(1, Ordering::Relaxed);
            self.pending.push_front(Entry::of_server(Event::EntriesLost { entries: lost }));
        }
        while let Some(entry) = self.pending.front() {
            log.append(entry).map_err(failed)?;
            self.link = log.link();
            self.shared.metrics.entries.inc();
            self.shared.unwritten.fetch_sub(1, Ordering::Relaxed);
            self.pending.pop_front();
        }
        log.sync().map_err(failed)?;
        match self.max_bytes.map_or(Ok(false), |max_bytes| log.rotate(max_bytes)) {
            Ok(false) => {}
            Ok(true) => {
                // The lock is on the renamed file.
                log = self.target.open(self.link)?;
                log.sync().map_err(failed)?;
            }
            Err(error) => {
                tracing::warn!(file = %self.target.path().display(), %error, "cannot rename the audit log; it grows");
            }
        }
        self.log = Some(log);
        Ok(())
    }
}
