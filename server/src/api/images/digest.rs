//! `GET /v1/images/{id}/sha256`

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use imagelib::image::FileName;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};

use crate::api::accept;
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemBody, ProblemKind};
use crate::api::{Api, blocking};

/// How often it is looked whether the base of a digest that is being computed still answers.
const LOOK_AFTER: Duration = Duration::from_secs(1);

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

/// Which file.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "documents what the handler reads")]
pub(super) struct Which {
    /// Name of the file, such as `rootfs.img`. Without it, the ISO or the initramfs.
    file: Option<String>,
}

/// Digest a file of an image: the SHA-256 of what a BMC reads.
///
/// Computed when it is asked for, which takes up to some seconds for each GiB, and then remembered. As text, in the form
/// of `sha256sum`, unless JSON is asked for by `Accept: application/json`.
#[utoipa::path(operation_id = "getFileDigest", get,
    path = "/v1/images/{id}/sha256",
    tag = "images",
    params(("id" = String, Path, description = "The image's id"), Which),
    responses(
        (status = 200, description = "The digest", content(
            (String = "text/plain", example = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  boot.iso\n"),
            (FileDigest = "application/json"),
        )),
        (status = 404, description = "No such image, or no such file in it (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Its base is not there (`base-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn digest(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut query = Parameters::new(query.as_deref());
    let wanted = query.one::<String>("file")?;
    query.finish()?;
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

    let turn = Arc::clone(&api.digests).acquire_owned().await.map_err(Problem::internal)?;
    let store = Arc::clone(&api.store);
    let computing = async move {
        // Until it is done, even if the client does not wait for it.
        let _turn = turn;
        let mut computing = pin!(blocking(move || store.digest(&image, name)));
        loop {
            match timeout(LOOK_AFTER, &mut computing).await {
                Ok(digest) => return digest?.map_err(|error| super::unavailable(&error.to_string())),
                // A thread that waits for a dead file system cannot be ended, but the next digest need not wait for it.
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
