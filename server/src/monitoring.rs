//! `/healthz`, `/readyz` and `/metrics` of programs without an API: for the kubelet and for Prometheus.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;

use crate::metrics::Metrics;
use crate::store::Store;

/// A program with health checks and metrics.
pub trait Monitored: Send + Sync + 'static {
    /// Returns why the program is not ready, as text; none if it is ready.
    fn not_ready(&self) -> Option<String>;

    /// Returns the store that the program serves, once it is open.
    fn store(&self) -> Option<Arc<Store>>;

    /// Returns the metrics.
    fn metrics(&self) -> &Metrics;
}

/// Returns the routes, for [`media::listen::Listener::serve`].
pub fn router(program: Arc<dyn Monitored>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(program)
}

async fn readyz(State(program): State<Arc<dyn Monitored>>) -> Response {
    match program.not_ready() {
        None => "ok\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn metrics(State(program): State<Arc<dyn Monitored>>) -> Response {
    let store = program.store();
    let bases = store.as_ref().map(|store| store.bases()).unwrap_or_default();
    let available = bases.iter().map(|base| (base.name().as_str(), base.available().is_some()));
    let images = store.as_ref().map_or(0, |store| store.images().len());
    program.metrics().answer(images, available)
}
