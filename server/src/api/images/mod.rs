//! `/v1/images`: orders, shows and deletes images.

mod access;
mod build;
mod create;
mod create_all;
mod digest;
mod manage;
mod order;
mod reading;
mod secure_boot;
pub(crate) mod show;
mod topology;

pub(super) use build::{Draft, OrderedBase, Sealed, open_base};
pub(super) use order::{ImageRequest, Order, OrderQuery};

use std::sync::Arc;

use imagelib::recipe::RecipeId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use super::problem::{Problem, ProblemKind};
use crate::store::{PlannedImage, StoredImage};

/// The routes of images.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(manage::list, create::create))
        .routes(routes!(manage::single, manage::delete))
        .routes(routes!(manage::embedded))
        .routes(routes!(manage::changes))
        .routes(routes!(secure_boot::secure_boot))
        .routes(routes!(reading::reading))
        .routes(routes!(topology::topology))
        .routes(routes!(digest::digest))
}

/// Finds the published image with the id in a path.
fn find(api: &Api, id: &str) -> Result<Arc<StoredImage>, Problem> {
    let id = parse_id(id)?;
    api.store.image(&id).ok_or_else(unknown_id)
}

/// Returns the plan of the image with the id in a path, if the server can serve it.
fn planned(api: &Api, id: &str) -> Result<Arc<PlannedImage>, Problem> {
    find(api, id)?.state().map_err(|reason| unavailable(&reason))
}

/// Parses the id in a path. An id that does not parse matches no image.
fn parse_id(id: &str) -> Result<RecipeId, Problem> {
    id.parse().map_err(|_| unknown_id())
}

fn unknown_id() -> Problem {
    Problem::new(ProblemKind::NotFound, "no image has this id: it was never made, or it was deleted")
}

/// The problem of an image that the server cannot serve.
fn unavailable(reason: &str) -> Problem {
    Problem::new(ProblemKind::BaseUnavailable, format!("the server cannot serve the image at the moment: {reason}"))
}
