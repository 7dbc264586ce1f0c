//! `POST /v1/images?hosts=all`: an image for each host of a request.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, StreamExt as _};
use hosts::every_host::OneHost;
use http::StatusCode;
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;
use vocabulary::report::Report;

use super::build::{OrderedBase, Sealed};
use super::order::Order;
use super::show::{self, ImageBody};
use crate::api::problem::{Problem, ProblemBody};
use crate::api::{Api, blocking, documents};
use crate::audit::Actor;
use crate::findings::{FindingBody, findings};
use crate::store::{Publication, Store};

/// How many images dayone publishes as one group: their records reach the disk together.
const GROUP: usize = 64;

/// How many groups dayone publishes at a time. While some wait for the disk, others are planned.
const GROUPS_AT_ONCE: usize = 4;

/// The images of all hosts in the documents.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HostImages {
    /// The hosts, in the order of the documents.
    hosts: Vec<HostImage>,
    /// How many hosts have no image.
    failed: usize,
    /// Findings that are not about a single host.
    findings: Vec<FindingBody>,
}

/// The image of a host, or why it has none.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HostImage {
    /// The host's name in the documents; null for a host without a name.
    host: Option<String>,
    /// The status that a request for this host alone would have: 201 for a new image, 200 for an image that was published before,
    /// or the status of the problem.
    #[schema(example = 201)]
    status: u16,
    /// The image.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<ImageBody>,
    /// Why the host has no image.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemBody>,
}

/// All hosts of an order. Their networks are converted, and nothing is published yet.
pub(super) struct AllHosts {
    base: OrderedBase,
    order: Order,
    hosts: Vec<OneHost>,
    common: Report,
}

impl AllHosts {
    /// Reads the order's documents, and converts each host once.
    pub(super) fn prepare(store: &Store, mut order: Order) -> Result<Self, Problem> {
        let base = OrderedBase::find(store, &order.request)?;
        let documents = order.documents.take().unwrap_or_default();
        let each = documents::each_host(&documents, base.target(&order.request))?;
        base.check_available()?;
        order.check_copies(each.hosts.len())?;
        Ok(Self { base, order, hosts: each.hosts, common: each.common })
    }

    /// Publishes the images in groups.
    pub(super) async fn publish(self, api: &Arc<Api>, actor: &Actor) -> Result<Response, Problem> {
        let Self { base, order, mut hosts, common } = self;
        let ordered = Arc::new((base, order));
        let mut groups = Vec::with_capacity(hosts.len() / GROUP + 1);
        while !hosts.is_empty() {
            let rest = hosts.split_off(hosts.len().min(GROUP));
            groups.push(std::mem::replace(&mut hosts, rest));
        }
        let published = stream::iter(groups).map(|group| {
            let (api, actor, ordered) = (Arc::clone(api), actor.clone(), Arc::clone(&ordered));
            blocking(move || publish_group(&api, &actor, &ordered.0, &ordered.1, group))
        });
        let published: Vec<Result<Vec<HostImage>, Problem>> = published.buffered(GROUPS_AT_ONCE).collect().await;
        let mut hosts = Vec::new();
        for group in published {
            hosts.extend(group?);
        }
        let failed = hosts.iter().filter(|host| host.image.is_none()).count();
        let body = HostImages { hosts, failed, findings: findings(&common) };
        Ok((StatusCode::MULTI_STATUS, Json(body)).into_response())
    }
}

fn publish_group(api: &Api, actor: &Actor, base: &OrderedBase, order: &Order, group: Vec<OneHost>) -> Vec<HostImage> {
    let mut images = Vec::with_capacity(group.len());
    let mut outcomes = Vec::with_capacity(group.len());
    for OneHost { name, converted, findings } in group {
        let sealed: Result<(Sealed, Report), Problem> = match converted {
            Some((host, network)) => {
                base.compose(&api.media_url, order.clone(), Some((&host, network)), findings).and_then(|mut draft| {
                    let findings = std::mem::take(&mut draft.report);
                    Ok((draft.seal(&api.store)?, findings))
                })
            }
            None => Err(documents::host_refused(&findings)),
        };
        let findings = sealed.map(|(sealed, findings)| {
            images.push(sealed.into());
            findings
        });
        outcomes.push((name, findings));
    }
    let published = api.store.publish_group(images);
    for (image, publication) in published.iter().flatten() {
        actor.record(show::ordered(image, *publication));
    }
    let mut published = published.into_iter();
    let answer = |(name, findings): (Option<String>, Result<Report, Problem>)| {
        let outcome = findings.and_then(|findings| match published.next() {
            Some(published) => Ok((published?, findings)),
            None => Err(Problem::internal("an image without a result")),
        });
        match outcome {
            Ok(((image, publication), findings)) => HostImage {
                host: name,
                status: match publication {
                    Publication::Created => StatusCode::CREATED.as_u16(),
                    Publication::Existing => StatusCode::OK.as_u16(),
                },
                image: Some(show::image(&image, &api.media_url, findings)),
                problem: None,
            },
            Err(problem) => refused(api, name, problem),
        }
    };
    outcomes.into_iter().map(answer).collect()
}

fn refused(api: &Api, host: Option<String>, problem: Problem) -> HostImage {
    let kind = problem.kind();
    api.metrics.build_refused(kind.slug());
    let (problem, cause) = problem.into_parts();
    if let Some(cause) = cause {
        warn!(host, problem = kind.slug(), cause, "a host of a request for many has no image");
    }
    HostImage { host, status: kind.status().as_u16(), image: None, problem: Some(problem) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::request::DocumentRequest as _;

    #[test]
    fn what_each_image_gets_is_not_large_for_many_hosts() {
        for (size, hosts, expected) in
            [(1 << 20, 200, true), (1 << 20, 300, false), (20 << 10, 10_000, true), (3 << 20, 1, true)]
        {
            let text = "x".repeat(size);
            let request =
                format!(r#"{{"base": "a", "documents": "", "answers": {{"kind": "preseed", "text": "{text}"}}}}"#);
            let order = Order::from_json(request.as_bytes()).ok().unwrap();
            assert_eq!(order.check_copies(hosts).is_ok(), expected, "{size} {hosts}");
        }
    }
}
