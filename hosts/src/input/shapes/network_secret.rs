//! The Secret with a host's network: its keys, and the forms of the network in them.
//!
//! Sources: openshift/image-customization-controller reads `nmstate`. metal3-io/baremetal-operator passes `networkData` to Ironic,
//! whose schema is that of `network_data.json`. A Secret may have both, for both programs. They describe the same network, and
//! `nmstate` can say more.

use std::borrow::Cow;

use serde_yaml::{Mapping, Value};

use super::recognize::{self, Shape};
use super::{keyfiles, network_data, nmstate};
use crate::input::text::KEYFILE;
use crate::input::yaml::{self, Ambiguous, Budget, Document, invalid, octals};
use vocabulary::host::{NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The key for NMState.
pub(super) const NMSTATE: &str = "nmstate";
/// The key for `network_data.json`.
pub(super) const NETWORK_DATA: &str = "networkData";

/// Whether a key with this name may contain a network or a part of one.
pub fn is_network_key(key: &str) -> bool {
    matches!(key, NMSTATE | NETWORK_DATA) || is_keyfile(key)
}

fn is_keyfile(key: &str) -> bool {
    key.ends_with(KEYFILE)
}

/// Returns what a Secret contains under a key, with its path.
pub(in crate::input) type Get<'g, 'a> =
    dyn FnMut(&str, &mut Budget, &mut Report) -> Result<(Cow<'a, [u8]>, DocumentPath), Reported> + 'g;

/// Reads the network in a Secret with these keys.
pub(in crate::input) fn network(
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
            Err(report.refuse("network-secret-forms", &path, message))
        }
        (Some(known), []) => {
            let (text, path) = get(known, budget, report)?;
            document(known, &text, &path, budget, report).map(NetworkDocument::Nmstate)
        }
        (None, [_, ..]) => {
            let mut documents = Vec::new();
            for name in profiles {
                let (content, path) = get(name, budget, report)?;
                // Any number of hosts may name one Secret.
                budget
                    .take_copies((1, content.len()))
                    .map_err(|problem| report.refuse(problem.code, &path, problem.message))?;
                documents.push(keyfiles::document(name, &content, path.embedded_document(), report)?);
            }
            Ok(NetworkDocument::Keyfiles(documents))
        }
        (None, []) => unknown(keys, get, budget, report).map(NetworkDocument::Nmstate),
    }
}

/// Reads the document under a key that names its form.
fn document(
    key: &str,
    text: &[u8],
    path: &DocumentPath,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    let document = nmstate::embedded(text, path, budget, report)?;
    let Value::Mapping(mapping) = &document.value else { return Ok(document) };
    match (key, recognize::shape(mapping)) {
        (NMSTATE, Ok(Shape::NetworkData)) => {
            let message =
                format!("is network_data.json, and this key is for NMState; rename the key to {NETWORK_DATA}");
            Err(report.refuse("network-secret-key", &document.path, message))
        }
        // It has only one meaning, so the user cannot mean anything else.
        (NETWORK_DATA, Ok(Shape::Nmstate)) => {
            invalid::check(&document.value, &document.path, report)?;
            let message = format!(
                "is NMState, and dayone reads it as such; other programs expect network_data.json under this key: \
                 rename it to {NMSTATE}"
            );
            report.warning("network-secret-key", &document.path, message);
            Ok(document)
        }
        (NETWORK_DATA, _) => network_data::translate(mapping, &document.path, report),
        _ => {
            invalid::check(&document.value, &document.path, report)?;
            Ok(document)
        }
    }
}

/// Reads the document under the only key of a Secret, if the key has another name and the members show the form.
fn unknown(
    keys: &[&str],
    get: &mut Get<'_, '_>,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    if let [only] = keys {
        let (text, path) = get(only, budget, report)?;
        if let Some((mapping, ambiguous)) = mapping(&text, budget) {
            let path = path.embedded_document();
            octals::check(&mapping, &ambiguous, &path, report);
            let (form, key) = match recognize::shape(&mapping) {
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
            invalid::check_members(&mapping, &path, report)?;
            return Ok(NmstateDocument::new(Value::Mapping(mapping), path));
        }
    }
    Err(missing(get, budget, report))
}

/// Reports that the key with the network is missing.
fn missing(get: &mut Get<'_, '_>, budget: &mut Budget, report: &mut Report) -> Reported {
    let _: Result<_, Reported> = get(NMSTATE, budget, report);
    Reported
}

/// Parses a text that is one mapping, with the scalars that other readers read differently.
fn mapping(text: &[u8], budget: &mut Budget) -> Option<(Mapping, Vec<Ambiguous>)> {
    match yaml::documents(text, budget).ok()?.as_mut_slice() {
        [Document { value: Value::Mapping(mapping), ambiguous }] => {
            Some((std::mem::take(mapping), std::mem::take(ambiguous)))
        }
        _ => None,
    }
}
