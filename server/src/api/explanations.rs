//! `/v1/explanations`: explains the codes of findings.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocabulary::report::{Explanation, explain, explanations};

use super::Api;
use super::parameters::NoQuery;
use super::problem::{Problem, ProblemKind};

/// All explanations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Explanations)]
pub(super) struct ListBody {
    /// The explanations, sorted by code.
    explanations: &'static [Explanation],
}

/// The routes.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(single))
}

/// Explain all codes of findings.
#[utoipa::path(operation_id = "listExplanations", get, path = "/v1/explanations", tag = "findings",
    security(("token" = ["read"])),
    responses(
        (status = 200, description = "The explanations", body = ListBody),
        (status = 400, description = "The query has a parameter (`wrong-parameter`)"),
    ))]
async fn list(_: NoQuery) -> Json<ListBody> {
    Json(ListBody { explanations: explanations() })
}

/// Explain a finding's code.
#[utoipa::path(operation_id = "getExplanation", get, path = "/v1/explanations/{code}", tag = "findings",
    security(("token" = ["read"])),
    params(("code" = String, Path, description = "The `code` of a finding", example = "ip-not-enabled")),
    responses(
        (status = 200, description = "The explanation", body = Explanation),
        (status = 404, description = "The code is unknown (`not-found`)"),
    )
)]
async fn single(Path(code): Path<String>, _: NoQuery) -> Result<Json<&'static Explanation>, Problem> {
    let explanation = explain(&code);
    explanation
        .map(Json)
        .ok_or_else(|| Problem::new(ProblemKind::NotFound, "this code is unknown; /v1/explanations lists all codes"))
}
