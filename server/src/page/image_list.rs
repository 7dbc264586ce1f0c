//! `/images`: the published images.

use std::cmp::Reverse;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::filter::{Filter, Page};
use super::moment::Moment;
use super::shell::{Shell, html};
use crate::api::images::show::{SummaryBody, summary};
use crate::api::problem::Problem;
use crate::api::{Api, blocking};
use crate::units::bytes;

#[derive(Template)]
#[template(path = "images.html")]
struct ImageList<'a> {
    shell: &'a Shell,
    current: &'static str,
    filter: &'a Filter,
    images: &'a Page<Line>,
}

struct Line {
    id: String,
    name: String,
    base: String,
    format: String,
    size: String,
    created: Moment,
    /// Why the server cannot serve it.
    trouble: Option<String>,
}

/// Lists the images, the newest first.
pub(super) async fn images(
    State(api): State<Arc<Api>>,
    Extension(shell): Extension<Shell>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    blocking(move || {
        let filter = Filter::of(query.as_deref());
        let mut images = api.store.images();
        images.retain(|image| filter.finds(image.label().unwrap_or_default()));
        images.sort_by_key(|image| Reverse(image.created()));
        let page = filter.select(images).map(|image| line(summary(&image)));
        html(&ImageList { shell: &shell, current: "images", filter: &filter, images: &page })
    })
    .await
}

fn line(image: SummaryBody) -> Line {
    Line {
        name: name(&image),
        id: image.id,
        base: image.base.unwrap_or_default(),
        format: image.format.to_string(),
        size: image.size.map(bytes).unwrap_or_default(),
        created: Moment::of(image.created),
        trouble: image.reason,
    }
}

/// The host's name, or the beginning of the id.
pub(super) fn name(image: &SummaryBody) -> String {
    image.label.clone().unwrap_or_else(|| image.id.chars().take(12).collect())
}
