//! What the rest of the server uses of the audit log.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread;
use std::time::SystemTime;

use super::event::{Event, Who};
use super::log_file::{AuditError, Entry};
use super::metrics::AuditMetrics;
use super::target::AuditTarget;
use super::writer::{Message, Shared, Writer};

/// How many entries may wait for the thread.
const CHANNEL: usize = 4096;

/// The settings of an audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// Where it goes.
    pub target: AuditTarget,
    /// The size in bytes from which on the server renames the file and begins a new one. `None`: it does not.
    pub most: Option<u64>,
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
        let writer = Writer::open(settings.target.clone(), settings.most, Arc::clone(&shared))?;
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
        match open.sender.try_send(Message::Entry(entry)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => open.shared.lose(),
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

    /// Writes all that was recorded, and ends the thread. Waits for the disk.
    pub fn stop(&self) {
        let Some(open) = &self.0 else { return };
        let (told, end) = mpsc::sync_channel(1);
        if open.sender.send(Message::Stop(told)).is_ok() {
            let _ = end.recv();
        }
    }
}

/// Who sends a request, with the log that records what comes of it. Every request of the API has it as an extension.
#[derive(Debug, Clone)]
pub struct Actor {
    /// Who sends the request.
    pub who: Who,
    /// The log.
    pub audit: Audit,
}

impl Actor {
    /// Records what the request has led to.
    pub fn record(&self, event: Event) {
        self.audit.record(self.who.clone(), event);
    }
}
