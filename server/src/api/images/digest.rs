//! `GET /v1/images/{id}/sha256`

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use imagelib::image::FileName;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::api::accept;
use crate::api::parameters::{StrictQuery, query_parameters};
use crate::api::problem::{Problem, ProblemKind};
use crate::api::{Api, blocking};

/// How often dayone checks whether the base still answers, while it computes a digest.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The digest of a file of an image.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileDigest {
    /// The file's name.
    #[schema(example = "boot.iso")]
    file: &'static str,
    /// Its length in bytes.
    size: u64,
    /// The SHA-256 of its bytes, hexadecimal.
    sha256: String,
}

query_parameters! {
    /// Selects a file.
    pub(super) struct FileQuery {
        /// The name of the file, such as `rootfs.img`. The default is the ISO or the initramfs.
        file: Option<String>,
    }
}

/// Compute the SHA-256 of a file of an image.
///
/// The first request takes up to some seconds for each GiB; the server remembers the result. The answer is text in the form
/// of `sha256sum`, or JSON with `Accept: application/json`.
#[utoipa::path(operation_id = "getFileDigest", get, path = "/v1/images/{id}/sha256", tag = "images",
    security(("token" = ["read"])),
    params(("id" = String, Path, description = "The image's id"), FileQuery),
    responses(
        (status = 200, description = "The digest", content(
            (String = "text/plain", example = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  boot.iso\n"),
            (FileDigest = "application/json"),
        )),
        (status = 404, description = "No image has this id, or the image has no such file (`not-found`)"),
        (status = 503, description = "The base is not available (`base-unavailable`)"),
    ))]
pub(super) async fn digest(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    StrictQuery(FileQuery { file: wanted }): StrictQuery<FileQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let image = super::find(&api, &id)?;
    let planned = image.state().map_err(|reason| super::unavailable(&reason))?;
    let (name, size) = match wanted {
        None => planned.image.main_file().map(|(name, file)| (name, file.size())),
        Some(wanted) => {
            let mut files = planned.image.files.iter();
            files.find(|(name, _)| name.as_str() == wanted).map(|(name, file)| (*name, file.size()))
        }
    }
    .ok_or_else(|| {
        let files: Vec<String> = planned.image.files.keys().map(FileName::to_string).collect();
        let detail = format!("the image has no such file; it has: {}", files.join(", "));
        Problem::new(ProblemKind::NotFound, detail)
    })?;

    let permit = Arc::clone(&api.digests).acquire_owned().await.map_err(Problem::internal)?;
    let computing = async move {
        // Holds the permit until the digest is computed, even if the client does not wait for it.
        let _permit = permit;
        let mut computing = pin!(blocking(move || image.digest(name)));
        loop {
            match timeout(CHECK_INTERVAL, &mut computing).await {
                Ok(digest) => return digest?.map_err(|error| super::unavailable(&error.to_string())),
                // Nothing can end a thread that waits for a dead file system, but the next digest need not wait for it.
                Err(_) => {
                    planned.base.check_in_time_async().await.map_err(|error| super::unavailable(&error.to_string()))?;
                }
            }
        }
    };
    let sha256 = tokio::spawn(computing).await.map_err(Problem::internal)??.to_string();
    Ok(match accept::preferred(&headers, &["text/plain", "application/json"]) {
        "application/json" => Json(FileDigest { file: name.as_str(), size, sha256 }).into_response(),
        _ => format!("{sha256}  {name}\n").into_response(),
    })
}
