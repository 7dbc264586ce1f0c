//! One boot in which one thing happens.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acceptance::bmc::{EmulatedBmc, Failure, Fault, Machine, Options, Vendor};
use serde_json::{Value, json};

use super::site::Site;

/// How a boot ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// dayone ejects the medium as soon as the host has booted.
    WhenBooted,
    /// Somebody deletes the boot.
    Deleted,
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// dayone dies while this happens to the request, and is started again.
    Crash(Failure),
    /// Only this happens.
    Fault(Failure),
}

/// A boot in which something happens to the request with this number.
pub(super) struct Case {
    pub(super) vendor: String,
    pub(super) end: End,
    pub(super) number: usize,
    pub(super) event: Option<Event>,
}

/// What happened in a case.
pub(super) struct Outcome {
    /// How many requests the BMC got.
    pub(super) requests: usize,
    /// Whether the event has happened.
    pub(super) has_happened: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:?}, request {}, {:?}", self.vendor, self.end, self.number, self.event)
    }
}

impl Case {
    /// Runs the boot to its end. Returns what happened, or what is wrong.
    pub(super) async fn run(&self) -> Result<Outcome, String> {
        let machine = Machine { reads: 256 << 10, patience: Duration::from_secs(20), ..Machine::default() };
        let options = Options { machine, ..Options::default() };
        let bmc = Arc::new(EmulatedBmc::start(&Vendor::named(&self.vendor), options).await);
        let before = boot_source(&bmc);
        let mut site = Site::start().await;
        let host = site.host(&bmc);
        match &self.event {
            Some(Event::Crash(failure) | Event::Fault(failure)) => {
                bmc.inject(Fault::nth(self.number, failure.clone()));
            }
            None => {}
        }
        let eject = if self.end == End::WhenBooted { "&eject=when-booted" } else { "" };
        let id = site.begin(&bmc, &format!("?base=coreos&wait_for=call-home&booted_within=40{eject}")).await;
        let watch = Watch { site: &mut site, bmc: &bmc, case: self };
        let (boot, mut crashed) = watch.until_settled(&id).await?;
        let state = boot["state"].as_str().unwrap_or_default().to_owned();
        let check =
            |is: bool, what: &str| if is { Ok(()) } else { Err(format!("{what}: {boot:#}\n{:?}", bmc.boots())) };
        let from_medium = bmc.boots().iter().filter(|boot| boot.image.is_some()).count();
        check(state == "booted" || state == "ejected", "one event must not fail a boot")?;
        check(host.has_called().await, "the host's call was not answered")?;
        check(from_medium == 1, "the host was not started from the medium once")?;
        check(bmc.boots().len() == 1, "the host was started again")?;
        if self.end == End::Deleted {
            check(
                boot["inserted"] == true && bmc.inserted().len() == 1,
                "the medium is out although nobody has deleted the boot",
            )?;
            if boot["ended"] != true && state == "booted" {
                if !self.is_met(&bmc) && matches!(self.event, Some(Event::Crash(_))) {
                    // The crash is to come in the end of the boot.
                    site.delete(&id).await;
                    crashed = self.crash_when_met(&mut site, &bmc, &id).await?;
                } else {
                    site.delete(&id).await;
                }
            }
        }
        let boot = site.until(&id, |boot| boot["ended"] == true || failed_to_eject(boot)).await?;
        let boot = if failed_to_eject(&boot) {
            // The user tries again.
            site.delete(&id).await;
            site.until(&id, |boot| boot["ended"] == true).await?
        } else {
            boot
        };
        let check =
            |is: bool, what: &str| if is { Ok(()) } else { Err(format!("{what}: {boot:#}\n{:?}", bmc.inserted())) };
        check(bmc.inserted().is_empty(), "the medium is still in")?;
        check(boot["inserted"] == false, "the medium counts as inserted")?;
        check(boot_source(&bmc) == before || is_unset(&boot_source(&bmc)), "the boot override is not as it was")?;
        check(bmc.boots().len() == 1, "the host was started again")?;
        // A server that dies cannot log out.
        check(bmc.sessions() <= usize::from(crashed) + 1, "sessions are left at the BMC")?;
        let has_happened = if matches!(self.event, Some(Event::Crash(_))) { crashed } else { bmc.has_gone_wrong() };
        Ok(Outcome { requests: bmc.requests().len(), has_happened })
    }

    /// Whether what was to happen has happened.
    fn is_met(&self, bmc: &EmulatedBmc) -> bool {
        match &self.event {
            Some(Event::Crash(Failure::DelayAnswer(_))) => bmc.late_answers() > 0,
            _ => bmc.has_gone_wrong(),
        }
    }

    /// Kills the server as soon as the request is where it is to be, and starts it again.
    async fn crash_when_met(&self, site: &mut Site, bmc: &EmulatedBmc, id: &str) -> Result<bool, String> {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !self.is_met(bmc) {
            if site.until(id, |_| true).await?["ended"] == true || Instant::now() > deadline {
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        site.kill();
        let recorded = site.records();
        let says = recorded.iter().any(|record| record["id"] == id && record["at_bmc"].is_object());
        if !bmc.inserted().is_empty() && !says {
            return Err(format!("the BMC has a medium of which no record says anything: {recorded:#?}"));
        }
        bmc.heal();
        site.restart().await;
        Ok(true)
    }
}

/// Waits for the boot.
struct Watch<'a> {
    site: &'a mut Site,
    bmc: &'a Arc<EmulatedBmc>,
    case: &'a Case,
}

impl Watch<'_> {
    /// Waits until the boot is neither queued nor running, through the crash if there is one. Returns whether there was one.
    async fn until_settled(self, id: &str) -> Result<(Value, bool), String> {
        let settled = |boot: &Value| !matches!(boot["state"].as_str(), Some("queued" | "running"));
        if !matches!(self.case.event, Some(Event::Crash(_))) {
            return Ok((self.site.until(id, settled).await?, false));
        }
        let mut crashed = false;
        loop {
            if !crashed && self.case.is_met(self.bmc) {
                crashed = self.case.crash_when_met(self.site, self.bmc, id).await?;
            }
            let boot = self.site.until(id, |_| true).await?;
            let waits_for_the_end = boot["state"] == "booted" && self.case.end == End::WhenBooted;
            let is_over = settled(&boot) && (!waits_for_the_end || boot["ended"] == true || failed_to_eject(&boot));
            if is_over {
                return Ok((boot, crashed));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn failed_to_eject(boot: &Value) -> bool {
    let steps = boot["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    boot["state"] != "ejecting" && steps.iter().any(|step| step["step"] == "ejected" && step["state"] == "failed")
}

/// What the host boots from.
fn boot_source(bmc: &EmulatedBmc) -> Value {
    let member = |name: &str| bmc.member(&bmc.system(), &format!("/Boot/BootSourceOverride{name}"));
    json!({"enabled": member("Enabled"), "target": member("Target")})
}

/// A host that has used its override up boots as it did before.
fn is_unset(source: &Value) -> bool {
    source["enabled"] == "Disabled"
}
