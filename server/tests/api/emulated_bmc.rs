//! A BMC on loopback with one slot, as plain as the schemas allow. It fetches nothing. What other BMCs do is in the acceptance tests.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const SYSTEM: &str = "/redfish/v1/Systems/1";
/// A second System, which has the same slot and the same power.
const NEIGHBOUR: &str = "/redfish/v1/Systems/2";
const SLOT: &str = "/redfish/v1/Systems/1/VirtualMedia/1";

/// What the BMC says to the credentials.
pub(crate) enum Account {
    /// It asks for none.
    Open,
    /// It refuses them from the next connection after the start of the host on.
    ChangesAfterStart,
    /// It has refused them so often.
    Refused(u32),
}

/// What the slot shows while the host is off.
pub(crate) enum WhileOff {
    /// The same as while it is on.
    Same,
    /// Its medium, but not as connected.
    NotConnected,
    /// It is not found for so many reads.
    Missing(u32),
}

/// What the BMC does, and what has happened to it.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fault")]
pub(crate) struct Machine {
    pub(crate) is_on: bool,
    /// Whether the BMC reports that an operating system runs whenever the host is on.
    pub(crate) reports_system: bool,
    /// Whether the BMC accepts an image and does not insert it.
    pub(crate) only_accepts: bool,
    /// How many reads of the System the BMC refuses while the host is off.
    pub(crate) refused_while_off: u32,
    /// Whether the operating system ignores the request to shut down.
    pub(crate) is_deaf: bool,
    /// Whether the BMC refuses to eject.
    pub(crate) keeps_medium: bool,
    /// The reset type that makes the BMC lose its medium.
    pub(crate) loses_medium_at: Option<&'static str>,
    pub(crate) slot_while_off: WhileOff,
    /// The end of the path of an action that the BMC carries out and never answers.
    pub(crate) never_answers: Option<&'static str>,
    /// How long each answer about the System takes after the BMC was told to start the host.
    pub(crate) slow_after_start: Duration,
    /// When it was last asked for such an answer.
    pub(crate) asked_after_start: Option<Instant>,
    pub(crate) account: Account,
    /// How the BMC shows the URL of an inserted image, and the values of a boot override.
    pub(crate) shows: fn(&str) -> String,
    /// What is in the slot.
    pub(crate) image: Option<String>,
    pub(crate) source: Value,
    /// The ends of the paths of requests that the BMC answers with 503, once for each.
    pub(crate) busy: Vec<&'static str>,
    /// The actions that it was sent, with the reset type.
    pub(crate) sent: Vec<String>,
}

pub(crate) struct EmulatedBmc {
    pub(crate) machine: Arc<Mutex<Machine>>,
    address: std::net::SocketAddr,
    server: JoinHandle<()>,
}

impl EmulatedBmc {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let machine = Arc::new(Mutex::new(Machine {
            is_on: true,
            reports_system: false,
            only_accepts: false,
            refused_while_off: 0,
            is_deaf: false,
            keeps_medium: false,
            loses_medium_at: None,
            slot_while_off: WhileOff::Same,
            never_answers: None,
            slow_after_start: Duration::ZERO,
            asked_after_start: None,
            account: Account::Open,
            shows: str::to_owned,
            image: None,
            source: json!({"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}),
            busy: Vec::new(),
            sent: Vec::new(),
        }));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&machine));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { machine, address, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("redfish-virtualmedia+http://{}{SYSTEM}", self.address)
    }

    pub(crate) fn neighbour_url(&self) -> String {
        self.url().replace(SYSTEM, NEIGHBOUR)
    }

    pub(crate) fn sent(&self) -> Vec<String> {
        self.machine.lock().unwrap().sent.clone()
    }
}

impl Drop for EmulatedBmc {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(machine): State<Arc<Mutex<Machine>>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = parts.uri.path().to_owned();
    let (answer, never_answers, takes) = {
        let mut machine = machine.lock().unwrap();
        let never_answers = machine.never_answers.is_some_and(|end| path.ends_with(end));
        let is_started = machine.sent.iter().any(|sent| sent == "On");
        let is_slow = is_started && parts.method == Method::GET && path == SYSTEM;
        let takes = if is_slow { machine.slow_after_start } else { Duration::ZERO };
        machine.asked_after_start = is_slow.then(Instant::now).or(machine.asked_after_start);
        (machine.answer(parts, &body), never_answers, takes)
    };
    if !takes.is_zero() {
        tokio::time::sleep(takes).await;
    }
    if never_answers {
        std::future::pending::<()>().await;
    }
    answer
}

impl Machine {
    /// Whether the BMC refuses the credentials of a request.
    fn refuses(&mut self, path: &str) -> bool {
        if path == "/redfish/v1" {
            let is_started = self.sent.last().is_some_and(|sent| sent == "On");
            if is_started && matches!(self.account, Account::ChangesAfterStart) {
                self.account = Account::Refused(0);
            }
            return false;
        }
        let Account::Refused(times) = &mut self.account else { return false };
        *times += 1;
        true
    }

    fn is_connected(&self) -> bool {
        self.image.is_some() && (self.is_on || !matches!(self.slot_while_off, WhileOff::NotConnected))
    }

    /// Whether the BMC refuses one more read of its System.
    fn refuses_system(&mut self) -> bool {
        let refuses = !self.is_on && self.refused_while_off > 0;
        self.refused_while_off -= u32::from(refuses);
        refuses
    }

    fn boot_progress(&self) -> Value {
        let state = if self.is_on { "OSRunning" } else { "None" };
        if self.reports_system { json!({"LastState": state}) } else { Value::Null }
    }

    /// Whether the BMC does not find its slot for one more read.
    fn misses_slot(&mut self) -> bool {
        match &mut self.slot_while_off {
            WhileOff::Missing(reads) if *reads > 0 && !self.is_on => {
                *reads -= 1;
                true
            }
            _ => false,
        }
    }

    fn answer(&mut self, parts: Parts, body: &Value) -> Response {
        let machine = self;
        let path = parts.uri.path().trim_end_matches('/');
        if machine.refuses(path) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        let action = path.rsplit('.').next().unwrap();
        let busy = machine.busy.iter().position(|end| path.ends_with(end)).filter(|_| parts.method != Method::GET);
        if let Some(position) = busy {
            machine.busy.remove(position);
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        match (parts.method, path, action) {
            (Method::GET, "/redfish/v1", _) => {
                Json(json!({"Systems": {"@odata.id": "/redfish/v1/Systems"}})).into_response()
            }
            (Method::GET, SYSTEM | NEIGHBOUR, _) if machine.refuses_system() => StatusCode::BAD_REQUEST.into_response(),
            (Method::GET, SYSTEM | NEIGHBOUR, _) => Json(json!({
                "Id": "1",
                "BootProgress": machine.boot_progress(),
                "PowerState": if machine.is_on { "On" } else { "Off" },
                "Boot": machine.source,
                "VirtualMedia": {"@odata.id": format!("{SYSTEM}/VirtualMedia")},
                "Actions": {"#ComputerSystem.Reset": {"target": format!("{SYSTEM}/Actions/ComputerSystem.Reset"),
                    "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "GracefulShutdown"]}},
            }))
            .into_response(),
            (Method::GET, "/redfish/v1/Systems/1/VirtualMedia", _) => {
                Json(json!({"Members": [{"@odata.id": SLOT}]})).into_response()
            }
            (Method::GET, SLOT, _) if machine.misses_slot() => StatusCode::NOT_FOUND.into_response(),
            (Method::GET, SLOT, _) => Json(json!({
                "Id": "1",
                "MediaTypes": ["CD"],
                "Image": machine.image,
                "Inserted": machine.is_connected(),
                "ConnectedVia": if machine.is_connected() { "URI" } else { "NotConnected" },
                "Actions": {
                    "#VirtualMedia.InsertMedia": {"target": format!("{SLOT}/Actions/VirtualMedia.InsertMedia")},
                    "#VirtualMedia.EjectMedia": {"target": format!("{SLOT}/Actions/VirtualMedia.EjectMedia")},
                },
            }))
            .into_response(),
            (Method::PATCH, SYSTEM, _) => {
                for (name, value) in body["Boot"].as_object().unwrap() {
                    machine.source[name] = value.as_str().map(machine.shows).map_or_else(|| value.clone(), Value::from);
                }
                StatusCode::NO_CONTENT.into_response()
            }
            (Method::POST, _, "Reset") => {
                let reset_type = body["ResetType"].as_str().unwrap();
                machine.sent.push(reset_type.to_owned());
                if machine.loses_medium_at == Some(reset_type) {
                    machine.image = None;
                }
                match reset_type {
                    "On" => machine.is_on = true,
                    "ForceOff" => machine.is_on = false,
                    _ if !machine.is_deaf => machine.is_on = false,
                    _ => {}
                }
                StatusCode::NO_CONTENT.into_response()
            }
            (Method::POST, _, "InsertMedia") => {
                machine.sent.push(action.to_owned());
                if !machine.only_accepts {
                    machine.image = Some((machine.shows)(body["Image"].as_str().unwrap()));
                }
                StatusCode::NO_CONTENT.into_response()
            }
            (Method::POST, _, "EjectMedia") if machine.keeps_medium => StatusCode::BAD_REQUEST.into_response(),
            (Method::POST, _, "EjectMedia") => {
                machine.sent.push(action.to_owned());
                machine.image = None;
                StatusCode::NO_CONTENT.into_response()
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }
}
