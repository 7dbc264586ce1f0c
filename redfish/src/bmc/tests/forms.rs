//! The forms of requests: to insert, and to boot from what was inserted.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::attempt::Fault;
use super::super::form::{self, Form, FormSequence, Method, Parameter};
use super::super::*;
use super::{URL, refusal, slot, survey};
use crate::RedfishError;

/// The properties of each request until `refuse` accepts one.
fn tried_forms(vendor: Vendor, slot: &Slot, refuse: impl Fn(&Value) -> Option<RedfishError>) -> Vec<String> {
    let mut forms = FormSequence::new(&form::forms(vendor, slot));
    let mut form = forms.first();
    let mut seen = Vec::new();
    while let Some(now) = form {
        let body = now.body(URL, slot.insert.as_ref());
        let names = body.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
        seen.push(if now.method == Method::Patch { format!("PATCH {names}") } else { names });
        let Some(error) = refuse(&body) else { return seen };
        form = forms.next(&error, &BTreeSet::new());
    }
    seen.push("refused".to_owned());
    seen
}

#[test]
fn refusals_decide_which_form_is_next() {
    let cd = slot("CD", &["CD"], true);
    let missing = |body: &Value, required: &[&str]| {
        let name = required.iter().find(|name| body.get(**name).is_none())?;
        Some(refusal(400, "Base.1.8.ActionParameterMissing", &format!("requires the parameter {name}"), &[name]))
    };
    assert_eq!(tried_forms(Vendor::Other, &cd, |_| None), ["Image"]);
    assert_eq!(
        tried_forms(Vendor::Nvidia, &cd, |body| missing(
            body,
            &["TransferProtocolType", "TransferMethod", "UserName", "Password"]
        )),
        [
            "Image",
            "Image TransferProtocolType",
            "Image TransferProtocolType TransferMethod",
            "Image TransferProtocolType TransferMethod UserName Password",
        ]
    );
    assert_eq!(
        tried_forms(Vendor::Fujitsu, &cd, |body| missing(body, &["TransferProtocolType"])),
        ["Image TransferProtocolType"]
    );
    assert_eq!(tried_forms(Vendor::Cisco, &cd, |body| missing(body, &["Inserted"])), ["Image", "Image Inserted"]);
    // A refusal that says nothing goes through all of it, once.
    let mute = |_: &Value| Some(refusal(400, "Base.1.8.GeneralError", "A general error has occurred.", &[]));
    assert_eq!(
        tried_forms(Vendor::Other, &cd, mute),
        [
            "Image",
            "Image TransferProtocolType",
            "Image TransferProtocolType TransferMethod",
            "Image Inserted WriteProtected TransferProtocolType TransferMethod",
            "Image Inserted WriteProtected TransferProtocolType TransferMethod UserName Password",
            "PATCH Image Inserted WriteProtected",
            "PATCH Image",
            "refused",
        ]
    );
    let requests = tried_forms(Vendor::Supermicro, &cd, mute);
    assert!(
        requests.iter().all(|names| !names.contains("Inserted") && !names.contains("WriteProtected")),
        "{requests:?}"
    );
    // Contradicting itself leads nowhere, but ends.
    let both = |body: &Value| {
        let name = "TransferProtocolType";
        let text = if body.get(name).is_some() { "is unknown" } else { "is missing" };
        Some(refusal(400, "", &format!("{name} {text}"), &[]))
    };
    assert!(tried_forms(Vendor::Other, &cd, both).len() <= 11);
    // Without the action, by PATCH.
    assert_eq!(
        tried_forms(Vendor::Lenovo, &slot("EXT1", &["CD"], false), |_| None),
        ["PATCH Image Inserted WriteProtected"]
    );
}

#[test]
fn parameters_have_the_values_of_the_url_and_of_the_bmc() {
    let mut slot = slot("CD", &["CD"], true);
    let all =
        Form { method: Method::Post, parameters: [Parameter::TransferProtocolType, Parameter::TransferMethod].into() };
    let body = all.body("https://192.0.2.1/i/a/boot.iso", slot.insert.as_ref());
    assert_eq!((&body["TransferProtocolType"], &body["TransferMethod"]), (&json!("HTTPS"), &json!("Stream")));
    slot.insert.as_mut().unwrap().transfer_methods = Some(vec!["Upload".to_owned()]);
    assert_eq!(all.body(URL, slot.insert.as_ref())["TransferMethod"], "Upload");
    assert_eq!(all.body(URL, slot.insert.as_ref())["TransferProtocolType"], "HTTP");
}

/// The first form of the boot override, and how many there are.
fn first_boot(survey: &Survey, medium: Medium, mode: Option<BootMode>) -> (Value, usize) {
    let (forms, _) = boot_override::forms(survey, medium, mode).unwrap();
    let first = &forms[0].requests(&survey.system, "")[0];
    (json!([first.path, first.body]), forms.len())
}

#[test]
fn the_boot_override_has_the_vendors_form() {
    let boot = |targets: &[&str], mode: &str| json!({"Model": "SYS-1", "Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": targets, "BootSourceOverrideMode": mode}});
    let path = "/redfish/v1/Systems/1";
    let cases = [
        (
            Vendor::Other,
            boot(&["Cd", "Pxe"], "UEFI"),
            Medium::Cd,
            None,
            json!({"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}),
        ),
        (
            Vendor::Other,
            boot(&["none", "PXE", "CD", "HDD"], "UEFI"),
            Medium::Cd,
            None,
            json!({"BootSourceOverrideTarget": "CD", "BootSourceOverrideEnabled": "Once"}),
        ),
        (
            Vendor::Other,
            json!({"Boot": {"BootSourceOverrideEnabled@Redfish.AllowableValues": ["disabled", "once"]}}),
            Medium::Cd,
            None,
            json!({"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "once"}),
        ),
        (
            Vendor::Other,
            json!({}),
            Medium::Usb,
            None,
            json!({"BootSourceOverrideTarget": "Usb", "BootSourceOverrideEnabled": "Once"}),
        ),
        (
            Vendor::Supermicro,
            boot(&["Cd", "UsbCd"], "UEFI"),
            Medium::Cd,
            None,
            json!({"BootSourceOverrideTarget": "UsbCd", "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "UEFI"}),
        ),
        (
            Vendor::Hpe,
            boot(&["Cd"], "Legacy"),
            Medium::Cd,
            Some(BootMode::Uefi),
            json!({"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "UEFI"}),
        ),
    ];
    for (vendor, system, medium, mode, expected) in cases {
        let survey = survey(vendor, "", Vec::new(), &system);
        assert_eq!(first_boot(&survey, medium, mode).0, json!([path, {"Boot": expected}]), "{vendor:?}");
    }
    let arm = json!({"Model": "ARS-111GL-NHR", "Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Cd", "UsbCd"]}});
    let (first, _) = first_boot(&survey(Vendor::Supermicro, "", Vec::new(), &arm), Medium::Cd, None);
    assert_eq!(first[1]["Boot"]["BootSourceOverrideTarget"], "Cd");

    let dell = survey(Vendor::Dell, "16G Monolithic", Vec::new(), &boot(&["Cd"], "UEFI"));
    let (first, forms) = first_boot(&dell, Medium::Cd, None);
    assert_eq!(first[1]["Attributes"]["ServerBoot.1.FirstBootDevice"], "VCD-DVD");
    assert!(forms > 1, "the standard override comes second");
    let (first, _) = first_boot(&dell, Medium::Cd, Some(BootMode::Legacy));
    assert_eq!(first[1]["Boot"]["BootSourceOverrideMode"], "Legacy");

    // A mode that the BMC does not list is refused before anything is asked of it.
    let only_uefi =
        json!({"Boot": {"BootSourceOverrideMode": "UEFI", "BootSourceOverrideMode@Redfish.AllowableValues": ["UEFI"]}});
    let only_uefi = survey(Vendor::Other, "", Vec::new(), &only_uefi);
    let error = boot_override::forms(&only_uefi, Medium::Cd, Some(BootMode::Legacy)).unwrap_err().to_string();
    assert!(error.contains("does not accept the boot mode Legacy (it accepts UEFI)"), "{error}");
}

#[test]
fn a_reset_type_has_the_letters_of_the_bmc() {
    let reset = json!({"target": "/reset", "ResetType@Redfish.AllowableValues": ["on", "FORCEOFF"]});
    let body = json!({"PowerState": "On", "Actions": {"#ComputerSystem.Reset": reset}});
    let system = System::read("/redfish/v1/Systems/1".to_owned(), Properties::new(&body));
    let requests = power::restart_requests(&system);
    let sent = requests.into_iter().map(|request| request.body).collect::<Vec<_>>();
    assert_eq!(sent, [json!({"ResetType": "FORCEOFF"}), json!({"ResetType": "on"})]);
}

#[test]
fn the_target_of_http_boot_has_the_letters_of_the_bmc() {
    let system = json!({"Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["UEFIHTTP"]}});
    let (forms, _) = http_boot::forms(&survey(Vendor::Other, "", Vec::new(), &system), None).unwrap();
    assert_eq!(forms[0].target(), Some("UEFIHTTP"));
    // A record of an older version.
    let form: OverrideForm = serde_json::from_value(json!({"Http": {"enabled": "Once", "mode": null}})).unwrap();
    assert_eq!(form.target(), Some("UefiHttp"));
}

#[test]
fn after_a_refusal_only_forms_with_other_values_are_tried() {
    let system = json!({"Boot": {"BootSourceOverrideMode": "UEFI"}});
    let (forms, _) = boot_override::forms(&survey(Vendor::Other, "", Vec::new(), &system), Medium::Cd, None).unwrap();
    let after = |faults: &[(&str, Fault)]| {
        let left = forms[1..].iter().find(|form| boot_override::differs(form, &forms[0], faults));
        left.map(|form| {
            form.requests(&System::read(String::new(), Properties::new(&Value::Null)), "")[0].body["Boot"].clone()
        })
    };
    let target = "Cd";
    let with = |enabled: &str, mode: Option<&str>| {
        let mut boot = json!({"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": enabled});
        if let Some(mode) = mode {
            boot["BootSourceOverrideMode"] = json!(mode);
        }
        Some(boot)
    };
    assert_eq!(after(&[(boot_override::MODE, Fault::Missing)]), with("Once", Some("UEFI")));
    assert_eq!(after(&[(boot_override::ENABLED, Fault::Unsupported)]), with("Continuous", None));
    assert_eq!(after(&[(boot_override::TARGET, Fault::Unsupported)]), None);
}
