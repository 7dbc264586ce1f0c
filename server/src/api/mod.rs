//! The operators' plane: `/v1/…`. There is one file or directory for each resource.

pub(crate) mod accept;
pub mod access;
pub(crate) mod bases;
mod boots;
mod check;
pub mod clients;
mod digest_queue;
mod documents;
mod explanations;
pub(crate) mod fuzzing;
mod health;
mod host_header;
pub(crate) mod images;
mod json;
mod keyfiles;
mod large_json;
mod local;
pub(crate) mod not_modified;
mod objects;
mod openapi;
pub(crate) mod origin;
mod parameters;
mod permissions;
pub mod problem;
mod problems;
mod queues;
pub(crate) mod rate_limits;
mod request;
mod sessions;
pub(crate) mod timestamp;
mod trace;
mod unread_body;
mod user_documents;

use std::sync::Arc;

use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use media::{MediaService, MediaUrl};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

use crate::audit::Audit;
use crate::bases::BaseFetches;
use crate::boots::Boots;
use crate::live::{MAX_FOLLOWERS, Publisher};
use crate::metrics::Metrics;
use crate::store::Store;
use access::{Access, AccessState};
use clients::Role;
use digest_queue::DigestQueue;
use permissions::Permissions;
use problem::{Problem, ProblemKind};
use queues::Queues;
use rate_limits::RateLimits;

pub use openapi::document;

/// The path of the description of the API, which does not describe itself.
const DESCRIPTION: &str = "/v1/openapi.json";

/// The state that all handlers share.
pub struct Api {
    pub(crate) store: Arc<Store>,
    media: MediaService,
    pub(crate) media_url: MediaUrl,
    pub(crate) boots: Boots,
    pub(crate) fetches: BaseFetches,
    metrics: Arc<Metrics>,
    pub(crate) stopping: CancellationToken,
    queues: Queues,
    digests: DigestQueue,
    followed_boots: Publisher<boots::FollowedBoots>,
    /// A place for each client that follows a single boot.
    boot_followers: Arc<Semaphore>,
}

impl Api {
    /// Makes the API of a store. `media` serves the store's images under `media_url`, `boots` boots hosts from them, and `fetches`
    /// adds bases. When `stopping` is cancelled, the API reports that it is not ready.
    pub fn new(
        store: Arc<Store>,
        media: MediaService,
        media_url: MediaUrl,
        boots: Boots,
        fetches: BaseFetches,
        metrics: Arc<Metrics>,
        stopping: CancellationToken,
    ) -> Self {
        let followed_boots = Publisher::new();
        Self {
            store,
            media,
            media_url,
            boots,
            fetches,
            metrics,
            stopping,
            queues: Queues::new(),
            digests: DigestQueue::new(),
            followed_boots,
            boot_followers: Arc::new(Semaphore::new(MAX_FOLLOWERS)),
        }
    }

    /// The router of the plane, for [`media::listen::Listener::serve`].
    ///
    /// `access` decides about all routes except `/healthz` and `/readyz`, which load balancers request. `page` has the routes of
    /// the page for browsers, which see to their access themselves. `limits` bounds the
    /// requests of each client, and `audit` records what clients change.
    pub fn into_router(
        self,
        access: Access,
        limits: RateLimits,
        audit: Audit,
        page: axum::Router<Arc<Self>>,
    ) -> axum::Router {
        let api = Arc::new(self);
        let (router, document) = protected().split_for_parts();
        let permissions = Permissions::of(&document).with(http::Method::GET, DESCRIPTION, Role::Read);
        let state = AccessState { access: access.clone(), permissions: Arc::new(permissions), audit: audit.clone() };
        let router = router
            .route(DESCRIPTION, get(openapi::get_document))
            .layer(axum::Extension(access))
            .route_layer(from_fn_with_state(state, access::check));
        let (open, _) = health::router().split_for_parts();
        let wrong_method = async || {
            Problem::new(ProblemKind::MethodNotAllowed, "this path does not support the method; see the Allow header")
        };
        router
            .merge(page)
            .fallback(async || nothing_here())
            .method_not_allowed_fallback(wrong_method)
            // After the fallbacks, so that wrong paths and methods count, too.
            .layer(from_fn_with_state(limits, rate_limits::limit))
            .merge(open.method_not_allowed_fallback(wrong_method).layer(axum::Extension(audit)))
            .layer(from_fn(host_header::check))
            .layer(from_fn(problem::translate))
            .layer(from_fn_with_state(Arc::clone(&api.metrics), trace::trace))
            .layer(from_fn(unread_body::read_on))
            .with_state(api)
    }
}

/// By this, commands recognise a path without an API also at servers from before [`ProblemKind::UnknownPath`].
pub(crate) const NOTHING_HERE: &str = "nothing exists at this path";

/// The answer to a path that nothing is at.
pub(crate) fn nothing_here() -> Problem {
    Problem::new(ProblemKind::UnknownPath, format!("{NOTHING_HERE}; see /v1/openapi.json"))
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

/// Does work that waits for a disk or keeps a processor busy, on a thread where that is allowed.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    // Fails only if `work` panics; the panic hook has logged where.
    tokio::task::spawn_blocking(work).await.map_err(|_| Problem::internal("a panic in blocking work"))
}
