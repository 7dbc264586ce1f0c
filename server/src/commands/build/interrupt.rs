//! Interruption by signals: the program removes its incomplete files before it ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// Whether a signal has asked the program to end.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on. A second signal ends the program at once, because a write to a file system
    /// that does not answer may hang. Signals that the program ignores, such as SIGHUP under nohup(1), stay ignored.
    pub(super) fn catch() -> io::Result<Self> {
        let interrupt = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            if ignored >> (kind.as_raw_value() - 1) & 1 == 1 {
                continue;
            }
            let wanted = Arc::clone(&interrupt.0);
            let _context = runtime.enter();
            let mut signals = signal(kind)?;
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    if wanted.swap(true, Ordering::Relaxed) {
                        std::process::exit(130);
                    }
                }
            });
        }
        let wait = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Ok(interrupt)
    }

    /// Whether the program must stop.
    pub(super) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
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
