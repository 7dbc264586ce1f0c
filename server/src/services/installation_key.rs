//! Follows the file of the installation key while the server runs: takes a new key over, and removes the previous one when nothing
//! needs it any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::audit::{Audit, Event, Who};
use crate::boots::Boots;
use crate::store::{KeyChange, KeyError, Store};

/// Follows the file of the installation key.
pub(super) struct KeyFollower {
    store: Arc<Store>,
    boots: Boots,
    audit: Audit,
    /// Wakes the follower.
    now: Arc<Notify>,
    pace: Duration,
}

impl KeyFollower {
    /// A follower that looks at this pace, and whenever `now` is notified.
    pub(super) fn new(store: &Arc<Store>, boots: &Boots, audit: &Audit, now: &Arc<Notify>, pace: Duration) -> Self {
        let (store, boots, audit, now) = (Arc::clone(store), boots.clone(), audit.clone(), Arc::clone(now));
        Self { store, boots, audit, now, pace }
    }

    /// Looks at the file at this pace, and whenever it is woken, until `stopping` is cancelled.
    pub(super) async fn follow(self, stopping: CancellationToken) {
        let mut pace = interval(self.pace);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut trouble, mut kept) = (None, (0, 0));
        loop {
            tokio::select! {
                _ = pace.tick() => {}
                () = self.now.notified() => {}
                () = stopping.cancelled() => return,
            }
            let applied = self.apply_changes().await;
            // The same trouble is logged once.
            let text = applied.err().map(|error| error.to_string());
            if text != trouble {
                if let Some(error) = &text {
                    error!(error, "cannot follow the installation key; dayone goes on with the keys that it has");
                }
                trouble = text;
            }
            let has_ended = self.store.has_ended_key();
            let images = if has_ended { self.store.images_of_previous_key() } else { Vec::new() };
            let boots = if has_ended { self.boots.unreadable() } else { &[] };
            let example = images.first().map(ToString::to_string).or_else(|| boots.first().cloned());
            if let (Some(example), true) = (example, (images.len(), boots.len()) != kept) {
                warn!(
                    images = images.len(),
                    boots = boots.len(),
                    example,
                    "the previous installation key has ended, and dayone keeps it for images that are not available and for records that it \
                     cannot read; bring the images' base back, make the records readable and restart dayone, or delete these images and \
                     move these boots' records away"
                );
            }
            kept = (images.len(), boots.len());
        }
    }

    /// Takes over what has changed.
    async fn apply_changes(&self) -> Result<(), KeyError> {
        self.record(self.store_work(Store::follow_key).await?);
        let needed = self.boots.follow_key().await;
        if let Err(error) = &needed {
            warn!(%error, "cannot write the record of a boot after a rotation of the installation key; dayone tries again");
        }
        let is_needed = needed.is_err() || !self.boots.unreadable().is_empty();
        self.record(self.store_work(move |store| store.remove_previous_key(is_needed)).await?);
        Ok(())
    }

    /// Does work that waits for the disk.
    async fn store_work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<Option<T>, KeyError> + Send + 'static,
    ) -> Result<Option<T>, KeyError> {
        let store = Arc::clone(&self.store);
        // Fails only if the work panics; the panic hook has logged where.
        tokio::task::spawn_blocking(move || work(&store)).await.unwrap_or(Ok(None))
    }

    fn record(&self, change: Option<KeyChange>) {
        let event = match change {
            Some(KeyChange::Rotated { until }) => Event::KeyRotated { previous_until: until },
            Some(KeyChange::PreviousRemoved) => Event::PreviousKeyRemoved,
            None => return,
        };
        self.audit.record(Who::SERVER, event);
    }
}
