//! `/v1/boots`: boots hosts, shows the progress, and restores their BMCs.

mod clients;
mod create;
mod events;
mod follow;
mod manage;
pub(super) mod order;
mod overview;
mod prepare;
mod show;

use std::sync::Arc;

pub(super) use follow::{BootChanges, FollowedBoots};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use super::problem::{Problem, ProblemKind};
use crate::boots::{Boot, CreateError, DeleteError};

/// The routes of boots.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(manage::list, create::create))
        .routes(routes!(manage::single, manage::delete))
        .routes(routes!(events::events))
        .routes(routes!(follow::follow))
}

/// Finds the boot with the id in a path.
fn find(api: &Api, id: &str) -> Result<Arc<Boot>, Problem> {
    id.parse().ok().and_then(|id| api.boots.find(id)).ok_or_else(unknown_id)
}

fn unknown_id() -> Problem {
    Problem::new(ProblemKind::NotFound, DeleteError::Unknown.to_string())
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        let kind = match &error {
            CreateError::Busy { .. } => ProblemKind::BootConflict,
            CreateError::SameBmc(..) | CreateError::Credentials { .. } | CreateError::Network { .. } => {
                ProblemKind::BmcRefused
            }
            CreateError::TooMany { .. } => ProblemKind::TooManyBoots,
            CreateError::Write(cause) => return Self::storage(error.to_string(), cause),
            CreateError::Internal(_) => ProblemKind::Internal,
        };
        Self::from_error(kind, &error)
    }
}

impl From<DeleteError> for Problem {
    fn from(error: DeleteError) -> Self {
        match &error {
            DeleteError::Unknown => unknown_id(),
            DeleteError::Write(cause) => Self::storage(error.to_string(), cause),
        }
    }
}
