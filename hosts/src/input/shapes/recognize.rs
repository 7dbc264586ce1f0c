//! Recognizes the shape of a document by its `kind`, or by members that only one shape has. It never guesses.

use serde_yaml::{Mapping, Value};

use super::fleet::inventory_host_variables;
use super::{agent_config, install_config, network_config, nmstate};
use crate::input::listing::{keys, listed};
use crate::input::yaml::invalid::InvalidValue;

/// The shape of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input) enum Shape<'a> {
    /// Bare NMState.
    Nmstate,
    /// `OpenStack`'s `network_data.json`.
    NetworkData,
    /// cloud-init's `network-config`, of version 1 or 2.
    NetworkConfig,
    /// An Ansible inventory.
    Inventory,
    /// `OpenShift`'s `install-config.yaml`.
    InstallConfig,
    /// A Kubernetes object, or something similar, of this kind.
    Kind(&'a str),
}

/// Returns the shape of `document`, or the code of a finding and a sentence about the document.
pub(in crate::input) fn shape(document: &Mapping) -> Result<Shape<'_>, (&'static str, String)> {
    // The groups of an inventory may have any name, so this comes first.
    if inventory_host_variables(document).is_some() {
        return Ok(Shape::Inventory);
    }
    for key in ["kind", "apiVersion"] {
        if let Some(invalid) = document.get(key).and_then(InvalidValue::of) {
            let (code, message) = invalid.code_and_message();
            return Err((code, format!("does not say what it is: its {key} {message}")));
        }
    }
    let kind = document.get("kind").and_then(Value::as_str);
    // Objects have members of any name. With an API version and no kind, the user forgot the kind.
    let is_object = kind.is_some() || document.contains_key("apiVersion");
    let platform = document.get("platform").and_then(Value::as_mapping);
    let version = document.get("apiVersion").and_then(Value::as_str);
    let is_install_config =
        platform.is_some() && (kind, version) == (Some(install_config::KIND), Some(install_config::API_VERSION));
    let mut found = Vec::new();
    if let Some(kind) = kind.filter(|_| !is_install_config) {
        found.push(("kind", Shape::Kind(kind)));
    } else if let Some(member) = agent_config_member(document) {
        found.push((member, Shape::Kind(agent_config::KIND)));
    }
    if let Some(member) = nmstate_member(document).filter(|_| !is_object) {
        found.push((member, Shape::Nmstate));
    }
    if document.contains_key("links") && !is_object {
        found.push(("links", Shape::NetworkData));
    }
    if let Some(member) = network_config::mark(document).filter(|_| !is_object) {
        found.push((member, Shape::NetworkConfig));
    }
    // The installer's file has a version, and rarely a kind. Other objects may have a platform, too.
    if is_install_config
        || platform.is_some_and(|platform| platform.contains_key("baremetal") || (kind.is_none() && is_object))
    {
        found.push(("platform", Shape::InstallConfig));
    }
    if !is_object && document.get("all").is_some_and(Value::is_mapping) {
        found.push(("all", Shape::Inventory));
    }
    match found.as_slice() {
        [(_, shape)] => Ok(*shape),
        [] => Err((
            "document-not-read",
            format!("has neither a kind nor keys of NMState; keys found: {}", keys([document])),
        )),
        several => {
            let marks = listed(several.iter().map(|(mark, _)| *mark));
            let shapes: Vec<String> = several.iter().map(|(_, shape)| shape.to_string()).collect();
            let message = format!(
                "may be {}: it has {marks}; split it, or remove the keys that do not belong to it",
                shapes.join(" or ")
            );
            Err(("document-ambiguous", message))
        }
    }
}

/// Returns the first member that makes a document without a kind an agent-config: the installer reads its version, and never its kind.
fn agent_config_member(document: &Mapping) -> Option<&'static str> {
    let version = document.get("apiVersion").and_then(Value::as_str)?;
    let has =
        |member: &&str| document.get(*member).is_some_and(|value| *member == "rendezvousIP" || value.is_sequence());
    ["rendezvousIP", "hosts"].into_iter().find(has).filter(|_| agent_config::API_VERSIONS.contains(&version))
}

/// Returns the first member that makes `document` NMState. A host name that is text does not: `meta_data.json` of a config
/// drive has one, too.
fn nmstate_member(document: &Mapping) -> Option<&'static str> {
    let is_text = |member: &str| member == "hostname" && document.get(member).is_some_and(|value| !value.is_mapping());
    nmstate::MEMBERS.into_iter().find(|member| document.contains_key(*member) && !is_text(member))
}

impl std::fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nmstate => f.write_str("NMState"),
            Self::NetworkData => f.write_str("OpenStack's network data"),
            Self::NetworkConfig => f.write_str("cloud-init's network-config"),
            Self::Inventory => f.write_str("an Ansible inventory"),
            Self::InstallConfig => f.write_str("an install-config"),
            Self::Kind(kind) => write!(f, "an object of the kind {}", listed([*kind].into_iter())),
        }
    }
}
