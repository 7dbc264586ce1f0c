//! `/v1/images`: ordering, finding and releasing images.

mod build;
mod changes;
mod create;
mod delete;
mod digest;
mod embedded;
mod list;
mod order;
mod reading;
mod show;
mod single;
mod topology;

pub(super) use build::{Place, Sealed, Understood, open_base};
pub(super) use order::{JsonOrder, Order, OrderQuery, is_order};

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
        .routes(routes!(list::list, create::create))
        .routes(routes!(single::single, delete::delete))
        .routes(routes!(embedded::embedded))
        .routes(routes!(changes::changes))
        .routes(routes!(reading::reading))
        .routes(routes!(topology::topology))
        .routes(routes!(digest::digest))
}

/// The published image that a path names.
fn find(api: &Api, id: &str) -> Result<Arc<StoredImage>, Problem> {
    let id = parse_id(id)?;
    api.store.image(&id).ok_or_else(missing)
}

/// The plan of the image that a path names, if it can be served.
fn planned(api: &Api, id: &str) -> Result<Arc<PlannedImage>, Problem> {
    find(api, id)?.state().map_err(|reason| unavailable(&reason))
}

/// What is no identity is that of no image.
fn parse_id(id: &str) -> Result<RecipeId, Problem> {
    id.parse().map_err(|_| missing())
}

fn missing() -> Problem {
    Problem::new(ProblemKind::NotFound, "there is no image with this id: it was never made, or it was deleted")
}

/// The problem of an image that cannot be served.
fn unavailable(reason: &str) -> Problem {
    Problem::new(ProblemKind::BaseUnavailable, format!("the image cannot be served at the moment: {reason}"))
}
