//! The operators' plane: `/v1/…`. One file per resource; what all of them share is beside them.

mod accept;
mod access;
mod asked;
mod bases;
mod body;
mod boots;
mod check;
mod content;
mod documents;
mod explanations;
mod health;
mod images;
mod json;
mod keyfiles;
mod lanes;
mod openapi;
mod parameters;
pub mod problem;
mod problems;
mod timestamp;
pub mod tokens;
mod trace;
mod user_documents;

use std::sync::Arc;

use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use media::{MediaService, MediaUrl};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

use crate::boots::Boots;
use crate::metrics::Metrics;
use crate::store::Store;
use lanes::Lanes;
use problem::{Problem, ProblemKind};
use tokens::ApiTokens;

pub use openapi::document;

/// How many digests of images are computed at once. Each keeps a processor busy for seconds, which the BMCs need too.
const DIGESTS_AT_ONCE: usize = 1;

/// What all handlers share.
pub struct Api {
    store: Arc<Store>,
    media: MediaService,
    media_url: MediaUrl,
    boots: Boots,
    metrics: Arc<Metrics>,
    stopping: CancellationToken,
    lanes: Lanes,
    digests: Arc<Semaphore>,
}

impl Api {
    /// The plane over a store whose images `media` serves under `media_url`, and `boots` boots hosts from. When `stopping` is cancelled, it is no
    /// longer ready.
    pub fn new(
        store: Arc<Store>,
        media: MediaService,
        media_url: MediaUrl,
        boots: Boots,
        metrics: Arc<Metrics>,
        stopping: CancellationToken,
    ) -> Self {
        let lanes = Lanes::new();
        let digests = Arc::new(Semaphore::new(DIGESTS_AT_ONCE));
        Self { store, media, media_url, boots, metrics, stopping, lanes, digests }
    }

    /// The router of the plane, for [`media::listen::Listener::serve`].
    ///
    /// All of it needs one of `tokens`, but what a load balancer must be able to ask: `/healthz` and `/readyz`.
    pub fn into_router(self, tokens: ApiTokens) -> axum::Router {
        let api = Arc::new(self);
        let (router, document) = protected().split_for_parts();
        // Made once: it is the same at every request.
        let document = openapi::to_json(&document);
        let router = router
            .route("/v1/openapi.json", get(move || std::future::ready(openapi::answer(document.clone()))))
            .route_layer(from_fn_with_state(Arc::new(tokens), access::check));
        let (open, _) = unprotected().split_for_parts();
        router
            .merge(open)
            .fallback(async || {
                Problem::new(ProblemKind::NotFound, "nothing is served at this path; see /v1/openapi.json")
            })
            .method_not_allowed_fallback(async || {
                Problem::new(ProblemKind::MethodNotAllowed, "this path does not know the method; see the Allow header")
            })
            .layer(from_fn(problem::translate))
            .layer(from_fn_with_state(Arc::clone(&api.metrics), trace::trace))
            .with_state(api)
    }
}

fn protected() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::with_openapi(openapi::description())
        .merge(bases::router())
        .merge(boots::router())
        .merge(check::router())
        .merge(explanations::router())
        .merge(images::router())
        .merge(keyfiles::router())
        .merge(problems::router())
        .merge(health::metrics_router())
}

fn unprotected() -> OpenApiRouter<Arc<Api>> {
    health::router()
}

/// Does work on a body of `size` bytes when its turn has come. The turn ends with the work, even if the client does not
/// wait for it.
async fn convert<T: Send + 'static>(
    api: &Api,
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let turn = api.lanes.turn(size).await.map_err(Problem::internal)?;
    blocking(move || {
        let _turn = turn;
        work()
    })
    .await
}

/// Does work that waits for a disk, or keeps a processor busy, where waiting is allowed.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    // Fails only if `work` panics; the panic hook has logged where.
    tokio::task::spawn_blocking(work).await.map_err(|_| Problem::internal("a panic in work that blocks"))
}
