//! Which reset types change the power as intended, and do nothing else (`Resource.ResetType`, DSP0268).

use std::time::Duration;

use super::offered;
use super::state::PowerState;

/// How to restart a running host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Restart {
    /// Switch it off, then on.
    OffAndOn,
    /// The BMC does both in one step, so nobody can see when the host is off.
    PowerCycle,
}

/// The reset types that a BMC offers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResetTypes<'a> {
    /// The types that the BMC lists. `None` if it lists none: then it may accept any.
    listed: Option<&'a [String]>,
}

/// These switch a host on, whatever state it is in.
const ON: [&str; 2] = ["On", "ForceOn"];
/// Asks the operating system to shut down if the host is on, and switches the host on if it is off.
pub(super) const BUTTON: &str = "PushPowerButton";
pub(super) const POWER_CYCLE: &str = "PowerCycle";

impl<'a> ResetTypes<'a> {
    pub(super) fn new(listed: Option<&'a [String]>) -> Self {
        Self { listed: listed.filter(|listed| !listed.is_empty()) }
    }

    fn offers(&self, reset_type: &str) -> bool {
        self.listed.is_none_or(|listed| offered::find(listed, reset_type).is_some())
    }

    fn offered(&self, types: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
        types.into_iter().filter(|each| self.offers(each)).collect()
    }

    /// The types that switch on a host that is off, the best first.
    pub(super) fn on(&self) -> Vec<&'static str> {
        self.offered(ON.into_iter().chain([BUTTON]))
    }

    /// Whether the BMC lists a type that switches on a host that is off.
    pub(super) fn lists_on(&self) -> bool {
        self.listed.is_some() && !self.on().is_empty()
    }

    /// The types that ask the operating system of a running host to shut down. iLO 5 offers only its button for that.
    pub(super) fn shut_down(&self) -> Vec<&'static str> {
        self.offered(["GracefulShutdown", BUTTON])
    }

    /// The types that switch a host off at once.
    pub(super) fn force_off(&self) -> Vec<&'static str> {
        self.offered(["ForceOff"])
    }

    /// The types that switch a running host off and on in one step.
    pub(super) fn power_cycle(&self) -> Vec<&'static str> {
        self.offered([POWER_CYCLE])
    }

    /// Whether the host can be switched off if its operating system has this much time to shut down.
    pub(super) fn can_switch_off(&self, graceful: Duration) -> bool {
        !self.force_off().is_empty() || (!graceful.is_zero() && !self.shut_down().is_empty())
    }

    /// How to restart a host that is not off. `None` if the host would stay off, or on, with the types that the BMC
    /// offers.
    pub(super) fn restart(&self, graceful: Duration) -> Option<Restart> {
        if self.can_switch_off(graceful) && !self.on().is_empty() {
            return Some(Restart::OffAndOn);
        }
        (!self.power_cycle().is_empty()).then_some(Restart::PowerCycle)
    }

    /// The types that restart a host in this state, provided that the BMC refuses none of them.
    pub(super) fn expected_restart(&self, state: PowerState) -> Vec<&'static str> {
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
