//! Sends one request and reads its answer, within limits of time, size and pace. Records each request, and explains
//! errors.

use std::error::Error as StdError;
use std::io::{self, Read as _};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use http::header::CONTENT_ENCODING;
use http::{HeaderValue, Method, StatusCode};
use rustls::client::Resumption;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::answer::{Reply, local_path};
use super::connection::{Connection, ConnectionError};
use super::journal::{Journal, Kept};
use super::options::{ClientOptions, Target};
use super::redirect;
use super::request::{Authorization, Encoding, Request};
use crate::causes::causes;
use crate::error::{Failure, RedfishError, RequestLine};
use crate::message::{self, Message};
use crate::networks::{NetworkRefusal, Unresolved};
use crate::secrets::Secrets;
use crate::tls;

/// Maximum number of redirects. The client follows redirects of GET at the same BMC, such as from `/redfish/v1` to `/redfish/v1/`. For
/// other requests it follows one, and only to the same path with or without a slash at the end.
const MAX_REDIRECTS: usize = 3;
/// How long an idle connection is kept. BMCs close connections early, and nobody knows whether a BMC carries out a
/// request that it gets on a closing connection.
const IDLE: Duration = Duration::from_secs(4);

/// How many session tickets rustls keeps for a server.
const TICKETS: usize = 8;

/// Locked while a request is under way.
struct Turn {
    connection: Connection,
    /// When the last request ended.
    last_request: Option<Instant>,
}

/// The requests to one BMC.
pub(super) struct Exchange {
    pub(super) target: Target,
    pub(super) options: ClientOptions,
    turn: Mutex<Turn>,
    pub(super) journal: Journal,
    secrets: RwLock<Arc<Secrets>>,
    /// Why the BMC has granted no session, so that each request has the password.
    session_refusal: RwLock<Option<Box<Failure>>>,
}

impl Exchange {
    pub(super) fn new(target: &Target, options: &ClientOptions) -> Result<Self, RedfishError> {
        let origin = target.address.origin();
        options
            .networks
            .check_literal(origin)
            .map_err(|refusal| RedfishError::Refused { host: target.address.host().to_string(), refusal })?;
        let internal = |error: &dyn StdError| RedfishError::Internal(error.to_string());
        let mut tls = None;
        if origin.scheme() == "https" {
            let mut config = tls::client_config(&target.verification).map_err(|error| internal(&error))?;
            // There is only one server. rustls would make room for the tickets of 32.
            config.resumption = Resumption::in_memory_sessions(TICKETS);
            tls = Some(config);
        }
        let connection = Connection::new(origin, tls, options.networks.clone(), options.connect_timeout, IDLE)
            .map_err(|error| internal(&error))?;
        let turn = Mutex::new(Turn { connection, last_request: None });
        let (target, options) = (target.clone(), options.clone());
        let secrets = RwLock::new(Arc::new(Secrets::of(target.credentials.as_ref())));
        let (journal, session_refusal) = (Journal::default(), RwLock::default());
        Ok(Self { target, options, turn, journal, secrets, session_refusal })
    }

    pub(super) fn origin(&self) -> String {
        self.target.address.origin().as_str().trim_end_matches('/').to_owned()
    }

    /// Sends a request, and follows redirects if that is safe. Succeeds with any status.
    pub(super) async fn send(
        &self,
        request: Request<'_>,
        authorization: &Authorization,
    ) -> Result<Reply, RedfishError> {
        let first = request.path;
        let mut path = first.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let request = Request { path: &path, ..request };
            let mut reply = self.send_once(request, authorization).await?;
            if reply.status == StatusCode::NOT_ACCEPTABLE {
                reply = self.send_once(Request { encoding: Encoding::Gzip, ..request }, authorization).await?;
            }
            if !reply.status.is_redirection() || reply.status == StatusCode::NOT_MODIFIED {
                return Ok(reply);
            }
            let next = self.url(&reply.path).ok().and_then(|url| redirect::path(&url, &reply));
            match next {
                Some(next) if request.method == Method::GET => path = next,
                // The BMC's web server only asks for another path. The BMC has carried out nothing.
                Some(next) if path == first && redirect::keeps_resource(&reply, &next) => path = next,
                _ => return Err(redirect::error(&reply, &self.target.address, &self.secrets())),
            }
        }
        let location = format!("{}, in a circle", self.masked_path(&path));
        Err(RedfishError::Redirect { request: self.request_line(request), location, is_address: false })
    }

    /// The URL of a path at this BMC. The path cannot change the host.
    fn url(&self, path: &str) -> Result<Url, RedfishError> {
        let reference = || message::clean(path, &self.secrets()).chars().take(80).collect();
        let local = local_path(path).ok_or_else(|| RedfishError::Reference(reference()))?;
        let mut url = self.target.address.origin().clone();
        match local.split_once('?') {
            Some((path, query)) => {
                url.set_path(path);
                url.set_query(Some(query));
            }
            None => url.set_path(&local),
        }
        Ok(url)
    }

    async fn send_once(&self, request: Request<'_>, authorization: &Authorization) -> Result<Reply, RedfishError> {
        let url = self.url(request.path)?;
        let mut turn = self.turn.lock().await;
        if let Some(rest) = turn.last_request.and_then(|last| self.options.pace.checked_sub(last.elapsed())) {
            tokio::time::sleep(rest).await;
        }
        let (at, begin) = (SystemTime::now(), Instant::now());
        let outcome = self.read(request, &url, authorization, &mut turn.connection).await;
        turn.last_request = Some(Instant::now());
        drop(turn);

        let status = outcome.as_ref().ok().map(|reply| reply.status.as_u16());
        let (RequestLine { method, path }, took) = (self.request_line(request), begin.elapsed());
        let seconds = took.as_secs_f64();
        tracing::debug!(bmc = %self.target.address, method, path, status, seconds, "sent a request to a BMC");
        self.journal.add(Kept::new(at, method, &path, status, took));
        outcome
    }

    async fn read(
        &self,
        request: Request<'_>,
        url: &Url,
        authorization: &Authorization,
        connection: &mut Connection,
    ) -> Result<Reply, RedfishError> {
        let limit = self.options.max_body;
        let message = request.message(url, authorization).map_err(|error| self.explain(request, &error.into()))?;
        let begin = Instant::now();
        let answer = connection.send(message, request.timeout, limit).await;
        // The kernel may give up a connection before the limit.
        let waited = Request { timeout: begin.elapsed().min(request.timeout), ..request };
        let (head, mut body) = answer.map_err(|error| self.explain(waited, &error))?;
        let line = self.request_line(request);
        if head.headers.get(CONTENT_ENCODING).is_some_and(is_gzip) && !body.is_empty() {
            body = match unpacked(&body, limit) {
                Ok(Some(body)) => body,
                Ok(None) => return Err(RedfishError::TooLarge { request: line, limit }),
                Err(error) => {
                    let reason = format!("gzip: {error}");
                    return Err(RedfishError::NotJson { request: line, reason, was_service: false });
                }
            };
        }
        let (status, headers) = (head.status, head.headers);
        Ok(Reply { request: line, path: request.path.to_owned(), status, headers, body })
    }

    /// The error of a request that got no answer.
    fn explain(&self, request: Request<'_>, error: &ConnectionError) -> RedfishError {
        let host = || self.target.address.host().to_string();
        for cause in causes(error) {
            if let Some(refusal) = cause.downcast_ref::<NetworkRefusal>() {
                return RedfishError::Refused { host: host(), refusal: *refusal };
            }
            if let Some(unresolved) = cause.downcast_ref::<Unresolved>() {
                return RedfishError::Unresolved { host: host(), reason: unresolved.to_string() };
            }
            // After the handshake, the BMC may have carried out the request. But a BMC with TLS 1.3 that demands a client certificate
            // also says so only after the handshake.
            if let Some(of_tls) = cause.downcast_ref::<rustls::Error>()
                && (!matches!(error, ConnectionError::Broken(_)) || tls::may_demand_certificate(of_tls))
            {
                return tls::explain(of_tls, self.origin());
            }
        }
        let line = self.request_line(request);
        match error {
            ConnectionError::TooLong => {
                return RedfishError::TooLarge { request: line, limit: self.options.max_body };
            }
            ConnectionError::Unreachable(_) | ConnectionError::ConnectTimeout => {
                let reason = if error.is_timeout() {
                    format!("no connection within {} s", self.options.connect_timeout.as_secs_f32().ceil())
                } else {
                    innermost(error)
                };
                return RedfishError::Unreachable { origin: self.origin(), reason };
            }
            error if error.is_timeout() => {
                return RedfishError::Timeout { request: line, after: request.timeout };
            }
            ConnectionError::Request(_) | ConnectionError::Timeout | ConnectionError::Broken(_) => {}
        }
        let mut reason = innermost(error);
        if self.target.address.origin().scheme() == "http" {
            reason.push_str("; if the BMC uses TLS on this port, write its address without +http");
        }
        RedfishError::Broken { request: line, reason }
    }

    /// The secrets to mask in the BMC's answers.
    pub(super) fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.secrets.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Masks a session's token, and its path if nobody can guess it, from now on and after the session has ended.
    pub(super) fn keep_secret(&self, token: &HeaderValue, path: Option<&str>) {
        let mut secrets = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        let secrets = Arc::make_mut(&mut secrets);
        secrets.add(&String::from_utf8_lossy(token.as_bytes()));
        if let Some(path) = path {
            secrets.add_path(path);
        }
    }

    /// A path as it may be shown. BMCs choose the paths of tasks, and may repeat the URL of an image in them.
    pub(super) fn masked_path(&self, path: &str) -> String {
        message::without_tokens(&self.secrets().mask_path(path))
    }

    fn request_line(&self, request: Request<'_>) -> RequestLine {
        let method = match *request.method {
            Method::POST => "POST",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "GET",
        };
        RequestLine { method, path: self.masked_path(request.path) }
    }

    /// The error of an answer whose status is not success.
    pub(super) fn failure(&self, reply: &Reply) -> RedfishError {
        let messages = message::messages(&reply.lenient(), &self.secrets());
        let origin = self.origin();
        let username = self.target.credentials.as_ref().map(|credentials| credentials.username.clone());
        let change = messages.iter().any(|message| message.key() == "PasswordChangeRequired");
        if is_of_image_server(&messages) {
            return RedfishError::Status(Box::new(self.unsuccessful(reply)));
        }
        let session_refusal = self.session_refusal().filter(|_| self.refuses_login(reply));
        match (reply.status, username, session_refusal) {
            (StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED, Some(username), _) if change => {
                return RedfishError::PasswordChangeRequired { origin, username };
            }
            (_, Some(username), Some(session)) => {
                return RedfishError::NoSession { origin, username, session, messages };
            }
            (StatusCode::UNAUTHORIZED, Some(username), None) => {
                return RedfishError::NotAuthorized { origin, username, messages };
            }
            (StatusCode::UNAUTHORIZED, None, _) => return RedfishError::CredentialsMissing { origin },
            _ => {}
        }
        RedfishError::Status(Box::new(self.unsuccessful(reply)))
    }

    /// Whether the BMC refuses the credentials of a request, or says that its session has ended. Some BMCs answer 403 if the session has
    /// ended. Otherwise, 403 means a missing privilege.
    pub(super) fn refuses_login(&self, reply: &Reply) -> bool {
        let messages = || message::messages(&reply.lenient(), &self.secrets());
        match reply.status {
            StatusCode::UNAUTHORIZED => !is_of_image_server(&messages()),
            StatusCode::FORBIDDEN => {
                messages().iter().any(|message| message.key().eq_ignore_ascii_case("NoValidSession"))
            }
            _ => false,
        }
    }

    /// The request, the status and the messages of an answer whose status is not success, whatever they mean.
    pub(super) fn unsuccessful(&self, reply: &Reply) -> Failure {
        let messages = message::messages(&reply.lenient(), &self.secrets());
        Failure { request: reply.request.clone(), status: reply.status, messages, retry_after: reply.retry_after() }
    }

    /// Why the BMC has granted no session.
    pub(super) fn session_refusal(&self) -> Option<Box<Failure>> {
        self.session_refusal.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes why the BMC has granted no session. A later 401 may be about that, and not about the password.
    pub(super) fn note_session_refusal(&self, refusal: Option<Failure>) {
        *self.session_refusal.write().unwrap_or_else(PoisonError::into_inner) = refusal.map(Box::new);
    }
}

/// Whether messages are about the server of an image, which has refused the BMC. `OpenBMC` repeats the status of that server, 401. For a
/// login that fails, it has the same key, but with a URI of its own.
fn is_of_image_server(messages: &[Message]) -> bool {
    messages.iter().any(|message| {
        let mut texts = message.about.iter().chain([&message.text]);
        message.key().eq_ignore_ascii_case("ResourceAtUriUnauthorized")
            && texts.clone().any(|text| text.contains("://"))
            && !texts.any(|text| text.contains("/redfish/v1"))
    })
}

/// Whether a body is compressed with gzip (RFC 9110 §8.4.1): codings are case-insensitive, and `x-gzip` is an old name.
fn is_gzip(coding: &HeaderValue) -> bool {
    coding.to_str().is_ok_and(|coding| ["gzip", "x-gzip"].iter().any(|gzip| coding.trim().eq_ignore_ascii_case(gzip)))
}

/// Decompresses a body. Returns `None` if the result is longer than `limit`.
fn unpacked(body: &[u8], limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut plain = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    flate2::read::GzDecoder::new(body).take(most).read_to_end(&mut plain)?;
    Ok((plain.len() <= limit).then_some(plain))
}

fn innermost(error: &ConnectionError) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}
