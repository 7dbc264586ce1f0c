//! `GET /v1/boots/{id}/events`: server-sent events (WHATWG HTML, §9.2).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use http::{HeaderMap, StatusCode};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::show;
use crate::api::Api;
use crate::api::problem::Problem;
use crate::boots::View;

/// The minimum time between two events.
const PACE: Duration = Duration::from_millis(200);
/// After this time without an event the server sends a comment, so that proxies do not close the connection.
const HEARTBEAT: Duration = Duration::from_secs(15);

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
/// ends when the boot has ended. A client that reconnects after the last event gets 204.
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
    ))]
pub(super) async fn events(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let boot = super::find(&api, &id)?;
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok()).unwrap_or(0);
    let view = boot.view();
    if view.record.is_ended() && view.revision <= seen {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Ok(Sse::new(follow(boot.changes(), seen, api.stopping.clone())).keep_alive(keep_alive).into_response())
}

/// Sends the revisions after `seen`. If the client is slow, it gets only the newest.
fn follow(
    changes: watch::Receiver<View>,
    seen: u64,
    stopping: CancellationToken,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(Some((changes, seen, stopping)), |state| async {
        let (mut changes, seen, stopping) = state?;
        let view = tokio::select! {
            view = changes.wait_for(|view| view.revision > seen) => view.ok()?.clone(),
            () = stopping.cancelled() => return None,
        };
        // A boot that has ended or is forgotten does not change any more.
        let ended = view.record.is_ended();
        let data = serde_json::to_string(&show::boot(&view)).unwrap_or_default();
        let event = EventBody { event: "boot", id: view.revision.to_string(), data };
        if !ended {
            tokio::time::sleep(PACE).await;
        }
        Some((Ok(event.into()), (!ended).then_some((changes, view.revision, stopping))))
    })
}
