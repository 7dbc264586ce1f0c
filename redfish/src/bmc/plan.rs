//! Decides from a survey what will be sent to a BMC. Sends nothing itself.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::boot_override::{self, OverrideForm};
use super::error::BmcError;
use super::firmware::FirmwareSettings;
use super::form::{self, Form, Method};
use super::http_boot;
use super::medium::Medium;
use super::planned_request::PlannedRequest;
use super::power;
use super::shown_image::ShownImage;
use super::slot;
use super::state::BootMode;
use super::survey::{Slot, Survey, System};
use super::vendor::Vendor;

/// What will be sent to a BMC, decided from its [`Survey`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The vendor of the BMC's firmware.
    pub vendor: Vendor,
    /// The machine.
    pub system: System,
    /// What kind of drive the host sees.
    pub medium: Medium,
    /// The slots that accept the medium, the best first. For HTTP boot, all slots: some BMCs put the image into one of them.
    pub slots: Vec<Slot>,
    /// The forms of the insert request for the first slot, in the order in which they are tried.
    pub forms: Vec<Form>,
    /// The forms of the boot override, in the order in which they are tried.
    pub boot: Vec<OverrideForm>,
    /// The settings of the host's firmware that the boot changes first. The firmware takes them at a start of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<FirmwareSettings>,
    /// The boot mode that the caller asked for. `None` leaves the host's mode as it is.
    pub mode: Option<BootMode>,
    /// What is different for this BMC, and why, as sentences.
    pub quirks: Vec<String>,
    /// How the slot shows the image, if not by its URL. Empty in a new plan; set it after the insert, so that the eject recognises the
    /// image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_as: Option<ShownImage>,
}

impl Plan {
    /// Makes a plan. Without `mode`, the host's boot mode stays as it is.
    pub fn new(survey: &Survey, medium: Medium, mode: Option<BootMode>) -> Result<Self, BmcError> {
        let slots = slot::suitable(survey, medium)?;
        let forms = slots.first().map(|slot| form::forms(survey.vendor, slot)).unwrap_or_default();
        let (mut boot, mut quirks) = boot_override::forms(survey, medium, mode)?;
        if let Some(slot) = slots.first() {
            quirks.extend(slot_quirks(survey, slot));
            // The property cannot set the mode.
            let current = BootMode::read(survey.system.boot.source.mode.as_deref());
            if slot.boots_on_next_reset && mode.is_none_or(|mode| current == Some(mode)) {
                boot.push(OverrideForm::NextReset { slot: slot.path.clone() });
            }
        }
        Ok(Self {
            vendor: survey.vendor,
            system: survey.system.clone(),
            medium,
            slots,
            forms,
            boot,
            firmware: None,
            mode,
            quirks,
            shown_as: None,
        })
    }

    /// Makes a plan for HTTP boot.
    pub(super) fn http(survey: &Survey, medium: Medium, mode: Option<BootMode>) -> Result<Self, BmcError> {
        let (boot, quirks) = http_boot::forms(survey, mode)?;
        let (system, slots) = (survey.system.clone(), survey.slots.clone());
        let forms = Vec::new();
        let (firmware, shown_as) = (None, None);
        Ok(Self { vendor: survey.vendor, system, medium, slots, forms, boot, firmware, mode, quirks, shown_as })
    }

    /// Makes a plan for HTTP boot by the firmware's settings.
    pub(super) fn by_settings(
        survey: &Survey,
        medium: Medium,
        mode: Option<BootMode>,
        (boot, settings, quirks): (Vec<OverrideForm>, FirmwareSettings, Vec<String>),
    ) -> Self {
        let (system, slots, forms, firmware) =
            (survey.system.clone(), survey.slots.clone(), Vec::new(), Some(settings));
        let shown_as = None;
        Self { vendor: survey.vendor, system, medium, slots, forms, boot, firmware, mode, quirks, shown_as }
    }

    /// The requests that insert the image, or make the firmware take its settings, and set the boot override. If the BMC refuses none of them, these and
    /// [`power_requests`](Self::power_requests) are all that change anything.
    pub fn requests(&self, image_url: &str) -> Vec<PlannedRequest> {
        let mut requests = Vec::new();
        if let (Some(slot), Some(form)) = (self.slots.first(), self.forms.first()) {
            let (method, path) = match (form.method, &slot.insert) {
                (Method::Post, Some(insert)) => ("POST", insert.target.clone()),
                _ => ("PATCH", slot.path.clone()),
            };
            requests.push(PlannedRequest { method, path, body: form.body(image_url, slot.insert.as_ref()) });
        }
        if let Some(firmware) = &self.firmware {
            requests.push(firmware.request(image_url));
            requests.extend(self.power_requests());
        }
        if let Some(form) = self.boot.first() {
            requests.extend(form.requests(&self.system, image_url));
        }
        requests
    }

    /// The requests that switch the host off, if it is on, and on again, provided that the BMC refuses none of them.
    pub fn power_requests(&self) -> Vec<PlannedRequest> {
        power::restart_requests(&self.system)
    }

    /// The first request that ejects the image. `None` if the slot has no action for it and is changed by PATCH.
    pub fn eject_request(&self) -> Option<PlannedRequest> {
        let target = self.slots.first()?.eject.clone()?;
        Some(PlannedRequest { method: "POST", path: target, body: json!({}) })
    }
}

fn slot_quirks(survey: &Survey, slot: &Slot) -> Vec<String> {
    let mut quirks = Vec::new();
    if slot.insert.is_none() {
        quirks.push(format!("{} has no InsertMedia action: the image is inserted by PATCH", slot.path));
    }
    match survey.vendor {
        Vendor::Supermicro => {
            quirks.push("Supermicro refuses Inserted and WriteProtected, so neither is sent".to_owned());
        }
        Vendor::Dell if slot::is_idrac_10(survey) => {
            quirks.push("some machines with iDRAC 10 boot only from slot 1, so it is preferred".to_owned());
        }
        Vendor::Fujitsu | Vendor::Nokia => {
            quirks.push("TransferProtocolType is sent from the beginning".to_owned());
        }
        _ => {}
    }
    if slot.verify_certificate == Some(true) {
        quirks.push(
            "the BMC checks certificates: if the image's URL has https://, the BMC must trust the issuer of \
                     that server's certificate"
                .to_owned(),
        );
    }
    quirks
}
