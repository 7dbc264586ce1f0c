//! Switches a host on and off.

use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Bmc;
use super::attempt::{Attempt, Meaning};
use super::error::BmcError;
use super::limits::{MAX_TRIES, Poll};
use super::offered;
use super::planned_request::PlannedRequest;
use super::properties::Properties;
use super::reset_types::{BUTTON, POWER_CYCLE, ResetTypes, Restart};
use super::shutdown::Shutdown;
use super::state::{BootProgress, PowerState};
use super::survey::{Reset, System};
use crate::RedfishError;

/// A change of a host's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerAction {
    /// Switch the host off, if it is on, then on.
    Cycle {
        /// How long the operating system may take to shut down before the host is switched off by force. If zero, the
        /// operating system is not asked.
        graceful: Duration,
    },
    /// Switch the host on, if it is off.
    On,
    /// Switch the host off, if it is on.
    Off {
        /// How long the operating system may take to shut down before the host is switched off by force. If zero, the
        /// operating system is not asked.
        graceful: Duration,
    },
}

/// The result of a change of the power.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerChange {
    /// The power state before.
    pub before: PowerState,
    /// The power state after.
    pub after: PowerState,
    /// Whether the operating system shut down in time. `None` if it was not asked.
    pub graceful: Option<bool>,
    /// Whether the BMC refused to ask the operating system.
    pub shutdown_refused: bool,
    /// How a `PowerCycle` failed, if the BMC may still have carried it out. The power state does not show whether the host has restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<String>,
    /// Every request that was sent, including those that the BMC refused.
    pub attempts: Vec<Attempt>,
}

/// A host that is ready to start: it is off, or the BMC will switch it off and on in one step. Pass it to
/// [`Bmc::start`].
#[derive(Debug)]
pub struct Ready {
    reset: Reset,
    start: Start,
    change: PowerChange,
    progress: Option<BootProgress>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    SwitchOn,
    PowerCycle,
}

impl Ready {
    /// Whether [`Bmc::start`] only has to switch the host on.
    pub fn is_off(&self) -> bool {
        self.start == Start::SwitchOn
    }

    /// The progress of the previous boot. A BMC may still report it for a while after the start.
    pub fn boot_progress(&self) -> Option<&BootProgress> {
        self.progress.as_ref()
    }
}

/// What a BMC says about its host's power.
struct Power {
    system: String,
    state: PowerState,
    reset: Option<Reset>,
    progress: Option<BootProgress>,
}

impl Bmc {
    /// Changes the power, and waits until the BMC reports the new state.
    pub async fn power(&self, action: PowerAction) -> Result<PowerChange, BmcError> {
        self.masked(self.switch(action).await)
    }

    async fn switch(&self, action: PowerAction) -> Result<PowerChange, BmcError> {
        match action {
            PowerAction::Cycle { graceful } => {
                let ready = self.ready_to_restart(graceful).await?;
                self.start(ready).await
            }
            PowerAction::On => {
                let ready = self.ready_to_switch_on().await?;
                self.start(ready).await
            }
            PowerAction::Off { graceful } => {
                let (power, reset) = self.read_reset().await?;
                let mut change = unchanged(power.state);
                if power.state != PowerState::Off {
                    self.switch_off(&reset, power.state, graceful, &mut change).await?;
                }
                Ok(change)
            }
        }
    }

    /// Reads whether the host is on.
    pub async fn power_state(&self) -> Result<PowerState, BmcError> {
        Ok(self.read_power().await?.state)
    }

    /// Prepares a restart: switches the host off, unless the BMC can do that only together with the start. Fails before
    /// it sends anything if the BMC offers no way to restart the host.
    pub async fn ready_to_restart(&self, graceful: Duration) -> Result<Ready, BmcError> {
        self.ready_for(graceful).await.map_err(|error| self.masked_error(error))
    }

    async fn ready_for(&self, graceful: Duration) -> Result<Ready, BmcError> {
        let (power, reset) = self.read_reset().await?;
        if power.state == PowerState::Off {
            return ready(power, reset);
        }
        let types = ResetTypes::new(reset.types.as_deref());
        let mut change = unchanged(power.state);
        let cycle = |change, reset| Ready { reset, start: Start::PowerCycle, change, progress: power.progress };
        match types.restart(graceful) {
            None => {
                let would_shut_down = !types.shut_down().is_empty() && !types.on().is_empty();
                let needed = if graceful.is_zero() && would_shut_down {
                    "ForceOff and On, or PowerCycle; or give the operating system time to shut down (shutdown_within), which this BMC \
                     can ask for"
                } else {
                    "ForceOff and On, or PowerCycle"
                };
                Err(unsupported("switch the host off and on", needed, &reset))
            }
            Some(Restart::PowerCycle) => Ok(cycle(change, reset)),
            Some(Restart::OffAndOn) => {
                match self.switch_off(&reset, power.state, graceful, &mut change).await {
                    Ok(()) => {}
                    // It refused a type only because it was busy.
                    Err(error) if error.is_unavailable() => return Err(error),
                    // The BMC refused every request, so the host is as it was.
                    Err(BmcError::PowerRefused { .. } | BmcError::PowerUnsupported { .. })
                        if !types.power_cycle().is_empty() =>
                    {
                        return Ok(cycle(change, reset));
                    }
                    Err(error) => return Err(error),
                }
                let now = self.read_power().await?;
                // Some BMCs list only the types for the present power state (Fujitsu iRMC S4).
                let listed = now.reset.filter(|reset| ResetTypes::new(reset.types.as_deref()).lists_on());
                let reset = listed.unwrap_or(reset);
                Ok(Ready { reset, start: Start::SwitchOn, change, progress: now.progress })
            }
        }
    }

    /// Prepares to switch the host on. If the host is on already, it stays on.
    pub async fn ready_to_switch_on(&self) -> Result<Ready, BmcError> {
        let (power, reset) = self.read_reset().await?;
        ready(power, reset).map_err(|error| self.masked_error(error))
    }

    /// Starts the host, and waits until the BMC reports that it is on.
    pub async fn start(&self, ready: Ready) -> Result<PowerChange, BmcError> {
        let Ready { reset, start, mut change, .. } = ready;
        match start {
            Start::SwitchOn => self.switch_on(&reset, &mut change).await?,
            Start::PowerCycle => {
                let types = ResetTypes::new(reset.types.as_deref()).power_cycle();
                self.reset(&reset, &types, None, &mut change.attempts).await?;
                change.unconfirmed = change.attempts.last().and_then(|attempt| attempt.error.clone());
                // The BMC switches the host on again, too soon to see for certain when it was off.
                tokio::time::sleep(self.limits().pause).await;
            }
        }
        change.after = self.wait_for_power(PowerState::On, self.limits().power).await?;
        Ok(change)
    }

    async fn switch_on(&self, reset: &Reset, change: &mut PowerChange) -> Result<(), BmcError> {
        // A host that was just off need not be read again. A host that is powering on needs no request, and the button
        // would stop it.
        if change.after == PowerState::Off || self.settled_power().await? != PowerState::On {
            let types = ResetTypes::new(reset.types.as_deref()).on();
            self.reset(reset, &types, Some(PowerState::On), &mut change.attempts).await?;
        }
        Ok(())
    }

    async fn switch_off(
        &self,
        reset: &Reset,
        state: PowerState,
        graceful: Duration,
        change: &mut PowerChange,
    ) -> Result<(), BmcError> {
        let types = ResetTypes::new(reset.types.as_deref());
        if !types.can_switch_off(graceful) {
            let needed = if types.shut_down().is_empty() {
                "ForceOff"
            } else {
                "ForceOff; or give the operating system time to shut down (shutdown_within), which this BMC can ask for"
            };
            return Err(unsupported("switch the host off", needed, reset));
        }
        if !graceful.is_zero() && state == PowerState::On && !types.shut_down().is_empty() {
            match self.shut_down(reset, graceful, &mut change.attempts).await? {
                Shutdown::Done => {
                    change.graceful = Some(true);
                    change.after = PowerState::Off;
                    return Ok(());
                }
                Shutdown::TooLate => change.graceful = Some(false),
                Shutdown::Refused => change.shutdown_refused = true,
            }
        }
        if types.force_off().is_empty() {
            let needed = if change.shutdown_refused {
                "ForceOff, because the BMC refused the graceful shutdown"
            } else {
                "ForceOff, because the host has not shut down in time (shutdown_within)"
            };
            return Err(unsupported("switch the host off", needed, reset));
        }
        self.reset(reset, &types.force_off(), Some(PowerState::Off), &mut change.attempts).await?;
        change.after = self.wait_for_power(PowerState::Off, self.limits().power).await?;
        Ok(())
    }

    /// Sends the first of these reset types that the BMC accepts. `wanted` is the power state that they lead to, or
    /// `None` if the power state does not show whether the BMC carried out the request.
    pub(super) async fn reset(
        &self,
        reset: &Reset,
        types: &[&'static str],
        wanted: Option<PowerState>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), BmcError> {
        let mut poll = Poll::new(self.limits().pause, self.limits().power);
        // A restart in one step has the same purpose as what the BMC refused before it.
        let earlier = if wanted.is_some() { attempts.len() } else { 0 };
        'types: for reset_type in types {
            let body = json!({"ResetType": spelling(reset, reset_type)});
            for tries in 1.. {
                self.check_interrupt().await?;
                if *reset_type == BUTTON {
                    // If the host is in the wanted state already, the button does the opposite.
                    match (self.settled_power().await?, wanted) {
                        (state, Some(wanted)) if state == wanted => return Ok(()),
                        (PowerState::On, Some(PowerState::Off)) | (PowerState::Off, Some(PowerState::On)) => {}
                        _ => break,
                    }
                }
                let Err(error) = self.try_post(&reset.target, &body, self.limits().change, attempts).await else {
                    return Ok(());
                };
                // A second request of one of these two types would undo the first, or restart the host again.
                let is_one_time = [POWER_CYCLE, BUTTON].contains(reset_type);
                let meaning = if is_one_time { Meaning::of_one_time(&error) } else { Meaning::of(&error) };
                match meaning {
                    Meaning::Final | Meaning::Licence => return Err(error.into()),
                    // The power state shows whether the BMC carried out the request.
                    Meaning::Unknown => {
                        let shown = match wanted {
                            Some(wanted) => self.wait_for_power(wanted, self.limits().power / 4).await.is_ok(),
                            None => true,
                        };
                        if shown || tries >= MAX_TRIES || is_one_time {
                            return Ok(());
                        }
                    }
                    // Some BMCs refuse a reset type if the host is in that state already.
                    Meaning::Busy | Meaning::Form if wanted.is_some() && Some(self.power_state().await?) == wanted => {
                        return Ok(());
                    }
                    Meaning::Busy if tries < MAX_TRIES => tokio::time::sleep(self.limits().pause).await,
                    // Some machines cannot be switched on for a while after they were switched off. This one would stay off.
                    // A fault inside the BMC does not say that it would pass.
                    Meaning::Busy if wanted == Some(PowerState::On) && !is_internal(&error) && poll.wait().await => {}
                    // It says nothing about the type.
                    Meaning::Busy if error.is_unavailable() => break 'types,
                    _ => break,
                }
            }
        }
        let wanted = wanted.unwrap_or(PowerState::On);
        let refused = attempts.iter().skip(earlier).filter(|attempt| !attempt.succeeded()).cloned().collect();
        Err(BmcError::PowerRefused { wanted, attempts: refused })
    }

    /// Reads the power state, and waits for the end of a change that is under way.
    async fn settled_power(&self) -> Result<PowerState, BmcError> {
        let towards = match self.power_state().await? {
            PowerState::PoweringOn => PowerState::On,
            PowerState::PoweringOff => PowerState::Off,
            state => return Ok(state),
        };
        match self.wait_for_power(towards, self.limits().power).await {
            Err(BmcError::PowerTimeout { state, .. }) => Ok(state),
            state => state,
        }
    }

    pub(super) async fn wait_for_power(&self, wanted: PowerState, limit: Duration) -> Result<PowerState, BmcError> {
        let mut poll = Poll::new(self.limits().poll_interval, limit);
        loop {
            let last = match self.power_state().await {
                Ok(now) if now == wanted => return Ok(now),
                Err(error) if !error.may_pass() => return Err(error),
                last => last,
            };
            if !poll.wait().await {
                return Err(BmcError::PowerTimeout { wanted, state: last?, after: limit });
            }
        }
    }

    async fn read_reset(&self) -> Result<(Power, Reset), BmcError> {
        let mut power = self.read_power().await?;
        match power.reset.take() {
            Some(reset) => Ok((power, reset)),
            None => Err(BmcError::NoReset(power.system)),
        }
    }

    async fn read_power(&self) -> Result<Power, BmcError> {
        let path = self.system().await?;
        let body = self.client().get(&path).await?.body;
        let system = Properties::new(&body);
        let (state, reset) = (PowerState::read(system), Reset::read(system));
        Ok(Power { system: path, state, reset, progress: BootProgress::read(system) })
    }
}

/// A reset type in the BMC's spelling.
fn spelling<'a>(reset: &'a Reset, reset_type: &'a str) -> &'a str {
    offered::find(reset.types.as_deref().unwrap_or_default(), reset_type).unwrap_or(reset_type)
}

fn is_internal(error: &RedfishError) -> bool {
    error.status() == Some(StatusCode::INTERNAL_SERVER_ERROR)
}

fn unchanged(state: PowerState) -> PowerChange {
    PowerChange {
        before: state,
        after: state,
        graceful: None,
        shutdown_refused: false,
        unconfirmed: None,
        attempts: Vec::new(),
    }
}

/// A host that only has to be switched on, or is on already.
fn ready(power: Power, reset: Reset) -> Result<Ready, BmcError> {
    if power.state != PowerState::On && ResetTypes::new(reset.types.as_deref()).on().is_empty() {
        return Err(unsupported("switch the host on", "On, ForceOn or PushPowerButton", &reset));
    }
    Ok(Ready { reset, start: Start::SwitchOn, change: unchanged(power.state), progress: power.progress })
}

fn unsupported(wanted: &'static str, needed: &'static str, reset: &Reset) -> BmcError {
    BmcError::PowerUnsupported { wanted, needed, offered: reset.types.clone().unwrap_or_default() }
}

/// The requests that switch a machine off, if it is on, and on again.
pub(super) fn restart_requests(system: &System) -> Vec<PlannedRequest> {
    let Some(reset) = &system.reset else { return Vec::new() };
    let types = ResetTypes::new(reset.types.as_deref()).expected_restart(system.power_state);
    let request = |reset_type| PlannedRequest {
        method: "POST",
        path: reset.target.clone(),
        body: json!({"ResetType": spelling(reset, reset_type)}),
    };
    types.into_iter().map(request).collect()
}
