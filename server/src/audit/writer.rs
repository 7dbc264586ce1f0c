//! The thread that writes the audit log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

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
    /// Whether to open the file again, because somebody may have renamed it.
    pub(super) reopen: AtomicBool,
    /// How many entries were lost and are not recorded as lost yet.
    pub(super) lost: AtomicU64,
    pub(super) metrics: AuditMetrics,
}

impl Shared {
    pub(super) fn count_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.metrics.lost.inc();
    }
}

/// The writer.
pub(super) struct Writer {
    pub(super) target: AuditTarget,
    /// The size in bytes from which on the writer rotates the file.
    pub(super) max_bytes: Option<u64>,
    pub(super) shared: Arc<Shared>,
    log: Option<Log>,
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
        Ok(Self { target, max_bytes, shared, log: Some(log), link, pending: VecDeque::new(), waiting: Vec::new() })
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
            Message::Entry(_) if self.pending.len() >= MAX_PENDING => self.shared.count_lost(),
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
        self.pending.is_empty()
            && !self.shared.reopen.load(Ordering::Relaxed)
            && self.log.as_ref().is_some_and(is_in_place)
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
        let result = self.write();
        let is_failing = result.is_err();
        self.shared.metrics.failing.set(is_failing.into());
        if self.shared.is_failing.swap(is_failing, Ordering::Relaxed) != is_failing {
            match &result {
                Ok(()) => tracing::info!(file = %self.target.path().display(), "the audit log can be written again"),
                Err(error) => tracing::error!(
                    %error,
                    "the audit log cannot be written: `dayone serve` refuses all changes by the API until it can; images are served"
                ),
            }
        }
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
            }
        }
        let mut log = match self.log.take() {
            Some(log) => log,
            None => self.target.open(self.link)?,
        };
        self.link = log.link();
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            self.pending.push_front(Entry::of_server(Event::EntriesLost { entries: lost }));
        }
        while let Some(entry) = self.pending.front() {
            log.append(entry).map_err(failed)?;
            self.link = log.link();
            self.shared.metrics.entries.inc();
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
