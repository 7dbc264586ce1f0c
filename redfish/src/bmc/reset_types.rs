//! Which types of reset do what is asked for, and nothing else (`Resource.ResetType`, DSP0268).

use std::time::Duration;

use super::state::PowerState;

/// How a running host is started anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Restart {
    /// It is switched off, and on.
    OffAndOn,
    /// By the BMC in one step: when the host was off cannot be seen.
    PowerCycle,
}

/// What a BMC offers to change the power.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResetTypes<'a> {
    /// As it lists them. Where it lists none, it may take any.
    listed: Option<&'a [String]>,
}

/// Switch a host on, whatever state it is in.
const ON: [&str; 2] = ["On", "ForceOn"];
/// Switches a host off if it is on, after asking its operating system, and on if it is off.
pub(super) const BUTTON: &str = "PushPowerButton";
pub(super) const POWER_CYCLE: &str = "PowerCycle";

impl<'a> ResetTypes<'a> {
    pub(super) fn new(listed: Option<&'a [String]>) -> Self {
        Self { listed: listed.filter(|listed| !listed.is_empty()) }
    }

    fn offers(&self, reset_type: &str) -> bool {
        self.listed.is_none_or(|listed| listed.iter().any(|each| each == reset_type))
    }

    fn offered(&self, types: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
        types.into_iter().filter(|each| self.offers(each)).collect()
    }

    /// What switches a host on that is off, the best first.
    pub(super) fn on(&self) -> Vec<&'static str> {
        self.offered(ON.into_iter().chain([BUTTON]))
    }

    /// What asks the operating system of a host that is on to shut down. iLO 5 has no word for it but that of its button.
    pub(super) fn shut_down(&self) -> Vec<&'static str> {
        self.offered(["GracefulShutdown", BUTTON])
    }

    /// What switches a host off at once.
    pub(super) fn force_off(&self) -> Vec<&'static str> {
        self.offered(["ForceOff"])
    }

    /// What switches a running host off and on in one step.
    pub(super) fn power_cycle(&self) -> Vec<&'static str> {
        self.offered([POWER_CYCLE])
    }

    /// Whether a host can be switched off, given the time that its operating system has for it.
    pub(super) fn can_switch_off(&self, graceful: Duration) -> bool {
        !self.force_off().is_empty() || (!graceful.is_zero() && !self.shut_down().is_empty())
    }

    /// How a host that is not off is started anew. None: with what the BMC offers, it would stay off, or on.
    pub(super) fn restart(&self, graceful: Duration) -> Option<Restart> {
        if self.can_switch_off(graceful) && !self.on().is_empty() {
            return Some(Restart::OffAndOn);
        }
        (!self.power_cycle().is_empty()).then_some(Restart::PowerCycle)
    }

    /// The types of the straight way to start a host anew: those that are sent as long as the BMC refuses none.
    pub(super) fn straight_restart(&self, state: PowerState) -> Vec<&'static str> {
        let first = |types: Vec<&'static str>| types.first().copied();
        if state == PowerState::Off {
            return first(self.on()).into_iter().collect();
        }
        match self.restart(Duration::ZERO) {
            Some(Restart::OffAndOn) => first(self.force_off()).into_iter().chain(first(self.on())).collect(),
            Some(Restart::PowerCycle) => vec![POWER_CYCLE],
            None => Vec::new(),
        }
    }
}
