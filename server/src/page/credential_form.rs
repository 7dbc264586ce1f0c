//! The form for the login.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::shell::with_status;

/// The form for the login.
#[derive(Template)]
#[template(path = "login.html")]
pub(super) struct CredentialForm {
    /// The path to go to after the login.
    then: String,
    /// Whether the last token was not valid.
    refused: bool,
}

impl CredentialForm {
    /// A form that leads to a path of the page.
    pub(super) fn new(then: &str) -> Self {
        Self { then: then.to_owned(), refused: false }
    }

    /// The form after a token that is not valid.
    pub(super) fn refused(then: &str) -> Self {
        Self { then: then.to_owned(), refused: true }
    }
}

impl IntoResponse for CredentialForm {
    fn into_response(self) -> Response {
        with_status(if self.refused { StatusCode::FORBIDDEN } else { StatusCode::OK }, &self)
    }
}
