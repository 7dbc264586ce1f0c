//! Converts NMState to NetworkManager keyfiles.
//!
//! The `nmstate` crate makes the profiles. dayone checks what the crate does not check or drops silently, and corrects the
//! profiles that it makes (`profiles`).
//!
//! [`networkd`] writes the same network as units of systemd-networkd, for systems without NetworkManager, `cloud` as cloud-init
//! reads it, and `talos` as Talos Linux does.

mod bonds;
mod cloud;
mod devices;
mod dns;
pub(crate) mod engine;
mod files;
mod form;
mod names;
pub mod networkd;
pub(crate) mod nics;
mod object;
mod parts;
mod ports;
mod profiles;
mod rules;
mod talos;
mod user_keyfiles;

use std::borrow::Cow;

use serde_yaml::{Mapping, Value};

use form::{Findings, Form};

pub use files::{ConvertedNetwork, Target};
pub use talos::TalosNetwork;
pub use vocabulary::network_files::{
    Keyfile, KeyfileName, NetworkFileNameError, NetworkFiles, NetworkManagerVersion, NetworkManagerVersionError,
    NetworkdUnit, NetworkdUnitName,
};

use crate::check::document::{boot_nic, families, features, newer, refusals, settings};
use crate::check::release::Release;
use crate::check::{self, CheckedHost};
use crate::members::get;
use crate::model::{Topology, from_nmstate};
use crate::nmstate_document::pattern::Searched;
use crate::nmstate_document::{self as document, aliases, interfaces, mac, other_names, references, routes};
use vocabulary::host::{HostName, HostSpec, NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Severity};

/// The release of the nmstate crate that does the conversion, for every report: another one may write other
/// keyfiles.
pub const NMSTATE_VERSION: &str = "2.2.62";

/// The result of checking and converting a host. For a refused host it is the topology, if dayone could read that: a
/// mistake in one host must not hide conflicts between hosts.
pub(crate) type Attempt<T> = Result<T, Option<Box<Topology>>>;

/// Converts a host's network to keyfiles.
///
/// There is a network exactly when the report has no errors. The same host gives the same result, on every machine
/// and in every run. Time and memory are bounded by the document's size, which is bounded itself.
///
/// [`convert_for`] converts for a known release of NetworkManager.
pub fn convert(host: &HostSpec) -> (Option<ConvertedNetwork>, Report) {
    convert_for(host, None)
}

/// Converts a host's network to the files that a system takes. There are files exactly when the report has no errors.
pub fn convert_network(host: &HostSpec, target: Target) -> (Option<ConvertedNetwork>, Report) {
    let (network, findings) = attempt(host, target);
    let mut report = target.findings();
    report.append(findings);
    (network.ok(), report)
}

/// [`convert_network`], without the findings about the system.
pub(crate) fn attempt(host: &HostSpec, target: Target) -> (Attempt<ConvertedNetwork>, Report) {
    match target.files {
        NetworkFiles::Keyfiles => keyfiles(host, target.release),
        NetworkFiles::NetworkdUnits => networkd::attempt(host, target.no_auto_default),
        NetworkFiles::NetworkData => cloud::network_data(host),
        NetworkFiles::NetworkConfig => cloud::network_config(host),
        NetworkFiles::Netplan => cloud::netplan(host),
        NetworkFiles::TalosNetwork => talos::attempt(host, target.no_auto_default),
    }
}

/// [`convert`], for a release of NetworkManager, if it is known. The keyfiles are the same; the findings say what that
/// release lacks. [`release_findings`] reports a release older than [`NetworkManagerVersion::OLDEST_KNOWN`].
pub fn convert_for(host: &HostSpec, release: Option<NetworkManagerVersion>) -> (Option<ConvertedNetwork>, Report) {
    let (network, report) = keyfiles(host, release);
    (network.ok(), report)
}

/// [`convert_for`], as an attempt.
fn keyfiles(host: &HostSpec, release: Option<NetworkManagerVersion>) -> (Attempt<ConvertedNetwork>, Report) {
    let release = Release::of(release);
    match &host.network {
        NetworkDocument::Nmstate(document) => {
            reported(host, document, NetworkFiles::Keyfiles, release, |_, _, _, _| true)
        }
        NetworkDocument::Keyfiles(keyfiles) => user_keyfiles::convert(host, keyfiles, release),
    }
}

/// Findings about a release of NetworkManager, whatever the host's network.
pub fn release_findings(release: Option<NetworkManagerVersion>) -> Report {
    let mut report = Report::new();
    Release::of(release).check(&mut report);
    report
}

/// Checks the NMState of a host and converts it to keyfiles; `convert` may change that to another form, and says whether it
/// could. `files` is that form. There is a result exactly when the report has no errors; otherwise there is the topology, if dayone could
/// read it.
/// Each finding is at the place that its part of the document comes from. Findings about the network come before those about
/// the form.
fn reported(
    host: &HostSpec,
    document: &NmstateDocument,
    files: NetworkFiles,
    release: Release,
    convert: impl FnOnce(&Checked<'_>, &DocumentPath, &mut ConvertedNetwork, &mut Report) -> bool,
) -> (Attempt<ConvertedNetwork>, Report) {
    let mut report = Report::new();
    let document = aliases::resolve(document);
    let document = nics::identify(&document, &host.nics, &mut report);
    let (path, origins) = (&document.path, &document.origins);
    let mut checks = Report::new();
    let network = check(host, &document, release, &mut report).and_then(|checked| {
        let interfaces = checked.interfaces(path);
        let mut network = checked.keyfiles(&interfaces, path, &mut report)?;
        network.topology = checked.topology(&interfaces, path).at_origins(origins);
        check::host(CheckedHost { host, topology: &network.topology }, files, &mut checks);
        let refusals = refusals::check(&network.keyfiles, files, &checked.document, &interfaces, path);
        checks.append_new(refusals.at_origins(origins));
        drop(interfaces);
        Some((checked, network))
    });
    if network.is_none() {
        check_the_rest(host, &document, files, &report, &mut checks);
    }
    let refused = report.has_errors() || checks.has_errors();
    let about_network = report.findings().len();
    let converted = match network {
        Some((checked, mut network)) => {
            let is_converted = !refused && convert(&checked, path, &mut network, &mut report);
            if is_converted { Ok(network) } else { Err(Some(Box::new(network.topology))) }
        }
        None => Err(None),
    };
    let about_form = report.split_off(about_network).at_origins(origins);
    let mut report = report.at_origins(origins);
    report.append(checks);
    report.append(about_form);
    report.about_format(origins.format());
    (converted, report)
}

/// Checks what is left of a document without the parts that have errors, so that one mistake does not hide another. Only
/// certain findings count, and none about an interface that has errors of its own.
fn check_the_rest(
    host: &HostSpec,
    document: &NmstateDocument,
    files: NetworkFiles,
    report: &Report,
    checks: &mut Report,
) {
    let NmstateDocument { value: Value::Mapping(map), path, origins } = document else { return };
    let bad = parts::Bad::of(report, path);
    if bad.elsewhere || bad.is_empty() {
        return;
    }
    let (rest, moved) = parts::reduced(map, &bad, path);
    let interfaces = interfaces::read(&rest, path, &mut Report::new());
    let topology = from_nmstate::read(&rest, &interfaces, None, path);
    let mut found = Report::new();
    check::host(CheckedHost { host, topology: &topology }, files, &mut found);
    let entries = document::elements(map, &["interfaces"]);
    let lost: Vec<&str> =
        bad.interfaces.iter().filter_map(|index| document::text(entries.get(*index)?.as_mapping()?, "name")).collect();
    let mut found = found.at_origins(&moved);
    found.retain(|finding| {
        let is_of_bad =
            || bad.interfaces.iter().any(|index| finding.path.is_inside(&path.key("interfaces").index(*index)));
        finding.severity == Severity::Error && !is_of_bad() && !lost.iter().any(|name| finding.message.contains(name))
    });
    checks.append(found.at_origins(origins));
}

/// [`reported`], for a form that dayone makes only from NMState, and that can express less.
fn from_nmstate(
    host: &HostSpec,
    form: &'static Form,
    convert: impl FnOnce(&Topology, &DocumentPath, &mut ConvertedNetwork, &mut Findings<'_>),
) -> (Attempt<ConvertedNetwork>, Report) {
    let documents = match &host.network {
        NetworkDocument::Nmstate(document) => {
            return reported(host, document, form.files, Release::of(None), |checked, path, network, report| {
                let interfaces = checked.interfaces(path);
                let topology = checked.topology(&interfaces, path);
                let mut findings = Findings::new(report, form);
                findings.refuse_unsupported(&checked.document, path);
                findings.refuse_two_macs(&interfaces, &topology);
                // nmstate's engine is the check that a document is one.
                network.keyfiles.clear();
                convert(&topology, path, network, &mut findings);
                !findings.has_errors()
            });
        }
        NetworkDocument::Keyfiles(documents) => documents,
    };
    let form = form.name;
    let mut report = Report::new();
    let message =
        format!("is a NetworkManager keyfile, and the system needs {form}, which dayone makes only from NMState");
    report.error("keyfiles-need-networkmanager", &host.network.path(), message);
    let topology = match user_keyfiles::convert(host, documents, Release::of(None)).0 {
        Ok(network) => Some(Box::new(network.topology)),
        Err(topology) => topology,
    };
    (Err(topology), report)
}

/// A document that passed every check before the nmstate crate.
struct Checked<'a> {
    /// With the type of every interface, and with `mac-address` for every `copy-mac-from` that nmstate cannot follow.
    document: Cow<'a, Mapping>,
    /// How many values it holds.
    values: usize,
    hostname: Option<HostName>,
}

fn check<'a>(
    host: &HostSpec,
    nmstate: &'a NmstateDocument,
    release: Release,
    report: &mut Report,
) -> Option<Checked<'a>> {
    let NmstateDocument { value, path, .. } = nmstate;
    let mut bounds = Report::new();
    let values = document::check(value, path, &mut bounds);
    let in_bounds = !bounds.has_errors();
    report.append(bounds);
    if !in_bounds {
        return None;
    }
    let document = match value {
        Value::Mapping(document) => Cow::Borrowed(document),
        Value::Null => Cow::Owned(Mapping::new()),
        _ => {
            report.error("document-not-a-mapping", path, "is not an NMState document: it has no interfaces");
            return None;
        }
    };
    let searched = Searched::of(&document);
    if !features::are_lists_in_bounds(&searched, path, report) {
        return None;
    }
    features::check(&searched, path, report);
    newer::check(&searched, release, path, report);
    let hostname = hostname(&document, path, report).or_else(|| host.hostname.clone());
    let interfaces = interfaces::read(&document, path, report);
    interfaces::check_duplicates(&interfaces, &nmstate.origins, report);
    let carriers = references::carriers(&searched);
    for interface in &interfaces {
        families::check(interface, interface.names().any(|name| carriers.contains(name)), report);
        settings::check(interface, report);
    }
    references::check(&searched, &interfaces, &host.nics, path, report);
    routes::check(&document, &interfaces, (path, &nmstate.origins), report);
    if let Some(boot_mac) = host.boot_mac {
        boot_nic::check(&document, &interfaces, boot_mac, path, report);
    }
    let mut prepared = document.clone();
    name_types(&mut prepared, &interfaces);
    other_names::name_ports(&mut prepared, &interfaces);
    if report.has_errors() {
        let bad = parts::Bad::of(report, path);
        engine::diagnose(&Value::Mapping(prepared.into_owned()), values, bad, path, report);
        return None;
    }
    if interfaces.is_empty() {
        // A document in another format has keys that nmstate refuses.
        let bad = parts::Bad::of(report, path);
        engine::diagnose(&Value::Mapping(prepared.into_owned()), values, bad, path, report);
        if report.has_errors() {
            return None;
        }
        let message = "describes no interface: the host would come up without a network";
        report.error("no-interfaces", &path.key("interfaces"), message);
        return None;
    }
    mac::resolve(&mut prepared, &interfaces, host.boot_mac, report);
    (!report.has_errors()).then_some(Checked { document: prepared, values, hostname })
}

impl Checked<'_> {
    /// The interfaces of the document that get a profile. [`check`] has reported the findings about them.
    fn interfaces(&self, path: &DocumentPath) -> Vec<interfaces::Interface<'_>> {
        interfaces::read(&self.document, path, &mut Report::new())
    }

    /// What the document makes of the host.
    fn topology(&self, interfaces: &[interfaces::Interface<'_>], path: &DocumentPath) -> Topology {
        from_nmstate::read(&self.document, interfaces, self.hostname.clone(), path)
    }

    fn keyfiles(
        &self,
        interfaces: &[interfaces::Interface<'_>],
        path: &DocumentPath,
        report: &mut Report,
    ) -> Option<ConvertedNetwork> {
        let mut prepared = self.document.clone().into_owned();
        let holders = rules::assign(&mut prepared, interfaces, path, report);
        if report.has_errors() {
            return None;
        }
        let named = ports::by_name(&prepared, interfaces);
        let mut profiles = engine::convert(&Value::Mapping(prepared), self.values, path, report)?;
        if let Some(named) = named {
            ports::complete(&mut profiles, &engine::convert(&Value::Mapping(named), self.values, path, report)?);
        }
        dns::check(&profiles, &self.document, path, report);
        holders.check(&profiles, path, report);
        if report.has_errors() {
            return None;
        }
        holders.settle(&mut profiles);
        let keyfiles =
            names::name_files(profiles.iter().map(|profile| (profile.name.clone(), profile.render())).collect());
        if keyfiles.is_empty() {
            report.error("no-keyfiles", path, "yields no profile at all: the host would come up without a network");
            return None;
        }
        Some(ConvertedNetwork { keyfiles, hostname: self.hostname.clone(), ..ConvertedNetwork::default() })
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
fn name_types(document: &mut Cow<'_, Mapping>, interfaces: &[interfaces::Interface<'_>]) {
    if interfaces.iter().all(|interface| get(interface.map, "type").is_some()) {
        return;
    }
    let interfaces = document.to_mut().get_mut("interfaces").and_then(Value::as_sequence_mut);
    for interface in interfaces.into_iter().flatten() {
        if let Value::Mapping(interface) = interface
            && !interface.contains_key("type")
        {
            interface.insert("type".into(), "ethernet".into());
        }
    }
}

#[cfg(test)]
mod tests;
