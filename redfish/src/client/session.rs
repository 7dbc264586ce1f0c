//! Logs in: with a session (DSP0266 §13.3.4), or else with the password in each request.

use std::pin::Pin;
use std::sync::Arc;

use base64::prelude::*;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::answer::{self, Reply, local_path};
use super::exchange::Exchange;
use super::request::{Authorization, Request, X_AUTH_TOKEN};
use crate::error::{Failure, RedfishError};
use crate::{Credentials, Message, message};

/// A session with a BMC.
pub(super) struct Session {
    pub(super) token: HeaderValue,
    /// The path to delete when the session ends. Some BMCs do not give it.
    pub(super) path: Option<String>,
}

/// How a client shows its requests to be its own.
pub(super) enum Login {
    /// No credentials, or the password in each request.
    Fixed(Authorization),
    Session(Session),
}

/// A BMC's refusal of a password in a request, which may only mean that it takes no password without a session.
pub(super) struct PasswordRefusal {
    /// Why there was no session.
    pub(super) session: Box<Failure>,
    pub(super) messages: Vec<Message>,
}

impl Login {
    pub(super) fn authorization(&self) -> Authorization {
        match self {
            Self::Fixed(authorization) => authorization.clone(),
            Self::Session(session) => Authorization::Session(session.token.clone()),
        }
    }
}

/// The path of the collection of sessions, if the service root links to it.
pub(super) fn collection(root: &Value) -> Option<String> {
    let reference = |pointer: &str| root.pointer(pointer).and_then(Value::as_str).and_then(local_path);
    let named = reference("/Links/Sessions/@odata.id");
    named.or_else(|| {
        let service = reference("/SessionService/@odata.id")?;
        Some(format!("{}/Sessions", service.trim_end_matches('/')))
    })
}

/// The header for logging in with the password in each request.
pub(super) fn basic(credentials: &Credentials) -> Authorization {
    let pair = format!("{}:{}", credentials.username, credentials.password.reveal());
    let text = format!("Basic {}", BASE64_STANDARD.encode(pair));
    // Base64 is always valid in a header.
    let mut value = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    value.set_sensitive(true);
    Authorization::Basic(value)
}

/// Begins a session. Returns `None` if the BMC grants none, so that each request must have the password. `is_refused` says that the BMC
/// has refused the password in a request: another refusal is about the password. `unwanted` completes when the caller was dropped: this
/// does not send the password again then.
pub(super) async fn begin(
    exchange: &Exchange,
    collection: &str,
    credentials: &Credentials,
    is_refused: bool,
    mut unwanted: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<Session>, RedfishError> {
    let body = json!({"UserName": credentials.username, "Password": credentials.password.reveal()});
    let timeout = exchange.options.request_timeout;
    let request = Request::new(&Method::POST, collection, Some(&body), timeout);
    let mut attempt = 0;
    let reply = loop {
        let reply = exchange.send(request, &Authorization::None).await?;
        // A BMC that only has sessions would refuse the password in each request, which looks like a wrong password.
        let has_no_free_session = exchange.unsuccessful(&reply).has_no_free_session();
        if !reply.is_busy() || has_no_free_session || attempt == exchange.options.retries {
            break reply;
        }
        if tokio::time::timeout(answer::pause(attempt, Some(&reply)), unwanted.as_mut()).await.is_ok() {
            return Ok(None);
        }
        attempt += 1;
    };
    exchange.note_session_refusal(None);
    if reply.status.is_success() {
        return from_reply(exchange, credentials, &reply).await;
    }
    // Some BMCs answer 401 then, as for a wrong password.
    let failure = exchange.unsuccessful(&reply);
    if failure.has_no_free_session() {
        tracing::debug!(bmc = %exchange.target.address, %failure, "no free session; each request has the password");
        exchange.note_session_refusal(Some(failure));
        return Ok(None);
    }
    match exchange.failure(&reply) {
        // Emulators without sessions ask for Basic authentication at any path. For a wrong password, a BMC sends a
        // message.
        RedfishError::NotAuthorized { messages, .. } if !is_refused && messages.is_empty() && offers_basic(&reply) => {
            Ok(None)
        }
        // Some BMCs refuse the password with another status than 401. The password in each request would be another login that fails,
        // and BMCs lock accounts after few of them.
        RedfishError::Status(failure) if failure.messages.iter().any(refuses_password) => {
            let (origin, username) = (exchange.origin(), credentials.username.clone());
            Err(RedfishError::NotAuthorized { origin, username, messages: failure.messages })
        }
        // The BMC has no sessions, or demands another form of the request.
        RedfishError::Status(failure) => {
            tracing::debug!(bmc = %exchange.target.address, %failure, "no session; each request has the password");
            if !matches!(failure.status.as_u16(), 404 | 405 | 501) {
                exchange.note_session_refusal(Some(*failure));
            }
            Ok(None)
        }
        error => Err(error),
    }
}

/// Whether a message is about a wrong password, or an account that must wait after wrong ones (registries Base and iLO).
fn refuses_password(message: &Message) -> bool {
    const KEYS: [&str; 4] =
        ["UnauthorizedLoginAttempt", "LoginAttemptDelayed", "LoginAttemptDelayedSeconds", "ResourceAtUriUnauthorized"];
    KEYS.iter().any(|key| message.key().eq_ignore_ascii_case(key))
}

fn offers_basic(reply: &Reply) -> bool {
    reply.header(&WWW_AUTHENTICATE).is_some_and(|value| value.to_ascii_lowercase().contains("basic"))
}

/// A copy with memory of its own. A clone would share hyper's buffer for the whole answer, and keep it as long as the session.
fn own_copy(token: &HeaderValue) -> HeaderValue {
    let mut copy = HeaderValue::from_bytes(token.as_bytes()).unwrap_or_else(|_| token.clone());
    copy.set_sensitive(true);
    copy
}

async fn from_reply(
    exchange: &Exchange,
    credentials: &Credentials,
    reply: &Reply,
) -> Result<Option<Session>, RedfishError> {
    let body = reply.lenient();
    let Some(token) = reply.headers.get(X_AUTH_TOKEN).map(own_copy) else { return Ok(None) };
    let own = || body.get("@odata.id").and_then(Value::as_str).and_then(local_path);
    let session = Session { token, path: reply.location().or_else(own) };
    exchange.keep_secret(&session.token, session.path.as_deref());
    let messages = message::messages(&body, &exchange.secrets());
    if messages.iter().any(|message| message.key() == "PasswordChangeRequired") {
        end(exchange, session).await;
        let (origin, username) = (exchange.origin(), credentials.username.clone());
        return Err(RedfishError::PasswordChangeRequired { origin, username });
    }
    Ok(Some(session))
}

/// Closes a session in a separate task, which goes on even if its handle is dropped. Returns `None` without a runtime.
pub(super) fn end_in_task(exchange: &Arc<Exchange>, session: Session) -> Option<JoinHandle<()>> {
    let runtime = Handle::try_current().ok()?;
    let exchange = Arc::clone(exchange);
    let task = exchange.options.unfinished.begin();
    Some(runtime.spawn(async move {
        end(&exchange, session).await;
        drop(task);
    }))
}

/// Closes a session. A BMC has few of them, and would keep this one for half an hour. Errors are only logged.
pub(super) async fn end(exchange: &Exchange, session: Session) {
    let Some(path) = session.path else { return };
    let timeout = exchange.options.connect_timeout;
    let request = Request::new(&Method::DELETE, &path, None, timeout);
    let authorization = Authorization::Session(session.token);
    let mut outcome = exchange.send(request, &authorization).await;
    if let Ok(reply) = &outcome
        && reply.is_busy()
    {
        tokio::time::sleep(answer::pause(0, Some(reply)).min(timeout)).await;
        outcome = exchange.send(request, &authorization).await;
    }
    match outcome {
        Ok(reply) if reply.status.is_success() || reply.status == StatusCode::UNAUTHORIZED => {}
        Ok(reply) => {
            tracing::debug!(bmc = %exchange.target.address, status = %reply.status, "the session was not closed");
        }
        Err(error) => tracing::debug!(bmc = %exchange.target.address, %error, "the session was not closed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_keep_the_answer_that_it_came_with() {
        let received = HeaderValue::from_static("a-token");
        let token = own_copy(&received);
        assert!(token == received && token.is_sensitive());
        assert_ne!(token.as_bytes().as_ptr(), received.as_bytes().as_ptr());
    }
}
