//! Renders what clients follow: one task for all clients, which runs as long as there are any.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::MOST_FOLLOWERS;
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
    /// Somebody follows a subject that nobody has followed before.
    new_subject: Notify,
}

struct Feeds<S: Subject> {
    newest: BTreeMap<S, watch::Sender<Newest>>,
    /// Whether the task runs.
    is_running: bool,
}

/// Which subjects to render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Those that were never rendered.
    New,
}

impl<S: Subject> Clone for Publisher<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Subject> Publisher<S> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            places: Arc::new(Semaphore::new(MOST_FOLLOWERS)),
            feeds: Mutex::new(Feeds { newest: BTreeMap::new(), is_running: false }),
            new_subject: Notify::new(),
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
        let newest = {
            let mut feeds = self.0.feeds.lock();
            let newest = feeds.newest.entry(subject).or_default().subscribe();
            if !feeds.is_running {
                feeds.is_running = true;
                tokio::spawn(publish(Arc::clone(&self.0), Arc::clone(server), stopping.clone()));
            }
            newest
        };
        if newest.borrow().is_none() {
            self.0.new_subject.notify_one();
        }
        let encode = |newest: &Update, seen| newest.event(seen, S::EVENT, S::encode);
        Some(Follower::new(newest, encode, Box::new(is_admitted), stopping.clone(), place).into_response())
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
            () = shared.new_subject.notified() => Which::New,
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
        let (subjects, last): (Vec<S>, Vec<Newest>) = {
            let mut feeds = self.feeds.lock();
            feeds.newest.retain(|_, newest| newest.receiver_count() > 0);
            feeds.is_running = !feeds.newest.is_empty();
            if !feeds.is_running {
                return false;
            }
            let feeds = feeds.newest.iter().map(|(subject, newest)| (subject.clone(), newest.borrow().clone()));
            feeds.filter(|(_, newest)| which == Which::All || newest.is_none()).unzip()
        };
        let contents = S::render(server, cache, &subjects);
        let mut feeds = self.feeds.lock();
        for ((subject, last), content) in subjects.iter().zip(last).zip(contents) {
            let Some(content) = content else {
                // The end of the channel is the end of the streams.
                feeds.newest.remove(subject);
                continue;
            };
            let update = Update::after(last.as_deref(), content);
            if let (Some(update), Some(newest)) = (update, feeds.newest.get(subject)) {
                newest.send_replace(Some(Arc::new(update)));
            }
        }
        true
    }

    /// Ends all streams.
    fn end(&self) {
        let mut feeds = self.feeds.lock();
        feeds.newest.clear();
        feeds.is_running = false;
    }
}

#[cfg(test)]
mod tests;
