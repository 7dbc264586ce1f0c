//! `DELETE /v1/images/{id}`

use std::sync::Arc;

use axum::extract::{Path, State};
use http::StatusCode;

use crate::api::problem::{Problem, ProblemBody, ProblemKind};
use crate::api::{Api, blocking};

/// Release an image: its URLs answer 404 from now on. Do it when no host boots from it any more.
///
/// Transfers that are running go on. The same request makes the image anew, with the same URLs. An image that a boot of
/// this server has inserted, or is about to, is not released: delete the boot first.
#[utoipa::path(operation_id = "deleteImage", delete,
    path = "/v1/images/{id}",
    tag = "images",
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 204, description = "It is released"),
        (status = 404, description = "No such image (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "A host boots from it (`image-in-use`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The data directory cannot be used (`storage-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The data directory is full (`storage-full`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn delete(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let id = super::parse_id(&id)?;
    if let Some(boot) = api.boots.of_image(&id) {
        let detail = format!(
            "the boot {boot} has the image inserted, or is about to; delete that first (DELETE /v1/boots/{boot})"
        );
        return Err(Problem::new(ProblemKind::ImageInUse, detail));
    }
    let store = Arc::clone(&api.store);
    if blocking(move || store.release(&id)).await?? { Ok(StatusCode::NO_CONTENT) } else { Err(super::missing()) }
}
