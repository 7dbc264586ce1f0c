//! Decides from a survey which boot override is sent (`Boot` of `ComputerSystem` 1.22).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::attempt::Fault;
use super::boot_option;
use super::error::BmcError;
use super::first_boot_device;
use super::http_uri;
use super::medium::Medium;
use super::next_reset;
use super::offered;
use super::planned_request::PlannedRequest;
use super::state::{Boot, BootMode};
use super::survey::{Survey, System};
use super::vendor::Vendor;

/// One form of the request for a boot override.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OverrideForm {
    /// The standard one: `Boot` of the System, or of its settings resource.
    System {
        /// `BootSourceOverrideTarget`.
        target: String,
        /// `BootSourceOverrideEnabled`. `None` leaves it out: some BMCs refuse a value that is set already.
        enabled: Option<String>,
        /// `BootSourceOverrideMode`. `None` leaves it out.
        mode: Option<BootMode>,
    },
    /// `Boot` of the System, with the URL from which the firmware is to boot. The URL is not part of the form: it is a secret.
    Http {
        /// `BootSourceOverrideTarget`: `UefiHttp`, in the BMC's spelling. Records of older versions do not have it.
        #[serde(default = "http_uri::target")]
        target: String,
        /// `BootSourceOverrideEnabled`, as above.
        enabled: Option<String>,
        /// `BootSourceOverrideMode`, as above.
        mode: Option<BootMode>,
    },
    /// `Boot` of the System, once, with one of the firmware's boot options as the target. The option may appear only when the firmware
    /// has its settings, so its device path is looked up when the override is set.
    BootOption {
        /// `DisplayName` of the option.
        name: String,
    },
    /// An iDRAC's attributes `ServerBoot.1.BootOnce` and `ServerBoot.1.FirstBootDevice`. With some firmware, the
    /// standard target means a drive in the machine.
    DellAttributes {
        /// The path of the resource with the attributes.
        path: String,
        /// The value of `ServerBoot.1.FirstBootDevice`: `VCD-DVD` or `vFDD`, or `UEFIHttp` for HTTP boot.
        device: String,
    },
    /// HPE's order of boot sources, with one of them in front, for an iLO that refuses or ignores every boot override. The source may
    /// appear only when the firmware has its settings.
    BootOrder {
        /// The beginning of `BootString` of the source.
        name: String,
    },
    /// HPE's `BootOnNextServerReset` of the slot with the medium, for an iLO that refuses or ignores every boot override.
    NextReset {
        /// The slot's path.
        slot: String,
    },
}

/// The properties of `Boot` that make an override.
pub(super) const TARGET: &str = "BootSourceOverrideTarget";
pub(super) const ENABLED: &str = "BootSourceOverrideEnabled";
pub(super) const MODE: &str = "BootSourceOverrideMode";

impl OverrideForm {
    /// `BootSourceOverrideTarget`, if the form sets it.
    pub(super) fn target(&self) -> Option<&str> {
        match self {
            Self::System { target, .. } | Self::Http { target, .. } => Some(target),
            Self::BootOption { .. } => Some(boot_option::TARGET),
            Self::DellAttributes { .. } | Self::BootOrder { .. } | Self::NextReset { .. } => None,
        }
    }

    /// `BootSourceOverrideEnabled` and `BootSourceOverrideMode`, as far as the form sets them.
    fn enabled_and_mode(&self) -> (Option<&str>, Option<BootMode>) {
        match self {
            Self::System { enabled, mode, .. } | Self::Http { enabled, mode, .. } => (enabled.as_deref(), *mode),
            Self::BootOption { .. } => (Some("Once"), None),
            Self::DellAttributes { .. } | Self::BootOrder { .. } | Self::NextReset { .. } => (None, None),
        }
    }

    pub(super) fn mode(&self) -> Option<BootMode> {
        self.enabled_and_mode().1
    }

    /// The properties of `Boot` to set, without the URL for HTTP boot.
    pub(super) fn boot(&self) -> Map<String, Value> {
        let (enabled, mode) = self.enabled_and_mode();
        let mut boot = Map::new();
        boot.extend(self.target().map(|target| (TARGET.to_owned(), json!(target))));
        boot.extend(enabled.map(|enabled| (ENABLED.to_owned(), json!(enabled))));
        boot.extend(mode.map(|mode| (MODE.to_owned(), json!(mode.as_str()))));
        boot
    }

    /// Whether the override ends after one boot.
    pub fn is_once(&self) -> bool {
        !self.is_continuous() && !matches!(self, Self::BootOrder { .. })
    }

    /// Whether `BootSourceOverrideEnabled` is `Continuous`.
    pub(super) fn is_continuous(&self) -> bool {
        self.enabled_and_mode().0.is_some_and(|enabled| enabled.eq_ignore_ascii_case("Continuous"))
    }

    /// Whether the form takes the place of an override that the BMC accepts and ignores.
    pub(super) fn is_instead(&self) -> bool {
        matches!(self, Self::BootOrder { .. } | Self::NextReset { .. })
    }

    /// Whether the firmware fetches the image by HTTP.
    pub fn is_http(&self) -> bool {
        matches!(self, Self::Http { .. })
    }

    pub(super) fn requests(&self, system: &System, image_url: &str) -> Vec<PlannedRequest> {
        match self {
            Self::BootOption { name } => {
                let path = system.settings.as_ref().unwrap_or(&system.path).clone();
                let boot = with_device(self.boot(), &format!("(the device path of {name})"));
                vec![PlannedRequest { method: "PATCH", path, body: json!({"Boot": boot}) }]
            }
            Self::System { .. } | Self::Http { .. } => {
                let path = system.settings.as_ref().unwrap_or(&system.path).clone();
                let boot = self.boot();
                let boot = if self.is_http() { http_uri::with_uri(boot, Some(image_url)) } else { boot };
                vec![PlannedRequest { method: "PATCH", path, body: json!({"Boot": boot}) }]
            }
            Self::DellAttributes { path, device } => {
                vec![PlannedRequest {
                    method: "PATCH",
                    path: path.clone(),
                    body: first_boot_device::body("Enabled", device),
                }]
            }
            // Tried only after others: no plan announces it.
            Self::BootOrder { .. } => Vec::new(),
            Self::NextReset { slot } => {
                vec![PlannedRequest { method: "PATCH", path: slot.clone(), body: next_reset::body(true) }]
            }
        }
    }
}

/// Adds the device path of a boot option to the properties of `Boot`.
pub(super) fn with_device(mut boot: Map<String, Value>, device: &str) -> Map<String, Value> {
    boot.insert(boot_option::DEVICE.to_owned(), json!(device));
    boot
}

/// The forms in the order in which they are tried, and what is different for this BMC.
pub(super) fn forms(
    survey: &Survey,
    medium: Medium,
    mode: Option<BootMode>,
) -> Result<(Vec<OverrideForm>, Vec<String>), BmcError> {
    let boot = &survey.system.boot;
    let mut quirks = Vec::new();
    let mut forms = Vec::new();
    if let Some(path) = survey.managers.iter().find_map(|manager| manager.dell_attributes.clone()) {
        // The attributes cannot set the mode, so another mode needs the standard override.
        if survey.vendor == Vendor::Dell
            && mode.is_none_or(|mode| BootMode::read(boot.source.mode.as_deref()) == Some(mode))
        {
            quirks.push(
                "iDRAC boots from virtual media through its own attributes; the standard override is tried after them"
                    .to_owned(),
            );
            let device = match medium {
                Medium::Cd => "VCD-DVD",
                Medium::Usb => "vFDD",
            };
            forms.push(OverrideForm::DellAttributes { path, device: device.to_owned() });
        }
    }
    let modes = wanted_modes(survey, boot, mode, &mut quirks)?;
    let enables = wanted_enables(boot);
    for target in targets(survey, boot, medium, &mut quirks) {
        for enabled in &enables {
            for mode in &modes {
                forms.push(OverrideForm::System { target: target.clone(), enabled: enabled.clone(), mode: *mode });
            }
        }
    }
    Ok((forms, quirks))
}

/// The targets, the best first.
fn targets(survey: &Survey, boot: &Boot, medium: Medium, quirks: &mut Vec<String>) -> Vec<String> {
    // Supermicro's boards show virtual media as a CD drive on USB, except for this model.
    let model = survey.system.model.as_deref().unwrap_or_default();
    let is_usb_cd = survey.vendor == Vendor::Supermicro && !model.eq_ignore_ascii_case("ars-111gl-nhr");
    let candidates: &[&str] = match medium {
        Medium::Cd if is_usb_cd => &["UsbCd", "Cd"],
        Medium::Cd => &["Cd", "UsbCd", "Usb"],
        Medium::Usb => &["Usb", "RemoteDrive"],
    };
    let Some(offered) = &boot.targets else {
        // Without a list, a vendor's own target would be a guess.
        let usual = candidates.iter().filter(|target| **target != "UsbCd").take(1);
        return usual.map(|target| (*target).to_owned()).collect();
    };
    // In the BMC's spelling, because some BMCs refuse any other.
    let found = candidates
        .iter()
        .filter_map(|candidate| offered::find(offered, candidate))
        .map(str::to_owned)
        .collect::<Vec<_>>();
    if found.first().is_some_and(|target| target.eq_ignore_ascii_case("UsbCd")) {
        quirks.push("the target is UsbCd, because this BMC shows virtual media as a drive on USB".to_owned());
    }
    if found.is_empty() {
        let first = candidates.first().copied().unwrap_or("Cd");
        quirks
            .push(format!("the BMC lists no boot target for virtual media ({}); {first} is tried", offered.join(", ")));
        return vec![first.to_owned()];
    }
    found
}

/// The values for `BootSourceOverrideMode`, in the order in which they are tried.
fn wanted_modes(
    survey: &Survey,
    boot: &Boot,
    mode: Option<BootMode>,
    quirks: &mut Vec<String>,
) -> Result<Vec<Option<BootMode>>, BmcError> {
    let current = BootMode::read(boot.source.mode.as_deref());
    let Some(mode) = mode else {
        // Supermicro falls back to Legacy if the mode is left out.
        return Ok(match (survey.vendor, current) {
            (Vendor::Supermicro, Some(current)) => {
                quirks.push(format!("the current mode {current} is sent, because Supermicro changes it otherwise"));
                vec![Some(current), None]
            }
            // Some BMCs demand a mode. They get the current one.
            _ => vec![None, Some(current.unwrap_or(BootMode::Uefi))],
        });
    };
    let is_offered = |offered: &Vec<String>| offered.iter().any(|word| word.eq_ignore_ascii_case(mode.as_str()));
    if boot.modes.as_ref().is_some_and(|offered| !offered.is_empty() && !is_offered(offered)) && current != Some(mode) {
        return Err(BmcError::Mode { mode, offered: boot.modes.clone() });
    }
    // If the host is in this mode already, the override also works without it.
    Ok(if current == Some(mode) { vec![Some(mode), None] } else { vec![Some(mode)] })
}

/// The values for `BootSourceOverrideEnabled`, in the order in which they are tried.
pub(super) fn wanted_enables(boot: &Boot) -> Vec<Option<String>> {
    let offered = |word: &str| match &boot.enables {
        Some(offered) if !offered.is_empty() => offered::find(offered, word).map(str::to_owned),
        _ => Some(word.to_owned()),
    };
    let mut enables = Vec::new();
    if let Some(once) = offered("Once") {
        enables.push(Some(once));
        // Some BMCs refuse a value that is set already.
        if boot.source.enabled.as_ref().is_some_and(|enabled| enabled.eq_ignore_ascii_case("Once")) {
            enables.push(None);
        }
    }
    enables.extend(offered("Continuous").map(Some));
    if enables.is_empty() { vec![Some("Once".to_owned())] } else { enables }
}

/// Whether to try a form after the BMC refused another one and named properties: the form must differ in all of them.
pub(super) fn differs(form: &OverrideForm, refused: &OverrideForm, faults: &[(&str, Fault)]) -> bool {
    if form.target().is_none() {
        return true;
    }
    let (one, other) = (form.boot(), refused.boot());
    faults.iter().all(|(property, fault)| match fault {
        Fault::Missing => one.contains_key(*property),
        Fault::Unsupported => one.get(*property) != other.get(*property),
    })
}
