//! `POST /v1/keyfiles`: converts documents without making an image.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use hosts::network::NMSTATE_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::parameters::query_parameters;
use super::problem::{Problem, ProblemKind};
use super::request::{DocumentRequest, Received};
use super::user_documents::{DocumentsBody, UserDocuments, WorkbookDocuments, YamlDocuments};
use super::{Api, documents, json};
use crate::findings::{FindingBody, findings};

/// The keyfiles of all hosts. It has no `Debug`, because keyfiles may hold passwords.
#[derive(Serialize, ToSchema)]
pub(super) struct Conversion {
    /// The hosts, in the order of the documents.
    hosts: Vec<HostBody>,
    /// Warnings. If there are errors, the answer is a problem.
    findings: Vec<FindingBody>,
    /// The version of nmstate that made the keyfiles. Another version may make other keyfiles.
    #[schema(example = "2.2.62")]
    nmstate_version: &'static str,
}

/// A host's keyfiles.
#[derive(Serialize, ToSchema)]
#[schema(as = HostKeyfiles)]
pub(super) struct HostBody {
    /// The host's name in the documents; absent for `NMState` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The host name that the host gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    /// NetworkManager's connection profiles, ordered by name.
    keyfiles: Vec<KeyfileBody>,
}

/// A connection profile of NetworkManager (`nm-settings-keyfile(5)`).
#[derive(Serialize, ToSchema)]
#[schema(as = Keyfile)]
pub(super) struct KeyfileBody {
    /// The file name.
    #[schema(example = "eth0.nmconnection")]
    name: String,
    /// The content. It holds the passwords in the documents.
    content: String,
}

/// A request for a conversion. Give either `documents` or `nmstate`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyfilesRequest {
    /// The user's documents, as text (such as `NMState`, or `BareMetalHost`s with their Secrets) or as files.
    #[serde(default)]
    #[schema(value_type = Option<DocumentsBody>)]
    documents: Option<UserDocuments>,
    /// The `NMState` of one host.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    nmstate: Option<Box<RawValue>>,
    /// Convert only this host of the documents.
    #[serde(default)]
    host: Option<String>,
}

query_parameters! {
    /// Selects what to convert.
    pub(super) struct KeyfilesQuery {
        /// Convert only this host of the documents.
        host: Option<String>,
    }
}

impl DocumentRequest for KeyfilesRequest {
    type Query = KeyfilesQuery;

    fn from_query(KeyfilesQuery { host }: KeyfilesQuery, documents: UserDocuments) -> Result<Self, Problem> {
        Ok(Self { documents: Some(documents), nmstate: None, host })
    }

    fn from_json(body: &[u8]) -> Result<Self, Problem> {
        json::read(body)
    }

    fn documents(&self) -> Option<&UserDocuments> {
        self.documents.as_ref()
    }
}

/// The route.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(convert))
}

/// Convert documents to keyfiles, and report findings. The server stores nothing.
///
/// Send a `KeyfilesRequest` as `application/json`, or documents in YAML or JSON as `application/yaml`.
#[utoipa::path(operation_id = "convertDocuments", post, path = "/v1/keyfiles", tag = "keyfiles",
    security(("token" = ["build"])),
    params(KeyfilesQuery),
    request_body(description = "At most 4 MiB", content(
        (KeyfilesRequest = "application/json"),
        (YamlDocuments = "application/yaml"),
        (WorkbookDocuments = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    )),
    responses(
        (status = 200, description = "The keyfiles", body = Conversion),
        (status = 422, description = "The documents have errors (`documents-refused`, `no-host`, `several-hosts`, `unknown-host`)"),
    ))]
async fn convert(State(api): State<Arc<Api>>, request: Received<KeyfilesRequest>) -> Result<Response, Problem> {
    request.process(&api, |request| conversion(request).map(|conversion| Json(conversion).into_response())).await
}

fn conversion(KeyfilesRequest { documents, nmstate, host }: KeyfilesRequest) -> Result<Conversion, Problem> {
    let documents = UserDocuments::either(documents, nmstate)?.ok_or_else(|| {
        let detail = "the request has neither documents nor nmstate; give one of them";
        Problem::new(ProblemKind::MalformedRequest, detail)
    })?;
    let (hosts, report) = documents::networks(&documents, host.as_deref())?;
    let hosts = hosts.into_iter().map(|(host, network)| HostBody {
        name: host.name,
        hostname: network.hostname.map(|name| name.to_string()),
        keyfiles: network
            .keyfiles
            .into_iter()
            .map(|keyfile| KeyfileBody { name: keyfile.name.to_string(), content: keyfile.content })
            .collect(),
    });
    Ok(Conversion { hosts: hosts.collect(), findings: findings(&report), nmstate_version: NMSTATE_VERSION })
}
