//! Bases that change, vanish and come back while the server runs.

use std::sync::{Arc, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use media::base_file::BaseError;
use tracing::{error, info};

use super::Store;
use super::open_base::{Fresh, OpenBaseError};
use super::registered_base::{BaseState, RegisteredBase};

impl Store {
    /// Looks at every base once: one that changed or vanished goes out of service and its images with it; one that is
    /// back, with the same bytes or with others, comes into service, and so do the images that were published over
    /// these bytes. Cheap where nothing changed. Where something did the whole base is read, by a thread of its own if
    /// that takes long. Images that no owner has, and
    /// that have lingered long enough, are released. The data directory is tried out as well.
    pub fn recheck(&self) {
        let _alone = self.rechecking.lock().unwrap_or_else(PoisonError::into_inner);
        self.persistence.try_out();
        for base in self.bases.all() {
            self.recheck_base(&base);
        }
        self.plan_images();
        self.release_expired();
    }

    fn recheck_base(&self, base: &RegisteredBase) {
        let state = base.state();
        let known = match &state {
            BaseState::Available(open) => match open.check_in_time() {
                Ok(()) if open.wants_rereading() => Some(Arc::clone(open)),
                Ok(()) => return,
                Err(error) => {
                    // At once, before reading what is there now: that may take long.
                    let hung = matches!(error, BaseError::Unresponsive { .. });
                    self.take_out(base, &error.into());
                    if hung {
                        return;
                    }
                    None
                }
            },
            BaseState::Unavailable { .. } => None,
        };
        match base.open_in_time(&self.digests, Fresh::Refuse) {
            Ok(open) => {
                let same = known.is_some_and(|known| known.identity == open.identity);
                if !same {
                    info!(base = %base.name(), identity = %open.identity, "base is available");
                }
                base.set_state(BaseState::Available(Arc::new(open)));
                if !same {
                    self.bases.tell();
                }
            }
            // Until it was read again, what was known of it holds.
            Err(OpenBaseError::BeingRead(_)) if known.is_some() => {}
            Err(error) => self.take_out(base, &error),
        }
    }

    fn take_out(&self, base: &RegisteredBase, error: &OpenBaseError) {
        // How long it has been so is no news.
        let reason = match error {
            OpenBaseError::Unresponsive { path, .. } | OpenBaseError::File(BaseError::Unresponsive { path, .. }) => {
                format!("base image {}: its file system does not answer", path.display())
            }
            other => other.to_string(),
        };
        let known = matches!(base.state(), BaseState::Unavailable { reason: known } if known == reason);
        if !known {
            if let OpenBaseError::BeingWritten(_) | OpenBaseError::BeingRead(_) = error {
                info!(base = %base.name(), %error, "base is not available yet");
            } else {
                error!(base = %base.name(), %error, "base is not available; images over it answer 503 until it is");
            }
            base.set_state(BaseState::Unavailable { reason });
            self.bases.tell();
            self.plan_images();
        }
    }

    /// Looks at the bases every `interval`, on a thread of its own, for as long as the store and the returned value
    /// live.
    pub fn watch(self: &Arc<Self>, interval: Duration) -> std::io::Result<Watch> {
        let running = Arc::new(());
        let (store, alive) = (Arc::downgrade(self), Arc::downgrade(&running));
        let thread = thread::Builder::new().name("base-watch".to_owned()).spawn(move || {
            while alive.strong_count() > 0 {
                thread::park_timeout(interval);
                let Some(store) = store.upgrade().filter(|_| alive.strong_count() > 0) else { return };
                store.recheck();
            }
        })?;
        Ok(Watch { running: Some(running), thread: thread.thread().clone() })
    }
}

/// Watching ends when this is dropped. A look that is under way comes to its end on its own: it may be reading a base.
#[derive(Debug)]
pub struct Watch {
    running: Option<Arc<()>>,
    thread: Thread,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.running = None;
        self.thread.unpark();
    }
}
