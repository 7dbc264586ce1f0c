//! What will be asked of a BMC, decided from what it has shown. Reads and changes nothing.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::boot_override::{self, OverrideForm};
use super::error::BmcError;
use super::form::{self, Form, Method};
use super::medium::Medium;
use super::planned_request::PlannedRequest;
use super::power;
use super::slot;
use super::state::BootMode;
use super::survey::{Slot, Survey, System};
use super::vendor::Vendor;

/// What will be asked of a BMC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Whose firmware it is.
    pub vendor: Vendor,
    /// The machine.
    pub system: System,
    /// What the image is for the host.
    pub medium: Medium,
    /// The slots that suit, the best first.
    pub slots: Vec<Slot>,
    /// How the image will be named to the first slot, in the order in which forms are tried.
    pub forms: Vec<Form>,
    /// How the next boot will be set, in the order in which forms are tried.
    pub boot: Vec<OverrideForm>,
    /// The mode that was asked for.
    pub mode: Option<BootMode>,
    /// What is done differently for this BMC, and why.
    pub quirks: Vec<String>,
}

impl Plan {
    /// Decides. Without `mode`, the firmware's mode is not touched.
    pub fn new(survey: &Survey, medium: Medium, mode: Option<BootMode>) -> Result<Self, BmcError> {
        let slots = slot::choose(survey, medium)?;
        let forms = slots.first().map(|slot| form::ladder(survey.vendor, slot)).unwrap_or_default();
        let (boot, mut quirks) = boot_override::forms(survey, medium, mode)?;
        if let Some(slot) = slots.first() {
            quirks.extend(slot_quirks(survey, slot));
        }
        Ok(Self { vendor: survey.vendor, system: survey.system.clone(), medium, slots, forms, boot, mode, quirks })
    }

    /// The requests for the straight way: as long as the BMC refuses none, these are all that change anything, apart
    /// from those to switch the host off and on.
    pub fn requests(&self, image_url: &str) -> Vec<PlannedRequest> {
        let mut requests = Vec::new();
        if let (Some(slot), Some(form)) = (self.slots.first(), self.forms.first()) {
            let (method, path) = match (form.method, &slot.insert) {
                (Method::Post, Some(insert)) => ("POST", insert.target.clone()),
                _ => ("PATCH", slot.path.clone()),
            };
            requests.push(PlannedRequest { method, path, body: form.body(image_url, slot.insert.as_ref()) });
        }
        if let Some(form) = self.boot.first() {
            requests.extend(form.requests(&self.system));
        }
        requests
    }

    /// The requests to switch the host off, if it is on, and on again, as long as the BMC refuses none.
    pub fn power_requests(&self) -> Vec<PlannedRequest> {
        power::cycle(&self.system)
    }

    /// The request to eject the image, as long as the BMC does not refuse it.
    pub fn eject_request(&self) -> Option<PlannedRequest> {
        let target = self.slots.first()?.eject.clone()?;
        Some(PlannedRequest { method: "POST", path: target, body: json!({}) })
    }
}

fn slot_quirks(survey: &Survey, slot: &Slot) -> Vec<String> {
    let mut quirks = Vec::new();
    if slot.insert.is_none() {
        quirks.push(format!("{} has no InsertMedia action: it is changed by PATCH", slot.path));
    }
    match survey.vendor {
        Vendor::Supermicro => {
            quirks.push("Supermicro refuses Inserted and WriteProtected: neither is sent".to_owned());
        }
        Vendor::Dell if slot::is_idrac_10(survey) => {
            quirks.push("some machines with iDRAC 10 boot from slot 1 only: it is preferred".to_owned());
        }
        Vendor::Fujitsu | Vendor::Nokia => {
            quirks.push("TransferProtocolType is sent from the beginning".to_owned());
        }
        _ => {}
    }
    if slot.verify_certificate == Some(true) {
        quirks.push("the BMC checks certificates: with HTTPS media it must know the media address's issuer".to_owned());
    }
    quirks
}
