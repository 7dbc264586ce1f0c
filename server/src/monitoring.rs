//! `/healthz`, `/readyz` and `/metrics` of programs without an API: for the kubelet and for Prometheus.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;

use crate::metrics::{BaseValues, Metrics};
use crate::store::{BaseName, ReplacedBase, Store};

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
    match program.store() {
        Some(store) => answer(program.metrics(), &store),
        None => program.metrics().answer(0, std::iter::empty()),
    }
}

/// Answers with the metrics of a program, with those of its store.
pub(crate) fn answer(metrics: &Metrics, store: &Store) -> Response {
    let mut orphaned: BTreeMap<BaseName, usize> = BTreeMap::new();
    for ReplacedBase { name, images, .. } in store.replaced_bases() {
        *orphaned.entry(name).or_default() += images;
    }
    let (bases, missing) = (store.bases(), store.missing_bases());
    let registered = bases.iter().map(|base| BaseValues {
        name: base.name().as_str(),
        is_available: base.available().is_some(),
        changes: base.changes(),
        orphaned_images: orphaned.get(base.name()).copied().unwrap_or_default(),
    });
    // The controller has only the bases whose files it finds. An alert must see that one of them is away.
    let missing = missing.iter().map(|name| BaseValues {
        name: name.as_str(),
        is_available: false,
        changes: 0,
        orphaned_images: 0,
    });
    metrics.answer(store.images().len(), registered.chain(missing))
}
