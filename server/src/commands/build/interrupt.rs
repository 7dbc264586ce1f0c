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
    /// once: writing may hang in a file system that does not answer.
    pub(super) fn catch() -> io::Result<Self> {
        let interrupt = Self::default();
        let noted = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _context = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                for _ in 0..2 {
                    tokio::select! {
                        _ = signals.0.recv() => {}
                        _ = signals.1.recv() => {}
                        _ = signals.2.recv() => {}
                    }
                    if noted.0.swap(true, Ordering::Relaxed) {
                        std::process::exit(130);
                    }
                }
            });
        })?;
        Ok(interrupt)
    }

    /// Whether to go on.
    pub(super) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
