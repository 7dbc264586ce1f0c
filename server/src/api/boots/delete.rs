//! `DELETE /v1/boots/{id}`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use utoipa::IntoParams;

use super::show::{self, BootBody};
use crate::api::Api;
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemBody};
use crate::boots::Deleted;

/// How a boot is deleted.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "documents what the handler reads")]
pub(super) struct DeleteQuery {
    /// `true`: the host is switched off before the medium is ejected. If absent, what the boot was begun with.
    power_off: Option<bool>,
    /// `true`: the boot is forgotten at once, and its BMC is left as it is: for BMCs that are gone.
    forget: Option<bool>,
}

/// Delete a boot. One that is under way is stopped; the medium is ejected and the boot override is set back. A boot that
/// has ended is forgotten.
///
/// The host must not need the medium any more: a live system reads it for as long as it runs.
#[utoipa::path(operation_id = "deleteBoot", delete,
    path = "/v1/boots/{id}",
    tag = "boots",
    params(("id" = String, Path, description = "The boot's id"), DeleteQuery),
    responses(
        (status = 202, description = "It is being undone; its step `ejected` says when that is done", body = BootBody),
        (status = 204, description = "It had ended, and is forgotten"),
        (status = 404, description = "No such boot (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The data directory cannot be used (`storage-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The data directory is full (`storage-full`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut query = Parameters::new(query.as_deref());
    let (power_off, forget) = (query.one("power_off")?, query.one("forget")?.unwrap_or_default());
    query.finish()?;
    let boot = super::find(&api, &id)?;
    match api.boots.delete(boot.id(), power_off, forget).await? {
        Deleted::Forgotten => Ok(StatusCode::NO_CONTENT.into_response()),
        Deleted::Ejecting(boot) => Ok((StatusCode::ACCEPTED, Json(show::boot(&boot.view()))).into_response()),
    }
}
