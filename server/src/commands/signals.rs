//! Signals that ask a program to stop, or to read its files again.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// A receiver of SIGTERM, SIGINT and SIGHUP, which then do not end the program themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// A request by a signal.
pub(super) enum SignalRequest {
    /// Stop. The number is the exit code that shells give to a program that the signal has ended.
    Stop(u8),
    /// Read the files again.
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
    pub(super) async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::Stop(143),
            _ = self.interrupt.recv() => SignalRequest::Stop(130),
            _ = self.hang_up.recv() => SignalRequest::Reload,
        }
    }

    /// Waits for a signal that asks the program to stop. Ignores requests to reload, for the given reason.
    pub(super) async fn stop(&mut self, why_no_reload: &str) -> u8 {
        loop {
            match self.next().await {
                SignalRequest::Stop(code) => return code,
                SignalRequest::Reload => info!("ignoring SIGHUP: {why_no_reload}"),
            }
        }
    }
}
