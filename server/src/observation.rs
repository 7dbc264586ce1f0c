//! `/healthz`, `/readyz` and `/metrics` of programs without an API: for the kubelet and for Prometheus.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use crate::metrics::Metrics;
use crate::store::Store;

/// What a program lets others see of it.
pub trait Observed: Send + Sync + 'static {
    /// Why it is not ready, for people; none when it is.
    fn not_ready(&self) -> Option<String>;

    /// What it serves, once that is open.
    fn store(&self) -> Option<Arc<Store>>;

    /// Its metrics.
    fn metrics(&self) -> &Metrics;
}

/// Answers, for [`media::listen::Listener::serve`].
pub fn router(observed: Arc<dyn Observed>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(observed)
}

async fn readyz(State(observed): State<Arc<dyn Observed>>) -> Response {
    match observed.not_ready() {
        None => "ok\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn metrics(State(observed): State<Arc<dyn Observed>>) -> Response {
    let store = observed.store();
    let bases = store.as_ref().map(|store| store.bases()).unwrap_or_default();
    let available = bases.iter().map(|base| (base.name().as_str(), base.available().is_some()));
    let images = store.as_ref().map_or(0, |store| store.images().len());
    let mut response = observed.metrics().encode(images, available).into_response();
    let media_type = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}
