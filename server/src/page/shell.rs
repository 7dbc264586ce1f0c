//! What all views have in common: the frame around them, and the commands that they show.

use askama::Template;
use axum::response::{Html, IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, Uri};

use crate::api::access::Access;
use crate::api::clients::{Caller, Role};
use crate::api::problem::Problem;

/// What the views of one request share.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    /// Whether there is a session that can be ended.
    pub(super) has_session: bool,
    /// What the client may do.
    pub(super) role: Role,
    /// How the client reaches the server: `http://127.0.0.1:8080`.
    pub(super) origin: String,
    /// The version of dayone.
    pub(super) version: &'static str,
}

impl Shell {
    pub(super) fn new(access: &Access, caller: &Caller, uri: &Uri, headers: &HeaderMap) -> Self {
        let host = uri.authority().map(http::uri::Authority::as_str);
        let host = host.or_else(|| headers.get(http::header::HOST)?.to_str().ok()).unwrap_or("localhost");
        let scheme = if access.tls() { "https" } else { "http" };
        Self {
            has_session: access.needs_token(),
            role: caller.role,
            origin: format!("{scheme}://{host}"),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Whether the client may check documents and make images.
    pub(super) fn may_build(&self) -> bool {
        self.role >= Role::Build
    }

    /// Whether the client may boot hosts.
    pub(super) fn may_boot(&self) -> bool {
        self.role >= Role::Boot
    }

    /// The beginning of a curl command for the API of this server.
    pub(super) fn curl(&self) -> &'static str {
        if self.has_session { "curl -H \"Authorization: Bearer $DAYONE_API_TOKEN\"" } else { "curl" }
    }
}

/// Renders a view.
pub(super) fn html(view: &impl Template) -> Response {
    with_status(StatusCode::OK, view)
}

/// Renders a view with a status.
pub(super) fn with_status(status: StatusCode, view: &impl Template) -> Response {
    match view.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => Problem::internal(error).into_response(),
    }
}

/// What a browser gets that asks for something that does not exist.
#[derive(Template)]
#[template(path = "missing.html")]
struct Missing<'a> {
    shell: &'a Shell,
    current: &'static str,
    what: &'a str,
}

/// The answer to the path of a boot or an image that does not exist.
pub(super) fn missing(shell: &Shell, what: &str) -> Response {
    with_status(StatusCode::NOT_FOUND, &Missing { shell, current: "", what })
}
