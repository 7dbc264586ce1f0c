//! Interruption by signals: the program removes its incomplete files before it ends.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio::signal::unix::{SignalKind, signal};

use crate::commands::signals::{SAME_REQUEST, is_ignored};

/// When a signal has asked the program to end, if one has.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<OnceLock<Instant>>);

impl Interrupt {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on. Signals that the program ignores, such as SIGHUP under nohup(1), stay ignored.
    ///
    /// A second SIGINT ends the program at once, because a write to a file system that does not answer may hang. Other signals are
    /// often sent twice, and would leave an incomplete file.
    pub(super) fn catch() -> io::Result<Self> {
        let interrupt = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            if is_ignored(kind) {
                continue;
            }
            let wanted = Arc::clone(&interrupt.0);
            let _context = runtime.enter();
            let mut signals = signal(kind)?;
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    let first = wanted.get_or_init(Instant::now);
                    if kind == SignalKind::interrupt() && first.elapsed() >= SAME_REQUEST {
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
        self.0.get().is_some()
    }
}
