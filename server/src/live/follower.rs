//! One client that follows a subject.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::UNBUFFERED;
use super::update::{Content, Update};

/// How often to check, without an event, whether the client is still admitted.
const CHECK: Duration = Duration::from_secs(1);

/// After this time without an event the server sends a comment, when it next looks for one. It keeps proxies from closing the
/// connection, and shows the server that a client has gone, whose place another one may want: the second comment after that fails. The
/// end of what a client sends does not mean that it does not read any more.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A subject as it was rendered last.
#[derive(Debug, Default)]
pub(super) struct Newest {
    update: Option<Arc<Update>>,
    /// The round in which it was rendered.
    round: u64,
}

impl Newest {
    /// Takes over what was rendered in a round.
    pub(super) fn take(&mut self, content: Content, round: u64) {
        self.round = round;
        if let Some(update) = Update::after(self.update.as_deref(), content) {
            self.update = Some(Arc::new(update));
        }
    }
}

/// A client that follows a subject.
pub(super) struct Follower {
    newest: watch::Receiver<Newest>,
    /// The event of an update for those who have seen a version.
    event: fn(&Update, u64) -> Bytes,
    /// The round that had begun when the client began to follow. The client gets what later rounds render.
    joined: u64,
    /// The version that the client has.
    seen: u64,
    last_sent: Instant,
    is_admitted: Box<dyn Fn() -> bool + Send>,
    stopping: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    pub(super) fn new(
        newest: watch::Receiver<Newest>,
        joined: u64,
        event: fn(&Update, u64) -> Bytes,
        is_admitted: Box<dyn Fn() -> bool + Send>,
        stopping: CancellationToken,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self { newest, joined, event, seen: 0, last_sent: Instant::now(), is_admitted, stopping, _place: place }
    }

    /// The stream of events. The connection asks for the next one when it has taken the last one: a slow client skips updates.
    pub(super) fn into_response(self) -> Response {
        let events = stream::unfold(self, |mut follower| async {
            let bytes = follower.next().await?;
            follower.last_sent = Instant::now();
            Some((Ok::<_, Infallible>(bytes), follower))
        });
        let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
        (UNBUFFERED, headers, Body::from_stream(events)).into_response()
    }

    /// Waits for the next event. `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !(self.is_admitted)() {
                return None;
            }
            if let Some(update) = self.unseen() {
                let event = (self.event)(&update, self.seen);
                self.seen = update.version();
                return Some(event);
            }
            if self.last_sent.elapsed() >= HEARTBEAT {
                return Some(Bytes::from_static(b": still here\n\n"));
            }
            tokio::select! {
                changed = self.newest.changed() => changed.ok()?,
                () = tokio::time::sleep(CHECK) => {}
                () = self.stopping.cancelled() => return None,
            }
        }
    }

    /// The newest update, if the client has not seen it.
    fn unseen(&mut self) -> Option<Arc<Update>> {
        let newest = self.newest.borrow_and_update();
        let update = newest.update.as_ref().filter(|_| newest.round > self.joined)?;
        (update.version() != self.seen).then(|| Arc::clone(update))
    }
}
