//! `GET /v1/images/{id}/secure-boot`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use imagelib::secure_boot::SecureBoot;

use crate::api::parameters::NoQuery;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::{Api, blocking};

/// Say whether machines with Secure Boot start an image, and why: every program that they verify, with its signers, and every
/// file that they read unsigned.
#[utoipa::path(operation_id = "getSecureBoot", get, path = "/v1/images/{id}/secure-boot", tag = "images",
    security(("token" = ["read"])),
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The verdict and its reasons", body = SecureBoot),
        (status = 404, description = "No image has this id, or it is a data image, which nothing boots from (`not-found`)"),
        (status = 503, description = "The base is not available (`base-unavailable`)"),
    ))]
pub(super) async fn secure_boot(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Path(id): Path<String>,
) -> Result<Json<SecureBoot>, Problem> {
    let planned = super::planned(&api, &id)?;
    let found = blocking(move || planned.secure_boot()).await?;
    let none =
        || Problem::new(ProblemKind::NotFound, "nothing boots from a data image, so it has no verdict on Secure Boot");
    found.map(|found| Json(SecureBoot::clone(&found))).ok_or_else(none)
}
