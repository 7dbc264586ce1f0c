//! The client of one BMC (DSP0266 1.20): requests, sessions and tasks.

mod answer;
mod connection;
mod dialer;
mod etag;
mod exchange;
mod journal;
mod kept;
mod login;
mod options;
mod redirect;
mod request;
mod session;
mod unfinished;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use self::answer::Reply;
pub(crate) use self::answer::local_path;
pub use self::answer::{Answer, Completion, Resource};
use self::exchange::Exchange;
pub use self::journal::RequestRecord;
pub use self::options::{ClientOptions, Target};
use self::request::{Authorization, Request};
use self::session::{Login, PasswordRefusal, Session};
pub use self::unfinished::{Unfinished, UnfinishedTask};
use super::address::ROOT;
use super::error::RedfishError;
use super::message::{self, Messages};
use super::secrets::Secrets;
use super::task::{self, Progress};

/// A connection to one BMC, which sends one request at a time, in a session if the BMC grants one.
///
/// [`close`](Self::close) closes the session. Dropping the client also closes it, in a task of the Tokio runtime if that still runs:
/// [`ClientOptions::unfinished`] waits for it.
pub struct Client {
    exchange: Arc<Exchange>,
    /// The service root in JSON, which takes a tenth of the memory of a [`Value`]. Empty before it is read.
    root: Box<str>,
    /// The path of the collection of sessions.
    sessions: Option<String>,
    login: Mutex<Login>,
    /// Whether the BMC has accepted the password in a request.
    password_accepted: AtomicBool,
    /// How the BMC has refused the password in a request while it granted no session for the moment.
    password_refusal: OnceLock<PasswordRefusal>,
}

/// Whether a task in the answer is followed to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    Yes,
    No,
}

impl Client {
    /// Reads the service root and, with credentials, logs in.
    pub async fn connect(target: &Target, options: &ClientOptions) -> Result<Self, RedfishError> {
        let exchange = Arc::new(Exchange::new(target, options)?);
        let login = Mutex::new(Login::Fixed(Authorization::None));
        let (password_accepted, password_refusal) = (AtomicBool::new(false), OnceLock::new());
        let mut client =
            Self { exchange, root: Box::default(), sessions: None, login, password_accepted, password_refusal };
        let root = match (client.get(ROOT).await, &target.credentials) {
            (Ok(root), _) => root.body,
            // The root needs no login, but some BMCs demand one.
            (Err(RedfishError::NotAuthorized { .. }), Some(credentials)) => {
                client.login = Mutex::new(Login::Fixed(session::basic(credentials)));
                client.get(ROOT).await?.body
            }
            (Err(error), _) => return Err(error),
        };
        client.sessions = session::collection(&root);
        client.root = root.to_string().into();
        drop(root);
        client.login = Mutex::new(client.first_login().await?);
        Ok(client)
    }

    /// The service root (`/redfish/v1/`), as it was read when the client connected.
    pub fn root(&self) -> Value {
        // It was made from such a value.
        serde_json::from_str(&self.root).unwrap_or_default()
    }

    /// The secrets to mask in this BMC's texts.
    pub(super) fn secrets(&self) -> Arc<Secrets> {
        self.exchange.secrets()
    }

    /// The last 256 requests.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.exchange.journal.records()
    }

    /// Reads a resource. Repeats the request if the BMC cannot be reached or is busy, or if its web server answers in place of a
    /// service that answered before.
    pub async fn get(&self, path: &str) -> Result<Resource, RedfishError> {
        let mut attempt = 0;
        loop {
            let request = Request::get(path, self.exchange.options.request_timeout);
            let reply = self.send_successfully(request).await?;
            match reply.resource() {
                Err(RedfishError::NotJson { request, reason, .. }) if !self.root.is_empty() => {
                    if attempt == self.exchange.options.retries {
                        return Err(RedfishError::NotJson { request, reason, was_service: true });
                    }
                }
                read => return read,
            }
            tokio::time::sleep(answer::pause(attempt, Some(&reply))).await;
            attempt += 1;
        }
    }

    /// Sends a POST, and waits until the BMC has carried it out, including a task. `limit` is for all of that. Repeats
    /// the request only if it cannot have reached the BMC. A body of `Null` is sent as an empty body.
    pub async fn post(&self, path: &str, body: &Value, limit: Duration) -> Result<Answer, RedfishError> {
        self.change(&Method::POST, path, Some(body), None, limit, Follow::Yes).await
    }

    /// Sends a PATCH, and waits as [`post`](Self::post) does. With an `ETag`, the BMC changes the resource only if it
    /// is still as it was read, and otherwise refuses with 412
    /// ([`Failure::is_precondition`](crate::Failure::is_precondition)).
    pub async fn patch(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        self.change(&Method::PATCH, path, Some(body), etag, limit, Follow::Yes).await
    }

    /// Sends a PATCH that changes the resource even if it has changed since it was read. Sends the given `ETag` first.
    /// If the BMC refuses that, reads the resource again and tries every `If-Match` that BMCs are known to accept.
    pub async fn update(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        self.patch_at_last(path, body, etag, limit, Follow::Yes).await
    }

    /// Sends a PATCH of settings that take effect later. A task in the answer is not followed, because it ends only then. Treats
    /// `If-Match` as [`update`](Self::update) does.
    pub async fn stage(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        self.patch_at_last(path, body, etag, limit, Follow::No).await
    }

    /// Sends a PATCH with one `If-Match` after the other.
    async fn patch_at_last(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
        follow: Follow,
    ) -> Result<Answer, RedfishError> {
        let mut outcome = self.change(&Method::PATCH, path, Some(body), etag, limit, follow).await;
        if !is_precondition(&outcome) {
            return outcome;
        }
        // The resource may have changed: while a host boots, its System changes all the time.
        for etag in etag::candidates(&self.get(path).await?) {
            outcome = self.change(&Method::PATCH, path, Some(body), etag.as_deref(), limit, follow).await;
            if !is_precondition(&outcome) {
                break;
            }
        }
        outcome
    }

    /// Sends a DELETE. Repeats it only if it cannot have reached the BMC.
    pub async fn delete(&self, path: &str, limit: Duration) -> Result<Answer, RedfishError> {
        self.change(&Method::DELETE, path, None, None, limit, Follow::Yes).await
    }

    /// Closes the session.
    pub async fn close(mut self) {
        if let Some(end) = self.end_session() {
            // Fails only if the runtime ends.
            let _ = end.await;
        }
    }

    /// Closes the session, if there is one, in a separate task.
    fn end_session(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let session = self.take_session()?;
        session::end_in_task(&self.exchange, session)
    }

    async fn change(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        if_match: Option<&str>,
        limit: Duration,
        follow: Follow,
    ) -> Result<Answer, RedfishError> {
        let begin = Instant::now();
        let request = Request { if_match, ..Request::new(method, path, body, limit) };
        let reply = self.send_successfully(request).await?;
        let (status, location, body) = (reply.status, reply.location(), reply.lenient());
        let answer = Answer { status, body, location, completion: Completion::Answered, warning: None };
        if status != StatusCode::ACCEPTED || follow == Follow::No {
            return Ok(answer);
        }
        match task::monitor(answer.location.as_deref(), &answer.body).and_then(|path| local_path(&path)) {
            Some(monitor) => self.wait(&monitor, reply.retry_after(), begin, limit).await,
            None => Ok(answer),
        }
    }

    /// Polls a task until it has ended.
    async fn wait(
        &self,
        monitor: &str,
        mut retry_after: Option<Duration>,
        begin: Instant,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        let path = || self.exchange.masked_path(monitor);
        let mut state = "Running".to_owned();
        for reads in 0.. {
            let pause = task::pause(reads, retry_after);
            if begin.elapsed() + pause > limit {
                break;
            }
            tokio::time::sleep(pause).await;
            let request = Request::get(monitor, self.exchange.options.request_timeout);
            let reply = match self.send_with_retries(request).await {
                Ok(reply) if !reply.is_busy() && !reply.is_page() => reply,
                Ok(_) => continue,
                Err(error) if error.is_transient() => continue,
                Err(error) => return Err(error),
            };
            retry_after = reply.retry_after();
            let body = reply.lenient();
            let secrets = self.exchange.secrets();
            let warning = task::warning(&body).map(|status| {
                let messages = message::messages(&body, &secrets);
                format!("{}{}", message::clean(status, &secrets), Messages(&messages))
            });
            let answer = |body, completion, warning| {
                let (status, location) = (reply.status, reply.location());
                Answer { status, body, location, completion, warning }
            };
            match task::progress(reply.status, &body) {
                Progress::Running(now) => state = message::clean(&now, &secrets),
                Progress::Unreported => {
                    state = format!("unknown: {}", self.exchange.unsuccessful(&reply));
                }
                Progress::Done => return Ok(answer(body, Completion::Task(path()), warning)),
                Progress::Gone => return Ok(answer(body, Completion::TaskGone(path()), None)),
                Progress::Refused => return Err(self.exchange.failure(&reply)),
                Progress::Failed(state) => {
                    let (state, messages) = (message::clean(&state, &secrets), message::messages(&body, &secrets));
                    return Err(RedfishError::TaskFailed { path: path(), state, messages });
                }
            }
        }
        Err(RedfishError::TaskUnfinished { path: path(), state, after: limit })
    }

    /// Sends a request. A status other than success is an error.
    async fn send_successfully(&self, request: Request<'_>) -> Result<Reply, RedfishError> {
        let reply = self.send_with_retries(request).await?;
        if reply.status.is_success() { Ok(reply) } else { Err(self.exchange.failure(&reply)) }
    }

    /// Sends a request. Repeats it if that is safe and may help.
    async fn send_with_retries(&self, request: Request<'_>) -> Result<Reply, RedfishError> {
        let mut attempt = 0;
        loop {
            let outcome = self.send_logged_in(request).await;
            let may_retry = match &outcome {
                Ok(reply) => {
                    let is_transient = reply.status == StatusCode::INTERNAL_SERVER_ERROR || reply.is_busy();
                    request.method == Method::GET && is_transient
                }
                // Nothing was sent.
                Err(RedfishError::Unreachable { .. } | RedfishError::Unresolved { .. }) => true,
                Err(RedfishError::Broken { .. }) => request.method == Method::GET,
                Err(_) => false,
            };
            if !may_retry || attempt == self.exchange.options.retries {
                return outcome;
            }
            tokio::time::sleep(answer::pause(attempt, outcome.as_ref().ok())).await;
            attempt += 1;
        }
    }

    fn take_session(&mut self) -> Option<Session> {
        match std::mem::replace(self.login.get_mut(), Login::Fixed(Authorization::None)) {
            Login::Session(session) => Some(session),
            Login::Fixed(_) => None,
        }
    }
}

/// Whether the BMC refused a change because of its `If-Match`.
fn is_precondition(outcome: &Result<Answer, RedfishError>) -> bool {
    matches!(outcome, Err(RedfishError::Status(failure)) if failure.is_precondition())
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.end_session());
    }
}

#[cfg(test)]
mod tests;
