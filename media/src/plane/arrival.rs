//! Delays requests for images that will arrive in a moment.
//!
//! If several replicas watch the same objects, a client may get a URL from one replica and send its request to another,
//! which sees the object a little later. A BMC that gets 404 gives up, so its request waits instead.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use crate::served::Lookup;

/// How long a request waits: much longer than replicas lag behind, and not too long for a BMC.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// How many requests may wait at once. Clients that guess URLs can only use up these places.
const MAX_WAITING: usize = 64;

/// The places for requests that wait.
#[derive(Debug)]
pub(super) struct Arrivals(Arc<Semaphore>);

impl Default for Arrivals {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_WAITING)))
    }
}

impl Arrivals {
    /// Takes a place. `arrivals` gets a value whenever an image was published. Returns `None` if all places are taken.
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
    /// Calls `find` whenever an image was published, until it finds something or the time is over.
    pub(super) async fn until_known(mut self, find: impl Fn() -> Lookup) -> Lookup {
        let end = Instant::now() + MAX_WAIT;
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
    async fn it_looks_only_when_an_image_was_published_and_ends_when_it_is_found() {
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
        let wait = Arrivals::default().begin(receiver).unwrap();
        let (found, ()) = tokio::join!(wait.until_known(find), publish);
        assert!(matches!(found, Lookup::Unavailable(_)));
        assert_eq!(looks.get(), 2);
    }

    #[tokio::test]
    async fn the_time_is_bounded_however_much_is_published() {
        let (sender, receiver) = watch::channel(0_u64);
        let wait = Arrivals::default().begin(receiver).unwrap();
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
        assert!((MAX_WAIT..2 * MAX_WAIT).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    }

    #[tokio::test]
    async fn the_number_is_bounded_and_places_are_given_back() {
        let (_sender, receiver) = watch::channel(0_u64);
        let arrivals = Arrivals::default();
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| arrivals.begin(receiver.clone()).unwrap()).collect();
        assert!(arrivals.begin(receiver.clone()).is_none());
        waiting.pop();
        assert!(arrivals.begin(receiver).is_some());
    }
}
