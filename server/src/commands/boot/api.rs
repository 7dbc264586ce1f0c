//! The client of a dayone server's API. The server is in this process or elsewhere.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use url::Url;
use vocabulary::report::Position;

use super::events::{Event, Events};
use super::order::Order;
use crate::commands::failure::Failure;
use crate::error_chain::chain;

/// How long the server may send nothing. It sends a comment every 15 s if there are no events.
const MAX_SILENCE: Duration = Duration::from_mins(1);
/// How long the server may take to make the images. It takes longer for a base that it has not read yet.
const MAX_BUILD: Duration = Duration::from_mins(10);
const MAX_CONNECT: Duration = Duration::from_secs(10);
/// The largest answer that the client accepts. A boot is a few KiB.
const LARGEST_ANSWER: usize = 16 << 20;

/// The members of a boot that the command uses.
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

/// The answer to a request for boots.
#[derive(Debug, Deserialize)]
pub(super) struct Begun {
    pub(super) boots: Vec<Boot>,
    pub(super) findings: Vec<Finding>,
}

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
    /// The token is missing or wrong.
    #[error("the server requires a valid token: give --token-file, or set DAYONE_API_TOKEN")]
    Token,
    /// The boot does not exist any more.
    #[error("the server has forgotten the boot")]
    Missing,
    /// The server refuses the request.
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
    /// The host's name, or else the BMC's address.
    pub(super) fn name(&self) -> &str {
        self.host.as_deref().unwrap_or(&self.bmc.address)
    }

    /// Whether the boot stays in its state until somebody acts.
    pub(super) fn is_settled(&self) -> bool {
        self.ended || matches!(self.state.as_str(), "booted" | "failed" | "unknown")
    }

    /// Whether the boot keeps its medium, although dayone should eject it.
    pub(super) fn keeps_medium(&self) -> bool {
        matches!(self.state.as_str(), "failed" | "unknown") || self.has("ejected", "failed")
    }

    /// Whether dayone cannot tell if the host has booted.
    pub(super) fn is_unknown(&self) -> bool {
        self.has("booted", "unknown")
    }

    pub(super) fn has_booted(&self) -> bool {
        self.has("booted", "done")
    }

    fn has(&self, step: &str, state: &str) -> bool {
        self.steps.iter().any(|each| each.name == step && each.state == state)
    }
}

/// The API of a server.
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
            .connect_timeout(MAX_CONNECT)
            .build()
            .map_err(|error| Failure::system("cannot make an HTTP client", &error))?;
        Ok(Self { http, url, token })
    }

    /// Requests boots.
    pub(super) async fn begin(&self, order: &Order) -> Result<Begun, ApiError> {
        let body = serde_json::to_vec(order).map_err(|error| ApiError::Unreachable(error.to_string()))?;
        let request = self.http.post(self.path(&["v1", "boots"])).header("content-type", "application/json");
        let answer = self.send(request.body(body).timeout(MAX_BUILD)).await?;
        read(answer).await
    }

    /// Deletes a boot.
    pub(super) async fn delete(&self, id: &str) -> Result<(), ApiError> {
        let request = self.http.delete(self.path(&["v1", "boots", id])).timeout(MAX_SILENCE);
        match self.send(request).await {
            // Somebody else has deleted it.
            Err(ApiError::Missing) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Follows a boot after its revision `seen`. Returns none if that was the last one.
    pub(super) async fn follow(&self, id: &str, seen: &str) -> Result<Option<Following>, ApiError> {
        let request = self.http.get(self.path(&["v1", "boots", id, "events"])).header("last-event-id", seen);
        let sent = tokio::time::timeout(MAX_SILENCE, self.send(request)).await;
        let answer = sent.map_err(|_| ApiError::Unreachable("the server does not answer in time".to_owned()))??;
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
            Err(_) => Err(ApiError::Unreachable(format!("the server answers {status}; is it a dayone server?"))),
        }
    }
}

async fn read<T: for<'de> Deserialize<'de>>(mut answer: Response) -> Result<T, ApiError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST_ANSWER {
            return Err(ApiError::Unreachable("the server's answer is too long; is it a dayone server?".to_owned()));
        }
    }
    serde_json::from_slice(&body)
        .map_err(|error| ApiError::Unreachable(format!("the server's answer is not valid: {error}")))
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
    /// Returns the next event; none if the connection has ended.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.next() {
                return Some(event);
            }
            let chunk = tokio::time::timeout(MAX_SILENCE, self.answer.chunk()).await.ok()?.ok()??;
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
