//! `GET /v1/images/{id}`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use vocabulary::report::Report;

use super::show::{self, ImageBody};
use crate::api::Api;
use crate::api::problem::{Problem, ProblemBody};

/// Show an image.
#[utoipa::path(operation_id = "getImage", get,
    path = "/v1/images/{id}",
    tag = "images",
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The image", body = ImageBody),
        (status = 404, description = "No such image (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn single(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<ImageBody>, Problem> {
    let image = super::find(&api, &id)?;
    Ok(Json(show::image(&image, &api.media_url, Report::new())))
}
