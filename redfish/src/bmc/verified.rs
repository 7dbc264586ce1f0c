//! Reads an override back that the BMC has accepted, and finds what it shows in its place.

use serde_json::{Map, json};

use super::Bmc;
use super::attempt::Attempt;
use super::boot_order::BootOrder;
use super::boot_override::{MODE, OverrideForm};
use super::error::BmcError;
use super::http_uri::HttpUri;
use super::next_reset;
use super::plan::Plan;
use super::set_override::Reception;
use super::state::{Boot, BootMode, BootSource};

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
        previous: &Boot,
        form: &OverrideForm,
        image_url: Option<&str>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Verified, BmcError> {
        let current = self.read_until_shown(plan, form, image_url).await?;
        let shown = current.boot.source.clone();
        if form.is_http() && current.boot.http_uri.as_ref().map(HttpUri::as_str) != image_url {
            return Err(BmcError::HttpUriNotKept { attempts: std::mem::take(attempts) });
        }
        let mut notes = Vec::new();
        if !is_shown(form, &shown) {
            let target = form.target().unwrap_or_default();
            let shown_target = match shown.target.as_deref() {
                Some(shown) if shown == target => "that the override is disabled",
                other => other.unwrap_or("nothing"),
            };
            notes.push(format!("the BMC accepted the boot target {target}, but shows {shown_target}"));
        }
        let once = form.is_once() && shown.enabled.as_deref() != Some("Continuous");
        if !once {
            notes.push(
                "the boot override is for every boot until it is undone, because the BMC accepts none for a single boot"
                    .to_owned(),
            );
        }
        let previous_mode = BootMode::read(previous.source.mode.as_deref());
        let shown_mode = BootMode::read(shown.mode.as_deref());
        if let (Some(previous), None, Some(now)) = (previous_mode, form.mode(), shown_mode)
            && previous != now
        {
            notes.push(format!(
                "the BMC changed the mode from {previous} to {now} together with the boot target; {previous} was set again"
            ));
            let again = Map::from_iter([(MODE.to_owned(), json!(previous.as_str()))]);
            self.send(&current, &again, attempts).await?;
        }
        // For HTTP, it is the URL that counts: sushy-tools shows another target.
        let reception = Reception::of(form.is_http() || is_shown(form, &shown));
        Ok(Verified { shown, reception, once, notes })
    }
}

/// Whether the BMC shows the override that this form sets.
pub(super) fn is_shown(form: &OverrideForm, shown: &BootSource) -> bool {
    let is_disabled = shown.enabled.as_deref() == Some("Disabled");
    form.target().is_none_or(|target| shown.target.as_deref() == Some(target) && !is_disabled)
}
