//! The order in which queued objects get their turn: first come, first served.
//!
//! The library's scheduler takes any object that is due. If objects are queued again faster than workers reconcile them, for example because
//! somebody keeps changing a Secret that thousands of objects name, it takes the same objects again and again, and never takes others.
//! So the scheduler gets a batch of objects at a time, and the next one once workers have begun with all of the batch. The others wait in
//! line. An object that a worker has waits until the worker is done: in a batch, it would hold up the next one.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use futures_util::stream::{self, Stream};
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;

/// How many objects the scheduler gets at a time, if there are fewer workers. It takes up to 2 ms before it passes a batch on.
const BATCH: usize = 32;

/// Objects that wait for a worker. Clones share them.
pub(super) struct Turns<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    batch: usize,
    waiting: VecDeque<T>,
    /// Objects that wait until the worker that has them is done.
    held: HashSet<T>,
    /// The objects in `waiting` and in `held`: each of them waits once.
    in_line: HashSet<T>,
    /// The objects of the batch that the scheduler has, and that no worker has begun with.
    given: HashSet<T>,
    /// How many objects the batch may still get.
    left: usize,
    /// The objects that workers have.
    running: HashSet<T>,
    /// Wakes the scheduler when it may have another object.
    waker: Option<Waker>,
}

/// A worker's turn with an object. It ends when this is dropped.
pub(super) struct Turn<T: Eq + Hash> {
    turns: Turns<T>,
    object: T,
}

impl<T: Eq + Hash> Drop for Turn<T> {
    fn drop(&mut self) {
        self.turns.change(|state| {
            state.running.remove(&self.object);
            state.waiting.extend(state.held.take(&self.object));
        });
    }
}

impl<T> Clone for Turns<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Turns<T> {
    /// Changes the state, and lets the scheduler look at it.
    fn change(&self, change: impl FnOnce(&mut State<T>)) {
        let waker = {
            let mut state = self.0.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Clone + Eq + Hash> Turns<T> {
    /// The turns of objects that this number of workers reconciles.
    pub(super) fn new(workers: u16) -> Self {
        Self::in_batches(BATCH.max(workers.into()))
    }

    fn in_batches(batch: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            batch,
            waiting: VecDeque::new(),
            held: HashSet::new(),
            in_line: HashSet::new(),
            given: HashSet::new(),
            left: batch,
            running: HashSet::new(),
            waker: None,
        })))
    }

    /// The queued objects, for the scheduler.
    pub(super) fn objects(&self, mut queued: UnboundedReceiver<T>) -> impl Stream<Item = T> + use<T> {
        let turns = self.clone();
        stream::poll_fn(move |task| turns.poll(&mut queued, task))
    }

    /// Notes that a worker begins with an object.
    pub(super) fn begin(&self, object: T) -> Turn<T> {
        self.change(|state| {
            state.given.remove(&object);
            state.running.insert(object.clone());
        });
        Turn { turns: self.clone(), object }
    }

    /// Notes that an object is gone, so that no worker begins with it.
    pub(super) fn gone(&self, object: &T) {
        self.change(|state| drop(state.given.take(object)));
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
            None if has_ended && state.in_line.is_empty() => Poll::Ready(None),
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
        if self.given.is_empty() {
            self.left = self.batch;
        }
        while self.left > 0 {
            let object = self.waiting.pop_front()?;
            if self.running.contains(&object) {
                self.held.insert(object);
                continue;
            }
            self.in_line.remove(&object);
            // A worker reads the object when it begins. So an object that the scheduler still has need not be given again.
            if self.given.insert(object.clone()) {
                self.left -= 1;
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
        let turns = Turns::in_batches(2);
        let (sender, queued) = mpsc::unbounded_channel();
        let mut objects = pin!(turns.objects(queued));
        for object in ["a", "b", "c", "d", "c", "a"] {
            sender.send(object).unwrap();
        }
        assert_eq!([objects.next().await, objects.next().await], [Some("a"), Some("b")]);
        assert_eq!(objects.next().now_or_never(), None, "no worker has begun");
        sender.send("b").unwrap();
        sender.send("d").unwrap();
        let second = turns.begin("b");
        assert_eq!(objects.next().now_or_never(), None, "the scheduler could pass over a for ever");
        drop(turns.begin("a"));
        assert_eq!([objects.next().await, objects.next().await], [Some("c"), Some("d")]);
        drop(turns.begin("c"));
        turns.gone(&"d");
        assert_eq!(objects.next().now_or_never(), None, "a worker has b");
        sender.send("e").unwrap();
        assert_eq!(objects.next().await, Some("e"));
        drop(second);
        assert_eq!(objects.next().await, Some("b"), "queued again after it was given");
        drop((turns.begin("e"), turns.begin("b"), sender));
        assert_eq!(objects.next().await, None);
    }

    #[tokio::test]
    async fn a_scheduler_that_waits_wakes_up_when_a_worker_begins_and_when_it_is_done() {
        let turns = Turns::in_batches(1);
        let (sender, queued) = mpsc::unbounded_channel();
        for object in [1, 2, 1] {
            sender.send(object).unwrap();
        }
        let objects = turns.objects(queued);
        let all = tokio::spawn(objects.take(3).collect::<Vec<_>>());
        tokio::time::sleep(Duration::from_millis(50)).await;
        let turn = turns.begin(1);
        sender.send(1).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(turns.begin(2));
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(turn);
        let all = tokio::time::timeout(Duration::from_secs(10), all).await;
        assert_eq!(all.expect("it wakes up").unwrap(), [1, 2, 1]);
    }
}
