//! The Secret with a host's network: which of its keys hold it, and in which form.
//!
//! Sources: openshift/image-customization-controller reads `nmstate`; metal3-io/baremetal-operator hands what it finds under
//! `networkData` to Ironic, whose schema is that of `network_data.json`. A Secret may have both, one for each of them: the
//! two say the same, and `nmstate` says more.

use std::borrow::Cow;

use serde_yaml::{Mapping, Value};

use super::flaw::{self, Reported};
use super::keyfiles;
use super::network_data;
use super::nmstate;
use super::octals::{self, Octal};
use super::shape::{self, Shape};
use super::text::KEYFILE;
use super::yaml::{self, Budget, Document};
use vocabulary::host::{NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

/// The key of NMState.
pub(super) const NMSTATE: &str = "nmstate";
/// The key of `network_data.json`.
pub(super) const NETWORK_DATA: &str = "networkData";

/// Whether a key of this name may hold a network, or a part of one.
pub fn is_network_key(key: &str) -> bool {
    matches!(key, NMSTATE | NETWORK_DATA) || is_keyfile(key)
}

fn is_keyfile(key: &str) -> bool {
    key.ends_with(KEYFILE)
}

/// What a Secret holds under a key, and where that is.
pub(super) type Get<'g, 'a> =
    dyn FnMut(&str, &mut Budget, &mut Report) -> Result<(Cow<'a, [u8]>, DocumentPath), Reported> + 'g;

/// The network in a Secret with these keys. What keeps it from being read is reported.
pub(super) fn network(
    keys: &[&str],
    get: &mut Get<'_, '_>,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<NetworkDocument, Reported> {
    let known = [NMSTATE, NETWORK_DATA].into_iter().find(|key| keys.contains(key));
    let profiles: Vec<&str> = keys.iter().copied().filter(|key| is_keyfile(key)).collect();
    match (known, profiles.as_slice()) {
        (Some(known), [first, ..]) => {
            let (_, path) = get(first, budget, report)?;
            let message = format!("is set together with {known}: a host has its network in one form; remove the other");
            report.error("network-secret-forms", &path, message);
            Err(Reported)
        }
        (Some(known), []) => {
            let (text, path) = get(known, budget, report)?;
            document(known, &text, &path, budget, report).map(NetworkDocument::Nmstate)
        }
        (None, [_, ..]) => {
            let mut documents = Vec::new();
            for name in profiles {
                let (content, path) = get(name, budget, report)?;
                documents.push(keyfiles::document(name, &content, path.embedded_document(), report)?);
            }
            Ok(NetworkDocument::Keyfiles(documents))
        }
        (None, []) => unknown(keys, get, budget, report).map(NetworkDocument::Nmstate),
    }
}

/// The document under a key that says what it is.
fn document(
    key: &str,
    text: &[u8],
    path: &DocumentPath,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    let document = nmstate::embedded(text, path, budget, report).ok_or(Reported)?;
    let Value::Mapping(mapping) = &document.value else { return Ok(document) };
    match (key, shape::of(mapping)) {
        (NMSTATE, Ok(Shape::NetworkData)) => {
            let message =
                format!("is network_data.json, and this key is for NMState; rename the key to {NETWORK_DATA}");
            report.error("network-secret-key", &document.path, message);
            Err(Reported)
        }
        // There is no other way to read it, and so nobody can have meant anything else.
        (NETWORK_DATA, Ok(Shape::Nmstate)) => {
            flaw::report(&document.value, &document.path, report)?;
            let message = format!(
                "is NMState, and dayone reads it as such; other programs expect network_data.json under this key: \
                 rename it to {NMSTATE}"
            );
            report.warning("network-secret-key", &document.path, message);
            Ok(document)
        }
        (NETWORK_DATA, _) => network_data::translate(mapping, &document.path, report),
        _ => {
            flaw::report(&document.value, &document.path, report)?;
            Ok(document)
        }
    }
}

/// The document under the only key that there is, which says nothing: what it is has to be plain from its members.
fn unknown(
    keys: &[&str],
    get: &mut Get<'_, '_>,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    if let [only] = keys {
        let (text, path) = get(only, budget, report)?;
        if let Some((mapping, octals)) = mapping(&text, budget) {
            let path = path.embedded_document();
            octals::check(&mapping, &octals, &path, report);
            let (form, key) = match shape::of(&mapping) {
                Ok(Shape::NetworkData) => ("network_data.json", NETWORK_DATA),
                Ok(Shape::Nmstate) => ("NMState", NMSTATE),
                _ => return Err(missing(get, budget, report)),
            };
            let message =
                format!("is {form} according to its content, but the key does not say so: rename it to {key}");
            report.warning("network-secret-key", &path, message);
            if key == NETWORK_DATA {
                return network_data::translate(&mapping, &path, report);
            }
            flaw::report_members(&mapping, &path, report)?;
            return Ok(NmstateDocument::new(Value::Mapping(mapping), path));
        }
    }
    Err(missing(get, budget, report))
}

/// Reports that the key is missing that the network should have.
fn missing(get: &mut Get<'_, '_>, budget: &mut Budget, report: &mut Report) -> Reported {
    let _: Result<_, Reported> = get(NMSTATE, budget, report);
    Reported
}

/// The mapping that a text is, if it is one, with what others take for other numbers.
fn mapping(text: &[u8], budget: &mut Budget) -> Option<(Mapping, Vec<Octal>)> {
    match yaml::documents(text, budget).ok()?.as_mut_slice() {
        [Document { value: Value::Mapping(mapping), octals }] => {
            Some((std::mem::take(mapping), std::mem::take(octals)))
        }
        _ => None,
    }
}
