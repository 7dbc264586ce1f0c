//! The login of a client: its session, or the password in each request.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::oneshot;

use super::Client;
use super::answer::{self, Reply};
use super::exchange::Exchange;
use super::request::{Authorization, Request};
use super::session::{self, Login, PasswordRefusal, Session};
use crate::credentials::Credentials;
use crate::error::RedfishError;

/// How long to wait before sending a password again that the BMC has accepted before, and now refuses.
const PASSWORD_RETRY_DELAY: Duration = Duration::from_secs(1);

/// A new session that the client has not taken yet. Dropping this ends the session.
struct Offered {
    exchange: Arc<Exchange>,
    session: Option<Session>,
}

impl Drop for Offered {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            drop(session::end_in_task(&self.exchange, session));
        }
    }
}

impl Client {
    /// Sends a request with the credentials. If the session has ended, begins a new one and sends the request once
    /// more, because the BMC has not carried out a request that it refused.
    pub(super) async fn send_logged_in(&self, request: Request<'_>) -> Result<Reply, RedfishError> {
        let mut authorization = self.authorization().await?;
        let mut reply = self.exchange.send(request, &authorization).await?;
        if self.exchange.refuses_login(&reply) {
            let again = match &authorization {
                Authorization::Session(token) => Some(self.renewed(token).await?),
                // The BMC may refuse a valid password for a moment, while the service for its accounts restarts. Sends it
                // only once more: a password that was changed meanwhile must not lock the account.
                Authorization::Basic(_) if self.password_accepted.load(Ordering::Relaxed) => {
                    tokio::time::sleep(PASSWORD_RETRY_DELAY).await;
                    Some(authorization.clone())
                }
                _ => None,
            };
            if let Some(again) = again {
                reply = self.exchange.send(request, &again).await?;
                authorization = again;
            }
        }
        if matches!(authorization, Authorization::Basic(_)) {
            self.note_password(&reply);
        }
        Ok(reply)
    }

    /// Notes whether the BMC has accepted the password in a request.
    fn note_password(&self, reply: &Reply) {
        if reply.status.is_success() {
            self.password_accepted.store(true, Ordering::Relaxed);
        } else if self.exchange.refuses_login(reply)
            && let Some(session) = self.exchange.session_refusal()
            && session.is_passing_session_refusal()
        {
            let messages = self.exchange.unsuccessful(reply).messages;
            // The first refusal stays.
            let _ = self.password_refusal.set(PasswordRefusal { session, messages });
        }
    }

    /// The credentials for the next request. A password that the BMC has refused in a request is not sent in another one, because the
    /// BMC may lock the account: the client asks for a session again.
    async fn authorization(&self) -> Result<Authorization, RedfishError> {
        let mut login = self.login.lock().await;
        let has_password = matches!(&*login, Login::Fixed(Authorization::Basic(_)));
        if has_password && self.password_refusal.get().is_some() {
            *login = self.log_in().await.map_err(|error| self.nothing_sent(error))?;
        }
        Ok(login.authorization())
    }

    /// The credentials after the BMC has refused the session with this token.
    async fn renewed(&self, token: &HeaderValue) -> Result<Authorization, RedfishError> {
        let mut login = self.login.lock().await;
        if matches!(&*login, Login::Session(session) if session.token == *token) {
            let renewed = self.log_in().await.map_err(|error| self.nothing_sent(error))?;
            let old = std::mem::replace(&mut *login, renewed);
            // The BMC may still have the old session: some answer 401 for a missing privilege.
            if let Login::Session(old) = old
                && !matches!(&*login, Login::Session(new) if new.path == old.path)
                && let Some(end) = session::end_in_task(&self.exchange, old)
            {
                // Fails only if the runtime ends.
                let _ = end.await;
            }
        }
        Ok(login.authorization())
    }

    /// The error of a login before a request. If the answer to the login is lost, the request was not sent, or the BMC has refused it.
    fn nothing_sent(&self, error: RedfishError) -> RedfishError {
        let reason = match error {
            RedfishError::Broken { reason, .. } => format!("the connection broke off at the login ({reason})"),
            RedfishError::Timeout { after, .. } => {
                format!("no answer to the login within {} s", after.as_secs_f32().ceil())
            }
            error => return error,
        };
        RedfishError::Unreachable { origin: self.exchange.origin(), reason }
    }

    /// Logs in, and tries again if there was no connection. Later logins are part of a request, which is tried again.
    pub(super) async fn first_login(&self) -> Result<Login, RedfishError> {
        let mut attempt = 0;
        loop {
            match self.log_in().await {
                // Nothing was sent.
                Err(RedfishError::Unreachable { .. } | RedfishError::Unresolved { .. })
                    if attempt < self.exchange.options.retries =>
                {
                    tokio::time::sleep(answer::pause(attempt, None)).await;
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Begins a session in a separate task. If the caller is dropped meanwhile, the session still ends: otherwise, the BMC would keep it
    /// for half an hour.
    async fn begin_session(
        &self,
        collection: String,
        credentials: Credentials,
    ) -> Result<Option<Session>, RedfishError> {
        let is_refused = self.password_refusal.get().is_some();
        let exchange = Arc::clone(&self.exchange);
        let task = exchange.options.unfinished.begin();
        let (mut begun, offered) = oneshot::channel();
        tokio::spawn(async move {
            let unwanted = begun.closed();
            let outcome = session::begin(&exchange, &collection, &credentials, is_refused, pin!(unwanted)).await;
            // If the caller was dropped, this ends the session.
            drop(begun.send(outcome.map(|session| Offered { exchange, session })));
            drop(task);
        });
        let offered = offered.await;
        let offered = offered.unwrap_or_else(|_| Err(RedfishError::Internal("the login ended early".to_owned())));
        Ok(offered?.session.take())
    }

    /// Begins a session. If the BMC grants none, each request has the password, unless the BMC has refused that.
    async fn log_in(&self) -> Result<Login, RedfishError> {
        let Some(credentials) = &self.exchange.target.credentials else {
            return Ok(Login::Fixed(Authorization::None));
        };
        let session = match &self.sessions {
            Some(collection) => self.begin_session(collection.clone(), credentials.clone()).await?,
            None => None,
        };
        match (session, self.password_refusal.get()) {
            (Some(session), _) => Ok(Login::Session(session)),
            (None, None) => Ok(Login::Fixed(session::basic(credentials))),
            (None, Some(PasswordRefusal { session, messages })) => Err(RedfishError::NoSession {
                origin: self.exchange.origin(),
                username: credentials.username.clone(),
                session: self.exchange.session_refusal().unwrap_or_else(|| session.clone()),
                messages: messages.clone(),
            }),
        }
    }
}
