//! `GET /live`: server-sent events with the parts of a view that have changed.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Uri};
use media::listen::ClientCertificate;

use super::subject::Followed;
use crate::api::Api;
use crate::api::access::Access;
use crate::api::problem::{Problem, ProblemKind};
use crate::live::{MAX_FOLLOWERS, Publisher};

/// Follows a view, until the session or the server ends.
pub(super) async fn live(
    State(api): State<Arc<Api>>,
    Extension(access): Extension<Access>,
    Extension(publisher): Extension<Publisher<Followed>>,
    RawQuery(query): RawQuery,
    certificate: Option<Extension<ClientCertificate>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let certificate = certificate.map(|Extension(certificate)| certificate);
    let is_admitted = move || access.caller(&uri, &headers, certificate.as_ref()).is_ok();
    let followed = publisher.follow(Followed::of(query.as_deref()), &api, &api.stopping, is_admitted);
    followed.ok_or_else(|| {
        let detail = format!("{MAX_FOLLOWERS} browsers follow the page already; reload it to see the present state");
        Problem::new(ProblemKind::TooManyBrowsers, detail)
    })
}
