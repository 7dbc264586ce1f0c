//! `GET /v1/images/{id}/files`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use imagelib::image::DeliveredBy;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::problem::{Problem, ProblemBody};

/// What is embedded in an image.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EmbeddedFiles {
    /// The files, those of the initramfs first.
    files: Vec<EmbeddedFileBody>,
}

/// A file that dayone put into an image. Its content may be secret, so only its digest is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EmbeddedFile)]
pub(super) struct EmbeddedFileBody {
    /// Where it stands in the booted system, or in its initramfs.
    #[schema(example = "/etc/coreos-firstboot-network/eth0.nmconnection")]
    path: String,
    /// Who puts it there: `initramfs` (the kernel), `handover` (a script in the initramfs, in the root file system that
    /// follows), `ignition` or, of a data image, `drive`: it lies there.
    #[schema(value_type = String, example = "initramfs")]
    delivered_by: DeliveredBy,
    /// Permission bits, octal.
    #[schema(example = "0600")]
    mode: String,
    /// Length in bytes.
    size: u64,
    /// SHA-256 of the content.
    sha256: String,
}

/// List what is embedded in an image: where it stands, how long it is, and its digest.
#[utoipa::path(operation_id = "listEmbeddedFiles", get,
    path = "/v1/images/{id}/files",
    tag = "images",
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The files", body = EmbeddedFiles),
        (status = 404, description = "No such image (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Its base is not there (`base-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn embedded(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
) -> Result<Json<EmbeddedFiles>, Problem> {
    let planned = super::planned(&api, &id)?;
    let files = planned.image.embedded.iter().map(|file| EmbeddedFileBody {
        path: file.path.clone(),
        delivered_by: file.delivered_by,
        mode: file.mode.clone(),
        size: file.size,
        sha256: file.sha256.to_string(),
    });
    Ok(Json(EmbeddedFiles { files: files.collect() }))
}
