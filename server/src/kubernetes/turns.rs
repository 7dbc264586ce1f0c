//! The order in which queued objects get their turn: first come, first served.
//!
//! The library's scheduler takes any object that is due. If objects are queued again faster than workers reconcile them, for example because
//! somebody keeps changing a Secret that thousands of objects name, it takes the same objects again and again, and never takes others.
//! So the scheduler gets no more objects at a time than there are workers, and the others wait in line.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use futures_util::stream::{self, Stream};
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;

/// Objects that wait for a worker. Clones share them.
pub(super) struct Turns<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    workers: usize,
    waiting: VecDeque<T>,
    /// The same objects as `waiting`: each of them waits once.
    in_line: HashSet<T>,
    /// The objects that the scheduler has, and that no worker has begun with.
    given: HashSet<T>,
    /// Wakes the scheduler when it may have another object.
    waker: Option<Waker>,
}

impl<T> Clone for Turns<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone + Eq + Hash> Turns<T> {
    /// The turns of objects that this number of workers reconciles.
    pub(super) fn new(workers: u16) -> Self {
        let workers = usize::from(workers).max(1);
        let (in_line, given) = (HashSet::new(), HashSet::new());
        Self(Arc::new(Mutex::new(State { workers, waiting: VecDeque::new(), in_line, given, waker: None })))
    }

    /// The queued objects, for the scheduler.
    pub(super) fn objects(&self, mut queued: UnboundedReceiver<T>) -> impl Stream<Item = T> + use<T> {
        let turns = self.clone();
        stream::poll_fn(move |task| turns.poll(&mut queued, task))
    }

    /// Notes that a worker begins with an object, or that the object is gone.
    pub(super) fn begun(&self, object: &T) {
        let waker = {
            let mut state = self.0.lock();
            state.given.remove(object);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, queued: &mut UnboundedReceiver<T>, task: &mut task::Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.lock();
        let has_ended = loop {
            match queued.poll_recv(task) {
                Poll::Ready(Some(object)) => state.line_up(object),
                Poll::Ready(None) => break true,
                Poll::Pending => break false,
            }
        };
        match state.give() {
            Some(object) => Poll::Ready(Some(object)),
            None if has_ended && state.waiting.is_empty() => Poll::Ready(None),
            None => {
                state.waker = Some(task.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T: Clone + Eq + Hash> State<T> {
    fn line_up(&mut self, object: T) {
        if self.in_line.insert(object.clone()) {
            self.waiting.push_back(object);
        }
    }

    fn give(&mut self) -> Option<T> {
        while self.given.len() < self.workers {
            let object = self.waiting.pop_front()?;
            self.in_line.remove(&object);
            // A worker reads the object when it begins. So an object that the scheduler still has need not be given again.
            if self.given.insert(object.clone()) {
                return Some(object);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use futures_util::{FutureExt as _, StreamExt as _};
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn objects_get_their_turn_in_the_order_in_which_they_came_and_wait_for_a_worker() {
        let turns = Turns::new(2);
        let (sender, queued) = mpsc::unbounded_channel();
        let mut objects = pin!(turns.objects(queued));
        for object in ["a", "b", "c", "d", "c", "a"] {
            sender.send(object).unwrap();
        }
        assert_eq!([objects.next().await, objects.next().await], [Some("a"), Some("b")]);
        assert_eq!(objects.next().now_or_never(), None, "two workers have not begun");
        // The worker that begins now sees this change.
        sender.send("b").unwrap();
        sender.send("d").unwrap();
        turns.begun(&"b");
        assert_eq!(objects.next().await, Some("c"));
        turns.begun(&"a");
        assert_eq!(objects.next().await, Some("d"));
        turns.begun(&"c");
        turns.begun(&"d");
        assert_eq!(objects.next().now_or_never(), Some(Some("b")), "queued again after it was given");
        turns.begun(&"b");
        drop(sender);
        assert_eq!(objects.next().await, None);
    }

    #[tokio::test]
    async fn a_scheduler_that_waits_wakes_up_when_a_worker_begins() {
        let turns = Turns::new(1);
        let (sender, queued) = mpsc::unbounded_channel();
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        let objects = turns.objects(queued);
        let all = tokio::spawn(objects.take(2).collect::<Vec<_>>());
        tokio::time::sleep(Duration::from_millis(50)).await;
        turns.begun(&1);
        let all = tokio::time::timeout(Duration::from_secs(10), all).await;
        assert_eq!(all.expect("it wakes up").unwrap(), [1, 2]);
    }
}
