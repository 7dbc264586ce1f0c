//! `POST /v1/check`: what is wrong with documents, without anything made of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, Request, State};
use axum::response::{IntoResponse as _, Response};
use hosts::every_host::Converted;
use hosts::network::{NMSTATE_VERSION, NetworkManagerVersion, Target};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocabulary::report::{Report, Severity};

use super::asked::Asked;
use super::images::open_base;
use super::problem::{Problem, ProblemBody, ProblemKind};
use super::user_documents::{AnyDocuments, DocumentsBody, UserDocuments};
use super::{Api, documents};
use crate::findings::{FindingBody, NetworkManagerBody, findings};
use crate::store::Store;

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Check)]
pub(super) struct CheckBody {
    /// The hosts that were found, in the order of the documents.
    hosts: Vec<HostBody>,
    /// Errors and warnings, in the order in which they were found.
    findings: Vec<FindingBody>,
    /// How many of them are errors. With one, no image is made.
    errors: usize,
    /// How many of them are warnings.
    warnings: usize,
    /// The version of nmstate that was asked.
    #[schema(example = "2.2.62")]
    nmstate_version: &'static str,
    /// The release of NetworkManager that the findings are about.
    network_manager: NetworkManagerBody,
}

/// A host of the documents.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckedHost)]
pub(super) struct HostBody {
    /// What the documents call the host; absent for `NMState` by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The host name that it gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
}

/// A check in JSON.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRequest {
    /// The user's documents, as text or as files.
    #[schema(value_type = DocumentsBody)]
    documents: UserDocuments,
    /// Only this one of the hosts in the documents, and what is wrong between the hosts.
    #[serde(default)]
    host: Option<String>,
    /// The name of a registered base that the hosts will start: check for the release of NetworkManager in it.
    #[serde(default)]
    base: Option<String>,
    /// The release of NetworkManager on the hosts, such as `1.54.0`, or its package's version: check for it. Not with `base`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    network_manager: Option<NetworkManagerVersion>,
}

/// What to check, beside the documents.
#[derive(Default, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
struct CheckQuery {
    /// Only this one of the hosts in the documents, where the body is the documents.
    host: Option<String>,
    /// The name of a registered base that the hosts will start: check for the release of NetworkManager in it.
    base: Option<String>,
    /// The release of NetworkManager on the hosts, such as `1.54.0`, or its package's version: check for it. Not with `base`.
    #[param(value_type = Option<String>)]
    network_manager: Option<NetworkManagerVersion>,
}

/// The route.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(check_documents))
}

/// Check documents: every host by itself, and the hosts against each other. Nothing is made, and nothing is stored.
///
/// A check that finds errors has succeeded. The body is a `CheckRequest` as `application/json`; or the documents, in YAML or
/// JSON, as `application/yaml`.
///
/// What the hosts' NetworkManager lacks depends on its release: that of `base`, or `network_manager`. Without both, and where
/// the base does not show which it has, 1.42 is assumed.
#[utoipa::path(operation_id = "checkDocuments", post, path = "/v1/check", tag = "findings",
    params(CheckQuery),
    request_body(description = "At most 4 MiB", content(
        (CheckRequest = "application/json"),
        (AnyDocuments = "application/yaml"),
    )),
    responses(
        (status = 200, description = "What was found, errors too", body = CheckBody),
        (status = 400, description = "The request cannot be understood (`malformed-request`, `wrong-parameter`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive (`incomplete-request`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large (`too-large`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "Not a content type that is read here (`unsupported-media-type`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The documents do not describe the host that is named (`unknown-host`, `several-hosts`, `no-host`), or there is no such base (`unknown-base`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The base is not available at the moment (`base-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn check_documents(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    let asked = Asked::receive(query.as_deref(), request, |query| {
        Ok(CheckQuery {
            host: query.one("host")?,
            base: query.one("base")?,
            network_manager: query.one("network_manager")?,
        })
    })
    .await?;
    let store = Arc::clone(&api.store);
    super::convert(&api, asked.size(), move || {
        let (documents, beside) = asked.understood(|request: CheckRequest| {
            let CheckRequest { documents, host, base, network_manager } = request;
            Ok((documents, CheckQuery { host, base, network_manager }))
        })?;
        // Findings of thousands of hosts take long to write down, too.
        checked(&documents, &beside, &store).map(|checked| Json(checked).into_response())
    })
    .await?
}

fn checked(documents: &UserDocuments, beside: &CheckQuery, store: &Store) -> Result<CheckBody, Problem> {
    let release = match (&beside.base, beside.network_manager) {
        (Some(_), Some(_)) => {
            let detail = "base and network_manager: give one of the two; the base says which NetworkManager it has";
            return Err(Problem::new(ProblemKind::WrongParameter, detail));
        }
        (Some(base), None) => open_base(store, base)?.base.network_manager_version(),
        (None, release) => release,
    };
    let Converted { hosts, report, .. } =
        documents::convert(documents, beside.host.as_deref(), Target::keyfiles(release))?;
    let hosts = hosts.into_iter().map(|(host, network)| {
        let hostname = network.map_or(host.hostname, |network| network.hostname);
        HostBody { name: host.name, hostname: hostname.map(|name| name.to_string()) }
    });
    Ok(CheckBody {
        hosts: hosts.collect(),
        findings: findings(&report),
        errors: count(&report, Severity::Error),
        warnings: count(&report, Severity::Warning),
        nmstate_version: NMSTATE_VERSION,
        network_manager: NetworkManagerBody::checked_for(release),
    })
}

fn count(report: &Report, severity: Severity) -> usize {
    report.findings().iter().filter(|finding| finding.severity == severity).count()
}
