//! `/`: all boots, and a place for documents.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::board::{Board, Groups, Headline};
use super::filter::{Filter, Page};
use super::piece::piece;
use super::row::Row;
use super::shell::{Shell, html};
use crate::api::problem::Problem;
use crate::api::{Api, blocking};
use crate::boots::{Listed, Listing};
use crate::live::{Content, Piece};

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview<'a> {
    shell: &'a Shell,
    current: &'static str,
    headline: &'a Headline,
    groups: &'a Groups,
    rows: &'a Page<Row>,
    /// The query of the events.
    query: String,
    filter: &'a Filter,
    /// The bases that are available, with the formats that can be made from each.
    bases: Vec<(String, String)>,
}

/// Shows all boots.
pub(super) async fn overview(
    State(api): State<Arc<Api>>,
    Extension(shell): Extension<Shell>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    blocking(move || {
        let filter = Filter::of(query.as_deref());
        let listing = api.boots.listing();
        let Board { headline, groups, rows } = Board::of(&listing, &filter);
        let rows = rows.map(|listed| Row::new(&api, listed));
        let view = Overview {
            shell: &shell,
            current: "boots",
            headline: &headline,
            groups: &groups,
            rows: &rows,
            query: filter.query(filter.page),
            filter: &filter,
            bases: bases(&api),
        };
        html(&view)
    })
    .await
}

fn bases(api: &Api) -> Vec<(String, String)> {
    let bases = api.store.bases().into_iter().filter_map(|base| {
        let open = base.available()?;
        let formats: Vec<String> = open.base.formats().iter().map(ToString::to_string).collect();
        (!formats.is_empty()).then(|| (base.name().to_string(), formats.join(" ")))
    });
    bases.collect()
}

/// The parts that change while the view is open.
pub(super) fn content(listing: &Listing, filter: &Filter, row: impl FnMut(&Listed) -> Piece) -> Content {
    let Board { headline, groups, rows } = Board::of(listing, filter);
    Content {
        elements: vec![piece("headline", &headline), piece("groups", &groups), piece("pager", &rows.pager())],
        rows: Some(rows.entries.into_iter().map(row).collect()),
    }
}

/// The row of a boot. Waits for the disk: the first time, this reads directories of the image.
pub(super) fn row(api: &Api, listed: &Listed) -> Piece {
    let row = Row::new(api, listed);
    piece(&format!("boot-{}", row.id), &row)
}
