//! Ending politely: when the user presses Ctrl-C, what was begun is removed before the program ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// Whether somebody wants the program to end.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on, SIGINT, SIGTERM and SIGHUP are noted here instead of ending the program. A second one ends it at
    /// once: writing may hang in a file system that does not answer. Signals that are ignored, as nohup(1) does with
    /// SIGHUP, stay so.
    pub(super) fn catch() -> io::Result<Self> {
        let interrupt = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            if ignored >> (kind.as_raw_value() - 1) & 1 == 1 {
                continue;
            }
            let noted = Arc::clone(&interrupt.0);
            let _context = runtime.enter();
            let mut signals = signal(kind)?;
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    if noted.swap(true, Ordering::Relaxed) {
                        std::process::exit(130);
                    }
                }
            });
        }
        let wait = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Ok(interrupt)
    }

    /// Whether to stop.
    pub(super) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The signals that the program was started to ignore (`proc_pid_status(5)`): bit 0 is signal 1.
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
