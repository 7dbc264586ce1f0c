//! The API of a dayone that serves, this one or another.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use url::Url;
use vocabulary::report::Position;

use super::events::{Event, Events};
use super::order::Order;
use crate::commands::failure::Failure;
use crate::error_chain::chain;

/// How long the server may take to say anything. It sends something every 15 s where it has nothing to say.
const SILENCE: Duration = Duration::from_mins(1);
/// How long it may take to make the images: a base that it has not read yet takes a while.
const MAKING: Duration = Duration::from_mins(10);
const CONNECTING: Duration = Duration::from_secs(10);
/// The most that an answer may have: a boot is a few KiB.
const LARGEST: usize = 16 << 20;

/// What is known of a boot, as far as it is looked at here.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Boot {
    pub(super) id: String,
    pub(super) host: Option<String>,
    pub(super) state: String,
    pub(super) ended: bool,
    pub(super) bmc: Bmc,
    pub(super) progress: Option<String>,
    pub(super) steps: Vec<Step>,
    pub(super) remarks: Vec<Remark>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Bmc {
    pub(super) address: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Step {
    #[serde(rename = "step")]
    pub(super) name: String,
    pub(super) state: String,
    pub(super) seconds: Option<f64>,
    pub(super) error: Option<String>,
    pub(super) detail: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Remark {
    pub(super) text: String,
}

/// What came of a request.
#[derive(Debug, Deserialize)]
pub(super) struct Begun {
    pub(super) boots: Vec<Boot>,
    pub(super) findings: Vec<Finding>,
}

/// What was found in the documents.
#[derive(Debug, Deserialize)]
pub(super) struct Finding {
    pub(super) severity: String,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) position: Option<Position>,
}

/// Why the API did not do it.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// It is not there, or not a dayone.
    #[error("{0}")]
    Unreachable(String),
    /// It wants a token.
    #[error("the server wants another token; give it with --token-file, or in DAYONE_API_TOKEN")]
    Token,
    /// What is asked for is not there any more.
    #[error("the server does not know it any more")]
    Missing,
    /// It says why.
    #[error("{detail}")]
    Refused { detail: String, findings: Vec<Finding> },
}

#[derive(Deserialize)]
struct Problem {
    detail: String,
    #[serde(default)]
    findings: Vec<Finding>,
}

impl Boot {
    /// What people call it.
    pub(super) fn name(&self) -> &str {
        self.host.as_deref().unwrap_or(&self.bmc.address)
    }

    /// Whether it has come to where it stays until somebody does something.
    pub(super) fn is_settled(&self) -> bool {
        self.ended || matches!(self.state.as_str(), "booted" | "failed" | "unknown")
    }

    /// Whether it stays as it is although its medium should come out by itself.
    pub(super) fn keeps_medium(&self) -> bool {
        let stuck = |step: &Step| step.name == "ejected" && step.state == "failed";
        matches!(self.state.as_str(), "failed" | "unknown") || self.steps.iter().any(stuck)
    }

    /// Whether nothing can show if the host has booted.
    pub(super) fn is_unknown(&self) -> bool {
        self.steps.iter().any(|step| step.name == "booted" && step.state == "unknown")
    }

    pub(super) fn has_booted(&self) -> bool {
        self.steps.iter().any(|step| step.name == "booted" && step.state == "done")
    }
}

/// The API. Clones are the same.
#[derive(Clone)]
pub(super) struct Api {
    http: reqwest::Client,
    url: Url,
    token: Option<String>,
}

impl Api {
    pub(super) fn new(url: Url, token: Option<String>, builder: reqwest::ClientBuilder) -> Result<Self, Failure> {
        let http = builder
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("dayone/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECTING)
            .build()
            .map_err(|error| Failure::system("cannot make a client", &error))?;
        Ok(Self { http, url, token })
    }

    /// Begins boots.
    pub(super) async fn begin(&self, order: &Order) -> Result<Begun, ApiError> {
        let body = serde_json::to_vec(order).map_err(|error| ApiError::Unreachable(error.to_string()))?;
        let request = self.http.post(self.path(&["v1", "boots"])).header("content-type", "application/json");
        let answer = self.send(request.body(body).timeout(MAKING)).await?;
        read(answer).await
    }

    /// Has a boot undone.
    pub(super) async fn delete(&self, id: &str) -> Result<(), ApiError> {
        let request = self.http.delete(self.path(&["v1", "boots", id])).timeout(SILENCE);
        match self.send(request).await {
            // Somebody else has.
            Err(ApiError::Missing) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What becomes of a boot, from its revision `seen` on. None if it has ended and that was seen.
    pub(super) async fn follow(&self, id: &str, seen: &str) -> Result<Option<Following>, ApiError> {
        let request = self.http.get(self.path(&["v1", "boots", id, "events"])).header("last-event-id", seen);
        let sent = tokio::time::timeout(SILENCE, self.send(request)).await;
        let answer = sent.map_err(|_| ApiError::Unreachable("the server is silent".to_owned()))??;
        let ended = answer.status() == StatusCode::NO_CONTENT;
        Ok((!ended).then(|| Following { answer, events: Events::default() }))
    }

    fn path(&self, segments: &[&str]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ApiError> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let answer = request.send().await.map_err(|error| unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(ApiError::Token);
        }
        match read::<Problem>(answer).await {
            Ok(_) if status == StatusCode::NOT_FOUND => Err(ApiError::Missing),
            Ok(Problem { detail, findings }) => Err(ApiError::Refused { detail, findings }),
            Err(_) => Err(ApiError::Unreachable(format!("the server answers {status}; is it a dayone?"))),
        }
    }
}

async fn read<T: for<'de> Deserialize<'de>>(mut answer: Response) -> Result<T, ApiError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST {
            return Err(ApiError::Unreachable("the server's answer is too long; is it a dayone?".to_owned()));
        }
    }
    serde_json::from_slice(&body)
        .map_err(|error| ApiError::Unreachable(format!("the server's answer cannot be understood: {error}")))
}

fn unreachable(error: &reqwest::Error) -> ApiError {
    ApiError::Unreachable(format!("the server does not answer: {}", chain(error)))
}

/// The events of a boot.
pub(super) struct Following {
    answer: Response,
    events: Events,
}

impl Following {
    /// The next event; none where the connection has ended.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.next() {
                return Some(event);
            }
            let chunk = tokio::time::timeout(SILENCE, self.answer.chunk()).await.ok()?.ok()??;
            self.events.add(&chunk);
        }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let message = error.to_string();
        match error {
            ApiError::Unreachable(_) | ApiError::Token => Self::System(message),
            ApiError::Refused { .. } | ApiError::Missing => Self::Input(message),
        }
    }
}
