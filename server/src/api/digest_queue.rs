//! Computes the digests of images one after another. Clients that request the same digest share one computation. It continues even if no
//! client waits for it.

use std::collections::HashMap;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use imagelib::digest::Digest;
use imagelib::image::FileName;
use imagelib::recipe::RecipeId;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::store::{PlannedImage, StoredImage};

/// How many digests dayone computes at once. Each keeps a processor busy for seconds, which BMCs need, too.
const AT_ONCE: usize = 1;

/// How often dayone checks whether the base still answers, while it computes a digest.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A file of an image.
type Key = (RecipeId, FileName);

/// The result of a computation: the digest, or the reason for the failure. `None` until the computation has ended.
type Computation = watch::Receiver<Option<Result<Digest, DigestError>>>;

/// Why there is no digest.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum DigestError {
    /// dayone cannot read the base.
    #[error("{0}")]
    Unavailable(String),
    /// The computation panicked. The log has the place.
    #[error("a panic while a digest was computed")]
    Panic,
}

#[derive(Debug)]
pub(super) struct DigestQueue {
    turns: Arc<Semaphore>,
    computations: Arc<Mutex<HashMap<Key, Computation>>>,
}

impl DigestQueue {
    pub(super) fn new() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), computations: Arc::default() }
    }

    /// Returns the digest of a file, or `None` if it takes longer than `patience`. Without `patience`, waits for the digest.
    pub(super) async fn digest(
        &self,
        image: &Arc<StoredImage>,
        planned: &Arc<PlannedImage>,
        file: FileName,
        patience: Option<Duration>,
    ) -> Result<Option<Digest>, DigestError> {
        if let Some(known) = image.known_digest(file) {
            return Ok(Some(known));
        }
        let mut computation = self.computation(image, planned, file);
        let finished = computation.wait_for(Option::is_some);
        let finished = match patience {
            None => finished.await,
            Some(patience) => match timeout(patience, finished).await {
                Ok(finished) => finished,
                Err(_) => return Ok(None),
            },
        };
        finished.map_err(|_| DigestError::Panic)?.clone().transpose()
    }

    fn computation(&self, image: &Arc<StoredImage>, planned: &Arc<PlannedImage>, file: FileName) -> Computation {
        let key = (image.id(), file);
        let mut computations = self.computations.lock();
        if let Some(running) = computations.get(&key) {
            return running.clone();
        }
        let (sender, receiver) = watch::channel(None);
        computations.insert(key, receiver.clone());
        let (image, planned) = (Arc::clone(image), Arc::clone(planned));
        let (turns, computations) = (Arc::clone(&self.turns), Arc::clone(&self.computations));
        tokio::spawn(async move {
            // The semaphore is never closed.
            let turn = turns.acquire().await;
            let outcome = compute(image, &planned, file).await;
            drop(turn);
            computations.lock().remove(&key);
            sender.send_replace(Some(outcome));
        });
        receiver
    }
}

async fn compute(image: Arc<StoredImage>, planned: &PlannedImage, file: FileName) -> Result<Digest, DigestError> {
    let unavailable = |error: &dyn Error| DigestError::Unavailable(error.to_string());
    let mut computing = pin!(spawn_blocking(move || image.digest(file)));
    loop {
        match timeout(CHECK_INTERVAL, &mut computing).await {
            Ok(Ok(digest)) => return digest.map_err(|error| unavailable(&error)),
            Ok(Err(_)) => return Err(DigestError::Panic),
            // Nothing can end a thread that waits for a dead file system, but the next digest need not wait for it.
            Err(_) => planned.base.check_in_time_async().await.map_err(|error| unavailable(&error))?,
        }
    }
}
