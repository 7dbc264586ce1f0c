//! Notices bases that change, disappear and come back while the server runs.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use media::base_file::BaseError;
use tracing::{error, info};

use super::Store;
use super::open_base::{Fresh, OpenBaseError};
use super::registered_base::RegisteredBase;

impl Store {
    /// Checks every base once. A base that has changed or disappeared goes out of service, with its images. A base that is
    /// back comes into service, with the images that were published over its bytes. This is cheap if nothing has changed.
    /// Otherwise it reads the whole base, on another thread if that takes long.
    ///
    /// It also releases images that have lingered long enough or whose time to live is over, and replaced bases that no image uses
    /// any more. It records how often limited images were read, and checks the data directory.
    pub fn recheck(&self) {
        let _alone = self.rechecking.lock();
        if let Ok(directory) = self.persistence.directory() {
            directory.try_out();
        }
        for base in self.bases.with_replaced() {
            self.recheck_base(&base);
        }
        self.plan_images();
        self.plans.checked();
        self.release_expired();
        self.release_ended();
        self.record_reads();
        self.release_replaced_bases();
    }

    fn recheck_base(&self, base: &RegisteredBase) {
        let state = base.state();
        let known = match &state {
            Ok(open) => match open.check_in_time() {
                Ok(()) if open.wants_rereading() => Some(Arc::clone(open)),
                Ok(()) => return,
                Err(error) => {
                    // Take it out before reading the present file, which may take long.
                    let hung = matches!(error, BaseError::Unresponsive { .. });
                    self.take_out(base, &error.into());
                    if hung {
                        return;
                    }
                    None
                }
            },
            Err(_) => None,
        };
        match base.open_in_time(&self.digests, Fresh::Refuse) {
            Ok(open) => {
                let same = known.is_some_and(|known| known.identity == open.identity);
                if !same {
                    info!(base = %base.name(), identity = %open.identity, "base is available");
                }
                base.set_state(Ok(Arc::new(open)));
                if !same {
                    // Its images do not wait until all other bases are checked and all other images planned.
                    self.plan_images_later();
                    self.bases.notify();
                }
            }
            // The base is unchanged, and stays in service until it was read again. If the clock was set back, its last change is in
            // the future, so that it seems to be written once more.
            Err(OpenBaseError::BeingRead(_) | OpenBaseError::BeingWritten(_)) if known.is_some() => {}
            Err(error) => self.take_out(base, &error),
        }
    }

    fn take_out(&self, base: &RegisteredBase, error: &OpenBaseError) {
        // Without the time, which grows with every check, so that the state changes only once.
        let reason = match error {
            OpenBaseError::Unresponsive { path, .. } | OpenBaseError::File(BaseError::Unresponsive { path, .. }) => {
                format!("base image {}: its file system does not answer", path.display())
            }
            other => other.to_string(),
        };
        let known = matches!(base.state(), Err(known) if known == reason);
        if !known {
            if let OpenBaseError::BeingWritten(_) | OpenBaseError::BeingRead(_) = error {
                info!(base = %base.name(), %error, "base is not available yet");
            } else {
                error!(base = %base.name(), %error, "base is not available; images over it answer 503 until it is");
            }
            base.set_state(Err(reason));
            self.bases.notify();
            self.plan_images();
        }
    }

    /// Calls [`recheck`](Self::recheck) at this interval, on another thread, until the store or the returned value is
    /// dropped.
    pub fn watch(self: &Arc<Self>, interval: Duration) -> std::io::Result<Watch> {
        let (running, dropped) = mpsc::channel();
        let store = Arc::downgrade(self);
        thread::Builder::new().name("base-watch".to_owned()).spawn(move || {
            // Parking would not do: threads that end in a check wake this one, and it would find no rest.
            while dropped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let Some(store) = store.upgrade() else { return };
                store.recheck();
            }
        })?;
        Ok(Watch { _running: running })
    }
}

/// Ends the watch when dropped. A running check still finishes: it may be reading a base.
#[derive(Debug)]
pub struct Watch {
    _running: Sender<()>,
}
