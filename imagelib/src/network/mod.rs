//! From NMState to NetworkManager keyfiles.
//!
//! The engine is the `nmstate` crate itself. Around it stand the checks of what it does not check, or drops without
//! a word, and the repair of what it leaves out: file names and GKeyFile escapes.
//!
//! [`networkd`] says the same in the units of systemd-networkd, for systems without NetworkManager, and [`cloud`] as
//! cloud-init reads it.

pub mod cloud;
mod document;
mod engine;
mod escape;
mod features;
mod fields;
mod interfaces;
mod keyfile;
mod mac;
mod names;
pub mod networkd;
mod networkd_unit;
mod references;
mod rules;

use serde_yaml::{Mapping, Value};

pub use keyfile::{Keyfile, KeyfileName, KeyfileNameError};
pub use networkd_unit::{NetworkdUnit, NetworkdUnitName, NetworkdUnitNameError};

use crate::host::{HostName, HostSpec};
use crate::report::{DocumentPath, Report};

/// The release of the nmstate crate that does the conversion, for every report: another one may write other
/// keyfiles.
pub const NMSTATE_VERSION: &str = "2.2.62";

/// A host's network as it goes into an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNetwork {
    /// The profiles: sorted by name, no two of one name (in whatever case), never none.
    pub keyfiles: Vec<Keyfile>,
    /// The host name: `hostname.config` of the NMState document where it says one, else [`HostSpec::hostname`].
    pub hostname: Option<HostName>,
}

/// Converts a host's NMState document to keyfiles.
///
/// There is a network exactly when the report has no errors. The same host gives the same result, on every machine
/// and in every run. Time and memory are bounded by the document's size, which is bounded itself.
pub fn convert(host: &HostSpec) -> (Option<HostNetwork>, Report) {
    let mut report = Report::new();
    let network = convert_into(host, &mut report).filter(|_| !report.has_errors());
    (network, report)
}

fn convert_into(host: &HostSpec, report: &mut Report) -> Option<HostNetwork> {
    check(host, report)?.keyfiles(&host.network.path, report)
}

/// A document that passed every check that needs no engine.
struct Checked {
    /// With every type written down, and every `copy-mac-from` resolved that nmstate could not follow.
    document: Mapping,
    /// How many values it holds.
    values: usize,
    hostname: Option<HostName>,
}

fn check(host: &HostSpec, report: &mut Report) -> Option<Checked> {
    let path = &host.network.path;
    let values = document::check(&host.network.value, path, report);
    if report.has_errors() {
        return None;
    }
    let empty = Mapping::new();
    let document = match &host.network.value {
        Value::Mapping(document) => document,
        Value::Null => &empty,
        _ => {
            report.error("document-not-a-mapping", path, "is not an NMState document: it has no interfaces");
            return None;
        }
    };
    features::check(document, path, report);
    let hostname = hostname(document, path, report).or_else(|| host.hostname.clone());
    let interfaces = interfaces::read(document, path, report);
    interfaces::check_settings(&interfaces, report);
    references::check(document, &interfaces, path, report);
    rules::check_routes(document, path, report);
    if report.has_errors() {
        return None;
    }
    if interfaces.is_empty() {
        let message = "says nothing about any interface: the host would come up without a network";
        report.error("no-interfaces", &path.key("interfaces"), message);
        return None;
    }
    let mut prepared = document.clone();
    name_types(&mut prepared);
    mac::resolve(&mut prepared, &interfaces, host.boot_mac, report);
    (!report.has_errors()).then_some(Checked { document: prepared, values, hostname })
}

impl Checked {
    /// The interfaces of the document that get a profile. What there is to say about them has been said.
    fn interfaces(&self, path: &DocumentPath) -> Vec<interfaces::Interface<'_>> {
        interfaces::read(&self.document, path, &mut Report::new())
    }

    fn keyfiles(&self, path: &DocumentPath, report: &mut Report) -> Option<HostNetwork> {
        let mut prepared = self.document.clone();
        let holders = rules::assign(&mut prepared, &self.interfaces(path), path, report);
        if report.has_errors() {
            return None;
        }
        let files = engine::convert(&Value::Mapping(prepared), self.values, path, report)?;
        holders.check(files.iter().map(|(_, content)| content.as_str()), path, report);
        let finish = |(name, content): (String, String)| (name, escape::escape(&holders.settle(&content)));
        let keyfiles = names::name_files(files.into_iter().map(finish).collect());
        if keyfiles.is_empty() {
            report.error("no-keyfiles", path, "yields no profile at all: the host would come up without a network");
            return None;
        }
        Some(HostNetwork { keyfiles, hostname: self.hostname.clone() })
    }
}

/// The host name that the document wants.
fn hostname(document: &Mapping, path: &DocumentPath, report: &mut Report) -> Option<HostName> {
    let at = path.key("hostname");
    let hostname = document::mapping(document, "hostname")?;
    let config = hostname.get("config").filter(|value| !value.is_null());
    if hostname.contains_key("running") {
        let message = "is the name of a running system, and has no effect; hostname.config sets the name";
        report.warning("reported-only", &at.key("running"), message);
    }
    let config = config?;
    let at = at.key("config");
    match config.as_str().map(str::parse::<HostName>) {
        Some(Ok(name)) => Some(name),
        Some(Err(error)) => {
            report.error("hostname-invalid", &at, format!("is refused: {error}"));
            None
        }
        None => {
            report.error("hostname-invalid", &at, "is not text; put quotes around it");
            None
        }
    }
}

/// Writes down the type that nmstate would assume later: where it knows the type it checks the interface's keys
/// against the schema from the start.
fn name_types(document: &mut Mapping) {
    let interfaces = document.get_mut("interfaces").and_then(Value::as_sequence_mut);
    for interface in interfaces.into_iter().flatten() {
        if let Value::Mapping(interface) = interface
            && !interface.contains_key("type")
        {
            interface.insert("type".into(), "ethernet".into());
        }
    }
}
