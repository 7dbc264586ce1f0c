//! `GET /v1/boots/{id}/events`: server-sent events (WHATWG HTML, §9.2).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use http::{HeaderMap, StatusCode, Uri};
use media::listen::ClientCertificate;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::show;
use crate::api::Api;
use crate::api::access::Access;
use crate::api::parameters::NoQuery;
use crate::api::problem::{Problem, ProblemKind};
use crate::boots::View;
use crate::live::{MAX_FOLLOWERS, UNBUFFERED};

/// The minimum time between two events.
const PACE: Duration = Duration::from_millis(200);
/// How often to check, without an event, whether the client is still admitted.
const CHECK: Duration = Duration::from_secs(1);
/// After this time without an event the server sends a comment. It keeps proxies from closing the connection, and shows the server
/// that a client has gone, whose place another one may want: the second comment after that fails.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// An event of a boot.
#[derive(ToSchema)]
#[schema(as = BootEvent)]
pub(super) struct EventBody {
    /// `boot`.
    event: &'static str,
    /// The revision of the boot.
    id: String,
    /// The boot, a `Boot` in JSON.
    #[schema(content_media_type = "application/json")]
    data: String,
}

impl From<EventBody> for Event {
    fn from(EventBody { event, id, data }: EventBody) -> Self {
        Self::default().event(event).id(id).data(data)
    }
}

/// Follow a boot: the server sends an event `boot` with the whole boot in JSON, now and at every change. The id of an event is
/// the revision.
///
/// A client that reconnects with the header `Last-Event-ID` gets the current boot, unless it has seen that revision. The stream
/// ends when the boot has ended. A client that reconnects after the last event gets 204. The stream also ends when the client's token
/// or session is no longer valid. At most 64 clients follow single boots at once. A proxy must pass each event on at once; the answer has
/// `X-Accel-Buffering: no`, which makes nginx do so.
#[utoipa::path(operation_id = "followBoot", get, path = "/v1/boots/{id}/events", tag = "boots",
    security(("token" = ["read"])),
    params(
        ("id" = String, Path, description = "The boot's id"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that the client has seen"),
    ),
    responses(
        (status = 200, description = "Events, each with a `Boot`", body = EventBody, content_type = "text/event-stream"),
        (status = 204, description = "The boot has ended, and the client has seen the last event"),
        (status = 404, description = "No boot has this id (`not-found`)"),
        (status = 503, description = "Too many clients follow single boots (`too-many-followers`)"),
    ))]
pub(super) async fn events(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Extension(access): Extension<Access>,
    Path(id): Path<String>,
    certificate: Option<Extension<ClientCertificate>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let boot = super::find(&api, &id)?;
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok()).unwrap_or(0);
    let view = boot.view();
    if view.record.is_ended() && view.revision == seen {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let place = Arc::clone(&api.boot_followers).try_acquire_owned().map_err(|_| {
        let detail = format!(
            "{MAX_FOLLOWERS} clients follow single boots already; follow all boots in one stream (GET /v1/boots/events), or try again"
        );
        Problem::new(ProblemKind::TooManyFollowers, detail)
    })?;
    let certificate = certificate.map(|Extension(certificate)| certificate);
    let is_admitted = move || access.caller(&uri, &headers, certificate.as_ref()).is_ok();
    let stopping = api.stopping.clone();
    let follower =
        Follower { changes: boot.changes(), seen, is_admitted: Box::new(is_admitted), stopping, _place: place };
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Ok((UNBUFFERED, Sse::new(follower.into_stream()).keep_alive(keep_alive)).into_response())
}

/// A client that follows a boot.
struct Follower {
    changes: watch::Receiver<View>,
    /// The revision that the client has. It may be above the present one: revisions begin with the time, and the clock may have been set
    /// back before the server started. The client then has an old state.
    seen: u64,
    is_admitted: Box<dyn Fn() -> bool + Send>,
    stopping: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    /// Sends the revisions that the client has not seen. If the client is slow, it gets only the newest.
    fn into_stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(Some(self), |follower| async {
            let mut follower = follower?;
            let view = follower.next().await?;
            follower.seen = view.revision;
            // A boot that has ended or is forgotten does not change any more.
            let ended = view.record.is_ended();
            let data = serde_json::to_string(&show::boot(&view)).unwrap_or_default();
            let event = EventBody { event: "boot", id: view.revision.to_string(), data };
            Some((Ok(event.into()), (!ended).then_some(follower)))
        })
    }

    /// Waits for the next revision. `None` ends the stream.
    async fn next(&mut self) -> Option<View> {
        loop {
            let view = tokio::select! {
                view = self.changes.wait_for(|view| view.revision != self.seen) => Some(view.ok()?.clone()),
                () = tokio::time::sleep(CHECK) => None,
                () = self.stopping.cancelled() => return None,
            };
            if view.as_ref().is_some_and(|view| !view.record.is_ended()) {
                tokio::time::sleep(PACE).await;
            }
            // The operator may have removed the token since the last event.
            if !(self.is_admitted)() {
                return None;
            }
            if view.is_some() {
                return view;
            }
        }
    }
}
