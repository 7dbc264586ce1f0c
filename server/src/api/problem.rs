//! What the API says when it cannot do what it was asked: problem details (RFC 9457), of one type for all endpoints.

use std::fmt;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::report::Report;

use crate::findings::{FindingBody, findings};
use crate::store::StorageTrouble;

/// The kinds of problems: each has a slug that is stable, a title, a status, and what to do about it.
macro_rules! problem_kinds {
    ($(#[doc = $doc:literal] $name:ident = $status:ident, $slug:literal, $title:literal;)*) => {
        /// A kind of problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ProblemKind {
            $(#[doc = $doc] $name,)*
        }

        impl ProblemKind {
            /// All kinds, in the order in which a request meets them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The stable name, in kebab case.
            pub fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// What kind of problem it is, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// When it arises, and what to do.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $doc.trim_ascii(),)* }
            }

            /// The status that goes with it.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }
        }
    };
}

problem_kinds! {
    /// No bearer token, or a wrong one.
    Unauthorized = UNAUTHORIZED, "unauthorized", "A valid bearer token is needed";
    /// Without a token, only programs of this machine may use the API, and no page in a browser.
    ForeignOrigin = FORBIDDEN, "foreign-origin", "Not from a browser, and not under another name";
    /// Nothing lives at this path.
    NotFound = NOT_FOUND, "not-found", "Not found";
    /// Something lives here, and it knows other methods.
    MethodNotAllowed = METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed";
    /// The query is wrong.
    WrongParameter = BAD_REQUEST, "wrong-parameter", "A parameter is wrong";
    /// The body's content type is not one that is read here.
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported content type";
    /// The body is too large.
    TooLarge = PAYLOAD_TOO_LARGE, "too-large", "The request is too large";
    /// The body did not arrive in time, or not whole.
    IncompleteRequest = REQUEST_TIMEOUT, "incomplete-request", "The request did not arrive";
    /// The JSON of the request is not JSON, or not that of a request.
    MalformedRequest = BAD_REQUEST, "malformed-request", "The request cannot be understood";
    /// No base has this name.
    UnknownBase = UNPROCESSABLE_ENTITY, "unknown-base", "There is no such base";
    /// The documents describe no host.
    NoHost = UNPROCESSABLE_ENTITY, "no-host", "The documents describe no host";
    /// The documents describe several hosts and the request does not say which one is meant.
    SeveralHosts = UNPROCESSABLE_ENTITY, "several-hosts", "The documents describe several hosts";
    /// The documents do not describe the host that the request names.
    UnknownHost = UNPROCESSABLE_ENTITY, "unknown-host", "The documents do not describe this host";
    /// The documents are wrong; `findings` says where and how.
    DocumentsRefused = UNPROCESSABLE_ENTITY, "documents-refused", "The documents are wrong";
    /// What shall be embedded is larger than the base has room for; `needed` and `available` are in bytes.
    DoesNotFit = UNPROCESSABLE_ENTITY, "does-not-fit", "It does not fit into the base";
    /// This base cannot be customised in the way that was asked for.
    ImageRefused = UNPROCESSABLE_ENTITY, "image-refused", "No such image can be made over this base";
    /// The same image was published before, in a way that this version cannot go on with. Delete it first.
    ImageConflict = CONFLICT, "image-conflict", "The image is there already, in another form";
    /// The request does not say which BMC a host has, or what logs in there; or dayone drives no BMC there.
    BmcRefused = UNPROCESSABLE_ENTITY, "bmc-refused", "The BMC cannot be driven";
    /// Another boot drives the BMC. Delete that one first: it ejects its medium.
    BootConflict = CONFLICT, "boot-conflict", "The BMC is driven by another boot";
    /// As many boots are under way as this server takes.
    TooManyBoots = SERVICE_UNAVAILABLE, "too-many-boots", "Too many boots are under way";
    /// A boot has the image inserted, or is about to. Delete the boot first: it ejects the image.
    ImageInUse = CONFLICT, "image-in-use", "A host boots from the image";
    /// The base is known, and its file is missing or was changed.
    BaseUnavailable = SERVICE_UNAVAILABLE, "base-unavailable", "The base is not available";
    /// The server's data directory is full, or its quota is used up. What was asked for was not stored.
    StorageFull = INSUFFICIENT_STORAGE, "storage-full", "The data directory is full";
    /// The server's data directory cannot be written, was removed, or another one is in its place. What was asked for was not stored.
    StorageUnavailable = SERVICE_UNAVAILABLE, "storage-unavailable", "The data directory cannot be used";
    /// dayone is stopping.
    Stopping = SERVICE_UNAVAILABLE, "stopping", "The server is stopping";
    /// The fault is dayone's or the machine's; its log says more, under the request's id.
    Internal = INTERNAL_SERVER_ERROR, "internal", "Internal error";
}

impl ProblemKind {
    /// The URI of the kind (RFC 9457 §3.1.1): a reference relative to the server, which answers there what it means.
    pub fn uri(self) -> String {
        format!("/v1/problems/{}", self.slug())
    }
}

/// Problem details as they are sent (RFC 9457 §3.1), as `application/problem+json`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// The kind of problem: `/v1/problems/` and a stable name, such as `/v1/problems/documents-refused`.
    #[serde(rename = "type")]
    #[schema(example = "/v1/problems/documents-refused")]
    kind: String,
    /// The kind of problem in a few words.
    title: &'static str,
    /// The HTTP status.
    #[schema(example = 422)]
    status: u16,
    /// What is wrong this time, and what to do.
    detail: String,
    /// What was found in the documents, if it was them. Errors and warnings, in the order of the documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingBody>,
    /// The names that would have been right: hosts in the documents, or bases.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<Vec<String>>,
    /// How many bytes are needed, where something does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<u64>,
    /// How many bytes there are, where something does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<u64>,
}

/// Why a request is refused: what the client is told, and apart from it, what only the log is told.
#[derive(Debug)]
pub struct Problem {
    kind: ProblemKind,
    body: Box<ProblemBody>,
    cause: Option<String>,
}

/// The part of a problem that goes into the log, left among the response's extensions.
#[derive(Debug, Clone)]
pub struct LoggedProblem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// What the client is not told.
    pub cause: Option<String>,
}

impl Problem {
    /// A problem of a kind, and what is wrong this time.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        let body = ProblemBody {
            kind: kind.uri(),
            title: kind.title(),
            status: kind.status().as_u16(),
            detail: detail.into(),
            findings: Vec::new(),
            known: None,
            needed: None,
            available: None,
        };
        Self { kind, body: Box::new(body), cause: None }
    }

    /// A fault of dayone or of the machine. The client learns that there was one, the log learns the cause.
    pub fn internal(cause: impl fmt::Display) -> Self {
        let detail = "dayone could not do this; its log says why, under the id of this request (header X-Request-Id)";
        Self::new(ProblemKind::Internal, detail).with_cause(cause)
    }

    /// The data directory could not be used. `detail` is what the client is told, `cause` is for the log.
    pub fn storage(detail: impl Into<String>, cause: &std::io::Error) -> Self {
        let kind = if StorageTrouble::of(cause).is_full() {
            ProblemKind::StorageFull
        } else {
            ProblemKind::StorageUnavailable
        };
        Self::new(kind, detail).with_cause(cause)
    }

    /// With what only the log is told.
    #[must_use]
    pub fn with_cause(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// With one more sentence in the detail.
    #[must_use]
    pub fn with_more(mut self, more: &str) -> Self {
        self.body.detail = format!("{}; {more}", self.body.detail);
        self
    }

    /// With what was found in the documents.
    #[must_use]
    pub fn with_findings(mut self, report: &Report) -> Self {
        self.body.findings = findings(report);
        self
    }

    /// With the names that would have been right.
    #[must_use]
    pub fn with_known(mut self, names: Vec<String>) -> Self {
        self.body.known = Some(names);
        self
    }

    /// With the sizes, in bytes, of what does not fit.
    #[must_use]
    pub fn with_sizes(mut self, needed: u64, available: u64) -> Self {
        (self.body.needed, self.body.available) = (Some(needed), Some(available));
        self
    }

    /// The kind of problem.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// What is wrong this time.
    pub fn detail(&self) -> &str {
        &self.body.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // Serialising to memory fails only for maps whose keys are not texts, which a problem has none of.
        let body = serde_json::to_vec(&self.body).unwrap_or_default();
        let mut response = (self.kind.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self.kind {
            ProblemKind::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"dayone\""));
            }
            ProblemKind::BaseUnavailable
            | ProblemKind::TooManyBoots
            | ProblemKind::StorageUnavailable
            | ProblemKind::Stopping => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("10"));
            }
            _ => {}
        }
        response.extensions_mut().insert(LoggedProblem { kind: self.kind, cause: self.cause });
        response
    }
}

/// Middleware: refusals that are axum's own, such as of a path that is not UTF-8, become problems like all others.
pub async fn translate(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    // Readiness has a body of its own.
    let has_body = response.headers().get(CONTENT_TYPE).is_some_and(|media| media == "application/json");
    let is_problem = response.extensions().get::<LoggedProblem>().is_some();
    if !(status.is_client_error() || status.is_server_error()) || is_problem || has_body {
        return response;
    }
    let cause = format!("axum: {status}");
    if status.is_client_error() {
        Problem::new(ProblemKind::WrongParameter, "the path or the query is not well-formed")
            .with_cause(cause)
            .into_response()
    } else {
        Problem::internal(cause).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_unique_and_in_kebab_case() {
        let mut slugs: Vec<_> = ProblemKind::ALL.iter().map(|kind| kind.slug()).collect();
        assert!(slugs.iter().all(|slug| slug.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), ProblemKind::ALL.len());
    }

    #[test]
    fn the_cause_stays_in_the_log() {
        let problem = Problem::internal("open /secret/place: permission denied");
        assert!(!serde_json::to_string(&problem.body).unwrap().contains("secret"));
        let response = problem.into_response();
        let logged = response.extensions().get::<LoggedProblem>().unwrap();
        assert_eq!(logged.cause.as_deref(), Some("open /secret/place: permission denied"));
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }
}
