//! `/v1/problems/{kind}`: explains the `type` of a problem.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use super::parameters::NoQuery;
use super::problem::{Problem, ProblemKind};

/// A kind of problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProblemKind)]
pub(super) struct KindBody {
    /// The `type` of problems of this kind.
    #[serde(rename = "type")]
    #[schema(example = "/v1/problems/several-hosts")]
    kind: String,
    /// The kind of problem in a few words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// When it occurs, and what to do.
    meaning: &'static str,
}

/// The route.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(problem))
}

/// Explain a kind of problem.
#[utoipa::path(operation_id = "getProblemKind", get, path = "/v1/problems/{kind}", tag = "service",
    security(("token" = ["read"])),
    params(("kind" = String, Path, description = "The last part of a problem's `type`", example = "several-hosts")),
    responses(
        (status = 200, description = "The kind", body = KindBody),
        (status = 404, description = "The kind of problem is unknown (`not-found`)"),
    ))]
async fn problem(Path(slug): Path<String>, _: NoQuery) -> Result<Json<KindBody>, Problem> {
    let kind = ProblemKind::ALL.iter().find(|kind| kind.slug() == slug);
    let kind = kind.ok_or_else(|| Problem::new(ProblemKind::NotFound, "this kind of problem is unknown"))?;
    Ok(Json(KindBody {
        kind: kind.uri(),
        title: kind.title(),
        status: kind.status().as_u16(),
        meaning: kind.meaning(),
    }))
}
