//! `GET /v1/images/{id}/changes`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use imagelib::image::Change;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::problem::{Problem, ProblemBody};

/// What an image changes of its base.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Changes {
    /// The changes. What is not named here is, byte by byte, the base's.
    changes: Vec<Change>,
}

/// List what an image changes of its base: every file and every structure, with the sizes before and after, and why.
#[utoipa::path(operation_id = "listChanges", get,
    path = "/v1/images/{id}/changes",
    tag = "images",
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The changes", body = Changes),
        (status = 404, description = "No such image (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Its base is not there (`base-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn changes(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<Changes>, Problem> {
    let planned = super::planned(&api, &id)?;
    Ok(Json(Changes { changes: planned.image.changes.clone() }))
}
