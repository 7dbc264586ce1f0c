//! Signals that ask a program to end, or to read its files again.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// SIGTERM, SIGINT and SIGHUP, which do not end the program by themselves any more.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// What a signal asks for.
pub(super) enum Asked {
    /// To end. With it, the exit code that shells give to a program that the signal has ended.
    End(u8),
    /// To read files again.
    Reload,
}

impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal.
    pub(super) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::End(143),
            _ = self.interrupt.recv() => Asked::End(130),
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }

    /// Waits for a signal that asks to end; one that asks for anything else changes nothing, for the reason that is given.
    pub(super) async fn end(&mut self, why_not_now: &str) -> u8 {
        loop {
            match self.next().await {
                Asked::End(code) => return code,
                Asked::Reload => info!("SIGHUP is ignored: {why_not_now}"),
            }
        }
    }
}
