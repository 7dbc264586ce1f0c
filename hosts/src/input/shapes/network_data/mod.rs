//! Translates `OpenStack`'s `network_data.json` to NMState: as Nova, Ironic and Metal3 write it, with cloud-init's extensions.
//!
//! Sources: nova's and ironic's schema (`network-data-schema.json`); metal3-io/cluster-api-provider-metal3,
//! `baremetal/metal3data_manager.go`, which leaves out `network_id`; cloud-init, `sources/helpers/openstack.py`, which
//! knows `name` and more types. dayone reads all these variants, and refuses what it cannot translate exactly.

pub(super) mod address;
pub(super) mod bond;
pub(super) mod links;
pub(super) mod members;
mod names;
mod networks;
mod routes;
pub(super) mod services;
mod write;

#[cfg(test)]
mod tests;

use serde_yaml::{Mapping, Value};

use super::nmstate;
use crate::input::fields::Fields;
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, NetworkFormat, Report, Reported};

/// The member that identifies this format.
const MARK: &str = "links";

/// Translates `document`, which is at `path`, to NMState.
pub(super) fn translate(
    document: &Mapping,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    members::without_errors(report, |found| {
        let translated = translated(document, path, found);
        found.about_format(Some(NetworkFormat::NetworkData));
        Ok(translated)
    })
}

fn translated(document: &Mapping, path: &DocumentPath, report: &mut Report) -> NmstateDocument {
    let top = Fields::new(document, path.clone());
    let untranslated = || NmstateDocument::new(Value::Null, path.clone());
    let other_forms: Vec<&str> = nmstate::MEMBERS.into_iter().filter(|key| document.contains_key(key)).collect();
    for key in &other_forms {
        let message = format!("belongs to NMState, and {MARK} beside it to network_data.json; remove one of the two");
        report.error("document-ambiguous", &path.key(key), message);
    }
    if !other_forms.is_empty() {
        return untranslated();
    }
    if !document.contains_key(MARK) {
        let message =
            "is missing: the NICs, bonds and VLANs of the host; network_data.json has links, networks and services";
        report.error("member-missing", &path.key(MARK), message);
        return untranslated();
    }
    members::report_unknown(&top, &[MARK, "networks", "services"], report);
    let links = links::read(&top, report);
    let networks = networks::read(&top, &links, report);
    let servers = services::read(&top, report);
    if report.has_errors() {
        return untranslated();
    }
    let names = names::assign(&links);
    write::nmstate(&links, &names, &networks, servers, path)
}
