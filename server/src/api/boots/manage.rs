//! Lists, shows and deletes boots.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::show::{self, BootBodies, BootBody};
use crate::api::Api;
use crate::api::large_json::LargeJson;
use crate::api::parameters::{Limit, NoQuery, StrictQuery, page, query_parameters};
use crate::api::problem::Problem;
use crate::audit::{Actor, Event};
use crate::boots::{BootId, BootState, Deleted};

/// A page of boots.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BootList {
    /// The boots, in the order of their requests.
    #[schema(value_type = Vec<BootBody>)]
    boots: BootBodies,
    /// The value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

query_parameters! {
    /// Selects boots.
    pub(super) struct Page {
        /// The maximum number of boots.
        #[param(value_type = Option<usize>, minimum = 1, maximum = 1000, default = 100)]
        limit: Option<Limit>,
        /// Only boots after this one: the `next` of the previous page.
        #[param(value_type = Option<String>, pattern = "^[0-9a-v]{16}$")]
        after: Option<BootId>,
        /// Only boots of the host with this name in the documents.
        host: Option<String>,
        /// Only boots in this state; repeatable, any one of them is enough.
        #[param(inline, value_type = Option<Vec<BootState>>, example = json!(["failed", "unknown"]))]
        state: Vec<BootState>,
        /// `true`: only boots that have ended; `false`: only boots that have not ended.
        ended: Option<bool>,
    }
}

/// List boots.
#[utoipa::path(operation_id = "listBoots", get, path = "/v1/boots", tag = "boots", security(("token" = ["read"])),
    params(Page),
    responses(
        (status = 200, description = "A page of boots", body = BootList),
        (status = 400, description = "A parameter is wrong (`wrong-parameter`)"),
    ))]
pub(super) async fn list(State(api): State<Arc<Api>>, StrictQuery(query): StrictQuery<Page>) -> LargeJson<BootList> {
    let Page { limit, after, host, state, ended } = query;
    let views = api.boots.all().into_iter().filter(|boot| after.is_none_or(|after| boot.id() > after));
    let views = views.map(|boot| boot.view()).filter(|view| {
        let record = &view.record;
        let is_in_state = state.is_empty() || state.contains(&record.state);
        (host.is_none() || record.host == host) && is_in_state && ended.is_none_or(|ended| record.is_ended() == ended)
    });
    let (page, more) = page(views, limit);
    let next = page.last().filter(|_| more).map(|view| view.record.id.to_string());
    LargeJson(BootList { boots: BootBodies(page), next })
}

/// Show a boot.
#[utoipa::path(operation_id = "getBoot", get, path = "/v1/boots/{id}", tag = "boots", security(("token" = ["read"])),
    params(("id" = String, Path, description = "The boot's id")),
    responses(
        (status = 200, description = "The boot", body = BootBody),
        (status = 404, description = "No boot has this id (`not-found`)"),
    ))]
pub(super) async fn single(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Path(id): Path<String>,
) -> Result<Json<BootBody>, Problem> {
    Ok(Json(show::boot(&super::find(&api, &id)?.view())))
}

query_parameters! {
    /// How to delete a boot.
    pub(super) struct DeleteQuery {
        /// `true`: switch the host off before ejecting the medium. The default is the `power_off` of the boot.
        power_off: Option<bool>,
        /// `true`: forget the boot at once and leave its BMC as it is. For BMCs that no longer exist.
        forget: Option<bool>,
    }
}

/// Delete a boot. dayone stops an unfinished boot, ejects the medium and resets the boot override. It forgets a boot that
/// has ended.
///
/// Delete a boot only when the host no longer needs the medium: a live system reads it for as long as it runs.
#[utoipa::path(operation_id = "deleteBoot", delete, path = "/v1/boots/{id}", tag = "boots",
    security(("token" = ["boot"])),
    params(("id" = String, Path, description = "The boot's id"), DeleteQuery),
    responses(
        (status = 202, description = "dayone is restoring the BMC; the step `ejected` shows when that is done", body = BootBody),
        (status = 204, description = "The boot had ended; dayone has forgotten it"),
        (status = 404, description = "No boot has this id (`not-found`)"),
        (status = 503, description = "The data directory is not usable (`storage-unavailable`)"),
        (status = 507, description = "The data directory is full (`storage-full`)"),
    ))]
pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    Path(id): Path<String>,
    StrictQuery(DeleteQuery { power_off, forget }): StrictQuery<DeleteQuery>,
) -> Result<Response, Problem> {
    let boot = super::find(&api, &id)?;
    let record = boot.record();
    let deleted = api.boots.delete(boot.id(), power_off, forget.unwrap_or_default()).await?;
    actor.record(Event::BootDeleted {
        boot: record.id.to_string(),
        image: record.image.to_string(),
        host: record.host.clone(),
        bmc: record.bmc.address.to_string(),
    });
    match deleted {
        Deleted::Forgotten => Ok(StatusCode::NO_CONTENT.into_response()),
        Deleted::Ejecting(boot) => Ok((StatusCode::ACCEPTED, Json(show::boot(&boot.view()))).into_response()),
    }
}
