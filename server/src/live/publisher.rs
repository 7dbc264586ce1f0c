//! Renders what clients follow: one task for all clients, which runs as long as there are any.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::MAX_FOLLOWERS;
use super::follower::{Follower, Newest};
use super::update::{Changes, Content, Update};

/// The time between two updates. With the time for rendering, a change is visible within a second.
const PACE: Duration = Duration::from_millis(900);

/// Something that clients follow.
pub(crate) trait Subject: Clone + Ord + Send + Sync + 'static {
    /// The server that has it.
    type Server: Send + Sync + 'static;

    /// What [`render`](Self::render) keeps from one time to the next.
    type Cache: Default + Send + 'static;

    /// The name of its events.
    const EVENT: &'static str;

    /// Renders subjects as they are now, in their order; none for one that does not exist any more. Waits for the disk.
    fn render(server: &Self::Server, cache: &mut Self::Cache, subjects: &[Self]) -> Vec<Option<Content>>;

    /// The data of an event, in one line.
    fn encode(changes: &Changes<'_>) -> String;
}

/// The subjects that clients follow. Clones share them, and their limit of clients.
pub(crate) struct Publisher<S: Subject>(Arc<Shared<S>>);

struct Shared<S: Subject> {
    places: Arc<Semaphore>,
    feeds: Mutex<Feeds<S>>,
    /// Somebody begins to follow a subject.
    joined: Notify,
}

struct Feeds<S: Subject> {
    by_subject: BTreeMap<S, Feed>,
    /// How many times the task has begun to render.
    round: u64,
    /// Whether the task runs.
    is_running: bool,
}

/// A subject that clients follow.
#[derive(Default)]
struct Feed {
    newest: watch::Sender<Newest>,
    /// Whether a client waits for what is rendered after it has begun to follow. What was rendered before may already be wrong.
    is_awaited: bool,
}

/// Which subjects to render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Those that somebody has begun to follow.
    Awaited,
}

impl<S: Subject> Clone for Publisher<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Subject> Publisher<S> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            places: Arc::new(Semaphore::new(MAX_FOLLOWERS)),
            feeds: Mutex::new(Feeds { by_subject: BTreeMap::new(), round: 0, is_running: false }),
            joined: Notify::new(),
        }))
    }

    /// The answer to a client that follows a subject: events until the subject or the server ends, or `is_admitted` is no longer
    /// true of the client. None if too many clients follow.
    pub(crate) fn follow(
        &self,
        subject: S,
        server: &Arc<S::Server>,
        stopping: &CancellationToken,
        is_admitted: impl Fn() -> bool + Send + 'static,
    ) -> Option<Response> {
        let place = Arc::clone(&self.0.places).try_acquire_owned().ok()?;
        let (newest, round) = {
            let mut feeds = self.0.feeds.lock();
            if !feeds.is_running {
                feeds.is_running = true;
                tokio::spawn(publish(Arc::clone(&self.0), Arc::clone(server), stopping.clone()));
            }
            let round = feeds.round;
            let feed = feeds.by_subject.entry(subject).or_default();
            feed.is_awaited = true;
            (feed.newest.subscribe(), round)
        };
        self.0.joined.notify_one();
        let event = |newest: &Update, seen| newest.event(seen, S::EVENT, S::encode);
        Some(Follower::new(newest, round, event, Box::new(is_admitted), stopping.clone(), place).into_response())
    }
}

/// Publishes updates until nobody follows any more.
async fn publish<S: Subject>(shared: Arc<Shared<S>>, server: Arc<S::Server>, stopping: CancellationToken) {
    let mut cache = S::Cache::default();
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let which = tokio::select! {
            _ = pace.tick() => Which::All,
            () = shared.joined.notified() => Which::Awaited,
            () = stopping.cancelled() => return shared.end(),
        };
        let (rendering, rendered) = (Arc::clone(&shared), Arc::clone(&server));
        let work = tokio::task::spawn_blocking(move || {
            let goes_on = rendering.update(&rendered, &mut cache, which);
            (cache, goes_on)
        });
        match work.await {
            Ok((kept, true)) => cache = kept,
            Ok((_, false)) => return,
            // A panic, whose hook has logged where. Clients connect again.
            Err(_) => return shared.end(),
        }
    }
}

impl<S: Subject> Shared<S> {
    /// Renders subjects, and shows what has changed. Returns whether the task goes on.
    fn update(&self, server: &S::Server, cache: &mut S::Cache, which: Which) -> bool {
        let (round, subjects) = {
            let mut feeds = self.feeds.lock();
            feeds.by_subject.retain(|_, feed| feed.newest.receiver_count() > 0);
            feeds.is_running = !feeds.by_subject.is_empty();
            if !feeds.is_running {
                return false;
            }
            feeds.round += 1;
            let chosen = feeds.by_subject.iter_mut().filter(|(_, feed)| which == Which::All || feed.is_awaited);
            let subjects: Vec<S> = chosen
                .map(|(subject, feed)| {
                    feed.is_awaited = false;
                    subject.clone()
                })
                .collect();
            (feeds.round, subjects)
        };
        if subjects.is_empty() {
            return true;
        }
        let contents = S::render(server, cache, &subjects);
        let mut feeds = self.feeds.lock();
        for (subject, content) in subjects.iter().zip(contents) {
            match (content, feeds.by_subject.get(subject)) {
                (Some(content), Some(feed)) => feed.newest.send_modify(|newest| newest.take(content, round)),
                // The end of the channel is the end of the streams.
                (None, _) => drop(feeds.by_subject.remove(subject)),
                (Some(_), None) => {}
            }
        }
        true
    }

    /// Ends all streams.
    fn end(&self) {
        let mut feeds = self.feeds.lock();
        feeds.by_subject.clear();
        feeds.is_running = false;
    }
}

#[cfg(test)]
mod tests;
