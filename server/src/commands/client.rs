//! A client of a dayone server's API.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use media::listen::missing_pem;
use reqwest::header::{HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Method, Request, RequestBuilder, Response, StatusCode};
use rustls::ClientConfig;
use rustls::client::ResolvesClientCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::{Host, Url};
use vocabulary::report::Position;

use super::failure::Failure;
use super::foreign_answer::{explain, list_command, may_have_begun, other_login};
use super::wrong_scheme;
use crate::api::NOTHING_HERE;
use crate::api::problem::ProblemKind;
use crate::arguments::ServerAccess;
use crate::error_chain::chain;
use crate::forward_proxy;
use redfish::{Certificates, Verification, client_config};

/// Where a server has its API by default.
const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";
const MAX_CONNECT: Duration = Duration::from_secs(10);
/// How long to wait for a server that has had too many requests, before the request fails.
const MAX_BUSY: Duration = Duration::from_secs(30);
/// How long to wait if such a server does not say how long.
const BUSY_INTERVAL: Duration = Duration::from_secs(1);
/// The largest answer that the client accepts. A boot is a few KiB.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// A finding about the documents.
#[derive(Debug, Deserialize)]
pub(super) struct Finding {
    pub(super) severity: String,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) position: Option<Position>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// The server does not answer, or is not a dayone server.
    #[error("{0}")]
    Unreachable(String),
    /// The server has too much to do at the moment, and has not begun the request.
    #[error("{detail}")]
    Busy { status: StatusCode, detail: String, wait: Duration },
    /// The token is missing or wrong.
    #[error("{0}")]
    Token(String),
    /// The server has no API at this path.
    #[error(
        "the server has no API at this path: {0}; give --server without /v1, and with a path only if a proxy in front of the server \
         removes it. An older server may lack what this command needs"
    )]
    NoApi(String),
    /// Something in front of the server requires another login.
    #[error(
        "a proxy in front of the server requires a login ({0}), and dayone sends only its token: have the proxy pass the API \
         on without a login"
    )]
    OtherLogin(String),
    /// The boot or the image does not exist any more.
    #[error("the server does not have it any more")]
    Missing,
    /// The server refuses the request.
    #[error("{detail}")]
    Refused { detail: String, findings: Vec<Finding> },
}

/// An answer in another form than dayone's.
impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreachable(format!("the server's answer is not valid: {error}"))
    }
}

#[derive(Deserialize)]
struct Problem {
    #[serde(rename = "type", default)]
    kind: String,
    detail: String,
    #[serde(default)]
    findings: Vec<Finding>,
}

impl Problem {
    /// Whether the server has no API at the path. Servers from before this kind of problem have only the detail.
    fn is_unknown_path(&self) -> bool {
        self.kind == ProblemKind::UnknownPath.uri() || self.detail.starts_with(NOTHING_HERE)
    }
}

/// A bearer token, and where it comes from.
#[derive(Clone)]
pub(super) struct Token {
    value: String,
    origin: String,
}

impl Token {
    pub(super) fn new(value: String, origin: String) -> Result<Self, Failure> {
        let token = Self { value, origin };
        HeaderValue::try_from(format!("Bearer {}", token.value)).map_err(|_| {
            Failure::System(format!("the token of {} has a control character, such as a line end", token.origin))
        })?;
        Ok(token)
    }
}

/// A server, and how to talk to it.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    url: Url,
    token: Option<Token>,
    /// Held by the one request that waits for a server that has had too many. The others wait for their turn: if all of them asked
    /// again together, some might never get through.
    turn: Arc<Mutex<()>>,
}

impl Client {
    pub(super) fn new(url: Url, token: Option<Token>, builder: reqwest::ClientBuilder) -> Result<Self, Failure> {
        let http = builder
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("dayone/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(MAX_CONNECT)
            .build()
            .map_err(|error| Failure::system("cannot make an HTTP client", &error))?;
        Ok(Self { http, url, token, turn: Arc::default() })
    }

    /// Returns the client of the server in the arguments, or of the one at its default address.
    pub(super) fn of_server(url: Option<&Url>, access: &ServerAccess) -> Result<Self, Failure> {
        let url = match url {
            Some(url) => url.clone(),
            None => DEFAULT_SERVER.parse().map_err(|error| Failure::system(DEFAULT_SERVER, &error))?,
        };
        Self::of(url, access)
    }

    /// Returns the client of the server in the arguments, with the token from the file or from the environment.
    pub(super) fn of(url: Url, access: &ServerAccess) -> Result<Self, Failure> {
        let verification = match &access.server_ca {
            None => Verification::System,
            Some(path) => {
                Verification::CaFile(Certificates::from_file(path).map_err(|error| Failure::System(error.to_string()))?)
            }
        };
        let mut tls = client_config(&verification).map_err(|error| Failure::system("--server-ca", &error))?;
        if let Some(path) = &access.client_cert {
            tls.client_auth_cert_resolver = client_certificate(path, &tls)?;
        }
        let mut builder = forward_proxy::client_builder().tls_backend_preconfigured(tls);
        if is_loopback(&url) {
            // A proxy would reach another machine under this address.
            builder = builder.no_proxy();
        } else {
            forward_proxy::of(&url).map_err(Failure::System)?;
        }
        Self::new(url, token(access)?, builder)
    }

    pub(super) fn get(&self, path: Url) -> RequestBuilder {
        self.http.get(path)
    }

    pub(super) fn post(&self, path: Url) -> RequestBuilder {
        self.http.post(path)
    }

    pub(super) fn delete(&self, path: Url) -> RequestBuilder {
        self.http.delete(path)
    }

    pub(super) fn path(&self, segments: &[&str]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    /// Sends a request. If the server has had too many requests (429), waits as long as the server says, and sends the request again:
    /// the server refuses it before any work.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, ApiError> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(&token.value),
            None => request,
        };
        let mut request = request.build().map_err(|error| unreachable(&error))?;
        let (begun, mut turn) = (Instant::now(), None);
        loop {
            let again = request.try_clone();
            let answer = self.send_once(request).await;
            let Err(ApiError::Busy { status: StatusCode::TOO_MANY_REQUESTS, wait, .. }) = &answer else {
                return answer;
            };
            let wait = *wait;
            let Some(again) = again.filter(|_| begun.elapsed() + wait <= MAX_BUSY) else { return answer };
            if turn.is_none() {
                turn = Some(self.turn.lock().await);
            } else {
                tokio::time::sleep(wait).await;
            }
            request = again;
        }
    }

    async fn send_once(&self, request: Request) -> Result<Response, ApiError> {
        let (is_get, list) = (request.method() == Method::GET, list_command(&request));
        let path = request.url().path().to_owned();
        let answer = match self.http.execute(request).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.no_answer(&error, list).await),
        };
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(other_login(answer.headers()).map_or_else(|| self.refused_token(), ApiError::OtherLogin));
        }
        let wait = match status {
            StatusCode::TOO_MANY_REQUESTS => Some(retry_after(answer.headers()).unwrap_or(BUSY_INTERVAL)),
            StatusCode::SERVICE_UNAVAILABLE if is_get => retry_after(answer.headers()),
            _ => None,
        };
        let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok()).map(str::to_owned);
        let proxy = Some(answer.url()).filter(|url| !is_loopback(url)).and_then(forward_proxy::before);
        let problem = read::<Problem>(answer).await;
        if let Some(wait) = wait {
            let detail = problem.map_or_else(|_| format!("the server answers {status}"), |problem| problem.detail);
            return Err(ApiError::Busy { status, detail, wait });
        }
        match problem {
            Ok(problem) if status == StatusCode::NOT_FOUND && problem.is_unknown_path() => Err(ApiError::NoApi(path)),
            Ok(_) if status == StatusCode::NOT_FOUND => Err(ApiError::Missing),
            Ok(Problem { detail, findings, .. }) => Err(ApiError::Refused { detail, findings }),
            Err(_) => Err(ApiError::Unreachable(explain(status, location.as_deref(), list, proxy.as_ref()))),
        }
    }

    fn refused_token(&self) -> ApiError {
        ApiError::Token(match &self.token {
            Some(token) => format!("the server does not accept the token of {}", token.origin),
            None => "the server requires a token: give --token-file, or set DAYONE_API_TOKEN".to_owned(),
        })
    }

    async fn no_answer(&self, error: &reqwest::Error, list: Option<&str>) -> ApiError {
        if let Some(why) = wrong_scheme::explain(error, &self.url) {
            return ApiError::Unreachable(why);
        }
        let refusal = if is_loopback(&self.url) { None } else { forward_proxy::refusal(error, None).await };
        let why = refusal.map_or_else(|| chain(error), |refusal| refusal.why);
        // Without a connection, the server has nothing of the request.
        let order = may_have_begun(list.filter(|_| !error.is_connect()));
        ApiError::Unreachable(format!("the server does not answer: {why}{order}"))
    }
}

/// How long to wait before the next request, if the server says so. It may also give a date; the client then waits a second.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok().and_then(|text| text.parse::<u32>().ok());
    Some(seconds.map_or(BUSY_INTERVAL, |seconds| Duration::from_secs(seconds.into())))
}

pub(super) async fn read<T: for<'de> Deserialize<'de>>(mut answer: Response) -> Result<T, ApiError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER_BYTES {
            return Err(ApiError::Unreachable("the server's answer is too long; is it a dayone server?".to_owned()));
        }
    }
    Ok(serde_json::from_slice(&body)?)
}

fn unreachable(error: &reqwest::Error) -> ApiError {
    ApiError::Unreachable(format!("the server does not answer: {}", chain(error)))
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let message = error.to_string();
        match error {
            ApiError::Unreachable(_)
            | ApiError::Busy { .. }
            | ApiError::Token(_)
            | ApiError::OtherLogin(_)
            | ApiError::NoApi(_) => Self::System(message),
            ApiError::Refused { .. } | ApiError::Missing => Self::Input(message),
        }
    }
}

/// Reads a certificate, with those of the authorities between it and the server's, and its key from one file.
fn client_certificate(path: &Path, tls: &ClientConfig) -> Result<Arc<dyn ResolvesClientCert>, Failure> {
    let what = format!("--client-cert {}", path.display());
    let chain = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| Failure::system(&what, &error))?;
    if chain.is_empty() {
        return Err(Failure::System(format!("{what}: {}", missing_pem(&pem::Error::NoItemsFound, "CERTIFICATE"))));
    }
    let key = PrivateKeyDer::from_pem_file(path).map_err(|error| match error {
        error @ pem::Error::NoItemsFound => Failure::System(format!(
            "{what}: {}; put the key of the certificate into the same file",
            missing_pem(&error, "PRIVATE KEY")
        )),
        error => Failure::system(&what, &error),
    })?;
    let certified = CertifiedKey::from_der(chain, key, tls.crypto_provider());
    Ok(Arc::new(SingleCertAndKey::from(certified.map_err(|error| Failure::system(&what, &error))?)))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn token(access: &ServerAccess) -> Result<Option<Token>, Failure> {
    let (text, origin) = match &access.token_file {
        Some(path) => (std::fs::read_to_string(path), path.display().to_string()),
        None => match std::env::var("DAYONE_API_TOKEN") {
            Ok(text) if !text.trim().is_empty() => (Ok(text), "the variable DAYONE_API_TOKEN".to_owned()),
            _ => return Ok(None),
        },
    };
    let text = text.map_err(|error| Failure::system(&format!("cannot read the token of {origin}"), &error))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let token = text.lines().map(str::trim).find(|line| !line.is_empty());
    let token =
        token.ok_or_else(|| Failure::System(format!("cannot read the token of {origin}: the file is empty")))?;
    Token::new(token.to_owned(), origin).map(Some)
}
