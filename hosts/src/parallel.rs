//! Works on many items on all processors.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Returns what `make` makes of each item, in their order: the same on any number of threads.
///
/// A thread takes `at_once` items at a time, so that a slow thread holds up no others. If there are no more items than
/// that, the caller's thread does all the work.
pub fn each<T: Sync, R: Send>(items: &[T], at_once: usize, make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    // To find it out, the standard library reads files of the control group, which takes longer than the work on a few items.
    static PROCESSORS: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    on_threads(*PROCESSORS, items, at_once, make)
}

/// Like [`each`], with at most this many threads: for work that waits, of which more can be done at a time than there are processors.
pub fn on_threads<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    at_once: usize,
    make: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let parts: Vec<&[T]> = items.chunks(at_once.max(1)).collect();
    let threads = threads.min(parts.len());
    if threads < 2 {
        return items.iter().map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else { return done };
            done.push((number, part.iter().map(&make).collect::<Vec<R>>()));
        }
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn threads_keep_the_order() {
        for (count, at_once, threads) in [(0, 4, 3), (1, 4, 3), (4, 4, 3), (5, 4, 3), (65, 0, 8), (1000, 7, 8)] {
            let items: Vec<usize> = (0..count).collect();
            let made = on_threads(threads, &items, at_once, |item| item * 2);
            assert_eq!(made, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_on_a_thread_is_the_callers() {
        let items: Vec<usize> = (0..100).collect();
        let work = || on_threads(4, &items, 1, |item| assert_ne!(*item, 57));
        assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
    }
}
