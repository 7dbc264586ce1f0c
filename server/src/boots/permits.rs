//! How many boots run at a time. The number can change while they run.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Permits, of which each running boot has one.
#[derive(Debug)]
pub(super) struct Permits {
    semaphore: Arc<Semaphore>,
    /// How many there are when nobody has one.
    most: Mutex<usize>,
}

impl Permits {
    /// `most` permits.
    pub(super) fn new(most: usize) -> Self {
        Self { semaphore: Arc::new(Semaphore::new(most)), most: Mutex::new(most) }
    }

    /// Waits for a permit.
    pub(super) async fn acquire(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.semaphore).acquire_owned().await
    }

    /// Changes the number of permits. Nobody loses a permit: if more are taken than there may be, the next ones that are given
    /// back are gone. Must be called on a runtime.
    pub(super) fn set(&self, new: usize) {
        let mut most = self.most.lock();
        if new > *most {
            self.semaphore.add_permits(new - *most);
        }
        for _ in new..*most {
            let semaphore = Arc::clone(&self.semaphore);
            tokio::spawn(async move {
                // The semaphore is never closed.
                if let Ok(permit) = semaphore.acquire_owned().await {
                    permit.forget();
                }
            });
        }
        *most = new;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn fewer_permits_take_none_away_and_more_are_there_at_once() {
        let permits = Permits::new(2);
        let (first, second) = (permits.acquire().await.unwrap(), permits.acquire().await.unwrap());
        permits.set(1);
        tokio::task::yield_now().await;
        drop(first);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let third = tokio::time::timeout(Duration::from_millis(50), permits.acquire()).await;
        assert!(third.is_err(), "the second boot still runs, and one may");
        permits.set(2);
        let third = permits.acquire().await.unwrap();
        drop((second, third));
        let _all = (permits.acquire().await.unwrap(), permits.acquire().await.unwrap());
        assert!(tokio::time::timeout(Duration::from_millis(50), permits.acquire()).await.is_err());
    }
}
