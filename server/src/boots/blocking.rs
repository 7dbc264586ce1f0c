//! The threads on which boots wait for disks, or keep a processor busy.

use std::io;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// How many threads boots keep busy. Without a limit, thousands of boots that look at their images every second use all threads that the
/// runtime allows, and each thread takes tens of KiB.
const MOST: usize = 64;

/// Permits to use one of the runtime's threads for blocking work.
#[derive(Debug)]
pub(super) struct BlockingThreads(Arc<Semaphore>);

impl Default for BlockingThreads {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl BlockingThreads {
    fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Does this work when a thread is free. The work keeps its thread until it ends, even if the caller stops waiting.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let permit = Arc::clone(&self.0).acquire_owned().await.map_err(io::Error::other)?;
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        done.await.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn no_more_threads_are_busy_than_there_are_permits() {
        let threads = BlockingThreads::new(2);
        let (busy, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let done = join_all((0..20).map(|number| {
            let (busy, most) = (Arc::clone(&busy), Arc::clone(&most));
            threads.run(move || {
                most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(5));
                busy.fetch_sub(1, Ordering::SeqCst);
                number
            })
        }));
        let done: Vec<usize> = done.await.into_iter().collect::<io::Result<_>>().unwrap();
        assert_eq!(done, (0..20).collect::<Vec<_>>());
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
    }

    #[tokio::test]
    async fn work_keeps_its_permit_after_its_caller_has_stopped_waiting() {
        let threads = BlockingThreads::new(1);
        let (release, released) = std::sync::mpsc::channel::<()>();
        tokio::select! {
            biased;
            _ = threads.run(move || released.recv()) => panic!("it was not interrupted"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(threads.0.available_permits(), 0);
        release.send(()).unwrap();
        assert_eq!(threads.run(|| 7).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_panic_of_the_work_is_an_error_and_its_thread_is_free_again() {
        let threads = BlockingThreads::new(1);
        assert!(threads.run(|| -> usize { panic!("the work ends badly") }).await.is_err());
        assert_eq!(threads.run(|| 7).await.unwrap(), 7);
    }
}
