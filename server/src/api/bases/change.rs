//! Adds, replaces and removes bases.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use http::header::{CONTENT_TYPE, LOCATION};

use super::order::BaseOrder;
use super::show::{self, BaseBody};
use crate::api::parameters::NoQuery;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::{Api, json, request};
use crate::audit::{Actor, Event};
use crate::bases::{AddError, Added, RemoveError};
use crate::store::{AddBaseError, RemoveBaseError, StorageTrouble};

/// Add a base, or replace one that was added before: the server fetches its files, verifies them and then makes new images from
/// them.
///
/// The server answers at once; `GET /v1/bases/{name}` shows the progress. If the connection to a source breaks, or the server
/// restarts, the server continues where it was. A failed attempt stays visible; send the request again to continue it.
///
/// If a base of this name was added before, images that exist keep it, with their URLs and bytes. The server removes it when no
/// image uses it any more. A request for the files that the base has already changes nothing.
#[utoipa::path(operation_id = "addBase", post, path = "/v1/bases", tag = "bases", security(("token" = ["boot"])),
    request_body(content = BaseOrder, description = "The base"),
    responses(
        (status = 200, description = "The base has these files already", body = BaseBody),
        (status = 202, description = "The server fetches the base", body = BaseBody,
            headers(("Location" = String, description = "The path of the base"))),
        (status = 400, description = "The request is malformed (`malformed-request`)"),
        (status = 409, description = "The base is in the server's configuration (`base-configured`)"),
        (status = 415, description = "The body is not JSON, or it is compressed (`unsupported-media-type`)"),
        (status = 422, description = "The server does not fetch from this source (`source-refused`), or the files do not make a base (`base-refused`)"),
        (status = 503, description = "The data directory is not usable (`storage-unavailable`)"),
        (status = 507, description = "The data directory is full (`storage-full`)"),
    ))]
pub(super) async fn add(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Extension(actor): Extension<Actor>,
    request: Request,
) -> Result<Response, Problem> {
    let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(ProblemKind::UnsupportedMediaType, "send the request as application/json"));
    }
    request::check_encoding(request.headers(), false)?;
    let body = request::read_body(request.into_body()).await?;
    let record = json::read::<BaseOrder>(&body)?.into_record();
    let name = record.name.to_string();
    let added = api.fetches.add(record).await?;
    if added == Added::Fetching {
        actor.record(Event::BaseAdded { base: name.clone() });
    }
    let body = show::find(&api, &name).ok_or_else(show::not_found)?;
    Ok(match added {
        Added::Present => Json(body).into_response(),
        Added::Fetching => {
            (StatusCode::ACCEPTED, [(LOCATION, format!("/v1/bases/{name}"))], Json(body)).into_response()
        }
    })
}

/// Remove a base that was added, with all its versions, and stop fetching it. The server refuses that while images use it.
#[utoipa::path(operation_id = "removeBase", delete, path = "/v1/bases/{name}", tag = "bases",
    security(("token" = ["boot"])),
    params(("name" = String, Path, description = "The base's name")),
    responses(
        (status = 204, description = "The base is removed. The server deletes its files after the last transfer of them"),
        (status = 404, description = "No base has this name (`not-found`)"),
        (status = 409, description = "Images use the base (`base-in-use`), or it is in the server's configuration (`base-configured`)"),
        (status = 503, description = "The data directory is not usable (`storage-unavailable`)"),
        (status = 507, description = "The data directory is full (`storage-full`)"),
    ))]
pub(super) async fn remove(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Extension(actor): Extension<Actor>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    api.fetches.remove(&name).await?;
    actor.record(Event::BaseRemoved { base: name });
    Ok(StatusCode::NO_CONTENT)
}

/// Stop fetching a base, and forget a failed attempt. The version that is there stays.
#[utoipa::path(operation_id = "stopBaseFetch", delete, path = "/v1/bases/{name}/fetch", tag = "bases",
    security(("token" = ["boot"])),
    params(("name" = String, Path, description = "The base's name")),
    responses(
        (status = 204, description = "The server no longer fetches the base, and has removed what had arrived"),
        (status = 404, description = "The server does not fetch a base of this name (`not-found`)"),
        (status = 503, description = "The data directory is not usable (`storage-unavailable`)"),
        (status = 507, description = "The data directory is full (`storage-full`)"),
    ))]
pub(super) async fn stop(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Extension(actor): Extension<Actor>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    if api.fetches.stop(&name).await? {
        actor.record(Event::BaseFetchStopped { base: name });
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::new(ProblemKind::NotFound, "the server does not fetch a base of this name"))
    }
}

impl From<AddError> for Problem {
    fn from(error: AddError) -> Self {
        let detail = error.to_string();
        match error {
            AddError::Source(_) | AddError::Store(AddBaseError::Definition(_)) => {
                Self::new(ProblemKind::BaseRefused, detail)
            }
            AddError::NotAllowed(_) => Self::new(ProblemKind::SourceRefused, detail),
            AddError::Store(AddBaseError::Configured(_)) => Self::new(ProblemKind::BaseConfigured, detail),
            AddError::Store(AddBaseError::Write(cause)) | AddError::Internal(cause) => Self::storage(detail, &cause),
        }
    }
}

impl From<RemoveError> for Problem {
    fn from(error: RemoveError) -> Self {
        let detail = error.to_string();
        match error {
            RemoveError::Store(RemoveBaseError::Unknown) => show::not_found(),
            RemoveError::Store(RemoveBaseError::Configured) => Self::new(ProblemKind::BaseConfigured, detail),
            RemoveError::Store(RemoveBaseError::InUse { .. } | RemoveBaseError::Unreadable(_)) => {
                Self::new(ProblemKind::BaseInUse, detail)
            }
            RemoveError::Store(RemoveBaseError::Write(cause)) | RemoveError::Write(cause) => {
                Self::storage(format!("nothing was removed: {}", StorageTrouble::of(&cause)), &cause)
            }
        }
    }
}
