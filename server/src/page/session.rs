//! Login and logout. The browser keeps a random id instead of the token, until it is closed.

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, Uri};
use media::LogLimit;
use media::listen::{Evictable, Peer};
use url::form_urlencoded;

use super::credential_form::CredentialForm;
use crate::api::access::{Access, KnownClient};
use crate::api::origin::Source;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::rate_limits::Logins;

/// The largest form, in bytes. A token is a line of text.
const MAX_FORM_BYTES: usize = 16 << 10;

/// How long a form may take to arrive.
const MAX_FORM_TIME: Duration = Duration::from_secs(10);

/// Anybody can cause these lines.
static FAILED: LogLimit = LogLimit::new();

/// Begins a session for a token.
pub(super) async fn log_in(
    Extension(access): Extension<Access>,
    uri: Uri,
    headers: HeaderMap,
    peer: Option<Extension<Peer>>,
    evictable: Option<Extension<Evictable>>,
    logins: Option<Extension<Logins>>,
    body: Body,
) -> Result<Response, Problem> {
    refuse_foreign(&uri, &headers)?;
    let form = tokio::time::timeout(MAX_FORM_TIME, to_bytes(body, MAX_FORM_BYTES));
    // Clients without a token could occupy all connections of the API with forms that arrive slowly.
    let form = match &evictable {
        Some(Extension(evictable)) => evictable.wait(form).await,
        None => form.await,
    };
    let Ok(Ok(form)) = form else {
        return Err(Problem::new(ProblemKind::IncompleteRequest, "the form did not arrive, or it is too large"));
    };
    let field = |name: &str| form_urlencoded::parse(&form).find(|(given, _)| given == name).map(|(_, value)| value);
    let then = field("then").filter(|then| is_path(then)).unwrap_or_else(|| "/".into());
    let token = field("token").unwrap_or_default();
    if let Some(refusal) = logins.as_deref().and_then(Logins::begin) {
        return Ok(refusal);
    }
    let address = peer.map(|Extension(peer)| peer.address.ip().to_canonical());
    let Some(id) = access.log_in(token.trim(), address).map_err(Problem::internal)? else {
        if let Some(suppressed) = FAILED.admit() {
            tracing::warn!(suppressed, "a login with a token that is not valid");
        }
        return Ok(CredentialForm::refused(&then).into_response());
    };
    if let Some(Extension(logins)) = logins {
        logins.succeeded();
    }
    Ok((Extension(KnownClient), [(SET_COOKIE, cookie(&access, &id, ""))], Redirect::to(&then)).into_response())
}

/// Ends the session.
pub(super) async fn log_out(
    Extension(access): Extension<Access>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    refuse_foreign(&uri, &headers)?;
    access.log_out(&headers);
    Ok(([(SET_COOKIE, cookie(&access, "", "; Max-Age=0"))], Redirect::to("/")).into_response())
}

/// Refuses a form that another web site has sent: it could log a user in or out unnoticed.
fn refuse_foreign(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    if Source::of(uri, headers) == Source::Foreign {
        return Err(Problem::new(ProblemKind::ForeignOrigin, "the form comes from another web site"));
    }
    Ok(())
}

/// Without an age, the browser forgets the cookie when it is closed.
fn cookie(access: &Access, id: &str, age: &str) -> String {
    let secure = if access.tls() { "; Secure" } else { "" };
    format!("{}={id}; Path=/; HttpOnly; SameSite=Strict{secure}{age}", access.cookie())
}

/// Whether a text is a path on this server. Browsers read `//` and `/\` as the beginning of another server's address.
fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && !text.starts_with("//")
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_to_this_server_only() {
        assert!(is_path("/") && is_path("/images/x?page=2&q=a%20b"));
        for elsewhere in ["", "images", "//evil.example", "/\\evil.example", "https://evil.example", "/a\nb", "/ä"] {
            assert!(!is_path(elsewhere), "{elsewhere}");
        }
    }
}
