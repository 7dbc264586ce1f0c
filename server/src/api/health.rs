//! Liveness, readiness and metrics of the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use crate::audit::{Audit, AuditState};
use crate::monitoring;
use crate::store::ReplacedBase;

const AVAILABLE: &str = "available";
const UNAVAILABLE: &str = "unavailable";

/// Whether the server is ready.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// Whether the server is ready.
    ready: bool,
    /// `available` or `unavailable`, by the name of the base.
    bases: BTreeMap<String, &'static str>,
    /// `available` or `unavailable`: whether the server can write its data directory.
    data_directory: &'static str,
    /// `available`, `unavailable` or `off`: whether the server can write its audit log. It refuses all changes while it cannot.
    audit_log: &'static str,
    /// Whether the server is stopping. A stopping server accepts no connections, so only a request that it received before it began to
    /// stop can get `true`.
    stopping: bool,
    /// The reasons why the server is not ready, as sentences without file names.
    problems: Vec<String>,
}

/// The routes that need no token.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// The metrics. They name bases and show how busy the server is, so they need a token, which Prometheus can send.
pub(super) fn metrics_router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Check whether the server is alive. Needs no token.
#[utoipa::path(operation_id = "getHealth", get, path = "/healthz", tag = "service", security(()),
    responses((status = 200, description = "The server is alive", body = String, content_type = "text/plain")))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Check whether the server is ready. Needs no token.
///
/// The server is ready if all bases are available and are those that its images were made from, if it can write its data
/// directory and its audit log, and if it is not stopping. Otherwise `problems` has the reasons. A server that is not ready still serves what it
/// can. A server that is stopping accepts no connections. `/v1/bases` and the log name the missing files of a base.
#[utoipa::path(operation_id = "getReadiness", get, path = "/readyz", tag = "service", security(()),
    responses(
        (status = 200, description = "The server is ready", body = Readiness),
        (status = 503, description = "The server is not ready", body = Readiness),
    ))]
async fn readyz(State(api): State<Arc<Api>>, Extension(audit): Extension<Audit>) -> Response {
    let bases = api.store.bases().into_iter().map(|base| {
        let state = if base.available().is_some() { AVAILABLE } else { UNAVAILABLE };
        (base.name().to_string(), state)
    });
    let bases: BTreeMap<_, _> = bases.collect();
    let trouble = api.store.storage_trouble();
    let stopping = api.stopping.is_cancelled();

    let mut problems: Vec<String> = Vec::new();
    for (name, _) in bases.iter().filter(|(_, state)| **state == UNAVAILABLE) {
        problems.push(format!("the base '{name}' is not available; /v1/bases/{name} has the reason"));
    }
    for ReplacedBase { name, was, now, images } in api.store.replaced_bases() {
        problems.push(format!(
            "another file has replaced the base '{name}': its identity was {was} and is now {now}. Published images of the old \
             file answer 503 ({images}). Register the old file under any name, or delete these images and order them again"
        ));
    }
    problems.extend(trouble.map(|trouble| format!("the data directory is not usable: {trouble}")));
    let audit_log = match audit.state() {
        AuditState::Off => "off",
        AuditState::Available => AVAILABLE,
        AuditState::Unavailable => UNAVAILABLE,
    };
    if audit_log == UNAVAILABLE {
        problems
            .push("the audit log cannot be written, so the API refuses all changes; the log has the reason".to_owned());
    }
    problems.extend(stopping.then(|| "the server is stopping".to_owned()));

    let ready = problems.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let data_directory = if trouble.is_none() { AVAILABLE } else { UNAVAILABLE };
    (status, Json(Readiness { ready, bases, data_directory, audit_log, stopping, problems })).into_response()
}

/// Read the metrics, in the format `OpenMetrics`.
#[utoipa::path(operation_id = "getMetrics", get, path = "/metrics", tag = "service", security(("token" = ["read"])),
    responses((status = 200, description = "The metrics", body = String, content_type = "application/openmetrics-text")))]
async fn metrics(State(api): State<Arc<Api>>) -> Response {
    api.boots.measure();
    monitoring::answer(&api.metrics, &api.store)
}
