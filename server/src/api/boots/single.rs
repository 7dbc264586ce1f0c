//! `GET /v1/boots/{id}`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};

use super::show::{self, BootBody};
use crate::api::Api;
use crate::api::problem::{Problem, ProblemBody};

/// Show a boot.
#[utoipa::path(operation_id = "getBoot", get,
    path = "/v1/boots/{id}",
    tag = "boots",
    params(("id" = String, Path, description = "The boot's id")),
    responses(
        (status = 200, description = "The boot", body = BootBody),
        (status = 404, description = "No such boot (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn single(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<BootBody>, Problem> {
    Ok(Json(show::boot(&super::find(&api, &id)?.view())))
}
