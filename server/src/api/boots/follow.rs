//! `GET /v1/boots/events`: all boots, as server-sent events.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Uri};
use media::listen::ClientCertificate;
use utoipa::ToSchema;

use super::overview::{OverviewBody, overview};
use crate::api::Api;
use crate::api::access::Access;
use crate::api::parameters::{StrictQuery, query_parameters};
use crate::api::problem::{Problem, ProblemKind};
use crate::boots::Listed;
use crate::live::{BootPieces, Changes, Content, MAX_FOLLOWERS, Piece, Subject};

query_parameters! {
    /// Selects boots to follow.
    pub(super) struct FollowQuery {
        /// Only boots of the host with this name in the documents.
        host: Option<String>,
    }
}

/// An event of all boots.
#[derive(ToSchema)]
#[schema(as = BootsEvent)]
#[expect(dead_code, reason = "describes the event for OpenAPI")]
pub(super) struct EventBody {
    /// `boots`.
    event: &'static str,
    /// The changes, a `BootChanges` in JSON.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// What has changed since the last event.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the event for OpenAPI")]
pub(in crate::api) struct BootChanges {
    /// The boots that are new or have changed.
    boots: Vec<OverviewBody>,
    /// The ids of all boots, in the order of their requests, if a boot was added or removed; otherwise absent.
    ids: Option<Vec<String>>,
}

/// Follow all boots: the server sends an event `boots` with all boots at a glance, and then, at most about once a second, an event with
/// those that have changed. A boot that is not among the `ids` of an event is gone.
///
/// The stream ends only when the server stops. A client that connects again begins with all boots. After a second or two without an
/// event the server sends a comment. At most 64 clients follow all boots at once. A proxy must pass each event on at once; the answer
/// has `X-Accel-Buffering: no`, which makes nginx do so.
#[utoipa::path(operation_id = "followBoots", get, path = "/v1/boots/events", tag = "boots",
    security(("token" = ["read"])),
    params(FollowQuery),
    responses(
        (status = 200, description = "Events, each with `BootChanges`", body = EventBody, content_type = "text/event-stream"),
        (status = 400, description = "A parameter is wrong (`wrong-parameter`)"),
        (status = 503, description = "Too many clients follow all boots (`too-many-followers`)"),
    ))]
pub(super) async fn follow(
    State(api): State<Arc<Api>>,
    Extension(access): Extension<Access>,
    StrictQuery(FollowQuery { host }): StrictQuery<FollowQuery>,
    certificate: Option<Extension<ClientCertificate>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let certificate = certificate.map(|Extension(certificate)| certificate);
    let is_admitted = move || access.caller(&uri, &headers, certificate.as_ref()).is_ok();
    let followed = api.followed_boots.follow(FollowedBoots { host }, &api, &api.stopping, is_admitted);
    followed.ok_or_else(|| {
        let detail = format!("{MAX_FOLLOWERS} clients follow all boots already; end one, or list the boots instead");
        Problem::new(ProblemKind::TooManyFollowers, detail)
    })
}

/// The boots that clients follow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::api) struct FollowedBoots {
    host: Option<String>,
}

impl Subject for FollowedBoots {
    type Server = Api;
    type Cache = BootPieces;
    const EVENT: &'static str = "boots";

    fn render(api: &Api, last: &mut BootPieces, subjects: &[Self]) -> Vec<Option<Content>> {
        let listing = api.boots.listing();
        let mut boots: Vec<&Listed> = listing.boots().iter().collect();
        // A state that changes moves no boot in the order of the requests.
        boots.sort_unstable_by_key(|listed| listed.boot.view.record.id);
        let mut pieces = BootPieces::default();
        let contents = subjects.iter().map(|Self { host }| {
            let matches = |listed: &&&Listed| host.is_none() || listed.boot.view.record.host == *host;
            let rows =
                boots.iter().filter(matches).map(|listed| pieces.of(last, listed, || described(api, listed))).collect();
            Some(Content { elements: Vec::new(), rows: Some(rows) })
        });
        let contents = contents.collect();
        *last = pieces;
        contents
    }

    fn encode(Changes { rows, order, .. }: &Changes<'_>) -> String {
        let boots: Vec<&str> = rows.iter().flatten().map(|(_, json)| *json).collect();
        let ids = order.as_ref().map(|ids| ids.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(","));
        let ids = ids.map(|ids| format!(",\"ids\":[{ids}]")).unwrap_or_default();
        format!("{{\"boots\":[{}]{ids}}}", boots.join(","))
    }
}

/// The id of a boot and its description in JSON.
fn described(api: &Api, listed: &Listed) -> Piece {
    // Serialising to memory fails only for maps whose keys are not texts.
    let json = serde_json::to_string(&overview(api, listed)).unwrap_or_default();
    (listed.boot.view.record.id.as_str().into(), json.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_boots_that_have_changed_and_all_ids_if_there_are_others() {
        let changes = |order| Changes { elements: vec![], rows: Some(vec![("a", "{}"), ("b", "{}")]), order };
        assert_eq!(FollowedBoots::encode(&changes(None)), r#"{"boots":[{},{}]}"#);
        assert_eq!(FollowedBoots::encode(&changes(Some(vec!["a", "b"]))), r#"{"boots":[{},{}],"ids":["a","b"]}"#);
        assert_eq!(FollowedBoots::encode(&changes(Some(vec![]))), r#"{"boots":[{},{}],"ids":[]}"#);
    }
}
