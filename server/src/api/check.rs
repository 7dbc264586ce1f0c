//! `POST /v1/check`: checks documents without making anything from them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use hosts::every_host::Converted;
use hosts::network::{NMSTATE_VERSION, NetworkManagerVersion, Target};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocabulary::report::{Report, Severity};

use super::images::open_base;
use super::parameters::query_parameters;
use super::problem::{Problem, ProblemKind};
use super::request::{DocumentRequest, Received};
use super::user_documents::{AnyDocuments, DocumentsBody, UserDocuments, WorkbookDocuments};
use super::{Api, documents, json};
use crate::findings::{FindingBody, NetworkManagerBody, findings};
use crate::store::Store;

/// The result of a check.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Check)]
pub(super) struct CheckBody {
    /// The hosts in the documents, in their order.
    hosts: Vec<HostBody>,
    /// Errors and warnings, in the order in which dayone found them.
    findings: Vec<FindingBody>,
    /// The number of errors. dayone makes no image from documents with errors.
    errors: usize,
    /// The number of warnings.
    warnings: usize,
    /// The version of nmstate that converted the documents.
    #[schema(example = "2.2.62")]
    nmstate_version: &'static str,
    /// The release of NetworkManager for which dayone checked the documents.
    network_manager: NetworkManagerBody,
}

/// A host of the documents.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckedHost)]
pub(super) struct HostBody {
    /// The host's name in the documents; absent for `NMState` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The host name that the host gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
}

/// A request for a check.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRequest {
    /// The user's documents, as text or as files.
    #[schema(value_type = DocumentsBody)]
    documents: UserDocuments,
    /// Check only this host of the documents, and compare the hosts with each other.
    #[serde(default)]
    host: Option<String>,
    /// The name of a registered base that the hosts will boot: check for its release of NetworkManager.
    #[serde(default)]
    base: Option<String>,
    /// The release of NetworkManager on the hosts, such as `1.54.0`, or the version of its package. Not with `base`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    network_manager: Option<NetworkManagerVersion>,
}

query_parameters! {
    /// Options of a check.
    pub(super) struct CheckQuery {
        /// Check only this host of the documents, and compare the hosts with each other.
        host: Option<String>,
        /// The name of a registered base that the hosts will boot: check for its release of NetworkManager.
        base: Option<String>,
        /// The release of NetworkManager on the hosts, such as `1.54.0`, or the version of its package. Not with `base`.
        #[param(value_type = Option<String>)]
        network_manager: Option<NetworkManagerVersion>,
    }
}

impl DocumentRequest for CheckRequest {
    type Query = CheckQuery;

    fn from_query(query: CheckQuery, documents: UserDocuments) -> Result<Self, Problem> {
        let CheckQuery { host, base, network_manager } = query;
        Ok(Self { documents, host, base, network_manager })
    }

    fn from_json(body: &[u8]) -> Result<Self, Problem> {
        json::read(body)
    }

    fn documents(&self) -> Option<&UserDocuments> {
        Some(&self.documents)
    }
}

/// The route.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(check_documents))
}

/// Check documents: every host by itself, and the hosts against each other. The server stores nothing.
///
/// A check that finds errors is still a successful request. Send a `CheckRequest` as `application/json`, documents in YAML
/// or JSON as `application/yaml`, or an Excel workbook as such.
///
/// Which settings the hosts' NetworkManager supports depends on its release. dayone checks for the release of `base`, or for
/// `network_manager`. Without both, or if the base does not show its release, dayone assumes 1.42.
#[utoipa::path(operation_id = "checkDocuments", post, path = "/v1/check", tag = "findings",
    security(("token" = ["build"])),
    params(CheckQuery),
    request_body(description = "At most 4 MiB", content(
        (CheckRequest = "application/json"),
        (AnyDocuments = "application/yaml"),
        (WorkbookDocuments = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    )),
    responses(
        (status = 200, description = "The findings, including errors", body = CheckBody),
        (status = 422, description = "The documents do not describe the named host (`unknown-host`, `several-hosts`, `no-host`), or the base is unknown (`unknown-base`)"),
        (status = 503, description = "The base is not available (`base-unavailable`)"),
    ))]
async fn check_documents(State(api): State<Arc<Api>>, request: Received<CheckRequest>) -> Result<Response, Problem> {
    let store = Arc::clone(&api.store);
    // Serialising the findings of thousands of hosts takes long, so it is part of the work.
    request.process(&api, move |request| check(&request, &store).map(|check| Json(check).into_response())).await
}

fn check(request: &CheckRequest, store: &Store) -> Result<CheckBody, Problem> {
    let release = match (&request.base, request.network_manager) {
        (Some(_), Some(_)) => {
            let detail = "give either base or network_manager; the base determines the release of NetworkManager";
            return Err(Problem::new(ProblemKind::WrongParameter, detail));
        }
        (Some(base), None) => open_base(store, base)?.base.network_manager_version(),
        (None, release) => release,
    };
    let Converted { hosts, report, .. } =
        documents::convert(&request.documents, request.host.as_deref(), Target::keyfiles(release))?;
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
