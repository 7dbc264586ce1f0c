//! `GET /v1/images`

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::show::{SummaryBody, summary};
use crate::api::Api;
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemBody, ProblemKind};

/// Images on a page, where nothing is said.
const USUAL: usize = 100;
/// Images on a page at most.
const MOST: usize = 1000;

/// A page of images.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ImageList {
    /// The images, ordered by id. Without their URLs, which are credentials.
    images: Vec<SummaryBody>,
    /// What to give as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Which page.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "documents what the handler reads")]
pub(super) struct Page {
    /// How many images at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// Only images behind this one: the `next` of the page before.
    #[param(pattern = "^[0-9a-f]{64}$")]
    after: Option<String>,
}

/// List images.
#[utoipa::path(operation_id = "listImages", get,
    path = "/v1/images",
    tag = "images",
    params(Page),
    responses(
        (status = 200, description = "A page of images", body = ImageList),
        (status = 400, description = "A wrong parameter (`wrong-parameter`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Result<Json<ImageList>, Problem> {
    let mut query = Parameters::new(query.as_deref());
    let limit = query.one("limit")?.unwrap_or(USUAL);
    let after = query.one::<imagelib::recipe::RecipeId>("after")?;
    query.finish()?;
    if !(1..=MOST).contains(&limit) {
        let detail = format!("limit: a page has 1 to {MOST} images");
        return Err(Problem::new(ProblemKind::WrongParameter, detail));
    }
    let images = api.store.images();
    let first = after.map_or(0, |after| images.partition_point(|image| image.id() <= after));
    let mut rest = images.iter().skip(first);
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let next = page.last().filter(|_| rest.next().is_some()).map(|image| image.id().to_string());
    Ok(Json(ImageList { images: page.into_iter().map(|image| summary(image)).collect(), next }))
}
