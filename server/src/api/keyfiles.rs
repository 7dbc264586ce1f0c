//! `POST /v1/keyfiles`: what becomes of documents, without an image.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, Request, State};
use axum::response::{IntoResponse as _, Response};
use hosts::network::NMSTATE_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::asked::Asked;
use super::documents::Networks;
use super::problem::{Problem, ProblemBody, ProblemKind};
use super::user_documents::{DocumentsBody, UserDocuments, YamlDocuments};
use super::{Api, content, documents};
use crate::findings::{FindingBody, findings};

/// The keyfiles of all hosts.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Conversion {
    /// The hosts, in the order of the documents.
    hosts: Vec<HostBody>,
    /// Warnings. Errors are a problem.
    findings: Vec<FindingBody>,
    /// The version of nmstate that made the keyfiles. Another one may make other ones.
    #[schema(example = "2.2.62")]
    nmstate_version: &'static str,
}

/// A host's keyfiles.
#[derive(Serialize, ToSchema)]
#[schema(as = HostKeyfiles)]
pub(super) struct HostBody {
    /// What the documents call the host; absent for `NMState` by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The host name that it gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    /// NetworkManager's connection profiles, ordered by name.
    keyfiles: Vec<KeyfileBody>,
}

impl std::fmt::Debug for HostBody {
    /// Without the keyfiles, which may hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostBody").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A connection profile of NetworkManager (`nm-settings-keyfile(5)`).
#[derive(Serialize, ToSchema)]
#[schema(as = Keyfile)]
pub(super) struct KeyfileBody {
    /// File name.
    #[schema(example = "eth0.nmconnection")]
    name: String,
    /// Content. Holds the passwords that the documents hold.
    content: String,
}

/// A conversion in JSON. Give `documents` or `nmstate`, one of them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyfilesRequest {
    /// The user's documents: as text, such as `NMState` or `BareMetalHost`s with their Secrets, or as files.
    #[serde(default)]
    #[schema(value_type = Option<DocumentsBody>)]
    documents: Option<UserDocuments>,
    /// `NMState` of one host.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    nmstate: Option<Box<RawValue>>,
    /// Only this one of the hosts in the documents.
    #[serde(default)]
    host: Option<String>,
}

/// What to convert.
#[derive(Default, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
struct KeyfilesQuery {
    /// Only this one of the hosts in the documents, where the body is the documents.
    host: Option<String>,
}

/// The route.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(convert))
}

/// Convert documents to keyfiles, and report on them. Nothing is stored.
///
/// The body is a `KeyfilesRequest` as `application/json`; or the documents, in YAML or JSON, as `application/yaml`.
#[utoipa::path(operation_id = "convertDocuments", post, path = "/v1/keyfiles", tag = "keyfiles",
    params(KeyfilesQuery),
    request_body(description = "At most 4 MiB", content(
        (KeyfilesRequest = "application/json"),
        (YamlDocuments = "application/yaml"),
    )),
    responses(
        (status = 200, description = "The keyfiles", body = Conversion),
        (status = 400, description = "The request cannot be understood (`malformed-request`, `wrong-parameter`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive (`incomplete-request`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large (`too-large`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "Not a content type that is read here (`unsupported-media-type`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The documents are wrong (`documents-refused`, `no-host`, `several-hosts`, `unknown-host`)", body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn convert(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    let asked =
        Asked::receive(query.as_deref(), request, |query| Ok(KeyfilesQuery { host: query.one("host")? })).await?;
    super::convert(&api, asked.size(), move || {
        let (headers, body) = (asked.headers.clone(), asked.body.clone());
        let (documents, KeyfilesQuery { host }) = asked.understood(from_request)?;
        let networks = documents::networks(&documents, host.as_deref());
        networks
            .map(|networks| conversion(networks).into_response())
            .map_err(|problem| content::hint(problem, &headers, &body))
    })
    .await?
}

fn from_request(request: KeyfilesRequest) -> Result<(UserDocuments, KeyfilesQuery), Problem> {
    let documents = match (request.documents, request.nmstate) {
        (Some(documents), None) => documents,
        (None, Some(nmstate)) => String::from(Box::<str>::from(nmstate)).into(),
        (None, None) | (Some(_), Some(_)) => {
            let detail = "give the host's network as documents or as nmstate, one of them";
            return Err(Problem::new(ProblemKind::MalformedRequest, detail));
        }
    };
    Ok((documents, KeyfilesQuery { host: request.host }))
}

fn conversion(Networks { hosts, report }: Networks) -> Json<Conversion> {
    let hosts = hosts.into_iter().map(|(name, network)| HostBody {
        name,
        hostname: network.hostname.map(|name| name.to_string()),
        keyfiles: network
            .keyfiles
            .into_iter()
            .map(|keyfile| KeyfileBody { name: keyfile.name.to_string(), content: keyfile.content })
            .collect(),
    });
    Json(Conversion { hosts: hosts.collect(), findings: findings(&report), nmstate_version: NMSTATE_VERSION })
}
