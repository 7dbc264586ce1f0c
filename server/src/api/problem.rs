//! Errors of the API: problem details (RFC 9457), of one type for all endpoints.

use std::error::Error;
use std::fmt;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::report::Report;

use super::clients::Role;
use crate::findings::{FindingBody, findings};
use crate::store::StorageTrouble;

// Each kind of problem has a stable slug, a title, a status and a meaning.
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

            /// The kind of problem in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// When it occurs, and what to do.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $doc.trim_ascii(),)* }
            }

            /// The HTTP status.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }
        }
    };
}

problem_kinds! {
    /// The request has no bearer token, or a wrong one. Send one of the server's tokens: Authorization: Bearer TOKEN.
    Unauthorized = UNAUTHORIZED, "unauthorized", "A valid bearer token is required";
    /// The request comes from another web site; or the server has no token, and the request comes from another machine. Set a token to use the API from there.
    ForeignOrigin = FORBIDDEN, "foreign-origin", "The request comes from another web site or machine";
    /// The client may do less than this; `needed_role` is the role that it needs. Use a token with that role.
    RoleTooSmall = FORBIDDEN, "role-too-small", "The client's role does not allow this";
    /// Too many requests come from this address, or too many without a valid token. Wait for the seconds in the header Retry-After.
    TooManyRequests = TOO_MANY_REQUESTS, "too-many-requests", "Too many requests";
    /// The API has no such path; /v1/openapi.json lists its paths.
    UnknownPath = NOT_FOUND, "unknown-path", "The API has no such path";
    /// What the path names does not exist, or no longer.
    NotFound = NOT_FOUND, "not-found", "Not found";
    /// This path supports other methods; see the Allow header.
    MethodNotAllowed = METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed";
    /// The query has an unknown parameter or a wrong value.
    WrongParameter = BAD_REQUEST, "wrong-parameter", "A parameter is wrong";
    /// The server does not support the content type or the content encoding of the body.
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported content type";
    /// The body is too large, or what the images of all its hosts would get. Send fewer hosts at once.
    TooLarge = PAYLOAD_TOO_LARGE, "too-large", "The request is too large";
    /// The body did not arrive in time, or not completely.
    IncompleteRequest = REQUEST_TIMEOUT, "incomplete-request", "The request did not arrive completely";
    /// The server does not support the request's Transfer-Encoding. Send chunked only.
    UnsupportedTransferCoding = NOT_IMPLEMENTED, "unsupported-transfer-coding", "Unsupported transfer coding";
    /// The body is not valid JSON, or has unknown, missing or wrong members; or the request has no valid Host header, or is not valid HTTP.
    MalformedRequest = BAD_REQUEST, "malformed-request", "The request is malformed";
    /// No base has this name; `known` lists the names of the bases.
    UnknownBase = UNPROCESSABLE_ENTITY, "unknown-base", "The base is unknown";
    /// The documents describe no host.
    NoHost = UNPROCESSABLE_ENTITY, "no-host", "The documents describe no host";
    /// The documents describe several hosts, and the request does not name one. Add `host`; `known` lists the names.
    SeveralHosts = UNPROCESSABLE_ENTITY, "several-hosts", "The documents describe several hosts";
    /// The documents do not describe the host that the request names; `known` lists the names.
    UnknownHost = UNPROCESSABLE_ENTITY, "unknown-host", "The documents do not describe this host";
    /// The documents have errors; `findings` lists them with their positions and fixes.
    DocumentsRefused = UNPROCESSABLE_ENTITY, "documents-refused", "The documents have errors";
    /// The base has too little room for the files or the kernel arguments; `needed` and `available` are in bytes.
    DoesNotFit = UNPROCESSABLE_ENTITY, "does-not-fit", "The additions do not fit into the base";
    /// dayone cannot make this image from this base and these options.
    ImageRefused = UNPROCESSABLE_ENTITY, "image-refused", "dayone cannot make this image";
    /// Another version of dayone has published the same image in a form that this version cannot use. Delete it first.
    ImageConflict = CONFLICT, "image-conflict", "The image already exists in another form";
    /// The request lacks the address of a BMC or its credentials, or dayone does not support the address.
    BmcRefused = UNPROCESSABLE_ENTITY, "bmc-refused", "dayone cannot control the BMC";
    /// Another boot uses the BMC. Delete that boot first: dayone then ejects its medium.
    BootConflict = CONFLICT, "boot-conflict", "Another boot uses the BMC";
    /// The server has the maximum number of boots that have not ended. A boot whose medium is still inserted has not ended: delete the boots whose hosts no longer need it, or try again later.
    TooManyBoots = SERVICE_UNAVAILABLE, "too-many-boots", "Too many boots are unfinished";
    /// As many browsers as the server allows follow its page. Close one, or reload the page to see the present state.
    TooManyBrowsers = SERVICE_UNAVAILABLE, "too-many-browsers", "Too many browsers follow the page";
    /// As many clients as the server allows follow boots. End one, or list the boots.
    TooManyFollowers = SERVICE_UNAVAILABLE, "too-many-followers", "Too many clients follow the boots";
    /// A boot has inserted the image, or is about to. Delete the boot first: dayone then ejects the image.
    ImageInUse = CONFLICT, "image-in-use", "A boot uses the image";
    /// The server may not fetch a base from this place. Its operator allows sources with `--base-source`.
    SourceRefused = UNPROCESSABLE_ENTITY, "source-refused", "The server does not fetch from this source";
    /// The request names no files that make a base, or compressed ones.
    BaseRefused = UNPROCESSABLE_ENTITY, "base-refused", "The files do not make a base";
    /// The base is in the server's configuration, where its operator changes and removes it.
    BaseConfigured = CONFLICT, "base-configured", "The base is in the server's configuration";
    /// Published images use the base. Delete them first, or replace the base by adding another of the same name.
    BaseInUse = CONFLICT, "base-in-use", "Images use the base";
    /// The base is registered, but its file is missing or has changed.
    BaseUnavailable = SERVICE_UNAVAILABLE, "base-unavailable", "The base is not available";
    /// The server's data directory is full, or its quota is used up. The server has stored nothing.
    StorageFull = INSUFFICIENT_STORAGE, "storage-full", "The data directory is full";
    /// The server cannot write its data directory, or the directory was removed or replaced. The server has stored nothing.
    StorageUnavailable = SERVICE_UNAVAILABLE, "storage-unavailable", "The data directory is not usable";
    /// The server cannot write its audit log, so it refuses changes; it still serves images, and answers what changes nothing. If the log fails while the server makes a change, the change is made, and the detail says so.
    AuditUnavailable = SERVICE_UNAVAILABLE, "audit-unavailable", "The audit log is not usable";
    /// The server has failed; its log has the cause, under the request's id.
    Internal = INTERNAL_SERVER_ERROR, "internal", "Internal error";
}

impl ProblemKind {
    /// The URI of the kind (RFC 9457 §3.1.1), relative to the server. A GET of it explains the kind.
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
    /// What is wrong with this request, and what to do.
    detail: String,
    /// Errors and warnings about the documents, in the order of the documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingBody>,
    /// The valid names: of the hosts in the documents, or of the bases.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<Vec<String>>,
    /// How many bytes are needed, if something does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<u64>,
    /// How many bytes are available, if something does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<u64>,
    /// The role that the request needs: `read`, `build` or `boot`.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed_role: Option<&'static str>,
}

/// Why the server refuses a request: an answer for the client, and a cause that only the log gets.
#[derive(Debug)]
pub struct Problem {
    kind: ProblemKind,
    body: Box<ProblemBody>,
    cause: Option<String>,
}

/// The part of a problem for the log, an extension of the response.
#[derive(Debug, Clone)]
pub struct LoggedProblem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The cause, which the client does not get.
    pub cause: Option<String>,
}

impl Problem {
    /// A problem of a kind. `detail` tells the client what is wrong with this request.
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
            needed_role: None,
        };
        Self { kind, body: Box::new(body), cause: None }
    }

    /// A failure of dayone or of the machine. Only the log gets the cause.
    pub fn internal(cause: impl fmt::Display) -> Self {
        let detail = "dayone has failed; its log has the cause, under the id of this request (header X-Request-Id)";
        Self::new(ProblemKind::Internal, detail).with_cause(cause)
    }

    /// The data directory is not usable. The client gets `detail`, and the log gets `cause`.
    pub fn storage(detail: impl Into<String>, cause: &std::io::Error) -> Self {
        let kind = if StorageTrouble::of(cause).is_full() {
            ProblemKind::StorageFull
        } else {
            ProblemKind::StorageUnavailable
        };
        Self::new(kind, detail).with_cause(cause)
    }

    /// A problem whose detail is an error, and whose cause for the log is that error's source.
    pub fn from_error(kind: ProblemKind, error: &dyn Error) -> Self {
        let problem = Self::new(kind, error.to_string());
        match error.source() {
            Some(cause) => problem.with_cause(cause),
            None => problem,
        }
    }

    /// Adds the cause, for the log only.
    #[must_use]
    pub fn with_cause(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Adds a sentence to the detail.
    #[must_use]
    pub fn with_more(mut self, more: &str) -> Self {
        self.body.detail = format!("{}; {more}", self.body.detail);
        self
    }

    /// Adds the findings about the documents.
    #[must_use]
    pub fn with_findings(mut self, report: &Report) -> Self {
        self.body.findings = findings(report);
        self
    }

    /// Adds the valid names.
    #[must_use]
    pub fn with_known(mut self, names: Vec<String>) -> Self {
        self.body.known = Some(names);
        self
    }

    /// Adds the needed and the available size, in bytes.
    #[must_use]
    pub fn with_sizes(mut self, needed: u64, available: u64) -> Self {
        (self.body.needed, self.body.available) = (Some(needed), Some(available));
        self
    }

    /// Adds the role that the request needs.
    #[must_use]
    pub fn with_needed_role(mut self, role: Role) -> Self {
        self.body.needed_role = Some(role.word());
        self
    }

    /// The problem as a part of an answer about something else, and the cause for the log.
    pub fn into_parts(self) -> (ProblemBody, Option<String>) {
        (*self.body, self.cause)
    }

    /// The kind of problem.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// What is wrong with this request.
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
            | ProblemKind::TooManyBrowsers
            | ProblemKind::TooManyFollowers
            | ProblemKind::StorageUnavailable
            | ProblemKind::AuditUnavailable => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("10"));
            }
            _ => {}
        }
        response.extensions_mut().insert(LoggedProblem { kind: self.kind, cause: self.cause });
        response
    }
}

/// Middleware: turns axum's own errors, such as for a path that is not UTF-8, into problems.
pub async fn translate(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    // Readiness and the page have bodies of their own.
    let own = ["application/json", "text/html; charset=utf-8"];
    let has_body = response.headers().get(CONTENT_TYPE).is_some_and(|media| own.iter().any(|own| media == own));
    let is_problem = response.extensions().get::<LoggedProblem>().is_some();
    if !(status.is_client_error() || status.is_server_error()) || is_problem || has_body {
        return response;
    }
    let cause = format!("axum: {status}");
    if status.is_client_error() {
        Problem::new(ProblemKind::WrongParameter, "the path or the query is malformed")
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
    fn problems_with_the_status_503_say_when_to_retry() {
        for kind in ProblemKind::ALL {
            let response = Problem::new(*kind, "any").into_response();
            let is_unavailable = kind.status() == StatusCode::SERVICE_UNAVAILABLE;
            assert_eq!(response.headers().contains_key(RETRY_AFTER), is_unavailable, "{}", kind.slug());
        }
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
