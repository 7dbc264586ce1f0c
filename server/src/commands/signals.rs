//! Signals that ask a program to stop, or to read its files again.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use tracing::info;

/// For how long another SIGINT counts as the same request to stop: timeout(1) signals the program and its group.
pub(super) const SAME_REQUEST: Duration = Duration::from_secs(1);

/// A receiver of SIGTERM, SIGINT and SIGHUP, which then do not end the program themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None if the program ignores SIGHUP.
    hang_up: Option<Signal>,
    /// When the last request came.
    requested: Option<Instant>,
}

/// A request by a signal.
pub(super) enum SignalRequest {
    /// Stop. The number is the exit code that shells give to a program that the signal has ended.
    Stop(u8),
    /// Read the files again.
    Reload,
}

impl Signals {
    /// The signals of a server, for which SIGHUP is a request to reload, also if the program that has started it ignores SIGHUP.
    pub(super) fn of_server() -> std::io::Result<Self> {
        // A file that reaches the limit of the process (`RLIMIT_FSIZE`) is then an error of the write, and not the end of the server.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: Some(signal(SignalKind::hangup())?),
            requested: None,
        })
    }

    /// The signals of a command, which SIGHUP ends, unless it is ignored (nohup(1)).
    pub(super) fn of_command() -> std::io::Result<Self> {
        let is_ignored = is_ignored(SignalKind::hangup());
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: if is_ignored { None } else { Some(signal(SignalKind::hangup())?) },
            requested: None,
        })
    }

    /// Waits for a signal.
    pub(super) async fn next(&mut self) -> SignalRequest {
        let Self { terminate, interrupt, hang_up, requested } = self;
        let hang_up = async {
            match hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        let request = tokio::select! {
            _ = terminate.recv() => SignalRequest::Stop(143),
            _ = interrupt.recv() => SignalRequest::Stop(130),
            _ = hang_up => SignalRequest::Reload,
        };
        *requested = Some(Instant::now());
        request
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

    /// Waits for SIGINT that a person sends while the program is stopping. A terminal that goes away sends SIGHUP twice, and service
    /// managers repeat SIGTERM: neither asks for anything new.
    pub(super) async fn interrupt(&mut self) {
        loop {
            self.interrupt.recv().await;
            if self.requested.is_none_or(|requested| requested.elapsed() >= SAME_REQUEST) {
                return;
            }
        }
    }
}

/// Whether the program ignores a signal, such as SIGHUP under nohup(1). A handler would end that.
pub(super) fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status) >> (kind.as_raw_value() - 1) & 1 == 1
}

/// Returns the signals that the program ignores (`proc_pid_status(5)`): bit 0 is signal 1.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored("Name:\tdayone\nSigBlk:\tffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), 0x1001);
        assert_eq!(ignored("Name:\tdayone\n"), 0);
    }
}
