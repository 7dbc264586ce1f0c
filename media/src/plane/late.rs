//! Images that are asked for a moment before they are known here.
//!
//! Where several replicas watch the same objects, a client may get a URL from one and ask another, which sees the object
//! a little later. A BMC that is told that the image is not there gives up, so it waits instead.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use crate::served::Lookup;

/// How long a request waits: many times what a replica is behind, and nothing to a BMC.
const LONGEST: Duration = Duration::from_secs(2);

/// How many requests wait at once. Whoever guesses at URLs gets no further than to fill these places.
const AT_ONCE: usize = 64;

/// The places for requests that wait.
#[derive(Debug)]
pub(super) struct LateImages(Arc<Semaphore>);

impl Default for LateImages {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl LateImages {
    /// A place to wait for what `arrivals` tells of; none when all are taken.
    pub(super) fn begin(&self, arrivals: watch::Receiver<u64>) -> Option<Wait> {
        let place = Arc::clone(&self.0).try_acquire_owned().ok()?;
        Some(Wait { arrivals, _place: place })
    }
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct Wait {
    arrivals: watch::Receiver<u64>,
    _place: OwnedSemaphorePermit,
}

impl Wait {
    /// Looks again whenever an image was published, until `find` finds something or the time is over.
    pub(super) async fn until_known(mut self, find: impl Fn() -> Lookup) -> Lookup {
        let end = Instant::now() + LONGEST;
        while let Ok(Ok(())) = timeout_at(end, self.arrivals.changed()).await {
            match find() {
                Lookup::NotYet(_) => {}
                known => return known,
            }
        }
        Lookup::NotFound
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn it_ends_when_the_image_is_there_and_does_not_look_in_between() {
        let (sender, receiver) = watch::channel(0_u64);
        let (published, looks) = (Cell::new(false), Cell::new(0));
        let find = || {
            looks.set(looks.get() + 1);
            if published.get() { Lookup::Unavailable("found".to_owned()) } else { Lookup::NotYet(sender.subscribe()) }
        };
        let publish = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            sender.send_replace(1);
            tokio::time::sleep(Duration::from_millis(50)).await;
            published.set(true);
            sender.send_replace(2);
        };
        let wait = LateImages::default().begin(receiver).unwrap();
        let (found, ()) = tokio::join!(wait.until_known(find), publish);
        assert!(matches!(found, Lookup::Unavailable(_)));
        assert_eq!(looks.get(), 2);
    }

    #[tokio::test]
    async fn the_time_is_bounded_however_much_is_published() {
        let (sender, receiver) = watch::channel(0_u64);
        let wait = LateImages::default().begin(receiver).unwrap();
        let begin = Instant::now();
        let others = async {
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                sender.send_modify(|count| *count += 1);
            }
        };
        tokio::select! {
            found = wait.until_known(|| Lookup::NotYet(sender.subscribe())) => assert!(matches!(found, Lookup::NotFound)),
            () = others => {}
        }
        assert!((LONGEST..2 * LONGEST).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    }

    #[tokio::test]
    async fn the_number_is_bounded_and_places_are_given_back() {
        let (_sender, receiver) = watch::channel(0_u64);
        let late = LateImages::default();
        let mut waiting: Vec<_> = (0..AT_ONCE).map(|_| late.begin(receiver.clone()).unwrap()).collect();
        assert!(late.begin(receiver.clone()).is_none());
        waiting.pop();
        assert!(late.begin(receiver).is_some());
    }
}
