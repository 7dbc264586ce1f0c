//! `GET /v1/images/{id}/sha256`

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use imagelib::image::FileName;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::accept;
use crate::api::digest_queue::DigestError;
use crate::api::parameters::{StrictQuery, query_parameters};
use crate::api::problem::{Problem, ProblemKind};

/// The shortest time that a request waits for a digest. Most digests take less, so most clients need one request.
const SHORTEST_WAIT: Duration = Duration::from_millis(250);

/// The value of `Retry-After` while dayone computes a digest, in seconds.
const RETRY_AFTER: &str = "5";

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
/// The first request takes up to some seconds for each GiB, if the image differs from its base near the beginning; the server
/// remembers the result. The answer is text in the form of `sha256sum`, or JSON with `Accept: application/json`.
///
/// With `Prefer: respond-async`, the answer is 202 if the digest is not there within a quarter of a second: the server computes it in the
/// background, and the same request gets it later. `Prefer: respond-async, wait=10` waits up to 10 seconds before that (RFC 7240).
#[utoipa::path(operation_id = "getFileDigest", get, path = "/v1/images/{id}/sha256", tag = "images",
    security(("token" = ["read"])),
    params(
        ("id" = String, Path, description = "The image's id"),
        FileQuery,
        ("Prefer" = Option<String>, Header, description = "`respond-async`, and `wait=SECONDS`"),
    ),
    responses(
        (status = 200, description = "The digest", content(
            (String = "text/plain", example = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  boot.iso\n"),
            (FileDigest = "application/json"),
        )),
        (status = 202, description = "The server computes the digest. Repeat the request after the seconds in `Retry-After`",
            headers(("Retry-After" = u32, description = "The seconds after which to send the request again"))),
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

    let digest = api.digests.digest(&image, &planned, name, patience(&headers)).await.map_err(|error| match error {
        DigestError::Unavailable(reason) => super::unavailable(&reason),
        DigestError::Panic => Problem::internal(error),
    })?;
    let Some(digest) = digest else {
        let headers = [("retry-after", RETRY_AFTER), ("preference-applied", "respond-async")];
        return Ok((StatusCode::ACCEPTED, headers).into_response());
    };
    let sha256 = digest.to_string();
    Ok(match accept::preferred(&headers, &["text/plain", "application/json"]) {
        "application/json" => Json(FileDigest { file: name.as_str(), size, sha256 }).into_response(),
        _ => format!("{sha256}  {name}\n").into_response(),
    })
}

/// How long a request waits before its answer is 202 (RFC 7240 §4.1, §4.3). `None`: it waits for the digest.
fn patience(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let preferences = values.flat_map(|value| value.split(',')).map(|preference| {
        // No preference that dayone knows has parameters.
        let preference = preference.split(';').next().unwrap_or_default();
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_owned())
    });
    let (mut is_async, mut wait) = (false, None);
    for (name, value) in preferences {
        match name.as_str() {
            "respond-async" => is_async = true,
            // The first of several counts (§2).
            "wait" => wait = wait.or_else(|| value.parse().ok()),
            _ => {}
        }
    }
    is_async.then(|| Duration::from_secs(wait.unwrap_or(0)).max(SHORTEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_respond_async_ends_the_waiting() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let shortest = Some(SHORTEST_WAIT);
        for (prefer, expected) in [
            (&[][..], None),
            (&["wait=10"], None),
            (&["return=minimal"], None),
            (&["respond-async"], shortest),
            (&["Respond-Async, wait=10"], seconds(10)),
            (&["wait=\"7\"", "respond-async"], seconds(7)),
            (&["respond-async, wait=3, wait=4"], seconds(3)),
            (&["respond-async; x=y, wait=-1"], shortest),
            (&["respond-async, wait=soon"], shortest),
        ] {
            let mut headers = HeaderMap::new();
            for value in prefer {
                headers.append("prefer", value.parse().unwrap());
            }
            assert_eq!(patience(&headers), expected, "{prefer:?}");
        }
    }
}
