//! Reads an override back that the BMC has accepted, and finds what it shows in its place.

use serde_json::{Map, Value, json};

use super::Bmc;
use super::attempt::{Attempt, Meaning};
use super::boot_order::BootOrder;
use super::boot_override::{MODE, OverrideForm};
use super::current::{Current, ShownBoot};
use super::error::BmcError;
use super::http_uri::HttpUri;
use super::next_reset;
use super::plan::Plan;
use super::set_override::Reception;
use super::state::{BootMode, BootSource};

/// A change of `Boot` that the BMC has accepted.
pub(super) struct Sent<'a> {
    pub(super) form: &'a OverrideForm,
    /// The properties that were sent.
    pub(super) boot: Map<String, Value>,
    /// The URL for HTTP boot.
    pub(super) image_url: Option<&'a str>,
}

/// What the BMC shows of an override that it has accepted.
pub(super) struct Verified {
    /// Empty for a form that does not change `Boot`.
    pub(super) shown: BootSource,
    pub(super) reception: Reception,
    pub(super) once: bool,
    pub(super) notes: Vec<String>,
}

impl Verified {
    /// For a form that does not change `Boot`, and is for one boot.
    fn beside_boot(is_shown: bool) -> Self {
        let reception = Reception::of(is_shown);
        Self { shown: BootSource::default(), reception, once: true, notes: Vec::new() }
    }
}

impl Bmc {
    pub(super) async fn verify_next_reset(
        &self,
        slot: &str,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Verified, BmcError> {
        if next_reset::read(&self.client().get(slot).await?.body) != Some(true) {
            return Err(BmcError::BootRefused { attempts: std::mem::take(attempts) });
        }
        let note = format!("the BMC takes no boot override; {slot} boots at the next reset instead");
        Ok(Verified { notes: vec![note], ..Verified::beside_boot(true) })
    }

    pub(super) async fn verify_boot_order(
        &self,
        order: &BootOrder,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Verified, BmcError> {
        if !self.has_boot_order(order).await? {
            return Err(BmcError::BootRefused { attempts: std::mem::take(attempts) });
        }
        let note = "the BMC takes no boot override; the firmware's boot order begins with the URL instead, from the next start on until \
                    the order is restored"
            .to_owned();
        Ok(Verified { once: false, notes: vec![note], ..Verified::beside_boot(true) })
    }

    pub(super) async fn verify_first_boot_device(&self, path: &str, device: &str) -> Result<Verified, BmcError> {
        let present = self.first_boot_device(path).await?.device;
        let mut verified = Verified::beside_boot(present.as_deref() == Some(device));
        if verified.reception == Reception::Accepted {
            let present = present.as_deref().unwrap_or("nothing");
            verified.notes.push(format!("the BMC accepted the first boot device {device}, but shows {present}"));
        }
        Ok(verified)
    }

    /// Reads `Boot` back. If the BMC changed the mode together with the target, sets the previous mode again, unless the caller
    /// asked for a mode.
    pub(super) async fn verify_boot(
        &self,
        plan: &Plan,
        previous: &ShownBoot,
        sent: &Sent<'_>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Verified, BmcError> {
        let Sent { form, image_url, .. } = *sent;
        let mut current = self.read_until_shown(plan, sent, form.mode()).await?;
        let previous_mode = BootMode::read(previous.source.mode.as_deref());
        let mut notes = Vec::new();
        match (form.mode(), previous_mode) {
            (Some(wanted), _) if current.boot.source.contradicts(Some(wanted)) => {
                let shown = current.boot.source.mode.as_deref().unwrap_or_default();
                notes.push(format!("the BMC accepted the boot mode {wanted}, but shows {shown}"));
            }
            (None, Some(before)) if current.boot.source.contradicts(Some(before)) => {
                let now = current.boot.source.mode.clone().unwrap_or_default();
                current = self.set_mode_again(plan, current, sent, before, attempts).await?;
                let outcome = if current.boot.source.contradicts(Some(before)) {
                    format!("it does not change it back to {before}, so the host boots in the mode {now}")
                } else {
                    format!("{before} was set again")
                };
                notes.push(format!(
                    "the BMC changed the mode from {before} to {now} together with the boot target; {outcome}"
                ));
            }
            _ => {}
        }
        let shown = current.boot.source;
        if form.is_http() && current.boot.http_uri.as_ref().map(HttpUri::as_str) != image_url {
            return Err(BmcError::HttpUriNotKept { attempts: std::mem::take(attempts) });
        }
        if !is_shown(form, &shown) {
            let target = form.target().unwrap_or_default();
            let shown_target = match shown.target.as_deref() {
                Some(shown) if shown.eq_ignore_ascii_case(target) => "that the override is disabled",
                other => other.unwrap_or("nothing"),
            };
            notes.push(format!("the BMC accepted the boot target {target}, but shows {shown_target}"));
        }
        let once = form.is_once() && !shown.is("Continuous");
        if !once {
            notes.push(
                "the boot override is for every boot until it is undone, because the BMC accepts none for a single boot"
                    .to_owned(),
            );
        }
        let reception = Reception::of(has_override(form, &shown));
        Ok(Verified { shown, reception, once, notes })
    }

    /// Sets the mode, and reads it back: first together with the rest, which some BMCs demand, and otherwise alone, because others
    /// change the mode whenever they are sent a target.
    async fn set_mode_again(
        &self,
        plan: &Plan,
        mut current: Current,
        sent: &Sent<'_>,
        mode: BootMode,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Current, BmcError> {
        let alone = Map::from_iter([(MODE.to_owned(), json!(mode.as_str()))]);
        let mut together = sent.boot.clone();
        together.extend(alone.clone());
        for boot in [together, alone] {
            match self.send(&current, &boot, attempts).await {
                Ok(()) => current = self.read_until_shown(plan, sent, Some(mode)).await?,
                Err(error) if Meaning::of(&error) == Meaning::Final => return Err(error.into()),
                Err(_) => {}
            }
            if !current.boot.source.contradicts(Some(mode)) {
                break;
            }
        }
        Ok(current)
    }
}

/// Whether the BMC shows the override that this form sets. BMCs may show the target in another case than dayone sends it.
pub(super) fn is_shown(form: &OverrideForm, shown: &BootSource) -> bool {
    form.target().is_none_or(|target| shown.has_target(target) && !shown.is("Disabled"))
}

/// Whether the BMC shows an override that this form may have set. For HTTP, only the URL counts, because sushy-tools shows another
/// target.
pub(super) fn has_override(form: &OverrideForm, shown: &BootSource) -> bool {
    if form.is_http() { !shown.is("Disabled") && !shown.has_target("None") } else { is_shown(form, shown) }
}
