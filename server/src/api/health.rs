//! Whether the server lives, whether it is ready, and its metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use crate::store::ReplacedBase;

const AVAILABLE: &str = "available";
const UNAVAILABLE: &str = "unavailable";

/// Whether the server is ready.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// Whether it is.
    ready: bool,
    /// `available` or `unavailable`, by name of the base.
    bases: BTreeMap<String, &'static str>,
    /// `available` or `unavailable`: whether the data directory takes what is to be stored.
    data_directory: &'static str,
    /// Whether the server is stopping.
    stopping: bool,
    /// Why it is not ready, for people, a sentence each. They name no file.
    problems: Vec<String>,
}

/// The routes that need no token.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// The metrics. They name bases and tell how much is done, so they need a token, which Prometheus can send.
pub(super) fn metrics_router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Ask whether the server lives. Needs no token.
#[utoipa::path(operation_id = "getHealth", get, path = "/healthz", tag = "service", security(()),
    responses((status = 200, description = "It does", body = String, content_type = "text/plain")))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Ask whether the server is ready: all its bases are there and are those that its images were made over, its data
/// directory can be written, and it is not stopping. Needs no token.
///
/// `problems` says which of these is not so, and why. A server that is not ready still serves what it can. The files
/// that a missing base consists of are named at `/v1/bases` and in the log.
#[utoipa::path(operation_id = "getReadiness", get, path = "/readyz", tag = "service", security(()),
    responses(
        (status = 200, description = "It is", body = Readiness),
        (status = 503, description = "It is not", body = Readiness),
    ))]
async fn readyz(State(api): State<Arc<Api>>) -> Response {
    let bases = api.store.bases().into_iter().map(|base| {
        let state = if base.available().is_some() { AVAILABLE } else { UNAVAILABLE };
        (base.name().to_string(), state)
    });
    let bases: BTreeMap<_, _> = bases.collect();
    let trouble = api.store.storage_trouble();
    let stopping = api.stopping.is_cancelled();

    let mut problems: Vec<String> = Vec::new();
    for (name, _) in bases.iter().filter(|(_, state)| **state == UNAVAILABLE) {
        problems.push(format!("the base '{name}' is not available; /v1/bases/{name} says why"));
    }
    for ReplacedBase { name, was, now, images } in api.store.replaced_bases() {
        problems.push(format!(
            "the base '{name}' was replaced by another file: it had identity {was}, and has {now} now. Published images \
             that were made over the old file answer 503 ({images}). Register the old file under any name, or delete \
             these images and order them again"
        ));
    }
    problems.extend(trouble.map(|trouble| format!("the data directory cannot be used: {trouble}")));
    problems.extend(stopping.then(|| "the server is stopping".to_owned()));

    let ready = problems.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let data_directory = if trouble.is_none() { AVAILABLE } else { UNAVAILABLE };
    (status, Json(Readiness { ready, bases, data_directory, stopping, problems })).into_response()
}

/// Read the metrics, as Prometheus does (format `OpenMetrics`).
#[utoipa::path(operation_id = "getMetrics", get, path = "/metrics", tag = "service",
    responses((status = 200, description = "The metrics", body = String, content_type = "application/openmetrics-text")))]
async fn metrics(State(api): State<Arc<Api>>) -> Response {
    api.boots.measure();
    let bases = api.store.bases();
    let available = bases.iter().map(|base| (base.name().as_str(), base.available().is_some()));
    let mut response = api.metrics.encode(api.store.images().len(), available).into_response();
    let media_type = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}
