//! What a document is: told by its `kind`, or by members that only one shape has. Nothing is guessed.

use serde_yaml::{Mapping, Value};

use super::flaw::Flaw;
use super::fleet::inventory_host_variables;
use super::listing::{keys, listed};
use super::nmstate;

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape<'a> {
    /// NMState, with nothing around it.
    Nmstate,
    /// `OpenStack`'s `network_data.json`.
    NetworkData,
    /// An Ansible inventory.
    Inventory,
    /// `OpenShift`'s `install-config.yaml`.
    InstallConfig,
    /// A Kubernetes object, or what looks like one, of this kind.
    Kind(&'a str),
}

/// What `document` is; otherwise the code of a finding and a sentence about the document.
pub(super) fn of(document: &Mapping) -> Result<Shape<'_>, (&'static str, String)> {
    // Its groups may have any name.
    if inventory_host_variables(document).is_some() {
        return Ok(Shape::Inventory);
    }
    for key in ["kind", "apiVersion"] {
        if let Some(flaw) = document.get(key).and_then(Flaw::of) {
            let (code, message) = flaw.said();
            return Err((code, format!("does not say what it is: its {key} {message}")));
        }
    }
    let kind = document.get("kind").and_then(Value::as_str);
    // Objects have members of any name; where there is an API version, the kind has been forgotten.
    let is_object = kind.is_some() || document.contains_key("apiVersion");
    let is = |members: &[&'static str]| members.iter().copied().find(|member| document.contains_key(*member));
    let mut found = Vec::new();
    if let Some(kind) = kind {
        found.push(("kind", Shape::Kind(kind)));
    }
    if let Some(member) = nmstate_member(document).filter(|_| !is_object) {
        found.push((member, Shape::Nmstate));
    }
    if let Some(member) = is(&["links"]).filter(|_| !is_object) {
        found.push((member, Shape::NetworkData));
    }
    // The installer's own file has a version and no kind. Somebody else's may have a platform, too.
    let platform = document.get("platform").and_then(Value::as_mapping);
    if platform.is_some_and(|platform| platform.contains_key("baremetal") || (kind.is_none() && is_object)) {
        found.push(("platform", Shape::InstallConfig));
    }
    if let Some(member) = is(&["all"]).filter(|_| !is_object && document.get("all").is_some_and(Value::is_mapping)) {
        found.push((member, Shape::Inventory));
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

/// The first member by which `document` is NMState. A host name that is text is none: so has a config drive's
/// `meta_data.json`.
fn nmstate_member(document: &Mapping) -> Option<&'static str> {
    let is_text = |member: &str| member == "hostname" && document.get(member).is_some_and(|value| !value.is_mapping());
    nmstate::MEMBERS.into_iter().find(|member| document.contains_key(*member) && !is_text(member))
}

impl std::fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nmstate => f.write_str("NMState"),
            Self::NetworkData => f.write_str("OpenStack's network data"),
            Self::Inventory => f.write_str("an Ansible inventory"),
            Self::InstallConfig => f.write_str("an install-config"),
            Self::Kind(kind) => write!(f, "an object of the kind {}", listed([*kind].into_iter())),
        }
    }
}
