//! `/v1/bases`: the bases of images.

mod change;
pub(super) mod order;
mod origin;
mod show;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;

pub(crate) use origin::BaseOrigin;
pub(crate) use show::{AvailableBase, BaseBody, UnavailableBase, bodies};

/// The routes.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(show::list, change::add))
        .routes(routes!(show::single, change::remove))
        .routes(routes!(change::stop))
}
