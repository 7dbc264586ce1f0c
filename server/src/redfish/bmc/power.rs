//! Switching a host on and off.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Bmc;
use super::attempt::{Attempt, Meaning};
use super::error::BmcError;
use super::limits::{Looks, TRIES};
use super::model::{self, read, texts};
use super::plan::PlannedRequest;
use super::state::PowerState;
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

/// Types of reset, the best first.
const ON: [&str; 3] = ["On", "ForceOn", "PushPowerButton"];
/// iLO 5 has no word for it but that of its button, which on a host that is on asks the operating system.
const SHUT_DOWN: [&str; 2] = ["GracefulShutdown", "PushPowerButton"];
const OFF: [&str; 2] = ["ForceOff", "PowerCycle"];

impl Bmc {
    /// Switches the host, and waits until the BMC says that it is as wanted.
    pub async fn power(&self, action: PowerAction) -> Result<PowerChange, BmcError> {
        let (system, before, reset) = self.read_power().await?;
        let reset = reset.ok_or(BmcError::NoReset { system })?;
        let mut change = PowerChange { before, after: before, graceful: None, attempts: Vec::new() };
        match action {
            PowerAction::On => {}
            PowerAction::Off { graceful } | PowerAction::Cycle { graceful } => {
                if before != PowerState::Off {
                    self.switch_off(&reset, graceful, &mut change).await?;
                }
            }
        }
        if !matches!(action, PowerAction::Off { .. }) && change.after != PowerState::On {
            self.reset(&reset, &ON, PowerState::On, &mut change.attempts).await?;
            change.after = self.see_power(PowerState::On, self.limits().power).await?;
        }
        Ok(change)
    }

    /// Whether the host is on.
    pub async fn power_state(&self) -> Result<PowerState, BmcError> {
        Ok(self.read_power().await?.1)
    }

    async fn switch_off(&self, reset: &Reset, graceful: Duration, change: &mut PowerChange) -> Result<(), BmcError> {
        if !graceful.is_zero() && offers(reset, &SHUT_DOWN) {
            change.graceful = Some(false);
            // A host without an operating system refuses, or does nothing: then it is switched off.
            let asked = self.reset(reset, &SHUT_DOWN, PowerState::Off, &mut change.attempts).await;
            if asked.is_ok() && self.see_power(PowerState::Off, graceful).await.is_ok() {
                change.graceful = Some(true);
                change.after = PowerState::Off;
                return Ok(());
            }
        }
        let used = self.reset(reset, &OFF, PowerState::Off, &mut change.attempts).await?;
        if used == "PowerCycle" {
            // It is on again by itself; when it was off cannot be seen for sure.
            tokio::time::sleep(self.limits().pause).await;
            change.after = self.see_power(PowerState::On, self.limits().power).await?;
        } else {
            change.after = self.see_power(PowerState::Off, self.limits().power).await?;
        }
        Ok(())
    }

    /// Sends the first type of reset that the BMC takes, and returns it.
    async fn reset(
        &self,
        reset: &Reset,
        types: &[&'static str],
        wanted: PowerState,
        attempts: &mut Vec<Attempt>,
    ) -> Result<&'static str, BmcError> {
        let offered = types.iter().filter(|each| offers(reset, &[each])).copied().collect::<Vec<_>>();
        for reset_type in if offered.is_empty() { types.to_vec() } else { offered } {
            let body = json!({"ResetType": reset_type});
            for tries in 1..=TRIES {
                let Err(error) = self.try_post(&reset.target, &body, self.limits().change, attempts).await else {
                    return Ok(reset_type);
                };
                match Meaning::of(&error) {
                    Meaning::Final | Meaning::Licence => return Err(error.into()),
                    // It may have been done: what the host does next tells. These two would do something else again.
                    Meaning::Unknown => {
                        let shown = self.see_power(wanted, self.limits().power / 4).await;
                        if shown.is_ok() || tries == TRIES || ["PowerCycle", "PushPowerButton"].contains(&reset_type) {
                            return Ok(reset_type);
                        }
                    }
                    // Already as wanted: some BMCs refuse that.
                    Meaning::Busy | Meaning::Form if self.power_state().await? == wanted => return Ok(reset_type),
                    Meaning::Busy if tries < TRIES => tokio::time::sleep(self.limits().pause).await,
                    _ => break,
                }
            }
        }
        Err(BmcError::PowerRefused { wanted, attempts: attempts.clone() })
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

    async fn read_power(&self) -> Result<(String, PowerState, Option<Reset>), BmcError> {
        let path = self.system().await?;
        let system: model::System = read(&self.client().get(&path).await?.body);
        let state = PowerState::read(system.power_state.as_ref());
        let reset = system.actions.and_then(|actions| actions.reset);
        let reset = reset.and_then(|action| Some(Reset { target: action.target?.0, types: texts(action.reset_types) }));
        Ok((path, state, reset))
    }
}

/// The requests to switch a machine off, if it is on, and on again.
pub(super) fn cycle(system: &System) -> Vec<PlannedRequest> {
    let Some(reset) = &system.reset else { return Vec::new() };
    let first = |types: &[&'static str]| types.iter().find(|each| offers(reset, &[each])).copied();
    let off = first(&OFF).filter(|_| system.power_state != PowerState::Off);
    // A power cycle ends with power on.
    let on = first(&ON).filter(|_| off != Some("PowerCycle"));
    let request = |reset_type| PlannedRequest {
        method: "POST",
        path: reset.target.clone(),
        body: json!({"ResetType": reset_type}),
    };
    off.into_iter().chain(on).map(request).collect()
}

/// Whether a BMC takes one of the types; where it lists none, it may.
fn offers(reset: &Reset, types: &[&str]) -> bool {
    reset.types.as_ref().is_none_or(|offered| {
        offered.is_empty() || types.iter().any(|wanted| offered.iter().any(|each| each == wanted))
    })
}
