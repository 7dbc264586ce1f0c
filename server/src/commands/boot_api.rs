//! Boots in the API of a dayone server. The server is in this process or elsewhere.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::client::{ApiError, Client, Finding, read};
use super::events::{Event, Events};

/// How long the server may send nothing. It sends a comment every second or two if there are no events; an older one, every 15 s.
const MAX_SILENCE: Duration = Duration::from_mins(1);
/// How long the server may take to make the images. It takes longer for a base that it has not read yet.
const MAX_BUILD: Duration = Duration::from_mins(10);

/// The state of a boot that the server does not have any more, in place of its last one.
pub(super) const FORGOTTEN: &str = "forgotten";

/// The members of a boot that the command uses.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Boot {
    pub(super) id: String,
    pub(super) host: Option<String>,
    pub(super) state: String,
    pub(super) ended: bool,
    #[serde(default)]
    pub(super) inserted: bool,
    #[serde(default)]
    pub(super) eject: String,
    #[serde(default)]
    pub(super) created: String,
    #[serde(default)]
    pub(super) image: String,
    pub(super) bmc: Bmc,
    #[serde(default)]
    pub(super) firmware_settings: Vec<FirmwareSetting>,
    pub(super) progress: Option<String>,
    pub(super) steps: Vec<Step>,
    pub(super) remarks: Vec<Remark>,
    #[serde(default)]
    pub(super) revision: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Bmc {
    pub(super) address: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct FirmwareSetting {
    pub(super) attribute: String,
    pub(super) before: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Step {
    #[serde(rename = "step")]
    pub(super) name: String,
    pub(super) state: String,
    #[serde(default)]
    pub(super) started: Option<String>,
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

impl Boot {
    /// The host's name, or else the BMC's address.
    pub(super) fn name(&self) -> &str {
        self.host.as_deref().unwrap_or(&self.bmc.address)
    }

    /// Whether the boot stays in its state until somebody acts.
    pub(super) fn is_settled(&self) -> bool {
        self.ended || matches!(self.state.as_str(), "booted" | "failed" | "unknown")
    }

    /// Whether dayone does nothing more: the boot has ended, or the server does not have it any more.
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.state == FORGOTTEN
    }

    /// Notes that the server does not have the boot any more.
    pub(super) fn forget(&mut self) {
        FORGOTTEN.clone_into(&mut self.state);
    }

    /// Whether dayone ejects the medium when the host has booted, and the boot ends then.
    pub(super) fn ejects_when_booted(&self) -> bool {
        self.eject == "when-booted"
    }

    /// Whether the boot keeps its medium, although dayone should eject it.
    pub(super) fn keeps_medium(&self) -> bool {
        matches!(self.state.as_str(), "failed" | "unknown") || self.undo_failed()
    }

    /// Whether dayone could not restore the BMC.
    pub(super) fn undo_failed(&self) -> bool {
        self.has("ejected", "failed")
    }

    /// Why dayone could not restore the BMC.
    pub(super) fn undo_error(&self) -> Option<&str> {
        self.steps.iter().find(|step| step.name == "ejected")?.error.as_deref()
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
pub(super) struct Api(pub(super) Client);

impl Api {
    /// Requests boots.
    pub(super) async fn begin(&self, order: &impl Serialize) -> Result<Begun, ApiError> {
        let body = serde_json::to_vec(order).map_err(|error| ApiError::Unreachable(error.to_string()))?;
        let request = self.0.post(self.0.path(&["v1", "boots"])).header("content-type", "application/json");
        let answer = self.0.send(request.body(body).timeout(MAX_BUILD)).await?;
        read(answer).await
    }

    /// Reads a boot, also as the server's JSON. Returns none if the server does not have it any more.
    pub(super) async fn get(&self, id: &str) -> Result<Option<(Boot, Box<RawValue>)>, ApiError> {
        let request = self.0.get(self.0.path(&["v1", "boots", id])).timeout(MAX_SILENCE);
        let answer = match self.0.send(request).await {
            Err(ApiError::Missing) => return Ok(None),
            answer => answer?,
        };
        let json: Box<RawValue> = read(answer).await?;
        let boot = serde_json::from_str(json.get())?;
        Ok(Some((boot, json)))
    }

    /// Deletes a boot.
    pub(super) async fn delete(&self, id: &str) -> Result<(), ApiError> {
        let request = self.0.delete(self.0.path(&["v1", "boots", id])).timeout(MAX_SILENCE);
        match self.0.send(request).await {
            // Somebody else has deleted it.
            Err(ApiError::Missing) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Follows a boot after its revision `seen`. Returns none if that was the last one.
    pub(super) async fn follow(&self, id: &str, seen: &str) -> Result<Option<Following>, ApiError> {
        let request = self.0.get(self.0.path(&["v1", "boots", id, "events"])).header("last-event-id", seen);
        let answer = self.events(request).await?;
        let ended = answer.status() == StatusCode::NO_CONTENT;
        Ok((!ended).then(|| Following { answer, events: Events::default() }))
    }

    /// Follows all boots, or those of a host.
    pub(super) async fn follow_all(&self, host: Option<&str>) -> Result<Following, ApiError> {
        let mut path = self.0.path(&["v1", "boots", "events"]);
        if let Some(host) = host {
            path.query_pairs_mut().append_pair("host", host);
        }
        let answer = self.events(self.0.get(path)).await?;
        Ok(Following { answer, events: Events::default() })
    }

    async fn events(&self, request: RequestBuilder) -> Result<Response, ApiError> {
        let sent = tokio::time::timeout(MAX_SILENCE, self.0.send(request)).await;
        sent.map_err(|_| ApiError::Unreachable("the server does not answer in time".to_owned()))?
    }
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
