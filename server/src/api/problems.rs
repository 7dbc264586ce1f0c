//! `/v1/problems/{kind}`: what the `type` of a problem leads to.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use super::problem::{Problem, ProblemBody, ProblemKind};

/// A kind of problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProblemKind)]
pub(super) struct KindBody {
    /// The URI that problems of this kind have as their `type`.
    #[serde(rename = "type")]
    #[schema(example = "/v1/problems/several-hosts")]
    kind: String,
    /// What kind of problem it is, in a few words.
    title: &'static str,
    /// The status that goes with it.
    status: u16,
    /// When it arises.
    meaning: &'static str,
}

/// The route.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(problem))
}

/// Explain a kind of problem.
#[utoipa::path(operation_id = "getProblemKind", get,
    path = "/v1/problems/{kind}",
    tag = "service",
    params(("kind" = String, Path, description = "The last part of a problem's `type`", example = "several-hosts")),
    responses(
        (status = 200, description = "The kind", body = KindBody),
        (status = 404, description = "No such kind (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
async fn problem(Path(slug): Path<String>) -> Result<Json<KindBody>, Problem> {
    let kind = ProblemKind::ALL.iter().find(|kind| kind.slug() == slug);
    let kind = kind.ok_or_else(|| Problem::new(ProblemKind::NotFound, "there is no such kind of problem"))?;
    Ok(Json(KindBody {
        kind: kind.uri(),
        title: kind.title(),
        status: kind.status().as_u16(),
        meaning: kind.meaning(),
    }))
}
