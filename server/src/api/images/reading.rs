//! `GET /v1/images/{id}/reading`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use media::reading::{FileSnapshot, Progress};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::parameters::NoQuery;
use crate::api::problem::Problem;
use crate::api::{Api, blocking};

/// Which bytes of an image were read, and by whom.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Reading {
    #[serde(flatten)]
    progress: Progress,
    /// The image's files that a client has requested.
    files: Vec<FileSnapshot>,
}

/// Show which bytes of an image were read and by whom, and how far a boot has come.
///
/// The server keeps this record in memory: it begins again when the server starts, and when a boot of the image begins. Bytes
/// count as read when the server has handed them to a connection. For a file that a client fetches in one piece, up to a few
/// MiB may still be in transit.
#[utoipa::path(operation_id = "getReading", get, path = "/v1/images/{id}/reading", tag = "images",
    security(("token" = ["read"])),
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The record", body = Reading),
        (status = 404, description = "No image has this id (`not-found`)"),
        (status = 503, description = "The base is not available (`base-unavailable`)"),
    ))]
pub(super) async fn reading(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Path(id): Path<String>,
) -> Result<Json<Reading>, Problem> {
    super::planned(&api, &id)?;
    let image = super::find(&api, &id)?;
    // The first time, this reads directories of the image.
    let reading = blocking(move || {
        let mut snapshot = image.reading();
        let progress = image.progress_of(&snapshot);
        snapshot.files.retain(FileSnapshot::is_asked_for);
        Reading { progress, files: snapshot.files }
    });
    Ok(Json(reading.await?))
}
