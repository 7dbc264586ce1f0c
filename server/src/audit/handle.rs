//! What the rest of the server uses of the audit log.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;

use super::event::{Event, Who};
use super::log_file::{AuditError, Entry};
use super::metrics::AuditMetrics;
use super::target::AuditTarget;
use super::writer::{Message, Shared, Writer};

/// How many entries may wait for the thread. An order of many hosts makes two for each of them.
const CHANNEL: usize = 16 << 10;

/// How long the answer to a change waits for the disk. If the thread waits for as long, the log cannot be written.
const WAIT: Duration = Duration::from_secs(10);

/// How long the end of the server waits for the disk, after all requests have ended. The packaged service and the charts leave room for
/// it (`TimeoutStopSec=`).
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The time between two attempts to send to a thread that has no place for messages.
const PAUSE: Duration = Duration::from_millis(50);

/// The settings of an audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// Where it goes.
    pub target: AuditTarget,
    /// The size in bytes from which on the server renames the file and begins a new one. `None`: it does not.
    pub max_bytes: Option<u64>,
}

/// Whether there is an audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditState {
    /// There is none.
    Off,
    /// The server can write it.
    Available,
    /// The server cannot write it at the moment.
    Unavailable,
}

/// The audit log of a server, or none. Clones share it.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<Open>>);

struct Open {
    sender: SyncSender<Message>,
    shared: Arc<Shared>,
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Audit({:?})", self.state())
    }
}

impl Audit {
    /// Opens the file, continues its chain, and starts the thread that writes. Waits for the disk.
    pub fn start(settings: &AuditSettings, metrics: AuditMetrics) -> Result<Self, AuditError> {
        let shared = Arc::new(Shared { metrics, ..Shared::default() });
        let writer = Writer::open(settings.target.clone(), settings.max_bytes, Arc::clone(&shared))?;
        let (sender, receiver) = mpsc::sync_channel(CHANNEL);
        let thread = thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(&receiver));
        thread.map_err(|source| AuditError::Write { path: settings.target.path().to_owned(), source })?;
        Ok(Self(Some(Arc::new(Open { sender, shared }))))
    }

    /// Whether there is an audit log.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the server can write it.
    pub fn state(&self) -> AuditState {
        match &self.0 {
            None => AuditState::Off,
            Some(open) if open.shared.is_failing.load(Ordering::Relaxed) => AuditState::Unavailable,
            Some(_) => AuditState::Available,
        }
    }

    /// Records something. Never waits: an entry for which there is no place is counted, and its loss is recorded.
    pub fn record(&self, who: Who, event: Event) {
        let Some(open) = &self.0 else { return };
        let entry = Entry { time: SystemTime::now(), who, event };
        // First, because the thread may have written it before this goes on.
        open.shared.unwritten.fetch_add(1, Ordering::Relaxed);
        match open.sender.try_send(Message::Entry(entry)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                open.shared.unwritten.fetch_sub(1, Ordering::Relaxed);
                open.shared.count_lost();
            }
        }
    }

    /// How many entries were lost since the start.
    fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |open| open.shared.metrics.lost.get())
    }

    /// Waits until the disk has all that was recorded before. Returns false if it does not get it now.
    async fn is_written(&self) -> bool {
        let Some(open) = &self.0 else { return true };
        let (reply, written) = oneshot::channel();
        if open.sender.try_send(Message::Sync(reply)).is_err() {
            return false;
        }
        // A disk that hangs must not hold the answer for ever.
        matches!(tokio::time::timeout(WAIT, written).await, Ok(Ok(true)))
    }

    /// Notices that the disk hangs, also while nobody changes anything. [`state`](Self::state) tells it then.
    pub(super) fn notice_stall(&self) {
        if let Some(open) = &self.0 {
            open.shared.notice_stall(WAIT);
        }
    }

    /// Opens the log again, because somebody may have renamed it.
    pub fn reopen(&self) {
        if let Some(open) = &self.0 {
            open.shared.reopen.store(true, Ordering::Relaxed);
            // If there is no place, the thread is awake.
            let _ = open.sender.try_send(Message::Wake);
        }
    }

    /// Writes all that was recorded, and ends the thread. Waits for the disk, for some seconds at most.
    pub fn stop(&self) {
        self.stop_within(LAST_WAIT);
    }

    /// Returns whether the thread has ended.
    fn stop_within(&self, limit: Duration) -> bool {
        let Some(open) = &self.0 else { return true };
        let deadline = Instant::now() + limit;
        let (reply, end) = mpsc::sync_channel(1);
        let mut message = Message::Stop(reply);
        let is_sent = loop {
            match open.sender.try_send(message) {
                Err(TrySendError::Full(unsent)) if Instant::now() < deadline => {
                    message = unsent;
                    thread::sleep(PAUSE);
                }
                result => break result.is_ok(),
            }
        };
        let has_ended = is_sent && end.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok();
        let missing = open.shared.missing();
        if !has_ended && missing > 0 {
            tracing::error!(
                entries = missing,
                "the audit log lacks its last entries: writing it does not end, and the server does not wait for it"
            );
        }
        has_ended
    }
}

/// Who sends a request, with the log that records what comes of it. Every request of the API has it as an extension. Clones are about
/// the same request.
#[derive(Debug, Clone)]
pub struct Actor {
    /// Who sends the request.
    pub who: Who,
    /// The log.
    pub audit: Audit,
    has_recorded: Arc<AtomicBool>,
    /// How many entries the log had lost when the request came.
    lost: u64,
}

impl Actor {
    /// The sender of a request that has just come.
    pub(crate) fn new(who: Who, audit: Audit) -> Self {
        let lost = audit.lost();
        Self { who, audit, has_recorded: Arc::default(), lost }
    }

    /// Records what the request has led to.
    pub fn record(&self, event: Event) {
        self.has_recorded.store(true, Ordering::Relaxed);
        self.audit.record(self.who.clone(), event);
    }

    /// Waits until the disk has the entries of the request. Returns false if it does not get them now: they wait in memory, or are
    /// lost.
    pub(crate) async fn is_written(&self) -> bool {
        !self.has_recorded.load(Ordering::Relaxed) || (self.audit.is_written().await && self.audit.lost() == self.lost)
    }
}

#[cfg(test)]
mod tests;
