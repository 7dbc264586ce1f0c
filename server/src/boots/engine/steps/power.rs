//! Switches the host off and on, and notes from when on its signs count.

use std::time::{Duration, Instant};

use redfish::bmc::{BmcError, BootProgress, PowerAction, PowerChange, PowerState, Ready};

use super::{Steps, Stop};
use crate::boots::engine::why_forced;
use crate::boots::evidence::Evidence;
use crate::boots::method::BootMethod;
use crate::boots::record::Started;
use crate::boots::step::Step;

impl Steps<'_> {
    pub(super) async fn power(&mut self) -> Result<(), Stop> {
        self.check_not_deleted()?;
        // An earlier attempt, or dayone before a restart, may have switched the host off.
        self.may_be_off |= self.resumed;
        let graceful = Duration::from_secs(self.boot.record().options.shutdown_within);
        let mut is_off = false;
        self.note_running().await?;
        if self.resumed {
            if let Some(detail) = self.was_started().await? {
                // If dayone was restarted since, every sign that it has seen came later.
                if self.boot.started().is_some() {
                    self.boot.mark_started();
                }
                self.call = None;
                self.may_be_off = false;
                return self.powered(detail).await;
            }
            // The BMC may still follow an earlier request. A host that starts late uses the override up, so dayone sets it
            // again while the host is off. If the host is on by then, it has started with the override.
            self.boot.show_progress("switching the host off, and setting the boot override again");
            self.may_be_off = true;
            is_off = match self.connected().await?.power(PowerAction::Off { graceful }).await {
                Ok(_) => true,
                // Such a BMC only switches off and on in one step.
                Err(BmcError::PowerUnsupported { .. }) => false,
                Err(error) => return Err(error.into()),
            };
            Box::pin(self.boot_override()).await?;
        }
        self.boot.show_progress("switching the host off and on");
        self.may_be_off = true;
        let bmc = self.connected().await?;
        let ready = if is_off { bmc.ready_to_switch_on().await? } else { bmc.ready_to_restart(graceful).await? };
        Box::pin(self.keep_medium()).await?;
        let change = self.start(ready).await?;
        let detail = match (change.before, change.graceful) {
            (PowerState::Off, _) => "switched on".to_owned(),
            (_, Some(true)) => "the host shut down, and was switched on".to_owned(),
            _ => match why_forced(&change, graceful) {
                Some(why) => format!("{why}, and was switched off and on"),
                None => "switched off and on".to_owned(),
            },
        };
        let detail = match &change.unconfirmed {
            Some(error) => format!(
                "dayone sent PowerCycle, and does not know whether the host has restarted, because the BMC did not confirm that: {error}"
            ),
            None => detail,
        };
        self.powered(detail).await
    }

    /// Ends the step. From now on, the time counts that the host has for its boot.
    async fn powered(&mut self, detail: String) -> Result<(), Stop> {
        self.boot.mark_powered();
        self.change(|record| record.done(Step::Power, detail)).await
    }

    /// Starts the host. Earlier signs do not count, and from now on the host may read its medium.
    async fn start(&mut self, ready: Ready) -> Result<PowerChange, Stop> {
        let earlier = self.at_bmc()?.started.as_ref().and_then(|started| started.os_running_since.clone());
        let started = Started {
            was_off: ready.is_off(),
            os_running: ready.boot_progress().is_some_and(BootProgress::is_running),
            os_running_since: running_since(ready.boot_progress()).or_else(|| self.running_since.clone()).or(earlier),
        };
        let was_off = started.was_off;
        self.change_at_bmc(|at_bmc| at_bmc.started = Some(started)).await?;
        self.reset_signs()?;
        if self.boot.record().method == BootMethod::Http {
            // The firmware fetches the image only from now on.
            self.boot.set_sent_before(Some(0));
        }
        let change = match self.connected().await?.start(ready).await {
            Ok(change) => change,
            Err(error) => {
                self.clear_started_if_refused(&error).await?;
                return Err(error.into());
            }
        };
        self.may_be_off = false;
        if !was_off {
            // Until now, signs may have come from the system that ran before.
            self.reset_signs()?;
        }
        Ok(change)
    }

    /// The power state of a host that may stay off because the boot ends now. `None` if it is on. Sends no credentials that the BMC
    /// `refuses`: it may lock the account.
    pub(in crate::boots::engine) async fn power_left(&mut self, refuses: bool) -> Option<PowerState> {
        if !self.may_be_off {
            return None;
        }
        if refuses {
            return Some(PowerState::Unknown);
        }
        let state = match self.connected().await {
            Ok(bmc) => bmc.power_state().await.unwrap_or(PowerState::Unknown),
            Err(_) => PowerState::Unknown,
        };
        Some(state).filter(|state| !matches!(state, PowerState::On | PowerState::PoweringOn))
    }

    /// Notes since when the BMC reports a running system, before the host is switched off. Some BMCs report it again later, although they
    /// do not while the host is off.
    pub(super) async fn note_running(&mut self) -> Result<(), Stop> {
        if self.boot.record().options.wait_for.contains(&Evidence::BootProgress) {
            let progress = self.connected().await?.boot_progress().await?;
            self.running_since = running_since(progress.as_ref()).or_else(|| self.running_since.take());
        }
        Ok(())
    }

    /// Forgets earlier signs: only those from now on count.
    fn reset_signs(&mut self) -> Result<(), Stop> {
        let (image, _) = self.stored()?;
        self.restart_reading(&image);
        self.boot.mark_started();
        self.call = None;
        self.expect_call()
    }

    /// Notes that the host was not started, if the BMC refused to start it and it is off.
    async fn clear_started_if_refused(&mut self, error: &BmcError) -> Result<(), Stop> {
        if !matches!(error, BmcError::PowerRefused { .. }) {
            return Ok(());
        }
        // If the state is not known, the host counts as started.
        let Ok(bmc) = self.connected().await else { return Ok(()) };
        if !matches!(bmc.power_state().await, Ok(PowerState::Off)) {
            return Ok(());
        }
        self.change_at_bmc(|at_bmc| at_bmc.started = None).await
    }

    /// Whether the host was started before a restart of dayone, or by a failed attempt: the record says that dayone was about to
    /// tell the BMC so, the host is on, and it has used up the boot override for one boot. It runs from the medium then, and a second
    /// start would interrupt it. In doubt, dayone starts the host again: nothing would show that a start is missing.
    async fn was_started(&mut self) -> Result<Option<String>, Stop> {
        let at_bmc = self.at_bmc()?;
        let (Some(started), Some(set)) = (&at_bmc.started, &at_bmc.boot_override) else { return Ok(None) };
        let limits = self.shared.settings().limits;
        let mut state = self.connected().await?.power_state().await?;
        // The host may be between off and on, in the middle of a PowerCycle.
        let end = Instant::now() + limits.power;
        while !started.was_off && state != PowerState::On && Instant::now() < end {
            self.check_not_deleted()?;
            tokio::time::sleep(limits.pause).await;
            state = self.connected().await?.power_state().await?;
        }
        let bmc = self.connected().await?;
        let started = state == PowerState::On && bmc.is_used_up(set).await?;
        Ok(started.then(|| "the host was already started: the boot override is used up".to_owned()))
    }
}

/// Since when the BMC reports a running system. `None` if it reports none, or no time.
fn running_since(progress: Option<&BootProgress>) -> Option<String> {
    let running = progress.filter(|progress| progress.is_running())?;
    // Some BMCs have no time, and report the beginning of their clock for every state.
    running.last_state_time.clone().filter(|time| is_time(time) && !time.starts_with("1970-01-01T00:00:00"))
}

/// Whether a BMC's text looks like a time, so that the record may contain it.
fn is_time(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_digit() || b"TZ:+-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_clock_is_no_time() {
        let running = |time: &str| BootProgress {
            last_state: "OSRunning".to_owned(),
            oem_last_state: None,
            last_state_time: Some(time.to_owned()),
        };
        let since = |time| running_since(Some(&running(time)));
        assert_eq!(since("2026-02-28T12:00:00Z").as_deref(), Some("2026-02-28T12:00:00Z"));
        for time in ["1970-01-01T00:00:00+00:00", "1970-01-01T00:00:00Z", "yesterday"] {
            assert_eq!(since(time), None);
        }
    }
}
