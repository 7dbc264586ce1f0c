//! HTTP to one BMC (DSP0266 1.20).

mod answer;
mod etag;
mod exchange;
mod journal;
mod options;
mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Mutex;

pub use self::answer::{Answer, Completion, Resource};
use self::answer::{Reply, local_path};
use self::exchange::{Authorization, Exchange, Request};
pub use self::journal::RequestRecord;
pub use self::options::{ClientOptions, Target};
use self::session::Session;
use super::error::RedfishError;
use super::message;
use super::secrets::Secrets;
use super::task::{self, Progress};

/// Where every service is (DSP0266 §6.2).
const ROOT: &str = "/redfish/v1/";
/// The longest that a BMC's `Retry-After` is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time before a password is sent again that was taken before, and is not now.
const LAPSE: Duration = Duration::from_secs(1);

/// A connection to one BMC: one request at a time, in a session if the BMC has any.
///
/// [`close`](Self::close) ends the session. A client that is dropped ends it too, if there is still a runtime to do it.
pub struct Client {
    exchange: Arc<Exchange>,
    root: Value,
    /// Where sessions are begun.
    sessions: Option<String>,
    who: Mutex<Who>,
    /// Whether the BMC has taken the password with a request.
    password_taken: AtomicBool,
}

enum Who {
    /// Nobody, or the password each time.
    Fixed(Authorization),
    Session(Session),
}

impl Who {
    fn authorization(&self) -> Authorization {
        match self {
            Self::Fixed(authorization) => authorization.clone(),
            Self::Session(session) => Authorization::Session(session.token.clone()),
        }
    }
}

impl Client {
    /// Reads the service root, and logs in.
    pub async fn connect(target: &Target, options: &ClientOptions) -> Result<Self, RedfishError> {
        let exchange = Arc::new(Exchange::new(target, options)?);
        let who = Who::Fixed(Authorization::Nobody);
        let password_taken = AtomicBool::new(false);
        let mut client = Self { exchange, root: Value::Null, sessions: None, who: Mutex::new(who), password_taken };
        client.root = match (client.get(ROOT).await, &target.credentials) {
            (Ok(root), _) => root.body,
            // The root is for everyone, but not every BMC knows.
            (Err(RedfishError::NotAuthorized { .. }), Some(credentials)) => {
                client.who = Mutex::new(Who::Fixed(session::basic(credentials)));
                client.get(ROOT).await?.body
            }
            (Err(error), _) => return Err(error),
        };
        if let Some(credentials) = &target.credentials {
            client.sessions = session::collection(&client.root);
            let session = match &client.sessions {
                Some(collection) => session::begin(&client.exchange, collection, credentials).await?,
                None => None,
            };
            let who = session.map_or_else(|| Who::Fixed(session::basic(credentials)), Who::Session);
            client.who = Mutex::new(who);
        }
        Ok(client)
    }

    /// The service root, `/redfish/v1/`.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Texts of this BMC that nobody may see.
    pub(super) fn secrets(&self) -> Arc<Secrets> {
        self.exchange.secrets()
    }

    /// What was asked for so far: the last 256 requests.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.exchange.journal.records()
    }

    /// Reads a resource. Repeated when the BMC cannot be reached or is busy.
    pub async fn get(&self, path: &str) -> Result<Resource, RedfishError> {
        let request = Request::get(path, self.exchange.options.request_timeout);
        self.accepted(request).await?.resource()
    }

    /// Has the BMC do something, and waits until it is done: `limit` is the time for all of it. Never repeated once it
    /// may have reached the BMC. `Null` is sent as no body at all.
    pub async fn post(&self, path: &str, body: &Value, limit: Duration) -> Result<Answer, RedfishError> {
        self.change(&Method::POST, path, body, None, limit).await
    }

    /// Changes a resource, as [`post`](Self::post). With an `ETag` only if it is still as it was read, else
    /// [`RedfishError::PreconditionFailed`].
    pub async fn patch(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        self.change(&Method::PATCH, path, body, etag, limit).await
    }

    /// Changes a resource whatever it is at the moment, as [`patch`](Self::patch): with the `ETag` that was read, if
    /// there is one, and if the BMC does not take that, with what it takes.
    pub async fn update(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        let mut outcome = self.patch(path, body, etag, limit).await;
        if !is_precondition(&outcome) {
            return outcome;
        }
        // It may have changed in between: the boot of a host changes its System all the time.
        for etag in etag::candidates(&self.get(path).await?) {
            outcome = self.patch(path, body, etag.as_deref(), limit).await;
            if !is_precondition(&outcome) {
                break;
            }
        }
        outcome
    }

    /// Ends the session.
    pub async fn close(mut self) {
        if let Some(session) = self.take_session() {
            session::end(&self.exchange, session).await;
        }
    }

    async fn change(
        &self,
        method: &Method,
        path: &str,
        body: &Value,
        if_match: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        let begin = Instant::now();
        let request = Request { if_match, ..Request::new(method, path, Some(body), limit) };
        let reply = self.accepted(request).await?;
        let (status, location, body) = (reply.status, reply.location(), reply.lenient());
        let answer = Answer { status, body, location, completion: Completion::Answered };
        if status != StatusCode::ACCEPTED {
            return Ok(answer);
        }
        match task::monitor(answer.location.as_deref(), &answer.body).and_then(|path| local_path(&path)) {
            Some(monitor) => self.wait(&monitor, reply.retry_after(), begin, limit).await,
            None => Ok(answer),
        }
    }

    /// Looks at a task until it has ended.
    async fn wait(
        &self,
        monitor: &str,
        mut retry_after: Option<Duration>,
        begin: Instant,
        limit: Duration,
    ) -> Result<Answer, RedfishError> {
        let path = || self.exchange.shown(monitor);
        let mut state = "Running".to_owned();
        for looks in 0.. {
            let pause = task::pause(looks, retry_after);
            if begin.elapsed() + pause > limit {
                break;
            }
            tokio::time::sleep(pause).await;
            let request = Request::get(monitor, self.exchange.options.request_timeout);
            let reply = match self.answered(request).await {
                Ok(reply) if !is_busy(reply.status) => reply,
                Ok(_) => continue,
                Err(error) if error.is_transient() => continue,
                Err(error) => return Err(error),
            };
            retry_after = reply.retry_after();
            let body = reply.lenient();
            let answer =
                |body, completion| Answer { status: reply.status, body, location: reply.location(), completion };
            match task::progress(reply.status, &body) {
                Progress::Running(now) => state = message::clean(&now, &self.exchange.secrets()),
                Progress::Done => return Ok(answer(body, Completion::Task(path()))),
                Progress::Gone => return Ok(answer(body, Completion::TaskGone(path()))),
                Progress::Failed(state) => {
                    let secrets = self.exchange.secrets();
                    let (state, messages) = (message::clean(&state, &secrets), message::messages(&body, &secrets));
                    return Err(RedfishError::TaskFailed { path: path(), state, messages });
                }
            }
        }
        Err(RedfishError::TaskUnfinished { path: path(), state, after: limit })
    }

    /// [`answered`](Self::answered), where only success is good.
    async fn accepted(&self, request: Request<'_>) -> Result<Reply, RedfishError> {
        let reply = self.answered(request).await?;
        if reply.status.is_success() { Ok(reply) } else { Err(self.exchange.failure(&reply)) }
    }

    /// Asks, with what is worth repeating repeated.
    async fn answered(&self, request: Request<'_>) -> Result<Reply, RedfishError> {
        let mut attempt = 0;
        loop {
            let outcome = self.authorized(request).await;
            let again = match &outcome {
                Ok(reply) => {
                    let stumbled = reply.status == StatusCode::INTERNAL_SERVER_ERROR;
                    request.method == Method::GET && (stumbled || is_busy(reply.status))
                }
                // Nothing was sent.
                Err(RedfishError::Unreachable { .. }) => true,
                Err(RedfishError::Broken { .. }) => request.method == Method::GET,
                Err(_) => false,
            };
            if !again || attempt == self.exchange.options.retries {
                return outcome;
            }
            let said = outcome.as_ref().ok().and_then(Reply::retry_after);
            let growing = Duration::from_millis(500).saturating_mul(1 << attempt.min(5));
            tokio::time::sleep(said.unwrap_or(growing).min(PATIENCE)).await;
            attempt += 1;
        }
    }

    /// Asks as who is logged in. A session that has ended is begun again, once: what was refused was not done.
    async fn authorized(&self, request: Request<'_>) -> Result<Reply, RedfishError> {
        let who = self.who.lock().await.authorization();
        let reply = self.exchange.send(request, &who).await?;
        let refused = reply.status == StatusCode::UNAUTHORIZED;
        let token = match &who {
            Authorization::Session(token) if refused => token,
            // What it took before it takes again, when those who look after its accounts are back. Once: a password that
            // was changed meanwhile must not lock the account.
            Authorization::Basic(_) if refused && self.password_taken.load(Ordering::Relaxed) => {
                tokio::time::sleep(LAPSE).await;
                return self.exchange.send(request, &who).await;
            }
            Authorization::Basic(_) if !refused => {
                self.password_taken.store(true, Ordering::Relaxed);
                return Ok(reply);
            }
            _ => return Ok(reply),
        };
        let mut who = self.who.lock().await;
        let stale = matches!(&*who, Who::Session(session) if session.token == *token);
        if stale && let (Some(collection), Some(credentials)) = (&self.sessions, &self.exchange.target.credentials) {
            *who = match session::begin(&self.exchange, collection, credentials).await? {
                Some(session) => Who::Session(session),
                None => Who::Fixed(session::basic(credentials)),
            };
        }
        let renewed = who.authorization();
        drop(who);
        self.exchange.send(request, &renewed).await
    }

    fn take_session(&mut self) -> Option<Session> {
        match std::mem::replace(self.who.get_mut(), Who::Fixed(Authorization::Nobody)) {
            Who::Session(session) => Some(session),
            Who::Fixed(_) => None,
        }
    }
}

/// Nothing was changed, for want of the right `If-Match`.
fn is_precondition(outcome: &Result<Answer, RedfishError>) -> bool {
    matches!(outcome, Err(RedfishError::PreconditionFailed(_) | RedfishError::PreconditionRequired(_)))
}

/// Busy for the moment, or its web server is without the service behind it.
fn is_busy(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(session) = self.take_session()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let exchange = Arc::clone(&self.exchange);
            runtime.spawn(async move { session::end(&exchange, session).await });
        }
    }
}

#[cfg(test)]
mod tests;
