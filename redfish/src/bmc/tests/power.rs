//! With any set of reset types, a power action either succeeds, or changes nothing and returns an error. The simulated
//! BMC follows the schema: it accepts the types that it lists, and each does what `Resource.ResetType` says.

mod refusals;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::*;
use crate::{ClientOptions, Target, Verification};

const ALL: [&str; 8] = [
    "On",
    "ForceOn",
    "ForceOff",
    "GracefulShutdown",
    "PushPowerButton",
    "PowerCycle",
    "ForceRestart",
    "GracefulRestart",
];

/// An answer that has nothing to do with the request.
#[derive(Debug, Clone, Copy)]
enum Odd {
    Page,
    NotFound,
}

/// An answer other than success to a reset.
#[derive(Debug, Clone, Copy)]
struct Fails {
    status: u16,
    has_retry_after: bool,
    key: &'static str,
    /// Whether the machine carries out the reset although it answers so.
    is_done: bool,
}

#[derive(Default)]
struct Machine {
    types: Vec<&'static str>,
    /// The types that it lists instead while it is off. Empty if these are the same.
    types_off: Vec<&'static str>,
    is_on: bool,
    /// Whether its operating system ignores the request to shut down.
    is_deaf: bool,
    /// The reset types that it refuses.
    refuses: Vec<&'static str>,
    /// How many requests it answers with 503.
    busy: usize,
    /// How many requests to switch on it answers with 409.
    unready: usize,
    /// What it answers to the first read after it was asked to shut down.
    odd: Option<Odd>,
    /// How the BMC answers the first reset.
    fails: Option<Fails>,
    /// How many resets dayone requested.
    requests: usize,
    sent: Vec<String>,
    switched: Vec<bool>,
}

impl Machine {
    /// The types that it lists and accepts in its present power state.
    fn listed(&self) -> &[&'static str] {
        if self.is_on || self.types_off.is_empty() { &self.types } else { &self.types_off }
    }

    fn switch(&mut self, on: bool) {
        if self.is_on != on {
            self.is_on = on;
            self.switched.push(on);
        }
    }

    fn reset(&mut self, reset_type: &str) -> bool {
        self.sent.push(reset_type.to_owned());
        let listed = self.listed();
        if self.refuses.contains(&reset_type) || !(listed.is_empty() || listed.contains(&reset_type)) {
            return false;
        }
        match (reset_type, self.is_on) {
            ("On" | "ForceOn", _) | ("PushPowerButton", false) => self.switch(true),
            ("ForceOff", _) => self.switch(false),
            ("GracefulShutdown" | "PushPowerButton", true) if !self.is_deaf => self.switch(false),
            ("PowerCycle" | "ForceRestart" | "GracefulRestart", true) => {
                self.switch(false);
                self.switch(true);
            }
            _ => {}
        }
        true
    }
}

type Shared = Arc<Mutex<Machine>>;

async fn system(State(machine): State<Shared>) -> Response {
    let mut machine = machine.lock().unwrap();
    if machine.sent.iter().any(|sent| sent == "GracefulShutdown") {
        match machine.odd.take() {
            Some(Odd::Page) => return Html("<html>Please wait</html>").into_response(),
            Some(Odd::NotFound) => return StatusCode::NOT_FOUND.into_response(),
            None => {}
        }
    }
    let mut reset = json!({"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"});
    if !machine.listed().is_empty() {
        reset["ResetType@Redfish.AllowableValues"] = json!(machine.listed());
    }
    Json(
        json!({"Id": "1", "PowerState": if machine.is_on { "On" } else { "Off" }, "Actions": {"#ComputerSystem.Reset": reset}}),
    )
    .into_response()
}

async fn reset(State(machine): State<Shared>, Json(body): Json<Value>) -> Response {
    let mut machine = machine.lock().unwrap();
    machine.requests += 1;
    let reset_type = body["ResetType"].as_str().unwrap();
    if machine.busy > 0 {
        machine.busy -= 1;
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if machine.unready > 0 && reset_type == "On" {
        machine.unready -= 1;
        return StatusCode::CONFLICT.into_response();
    }
    if let Some(Fails { status, has_retry_after, key, is_done }) = machine.fails.take() {
        if is_done {
            machine.reset(reset_type);
        }
        let info = json!([{"MessageId": format!("Base.1.8.{key}")}]);
        let body = Json(json!({"error": {"@Message.ExtendedInfo": info}}));
        let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
        if has_retry_after {
            response.headers_mut().insert(http::header::RETRY_AFTER, "1".parse().unwrap());
        }
        return response;
    }
    let is_accepted = machine.reset(reset_type);
    if is_accepted { StatusCode::NO_CONTENT.into_response() } else { StatusCode::BAD_REQUEST.into_response() }
}

/// Starts it, and connects.
async fn bmc() -> (Shared, Bmc) {
    let machine = Shared::default();
    let router = Router::new()
        .route("/redfish/v1/", get(async || Json(json!({"Systems": {"@odata.id": "/redfish/v1/Systems"}}))))
        .route("/redfish/v1/Systems/1", get(system))
        .route("/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", post(reset))
        .with_state(Arc::clone(&machine));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("redfish+http://{}/redfish/v1/Systems/1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let target = Target { address: address.parse().unwrap(), credentials: None, verification: Verification::System };
    let options = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits {
        power: Duration::from_millis(40),
        pause: Duration::from_millis(1),
        poll_interval: Duration::from_millis(1),
        ..Limits::default()
    };
    (machine, Bmc::connect(&target, &options).await.unwrap().with_limits(limits))
}

fn actions() -> [(PowerAction, &'static [&'static str]); 5] {
    const ON: &[&str] = &["On", "ForceOn", "PushPowerButton"];
    const OFF: &[&str] = &["ForceOff"];
    const SOFTLY_OFF: &[&str] = &["GracefulShutdown", "PushPowerButton", "ForceOff"];
    const OVER: &[&str] = &["ForceOff", "On", "ForceOn", "PushPowerButton", "PowerCycle"];
    const SOFTLY_OVER: &[&str] = &["GracefulShutdown", "ForceOff", "On", "ForceOn", "PushPowerButton", "PowerCycle"];
    let (none, some) = (Duration::ZERO, Duration::from_millis(20));
    [
        (PowerAction::On, ON),
        (PowerAction::Off { graceful: none }, OFF),
        (PowerAction::Off { graceful: some }, SOFTLY_OFF),
        (PowerAction::Cycle { graceful: none }, OVER),
        (PowerAction::Cycle { graceful: some }, SOFTLY_OVER),
    ]
}

#[tokio::test]
async fn a_power_action_succeeds_or_changes_nothing() {
    let (machine, bmc) = bmc().await;
    // Each bit is a type that the BMC lists. Without any, the BMC lists nothing and accepts all types.
    for (subset, was_on) in (0_usize..1 << ALL.len()).flat_map(|subset| [(subset, false), (subset, true)]) {
        let types: Vec<_> = ALL.into_iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0).collect();
        let types: Vec<_> = types.into_iter().map(|(_, reset_type)| reset_type).collect();
        let is_deaf = subset.count_ones() % 2 == 0;
        for (action, allowed) in actions() {
            let fresh = Machine { types: types.clone(), is_on: was_on, is_deaf, ..Machine::default() };
            *machine.lock().unwrap() = fresh;
            let result = bmc.power(action).await;
            let machine = machine.lock().unwrap();
            let about =
                format!("{action:?} {types:?} was on: {was_on}, deaf: {is_deaf}, sent {:?}: {result:?}", machine.sent);
            assert!(machine.sent.iter().all(|sent| allowed.contains(&sent.as_str())), "{about}");
            let offered = |sent: &String| types.is_empty() || types.contains(&sent.as_str());
            assert!(machine.sent.iter().all(offered), "{about}");
            match (&result, action) {
                (Ok(change), PowerAction::On) => {
                    assert_eq!(machine.switched, if was_on { vec![] } else { vec![true] }, "{about}");
                    assert_eq!(change.after, PowerState::On, "{about}");
                }
                (Ok(change), PowerAction::Off { .. }) => {
                    assert_eq!(machine.switched, if was_on { vec![false] } else { vec![] }, "{about}");
                    assert_eq!(change.after, PowerState::Off, "{about}");
                }
                (Ok(change), PowerAction::Cycle { .. }) => {
                    assert_eq!(machine.switched, if was_on { vec![false, true] } else { vec![true] }, "{about}");
                    assert_eq!(change.after, PowerState::On, "{about}");
                }
                (Err(error), _) => {
                    assert!(machine.switched.is_empty(), "{about}");
                    assert!(matches!(error, BmcError::PowerUnsupported { .. }), "{about}");
                    let text = error.to_string();
                    assert!(types.iter().all(|offered| text.contains(offered)), "{text}");
                }
            }
            // What can be done is done.
            let has = |wanted: &[&str]| types.is_empty() || wanted.iter().any(|wanted| types.contains(wanted));
            let on = has(&["On", "ForceOn", "PushPowerButton"]);
            let off = has(&["ForceOff"]);
            let possible = match action {
                PowerAction::On => was_on || on,
                PowerAction::Off { graceful } => {
                    let softly = !graceful.is_zero() && !is_deaf && has(&["GracefulShutdown", "PushPowerButton"]);
                    !was_on || off || softly
                }
                PowerAction::Cycle { .. } if !was_on => on,
                PowerAction::Cycle { graceful } => {
                    let softly = !graceful.is_zero() && !is_deaf && has(&["GracefulShutdown", "PushPowerButton"]);
                    ((off || softly) && on) || has(&["PowerCycle"])
                }
            };
            assert_eq!(result.is_ok(), possible, "{about}");
        }
    }
}

#[tokio::test]
async fn an_odd_answer_does_not_end_the_time_to_shut_down() {
    let types = vec!["On", "ForceOff", "GracefulShutdown"];
    let graceful = Duration::from_secs(10);
    for action in [PowerAction::Off { graceful }, PowerAction::Cycle { graceful }] {
        for odd in [Odd::Page, Odd::NotFound] {
            let (machine, bmc) = bmc().await;
            *machine.lock().unwrap() =
                Machine { types: types.clone(), is_on: true, odd: Some(odd), ..Machine::default() };
            let change = bmc.power(action).await.unwrap();
            assert_eq!((change.graceful, change.shutdown_refused), (Some(true), false), "{odd:?}: {change:?}");
            assert!(!machine.lock().unwrap().sent.iter().any(|sent| sent == "ForceOff"), "{odd:?}: {change:?}");
        }
    }
}

#[tokio::test]
async fn a_busy_bmc_is_asked_to_shut_down_until_the_time_is_over() {
    let types = vec!["On", "ForceOff", "GracefulShutdown"];
    let (machine, bmc) = bmc().await;
    *machine.lock().unwrap() = Machine { types, is_on: true, busy: 5, ..Machine::default() };
    let change = bmc.power(PowerAction::Off { graceful: Duration::from_secs(10) }).await.unwrap();
    assert_eq!((change.graceful, change.shutdown_refused), (Some(true), false), "{change:?}");
    assert_eq!(machine.lock().unwrap().sent, ["GracefulShutdown"]);
}

#[tokio::test]
async fn a_host_that_cannot_be_switched_on_yet_is_not_left_off() {
    let (machine, bmc) = bmc().await;
    let limits = Limits { power: Duration::from_secs(10), ..*bmc.limits() };
    let bmc = bmc.with_limits(limits);
    let types = vec!["On", "ForceOff"];
    *machine.lock().unwrap() = Machine { types, is_on: true, unready: 5, ..Machine::default() };
    let change = bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap();
    assert_eq!((change.after, &machine.lock().unwrap().switched), (PowerState::On, &vec![false, true]), "{change:?}");
}

#[tokio::test]
async fn an_interrupted_restart_sends_nothing_more() {
    let types = vec!["On", "ForceOff", "GracefulShutdown"];
    let long = Duration::from_mins(1);
    for (types, graceful, interrupted_by, sent, state) in [
        // Its operating system does not shut down, and the host stays on.
        (types.clone(), long, "GracefulShutdown", vec!["GracefulShutdown"], PowerState::On),
        (types, Duration::ZERO, "ForceOff", vec!["ForceOff"], PowerState::Off),
        (vec!["PowerCycle"], Duration::ZERO, "", vec![], PowerState::On),
    ] {
        let (machine, bmc) = bmc().await;
        *machine.lock().unwrap() = Machine { types, is_on: true, is_deaf: true, ..Machine::default() };
        let asked = Arc::clone(&machine);
        let bmc = bmc.interruptible(move || {
            interrupted_by.is_empty() || asked.lock().unwrap().sent.iter().any(|sent| sent == interrupted_by)
        });
        let result = bmc.power(PowerAction::Cycle { graceful }).await;
        assert!(matches!(result, Err(BmcError::Interrupted(shown)) if shown == state), "{result:?}");
        assert_eq!(machine.lock().unwrap().sent, sent);
    }
}

#[tokio::test]
async fn a_reset_that_may_have_been_carried_out_is_not_sent_twice() {
    let (machine, bmc) = bmc().await;
    let cycle = PowerAction::Cycle { graceful: Duration::ZERO };
    for (status, has_retry_after, key, says_busy) in [
        (500, false, "InternalError", false),
        (502, false, "GeneralError", false),
        (503, false, "GeneralError", false),
        (503, true, "GeneralError", true),
        (500, false, "ServiceTemporarilyUnavailable", true),
        (409, false, "ResourceInUse", true),
    ] {
        for (reset_type, action, is_on) in [("PowerCycle", cycle, true), ("PushPowerButton", PowerAction::On, false)] {
            // A BMC that says that it was busy has done nothing.
            for is_done in [false, true].into_iter().filter(|is_done| !(*is_done && says_busy)) {
                let fails = Some(Fails { status, has_retry_after, key, is_done });
                *machine.lock().unwrap() = Machine { types: vec![reset_type], is_on, fails, ..Machine::default() };
                let result = bmc.power(action).await;
                let machine = machine.lock().unwrap();
                let about = format!("{reset_type}: {fails:?}: {result:?}");
                assert_eq!(machine.requests, if says_busy { 2 } else { 1 }, "{about}");
                // The power state shows the effect of the button, but not of a restart.
                let is_unknown = reset_type == "PowerCycle" && !says_busy;
                assert_eq!(result.is_ok(), is_done || is_unknown || says_busy, "{about}");
                if let Ok(change) = result {
                    let unconfirmed = change.unconfirmed.is_some_and(|error| error.contains(&status.to_string()));
                    assert_eq!((change.after, unconfirmed), (PowerState::On, is_unknown), "{about}");
                }
            }
        }
    }
}
