//! Power and boot override (schema ComputerSystem, DSP0268).

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::Answer;
use super::behaviour::{Mode, ms};
use super::machine::Reader;
use super::state::State;
use super::{Shared, bios, machine, task};

/// Answers a PATCH of the System, or of the resource that takes its override.
pub(super) fn patch(shared: &Shared, path: &str, body: &Value) -> Answer {
    let behaviour = &shared.behaviour.boot;
    let mut state = shared.state();
    if behaviour.attributes.as_deref() == Some(path) {
        return patch_attributes(&mut state, path, body);
    }
    let settings = behaviour.settings.as_deref().unwrap_or(&state.system).to_owned();
    let Some(boot) = body["Boot"].as_object().filter(|_| path == settings) else {
        let text = "The property is read-only and cannot be assigned a value.";
        return Answer::error(400, "PropertyNotWritable", text, &["Boot"]);
    };
    if behaviour.unsupported {
        let text = "The request is not supported.";
        return Answer::error(400, "iLO.2.15.UnsupportedOperation", text, &[]);
    }
    if behaviour.in_post && state.is_on() {
        return Answer::error(400, "iLO.2.37.UnableToModifyDuringSystemPOST", "", &["BootSourceOverrideTarget"]);
    }
    if behaviour.needs_power_off && state.is_on() {
        return Answer::error(409, "ActionNotSupported", "The system must be switched off.", &[]);
    }
    const MODE: &str = "BootSourceOverrideMode";
    let required = (behaviour.mode == Mode::Required).then_some(MODE);
    let mut together = behaviour.together.iter().map(String::as_str).chain(required);
    if let Some(name) = together.find(|name| !boot.contains_key(*name)) {
        let text = format!("The property {name} is a required property and must be included in the request.");
        return Answer::error(400, "PropertyMissing", &text, &[name]);
    }
    for (name, value) in boot {
        if behaviour.mode == Mode::ReadOnly && name == MODE {
            let text = format!("The property {name} is a read only property and cannot be assigned a value.");
            return Answer::error(400, "PropertyNotWritable", &text, &[name]);
        }
        let resource = state.tree.get(path).expect("it is patched");
        let allowed = resource["Boot"][format!("{name}@Redfish.AllowableValues")].as_array();
        if allowed.is_some_and(|allowed| !allowed.contains(value)) {
            let text = format!("The value {value} for the property {name} is not in the list of acceptable values.");
            return Answer::error(400, "PropertyValueNotInList", &text, &[&value.to_string(), name]);
        }
        let is_shown = resource["Boot"].as_object().is_some_and(|known| known.contains_key(name));
        if !is_shown && !behaviour.hides.contains(name) {
            let text = format!("The property {name} is not in the list of valid properties for the resource.");
            return Answer::error(400, "PropertyUnknown", &text, &[name]);
        }
    }
    if behaviour.refuses_null && boot.values().any(Value::is_null) {
        return Answer::error(400, "PropertyValueTypeError", "The value null is of a different type.", &["null"]);
    }
    for (name, value) in boot.iter().filter(|(name, _)| !behaviour.ignores.contains(name)) {
        state.tree.set(path, &format!("/Boot/{name}"), value.clone());
    }
    Answer::status(204)
}

/// Changes Dell's attributes, for which the DMTF has no schema.
fn patch_attributes(state: &mut State, path: &str, body: &Value) -> Answer {
    for (name, value) in body["Attributes"].as_object().into_iter().flatten() {
        if state.tree.get(path).is_none_or(|resource| resource["Attributes"].get(name).is_none()) {
            let text = format!("Unable to complete the operation because the attribute {name} does not exist.");
            return Answer::error(400, "IDRAC.2.8.SYS428", &text, &[name]);
        }
        state.tree.set(path, &format!("/Attributes/{name}"), value.clone());
    }
    Answer::status(200)
}

/// Answers `ComputerSystem.Reset`.
pub(super) async fn reset(shared: &Arc<Shared>, body: &Value) -> Answer {
    let kind = body["ResetType"].as_str().unwrap_or_default().to_owned();
    let power = &shared.behaviour.power;
    {
        let state = shared.state();
        let actions = &state.tree.get(&state.system).expect("a system")["Actions"]["#ComputerSystem.Reset"];
        let allowed = actions["ResetType@Redfish.AllowableValues"].as_array();
        if allowed.is_some_and(|allowed| !allowed.iter().any(|value| *value == kind.as_str())) {
            let text = format!("The value {kind} for the parameter ResetType is not in the list of acceptable values.");
            return Answer::error(400, "ActionParameterNotSupported", &text, &["ResetType", &kind]);
        }
        let on = state.is_on();
        let already = match kind.as_str() {
            "On" | "ForceOn" => on,
            "ForceOff" | "GracefulShutdown" | "ForceRestart" | "GracefulRestart" | "PowerCycle" => !on,
            _ => false,
        };
        if already {
            let text = "The request cannot be performed in the current power state.";
            return power
                .already
                .map_or_else(|| Answer::status(204), |status| Answer::error(status, "IDRAC.2.8.SYS403", text, &[]));
        }
    }
    let answer = power.answer.unwrap_or(204);
    let working = Arc::clone(shared);
    let work = async move {
        change(&working, &kind);
        Answer::status(if answer == 202 { 204 } else { answer })
    };
    task::run(shared, answer == 202, work).await
}

/// Begins the change of power that a reset asks for.
fn change(shared: &Arc<Shared>, kind: &str) {
    let power = &shared.behaviour.power;
    let on = shared.state().is_on();
    let (off, then_on) = match kind {
        "On" | "ForceOn" => (false, true),
        "ForceOff" => (true, false),
        "GracefulShutdown" | "PushPowerButton" if on => (!power.deaf, false),
        "GracefulRestart" => (!power.deaf, !power.deaf),
        "PushPowerButton" => (false, true),
        // ForceRestart, PowerCycle, ForcePowerCycle: off is not seen for long.
        _ => (true, true),
    };
    let takes = ms(power.takes_ms);
    if takes.is_zero() {
        return switch(shared, off, then_on);
    }
    let changing = Arc::downgrade(shared);
    let transition = tokio::spawn(async move {
        for (off, on) in [(off, false), (false, then_on)].into_iter().filter(|step| *step != (false, false)) {
            tokio::time::sleep(takes).await;
            let Some(shared) = changing.upgrade() else { return };
            switch(&shared, off, on);
        }
    });
    shared.state().transition = Some(transition.abort_handle());
}

fn switch(shared: &Arc<Shared>, off: bool, on: bool) {
    if off {
        shared.state().halt();
    }
    let mut state = shared.state();
    // Switched on twice, it starts once.
    if on && !state.is_on() {
        let system = state.system.clone();
        state.tree.set(&system, "/PowerState", json!("On"));
        state.progress("SystemHardwareInitializationComplete");
        if !bios::begin(&mut state, &shared.behaviour.bios) {
            start(&mut state, shared);
            return;
        }
        // The firmware takes new settings, and then starts the machine anew.
        let starting = Arc::downgrade(shared);
        let taking = tokio::spawn(async move {
            let Some(takes) = starting.upgrade().map(|shared| ms(shared.behaviour.bios.takes_ms)) else { return };
            tokio::time::sleep(takes).await;
            let Some(shared) = starting.upgrade() else { return };
            let mut state = shared.state();
            bios::apply(&mut state, &shared.behaviour.bios);
            start(&mut state, &shared);
        });
        state.running = Some(taking.abort_handle());
    }
}

/// Starts the machine from the medium that the override selects.
fn start(state: &mut State, shared: &Arc<Shared>) {
    let (image, by) = medium(state, shared);
    let running = tokio::spawn(machine::boot(Arc::downgrade(shared), state.boots.len(), image.clone(), by));
    state.running = Some(running.abort_handle());
    state.boots.push(machine::Boot::of(image));
}

/// HPE's property of a slot: the next reset boots from its medium.
pub(super) const NEXT_RESET: &str = "/Oem/Hpe/BootOnNextServerReset";

/// Returns the image from which the machine boots, and who reads it. Ends an override for one boot.
fn medium(state: &mut State, shared: &Shared) -> (Option<String>, Reader) {
    let behaviour = &shared.behaviour.boot;
    if behaviour.attributes.as_deref().is_some_and(|path| take_http(state, path)) {
        return (bios::url(state, &shared.behaviour.bios), Reader::Firmware);
    }
    let by_attributes = behaviour.attributes.as_deref().and_then(|path| take_attributes(state, path));
    let path = behaviour.settings.as_deref().unwrap_or(&state.system).to_owned();
    let boot = state.tree.get(&path).map(|resource| resource["Boot"].clone()).unwrap_or_default();
    if boot["BootSourceOverrideEnabled"] == "Once" {
        state.tree.set(&path, "/Boot/BootSourceOverrideEnabled", json!("Disabled"));
        state.tree.set(&path, "/Boot/BootSourceOverrideTarget", json!("None"));
    }
    let target = boot["BootSourceOverrideTarget"].as_str().unwrap_or_default();
    let next = state
        .slots
        .keys()
        .find(|path| state.tree.get(path).and_then(|slot| slot.pointer(NEXT_RESET)).is_some_and(|next| *next == true));
    if let Some(path) = next.cloned() {
        state.tree.set(&path, NEXT_RESET, json!(false));
        return (state.slots[&path].image.clone(), Reader::Bmc);
    }
    let device = &boot["UefiTargetBootSourceOverride"];
    if target == "UefiTarget" && boot["BootSourceOverrideEnabled"] != "Disabled" {
        let is_url_file = state.tree.of_type("BootOption").into_iter().any(|path| {
            let option = state.tree.get(&path).cloned().unwrap_or_default();
            option["DisplayName"] == "URL File" && option["UefiDevicePath"] == *device
        });
        return (bios::url(state, &shared.behaviour.bios).filter(|_| is_url_file), Reader::Firmware);
    }
    if target == "UefiHttp" && boot["BootSourceOverrideEnabled"] != "Disabled" {
        let url = boot["HttpBootUri"].as_str().map(str::to_owned);
        return (url.or_else(|| bios::url(state, &shared.behaviour.bios)), Reader::Firmware);
    }
    let by_override =
        boot["BootSourceOverrideEnabled"] != "Disabled" && behaviour.starts.iter().any(|name| name == target);
    if by_attributes.is_none() && !by_override && bios::boots_url_first(state, &shared.behaviour.bios) {
        return (bios::url(state, &shared.behaviour.bios), Reader::Firmware);
    }
    let applies = by_attributes.is_some() || by_override;
    let is_disk = by_attributes.unwrap_or(target == "Usb");
    let fits = |path: &String| {
        let types = state.tree.get(path).map(|slot| slot["MediaTypes"].clone()).unwrap_or_default();
        let has = |name: &str| types.as_array().is_some_and(|types| types.contains(&json!(name)));
        if is_disk { has("USBStick") } else { has("CD") || has("DVD") }
    };
    let mut slots = state.slots.iter().filter(|_| applies).filter(|(path, _)| fits(path));
    (slots.find_map(|(_, slot)| slot.image.clone()), Reader::Bmc)
}

/// Whether Dell's attributes select HTTP for one boot. Resets them then.
fn take_http(state: &mut State, path: &str) -> bool {
    let attributes = state.tree.get(path).map(|resource| resource["Attributes"].clone()).unwrap_or_default();
    let is_http =
        attributes["ServerBoot.1.FirstBootDevice"] == "UEFIHttp" && attributes["ServerBoot.1.BootOnce"] == "Enabled";
    if is_http {
        state.tree.set(path, "/Attributes/ServerBoot.1.BootOnce", json!("Disabled"));
        state.tree.set(path, "/Attributes/ServerBoot.1.FirstBootDevice", json!("Normal"));
    }
    is_http
}

/// Whether Dell's attributes select a disk of virtual media (true) or a CD (false). `None` if they select neither. Resets them if they
/// are for one boot.
fn take_attributes(state: &mut State, path: &str) -> Option<bool> {
    let attributes = state.tree.get(path)?["Attributes"].clone();
    let is_disk = match attributes["ServerBoot.1.FirstBootDevice"].as_str()? {
        "VCD-DVD" => false,
        "vFDD" => true,
        _ => return None,
    };
    if attributes["ServerBoot.1.BootOnce"] == "Enabled" {
        state.tree.set(path, "/Attributes/ServerBoot.1.BootOnce", json!("Disabled"));
        state.tree.set(path, "/Attributes/ServerBoot.1.FirstBootDevice", json!("Normal"));
    }
    Some(is_disk)
}
