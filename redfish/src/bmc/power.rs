//! Switching a host on and off.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Bmc;
use super::attempt::{Attempt, Meaning};
use super::error::BmcError;
use super::limits::{Looks, TRIES};
use super::model::{self, read, texts};
use super::planned_request::PlannedRequest;
use super::reset_types::{BUTTON, POWER_CYCLE, ResetTypes, Restart};
use super::state::{BootProgress, PowerState};
use super::survey::{Reset, System};

/// What should happen to the power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerAction {
    /// Off, if it is on, and on. What was inserted is there after that only for some emulators and BMCs.
    Cycle {
        /// How long the operating system may take to shut down before it is switched off; zero: it is not asked.
        graceful: Duration,
    },
    /// On.
    On,
    /// Off.
    Off {
        /// How long the operating system may take to shut down before it is switched off; zero: it is not asked.
        graceful: Duration,
    },
}

/// What happened to the power.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerChange {
    /// Before.
    pub before: PowerState,
    /// After.
    pub after: PowerState,
    /// Whether the operating system was asked to shut down, and did in time.
    pub graceful: Option<bool>,
    /// Every request, also those that were refused.
    pub attempts: Vec<Attempt>,
}

/// A host that has been made ready to start: [`Bmc::start`] is all that is missing.
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
    /// Whether the BMC has said that the host is off.
    pub fn is_off(&self) -> bool {
        self.start == Start::SwitchOn
    }

    /// How far the BMC says that the boot before has come. A BMC may go on saying so for a while after the start.
    pub fn boot_progress(&self) -> Option<&BootProgress> {
        self.progress.as_ref()
    }
}

/// What a BMC says of its host's power.
struct Power {
    system: String,
    state: PowerState,
    reset: Option<Reset>,
    progress: Option<BootProgress>,
}

impl Bmc {
    /// Switches the host, and waits until the BMC says that it is as wanted.
    pub async fn power(&self, action: PowerAction) -> Result<PowerChange, BmcError> {
        self.blanked(self.switch(action).await)
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

    /// Whether the host is on.
    pub async fn power_state(&self) -> Result<PowerState, BmcError> {
        Ok(self.read_power().await?.state)
    }

    /// Makes the host ready to start anew: it is switched off, unless the BMC does that only together with the start.
    /// What the BMC cannot do is known before anything is done.
    pub async fn ready_to_restart(&self, graceful: Duration) -> Result<Ready, BmcError> {
        self.ready_for(graceful).await.map_err(|error| self.blanked_error(error))
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
            None => Err(unsupported("switch the host off and on", "ForceOff and On, or PowerCycle", &reset)),
            Some(Restart::PowerCycle) => Ok(cycle(change, reset)),
            Some(Restart::OffAndOn) => {
                match self.switch_off(&reset, power.state, graceful, &mut change).await {
                    Ok(()) => {}
                    // Asked and refused, or without effect: the host is as it was.
                    Err(BmcError::PowerRefused { attempts, .. }) if !types.power_cycle().is_empty() => {
                        change.attempts = attempts;
                        return Ok(cycle(change, reset));
                    }
                    Err(BmcError::PowerUnsupported { .. }) if !types.power_cycle().is_empty() => {
                        return Ok(cycle(change, reset));
                    }
                    Err(error) => return Err(error),
                }
                let progress = self.read_power().await?.progress;
                Ok(Ready { reset, start: Start::SwitchOn, change, progress })
            }
        }
    }

    /// Makes a host ready to be switched on that is to stay as it is if it is on.
    pub async fn ready_to_switch_on(&self) -> Result<Ready, BmcError> {
        let (power, reset) = self.read_reset().await?;
        ready(power, reset).map_err(|error| self.blanked_error(error))
    }

    /// Starts the host, and waits until the BMC says that it is on.
    pub async fn start(&self, ready: Ready) -> Result<PowerChange, BmcError> {
        let Ready { reset, start, mut change, .. } = ready;
        match start {
            Start::SwitchOn => self.switch_on(&reset, &mut change).await?,
            Start::PowerCycle => {
                let types = ResetTypes::new(reset.types.as_deref()).power_cycle();
                self.reset(&reset, &types, None, &mut change.attempts).await?;
                // It is on again by itself; when it was off cannot be seen for sure.
                tokio::time::sleep(self.limits().pause).await;
            }
        }
        change.after = self.see_power(PowerState::On, self.limits().power).await?;
        Ok(change)
    }

    async fn switch_on(&self, reset: &Reset, change: &mut PowerChange) -> Result<(), BmcError> {
        // One that was seen to be off needs no other look. One that is on its way needs nothing, and the button would stop it.
        if change.after == PowerState::Off || self.settled().await? != PowerState::On {
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
                "ForceOff; it can ask the operating system to shut down, if that is given time (shutdown_within)"
            };
            return Err(unsupported("switch the host off", needed, reset));
        }
        if !graceful.is_zero() && state == PowerState::On && !types.shut_down().is_empty() {
            change.graceful = Some(false);
            // A host without an operating system refuses, or does nothing: then it is switched off.
            let asked = self.reset(reset, &types.shut_down(), Some(PowerState::Off), &mut change.attempts).await;
            if asked.is_ok() && self.see_power(PowerState::Off, graceful).await.is_ok() {
                change.graceful = Some(true);
                change.after = PowerState::Off;
                return Ok(());
            }
        }
        if types.force_off().is_empty() {
            let needed = "ForceOff; the host has not shut down in the time that it had (shutdown_within)";
            return Err(unsupported("switch the host off", needed, reset));
        }
        self.reset(reset, &types.force_off(), Some(PowerState::Off), &mut change.attempts).await?;
        change.after = self.see_power(PowerState::Off, self.limits().power).await?;
        Ok(())
    }

    /// Sends the first of these types of reset that the BMC takes. `wanted` is the state that it leads to; where the
    /// state says nothing of whether it was done, there is none.
    async fn reset(
        &self,
        reset: &Reset,
        types: &[&'static str],
        wanted: Option<PowerState>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), BmcError> {
        for reset_type in types {
            let body = json!({"ResetType": reset_type});
            for tries in 1..=TRIES {
                if *reset_type == BUTTON {
                    // It does the opposite of what is wanted where that is the case already.
                    match (self.settled().await?, wanted) {
                        (state, Some(wanted)) if state == wanted => return Ok(()),
                        (PowerState::On, Some(PowerState::Off)) | (PowerState::Off, Some(PowerState::On)) => {}
                        _ => break,
                    }
                }
                let Err(error) = self.try_post(&reset.target, &body, self.limits().change, attempts).await else {
                    return Ok(());
                };
                match Meaning::of(&error) {
                    Meaning::Final | Meaning::Licence => return Err(error.into()),
                    // It may have been done: what the host does next tells. These two would do something else again.
                    Meaning::Unknown => {
                        let shown = match wanted {
                            Some(wanted) => self.see_power(wanted, self.limits().power / 4).await.is_ok(),
                            None => true,
                        };
                        if shown || tries == TRIES || [POWER_CYCLE, BUTTON].contains(reset_type) {
                            return Ok(());
                        }
                    }
                    // Already as wanted: some BMCs refuse that.
                    Meaning::Busy | Meaning::Form if wanted.is_some() && Some(self.power_state().await?) == wanted => {
                        return Ok(());
                    }
                    Meaning::Busy if tries < TRIES => tokio::time::sleep(self.limits().pause).await,
                    _ => break,
                }
            }
        }
        let wanted = wanted.unwrap_or(PowerState::On);
        Err(BmcError::PowerRefused { wanted, attempts: attempts.clone() })
    }

    /// What the power is, when it changes no more: what is on its way is waited for.
    async fn settled(&self) -> Result<PowerState, BmcError> {
        let towards = match self.power_state().await? {
            PowerState::PoweringOn => PowerState::On,
            PowerState::PoweringOff => PowerState::Off,
            state => return Ok(state),
        };
        match self.see_power(towards, self.limits().power).await {
            Err(BmcError::PowerTimeout { state, .. }) => Ok(state),
            state => state,
        }
    }

    async fn see_power(&self, wanted: PowerState, limit: Duration) -> Result<PowerState, BmcError> {
        let mut looks = Looks::new(self.limits().look, limit);
        let mut state = PowerState::Unknown;
        loop {
            match self.power_state().await {
                Ok(now) if now == wanted => return Ok(now),
                Ok(now) => state = now,
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
            if !looks.again().await {
                return Err(BmcError::PowerTimeout { wanted, state, after: limit });
            }
        }
    }

    async fn read_reset(&self) -> Result<(Power, Reset), BmcError> {
        let mut power = self.read_power().await?;
        match power.reset.take() {
            Some(reset) => Ok((power, reset)),
            None => Err(BmcError::NoReset { system: power.system }),
        }
    }

    async fn read_power(&self) -> Result<Power, BmcError> {
        let path = self.system().await?;
        let system: model::System = read(&self.client().get(&path).await?.body);
        let state = PowerState::read(system.power_state.as_ref());
        let progress = BootProgress::read(system.boot_progress);
        let reset = system.actions.and_then(|actions| actions.reset);
        let reset = reset.and_then(|action| Some(Reset { target: action.target?.0, types: texts(action.reset_types) }));
        Ok(Power { system: path, state, reset, progress })
    }
}

fn unchanged(state: PowerState) -> PowerChange {
    PowerChange { before: state, after: state, graceful: None, attempts: Vec::new() }
}

/// A host that only has to be switched on, or is on.
fn ready(power: Power, reset: Reset) -> Result<Ready, BmcError> {
    if power.state != PowerState::On && ResetTypes::new(reset.types.as_deref()).on().is_empty() {
        return Err(unsupported("switch the host on", "On, ForceOn or PushPowerButton", &reset));
    }
    Ok(Ready { reset, start: Start::SwitchOn, change: unchanged(power.state), progress: power.progress })
}

fn unsupported(wanted: &'static str, needed: &'static str, reset: &Reset) -> BmcError {
    BmcError::PowerUnsupported { wanted, needed, offered: reset.types.clone().unwrap_or_default() }
}

/// The requests to switch a machine off, if it is on, and on again.
pub(super) fn cycle(system: &System) -> Vec<PlannedRequest> {
    let Some(reset) = &system.reset else { return Vec::new() };
    let types = ResetTypes::new(reset.types.as_deref()).straight_restart(system.power_state);
    let request = |reset_type| PlannedRequest {
        method: "POST",
        path: reset.target.clone(),
        body: json!({"ResetType": reset_type}),
    };
    types.into_iter().map(request).collect()
}
