//! UEFI HTTP boot: the firmware fetches the image by itself (`Boot.HttpBootUri` of `ComputerSystem` 1.9 and later).

use super::boot_option;
use super::boot_override::{OverrideForm, wanted_enables};
use super::error::BmcError;
use super::firmware::FirmwareError;
use super::http_uri::{TARGET, URI};
use super::offered;
use super::state::{Boot, BootMode};
use super::survey::Survey;
use super::vendor::Vendor;

/// What HPE's firmware calls the boot option and the boot source that it makes of a URL.
const URL_FILE: &str = "URL File";

/// The forms of the override in the order in which they are tried, and what is different for this BMC. An error if the BMC does
/// not offer HTTP boot.
pub(super) fn forms(survey: &Survey, mode: Option<BootMode>) -> Result<(Vec<OverrideForm>, Vec<String>), BmcError> {
    let boot = &survey.system.boot;
    let Some(target) = offered(boot, TARGET) else {
        return Err(BmcError::NoHttpBoot { offered: boot.targets.clone().unwrap_or_default() });
    };
    let mut modes = modes(boot, mode)?;
    if matches!(survey.vendor, Vendor::Dell | Vendor::Hpe) && !boot.has_http_uri {
        return Err(BmcError::NoHttpBootUri(survey.vendor));
    }
    let mut quirks = Vec::new();
    if survey.vendor == Vendor::Supermicro {
        quirks.push("the mode UEFI is sent, because Supermicro changes the mode otherwise".to_owned());
        modes.sort_by_key(Option::is_none);
    }
    let mut forms = Vec::new();
    for enabled in wanted_enables(boot) {
        for mode in &modes {
            forms.push(OverrideForm::Http { target: target.clone(), enabled: enabled.clone(), mode: *mode });
        }
    }
    if !boot.has_http_uri {
        quirks.push(format!("the BMC shows no {URI}; dayone sets it, and goes on only if the BMC shows it then"));
    }
    Ok((forms, quirks))
}

/// A target in the BMC's spelling. `None` if the BMC lists its targets without this target.
fn offered(boot: &Boot, wanted: &str) -> Option<String> {
    match &boot.targets {
        Some(targets) => offered::find(targets, wanted).map(str::to_owned),
        None => Some(wanted.to_owned()),
    }
}

/// The values for `BootSourceOverrideMode`, in the order in which they are tried. Only UEFI boots by HTTP, and dayone changes the mode only if
/// the caller asks for that.
fn modes(boot: &Boot, mode: Option<BootMode>) -> Result<Vec<Option<BootMode>>, BmcError> {
    let current = BootMode::read(boot.source.mode.as_deref());
    match (mode, current) {
        (Some(BootMode::Legacy), _) | (None, Some(BootMode::Legacy)) => Err(BmcError::HttpBootNeedsUefi),
        (Some(BootMode::Uefi), Some(BootMode::Legacy)) => {
            let offers = |modes: &Vec<String>| modes.iter().any(|word| word.eq_ignore_ascii_case("UEFI"));
            if boot.modes.as_ref().is_some_and(|modes| !modes.is_empty() && !offers(modes)) {
                return Err(BmcError::Mode { mode: BootMode::Uefi, offered: boot.modes.clone() });
            }
            Ok(vec![Some(BootMode::Uefi)])
        }
        (_, Some(BootMode::Uefi) | None) => Ok(vec![None, Some(BootMode::Uefi)]),
    }
}

/// The forms of the override for a BMC whose firmware has the URL in its settings. They set no mode: an iDRAC makes a job of that, which
/// waits for another restart.
pub(super) fn forms_by_settings(survey: &Survey, mode: Option<BootMode>) -> Result<Vec<OverrideForm>, BmcError> {
    let boot = &survey.system.boot;
    if [mode, BootMode::read(boot.source.mode.as_deref())].contains(&Some(BootMode::Legacy)) {
        return Err(FirmwareError::LegacyMode.into());
    }
    let is_dell = survey.vendor == Vendor::Dell;
    let mut forms = Vec::new();
    // UefiHttp alone may mean a NIC's own option for HTTP boot, with a URL from DHCP.
    if survey.vendor == Vendor::Hpe && offered(boot, boot_option::TARGET).is_some() {
        forms.push(OverrideForm::BootOption { name: URL_FILE.to_owned() });
    }
    if let Some(target) = offered(boot, TARGET) {
        for enabled in wanted_enables(boot) {
            // An iDRAC changes the boot order for ever.
            let form = OverrideForm::System { target: target.clone(), enabled, mode: None };
            if !(is_dell && form.is_continuous()) {
                forms.push(form);
            }
        }
    }
    let attributes = survey.managers.iter().find_map(|manager| manager.dell_attributes.clone()).filter(|_| is_dell);
    forms.extend(attributes.map(|path| OverrideForm::DellAttributes { path, device: "UEFIHttp".to_owned() }));
    if forms.is_empty() {
        return Err(BmcError::NoHttpBoot { offered: boot.targets.clone().unwrap_or_default() });
    }
    if survey.vendor == Vendor::Hpe {
        forms.push(OverrideForm::BootOrder { name: URL_FILE.to_owned() });
    }
    Ok(forms)
}
