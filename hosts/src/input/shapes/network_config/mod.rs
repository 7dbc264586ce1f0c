//! Translates cloud-init's `network-config` to NMState: version 1, and version 2, which is netplan's YAML.
//!
//! Sources: cloud-init, `net/network_state.py` and its documentation of both versions; netplan.io, its reference of YAML and
//! `src/nm.c`, which writes `NetworkManager`'s profiles. What NMState cannot say is a finding ([`settings`]).

mod addressing;
mod controllers;
mod device;
mod draft;
mod names;
mod routes;
mod settings;
mod version1;
mod version2;

#[cfg(test)]
mod tests;

use serde_yaml::{Mapping, Value};

use self::draft::Draft;
use crate::input::fields::Fields;
use crate::input::shapes::network_data::members;
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, NetworkFormat, Report, Reported};

/// The member around everything else, which netplan requires and cloud-init allows.
const WRAPPER: &str = "network";

/// Returns the member that makes a document without `kind` a `network-config`.
pub(super) fn mark(document: &Mapping) -> Option<&'static str> {
    let is_config = |mapping: &Mapping| {
        mapping.contains_key("version")
            || version2::SECTIONS.into_iter().any(|section| mapping.get(section).is_some_and(Value::is_mapping))
            || mapping.contains_key("config")
    };
    if document.get(WRAPPER).and_then(Value::as_mapping).is_some_and(is_config) {
        return Some(WRAPPER);
    }
    let is_version = |value: &Value| matches!(value.as_u64(), Some(1 | 2)) || matches!(value.as_str(), Some("1" | "2"));
    let is_body = document.get("config").is_some_and(Value::is_sequence)
        || version2::SECTIONS.into_iter().any(|section| document.contains_key(section));
    (is_body && document.get("version").is_some_and(is_version)).then_some("version")
}

/// Translates `document`, which is at `path`, to NMState.
pub(in crate::input) fn translate(
    document: &Mapping,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    members::without_errors(report, |found| translated(document, path, found))
}

fn translated(document: &Mapping, path: &DocumentPath, report: &mut Report) -> Result<NmstateDocument, Reported> {
    let outer = Fields::new(document, path.clone());
    let wrapped = outer.mapping(WRAPPER, report)?;
    if wrapped.is_some() {
        settings::check_rest(&outer, &[WRAPPER], report);
    }
    let top = wrapped.unwrap_or(outer);
    if top.mapping.get("config").and_then(Value::as_str) == Some("disabled") {
        let why = "it turns cloud-init's network off, and describes none";
        settings::refuse(&top, "config", why, report);
        return Err(Reported);
    }
    let version = members::number(&top, "version", 1..=2, report)?;
    let version = version.ok_or_else(|| {
        let message = "is missing: 1 or 2";
        top.wrong("version", "member-missing", message, report)
    })?;
    let list = top.path.key(if version == 1 { "config" } else { version2::first_section(&top) });
    let format = if version == 1 { NetworkFormat::CloudInitV1 } else { NetworkFormat::Netplan };
    let mut draft = Draft::new(path, &list, format);
    if version == 1 {
        version1::read(&top, &mut draft, report);
    } else {
        version2::read(&top, &mut draft, report);
    }
    report.about_format(Some(format));
    Ok(draft.finish())
}
