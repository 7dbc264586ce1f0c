//! `GET /v1/boots`

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::show::{self, BootBody};
use crate::api::Api;
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemBody, ProblemKind};
use crate::boots::BootId;

/// Boots on a page, where nothing is said.
const USUAL: usize = 100;
/// Boots on a page at most.
const MOST: usize = 1000;

/// A page of boots.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BootList {
    /// The boots, in the order in which they were asked for.
    boots: Vec<BootBody>,
    /// What to give as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Which boots.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "documents what the handler reads")]
pub(super) struct Page {
    /// How many boots at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// Only boots behind this one: the `next` of the page before.
    #[param(pattern = "^[0-9a-v]{16}$")]
    after: Option<String>,
    /// Only boots of the host that the documents call so.
    host: Option<String>,
    /// `true`: only boots that have ended; `false`: only those that have not.
    ended: Option<bool>,
}

/// List boots.
#[utoipa::path(operation_id = "listBoots", get,
    path = "/v1/boots",
    tag = "boots",
    params(Page),
    responses(
        (status = 200, description = "A page of boots", body = BootList),
        (status = 400, description = "A wrong parameter (`wrong-parameter`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Result<Json<BootList>, Problem> {
    let mut query = Parameters::new(query.as_deref());
    let limit = query.one("limit")?.unwrap_or(USUAL);
    let after = query.one::<BootId>("after")?;
    let host = query.one::<String>("host")?;
    let ended = query.one::<bool>("ended")?;
    query.finish()?;
    if !(1..=MOST).contains(&limit) {
        let detail = format!("limit: a page has 1 to {MOST} boots");
        return Err(Problem::new(ProblemKind::WrongParameter, detail));
    }
    let views = api.boots.all().into_iter().filter(|boot| after.is_none_or(|after| boot.id() > after));
    let mut views = views.map(|boot| boot.view()).filter(|view| {
        let record = &view.record;
        (host.is_none() || record.host == host) && ended.is_none_or(|ended| record.is_ended() == ended)
    });
    let boots: Vec<_> = views.by_ref().take(limit).collect();
    let next = boots.last().filter(|_| views.next().is_some()).map(|view| view.record.id.to_string());
    Ok(Json(BootList { boots: boots.iter().map(show::boot).collect(), next }))
}
