//! `GET /live`: server-sent events with the parts of a view that have changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderMap, Uri};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::form_urlencoded;

use super::filter::Filter;
use super::parts::{Parts, Sent};
use super::{boot_page, image_page, overview};
use crate::api::access::Access;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::{Api, blocking};

/// The minimum time between two events of a stream. With the time for rendering, a change is visible within a second.
const PACE: Duration = Duration::from_millis(900);

/// After this time without an event the server sends a comment. It keeps proxies from closing the connection, and shows the server
/// that a browser has gone: the end of what a client sends does not mean that it does not read any more.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How many browsers follow views at once. Each costs some rendering a second, and a connection.
const MOST: usize = 64;

/// The streams of a server. Clones share their limit.
#[derive(Debug, Clone)]
pub(super) struct Streams(Arc<Semaphore>);

impl Streams {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

/// A view that a browser follows.
#[derive(Debug, Clone)]
enum Subject {
    Overview(Filter),
    Boot(String),
    Image(String),
}

impl Subject {
    fn of(query: Option<&str>) -> Self {
        let query = query.unwrap_or_default();
        let named = form_urlencoded::parse(query.as_bytes()).find_map(|(name, value)| match &*name {
            "boot" => Some(Self::Boot(value.into_owned())),
            "image" => Some(Self::Image(value.into_owned())),
            _ => None,
        });
        named.unwrap_or_else(|| Self::Overview(Filter::of(Some(query))))
    }

    /// Renders the parts of the view that change. `None` if what it shows does not exist any more.
    fn parts(&self, api: &Api) -> Option<Parts> {
        match self {
            Self::Overview(filter) => Some(overview::parts(api, filter)),
            Self::Boot(id) => boot_page::parts(api, id),
            Self::Image(id) => image_page::parts(api, id),
        }
    }
}

/// Follows a view, until the session or the server ends.
pub(super) async fn live(
    State(api): State<Arc<Api>>,
    Extension(access): Extension<Access>,
    Extension(streams): Extension<Streams>,
    RawQuery(query): RawQuery,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Ok(permit) = streams.0.try_acquire_owned() else {
        let detail = format!("{MOST} browsers follow the page already; reload it to see the present state");
        return Err(Problem::new(ProblemKind::TooManyBrowsers, detail));
    };
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("still here");
    let follower = Follower {
        subject: Subject::of(query.as_deref()),
        sent: Sent::default(),
        has_begun: false,
        credentials: (access, uri, headers),
        api,
        _permit: permit,
    };
    // The server renders the next event when the connection has taken the last one: a slow browser skips events.
    let events = stream::unfold(follower, |mut follower| async {
        let data = follower.next().await?;
        Some((Ok::<_, Infallible>(Event::default().event("change").data(data)), follower))
    });
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// A browser that follows a view.
struct Follower {
    subject: Subject,
    sent: Sent,
    has_begun: bool,
    credentials: (Access, Uri, HeaderMap),
    api: Arc<Api>,
    _permit: OwnedSemaphorePermit,
}

impl Follower {
    /// Waits for the next change. `None` ends the stream.
    async fn next(&mut self) -> Option<String> {
        loop {
            if self.has_begun {
                tokio::select! {
                    () = tokio::time::sleep(PACE) => {}
                    () = self.api.stopping.cancelled() => return None,
                }
            }
            self.has_begun = true;
            let (access, uri, headers) = &self.credentials;
            access.check(uri, headers).ok()?;
            let (api, subject) = (Arc::clone(&self.api), self.subject.clone());
            let parts = blocking(move || subject.parts(&api)).await.ok()??;
            if let Some(change) = self.sent.change(&parts) {
                return Some(change);
            }
        }
    }
}
