//! `/v1/boots`: booting hosts, watching that, and bringing their BMCs back to what they were.

mod create;
mod delete;
mod events;
mod list;
mod order;
mod prepare;
mod show;
mod single;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use super::problem::{Problem, ProblemKind};
use crate::boots::{Boot, CreateError, DeleteError};

/// The routes of boots.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(list::list, create::create))
        .routes(routes!(single::single, delete::delete))
        .routes(routes!(events::events))
}

/// The boot that a path names.
fn find(api: &Api, id: &str) -> Result<Arc<Boot>, Problem> {
    id.parse().ok().and_then(|id| api.boots.find(id)).ok_or_else(missing)
}

fn missing() -> Problem {
    Problem::new(ProblemKind::NotFound, DeleteError::Unknown.to_string())
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        let detail = error.to_string();
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let kind = match error {
            CreateError::Busy { .. } => ProblemKind::BootConflict,
            CreateError::SameBmc(..) | CreateError::Credentials { .. } | CreateError::Network { .. } => {
                ProblemKind::BmcRefused
            }
            CreateError::TooMany(_) => ProblemKind::TooManyBoots,
            CreateError::Write(cause) => return Self::storage(detail, &cause),
            CreateError::Internal(_) => ProblemKind::Internal,
        };
        let problem = Self::new(kind, detail);
        match cause {
            Some(cause) => problem.with_cause(cause),
            None => problem,
        }
    }
}

impl From<DeleteError> for Problem {
    fn from(error: DeleteError) -> Self {
        let detail = error.to_string();
        match error {
            DeleteError::Unknown => missing(),
            DeleteError::Write(cause) => Self::storage(detail, &cause),
        }
    }
}
