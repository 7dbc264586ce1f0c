//! How many boots run at a time. The number can change while they run.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{AcquireError, Semaphore};

/// Permits, of which each running boot has one.
#[derive(Debug)]
pub(super) struct Permits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    semaphore: Semaphore,
    numbers: Mutex<Numbers>,
}

#[derive(Debug)]
struct Numbers {
    /// How many permits there are when no boot has one.
    most: usize,
    /// How many permits to take away when they are given back, because more are taken than there may be. The semaphore cannot do that: it gives
    /// each returned permit to the next boot that waits.
    excess: usize,
}

/// Permission to run, until it is dropped.
#[derive(Debug)]
#[must_use]
pub(super) struct Permit(Arc<Inner>);

impl Permits {
    /// `most` permits.
    pub(super) fn new(most: usize) -> Self {
        let numbers = Mutex::new(Numbers { most, excess: 0 });
        Self(Arc::new(Inner { semaphore: Semaphore::new(most), numbers }))
    }

    /// Waits for a permit.
    pub(super) async fn acquire(&self) -> Result<Permit, AcquireError> {
        self.0.semaphore.acquire().await?.forget();
        Ok(Permit(Arc::clone(&self.0)))
    }

    /// Takes a permit without waiting. If none is left, the next one that is given back is gone.
    pub(super) fn take(&self) -> Permit {
        let mut numbers = self.0.numbers.lock();
        if let Ok(permit) = self.0.semaphore.try_acquire() {
            permit.forget();
        } else {
            numbers.excess += 1;
        }
        Permit(Arc::clone(&self.0))
    }

    /// Changes the number of permits. No boot loses its permit: if more are taken than there may be, the next ones that are given
    /// back are gone, however many boots wait.
    pub(super) fn set(&self, new: usize) {
        let mut numbers = self.0.numbers.lock();
        let more = new.saturating_sub(numbers.most);
        let kept = more.min(numbers.excess);
        numbers.excess -= kept;
        self.0.semaphore.add_permits(more - kept);
        let fewer = numbers.most.saturating_sub(new);
        numbers.excess += fewer - self.0.semaphore.forget_permits(fewer);
        numbers.most = new;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut numbers = self.0.numbers.lock();
        if numbers.excess > 0 {
            numbers.excess -= 1;
        } else {
            self.0.semaphore.add_permits(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Long enough for tasks that can go on.
    async fn a_moment() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    async fn is_left(permits: &Permits) -> bool {
        tokio::time::timeout(Duration::from_millis(20), permits.acquire()).await.is_ok()
    }

    #[tokio::test]
    async fn fewer_permits_take_none_away_and_more_are_there_at_once() {
        let permits = Permits::new(2);
        let (first, second) = (permits.acquire().await.unwrap(), permits.acquire().await.unwrap());
        permits.set(1);
        drop(first);
        assert!(!is_left(&permits).await, "the second boot still runs, and one may");
        permits.set(2);
        let third = permits.acquire().await.unwrap();
        drop((second, third));
        let _all = (permits.acquire().await.unwrap(), permits.acquire().await.unwrap());
        assert!(!is_left(&permits).await);
    }

    #[tokio::test]
    async fn another_number_counts_however_many_wait() {
        let permits = Arc::new(Permits::new(2));
        let (first, second) = (permits.acquire().await.unwrap(), permits.acquire().await.unwrap());
        let wait = || {
            let permits = Arc::clone(&permits);
            tokio::spawn(async move { permits.acquire().await.unwrap() })
        };
        // Those that have got their permit keep it as long as their handle.
        let waiting = [wait(), wait(), wait()];
        let begun = || waiting.iter().filter(|waiting| waiting.is_finished()).count();
        a_moment().await;
        permits.set(1);
        drop(first);
        a_moment().await;
        assert_eq!(begun(), 0, "the second boot still runs, and one may");
        permits.set(2);
        a_moment().await;
        assert_eq!(begun(), 1);
        drop(second);
        a_moment().await;
        assert_eq!(begun(), 2);
        assert!(!is_left(&permits).await);
    }

    #[tokio::test]
    async fn a_permit_that_is_taken_without_waiting_counts() {
        let permits = Permits::new(1);
        let (first, second) = (permits.take(), permits.take());
        drop(first);
        assert!(!is_left(&permits).await, "the second boot still runs, and one may");
        drop(second);
        assert!(is_left(&permits).await);
    }
}
