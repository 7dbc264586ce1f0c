//! Writes the Kubernetes objects that add hosts to Metal3: a `BareMetalHost`, and the Secrets with its network and its BMC's
//! credentials.
//!
//! Sources: metal3-io/baremetal-operator, `apis/metal3.io/v1alpha1/baremetalhost_types.go` and `docs/api.md`; openshift/
//! openshift-docs, "Expanding the cluster" (the names of the Secrets, `install_coreos`, `worker-user-data-managed`).

mod objects;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::str::FromStr;

use serde_yaml::Value;

use crate::input::is_object_name;
use crate::members::mapping;
use crate::network::nics;
use crate::yaml_text;
use vocabulary::checked_text;
use vocabulary::host::{HostName, HostSpec, NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

/// How to write the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestOptions {
    /// The namespace of all objects.
    pub namespace: Namespace,
    /// Whether to write Secrets with the credentials of BMCs.
    pub bmc_secrets: bool,
    /// Whether Metal3 shall switch the hosts on.
    pub online: bool,
    /// Whether the hosts shall install CoreOS at once with the user data of their role, without a `MachineSet`.
    pub install_coreos: bool,
}

/// The objects of one host.
#[derive(Clone, PartialEq, Eq)]
pub struct HostManifests {
    /// The name of the host and its `BareMetalHost`.
    pub host: String,
    /// The Secrets and then the `BareMetalHost`, as a stream of YAML documents. It contains passwords.
    pub yaml: String,
}

/// The name of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace(String);

/// Why a text is not the name of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid namespace name (a-z, 0-9 and inner hyphens, 63 characters at most)")]
pub struct NamespaceError(String);

checked_text!(Namespace, NamespaceError);

impl FromStr for Namespace {
    type Err = NamespaceError;

    fn from_str(text: &str) -> Result<Self, NamespaceError> {
        let good = is_object_name(text) && text.len() <= 63 && !text.contains('.');
        if good { Ok(Self(text.to_owned())) } else { Err(NamespaceError(text.to_owned())) }
    }
}

/// The longest name of a host: the names of its Secrets need room for a suffix.
const MAX_NAME: usize = 253 - objects::NETWORK_SECRET.len();

/// Makes the objects of hosts, in their order. A host with an error gets no objects. The conversion checks the networks.
pub fn manifests<'a>(
    hosts: impl IntoIterator<Item = &'a HostSpec>,
    options: &ManifestOptions,
) -> (Vec<HostManifests>, Report) {
    let mut report = Report::new();
    let mut names = BTreeSet::new();
    let objects = hosts.into_iter().filter_map(|host| {
        let mut findings = Report::new();
        let objects = of_host(host, options, &mut names, &mut findings).filter(|_| !findings.has_errors());
        report.append(findings);
        objects
    });
    (objects.collect(), report)
}

fn of_host(
    host: &HostSpec,
    options: &ManifestOptions,
    names: &mut BTreeSet<String>,
    report: &mut Report,
) -> Option<HostManifests> {
    let path = host.network.path();
    let name = name(host, &path, report)?;
    if !names.insert(name.clone()) {
        let message = format!("belongs to a second host called {name}: its objects would replace those of the first");
        report.error("manifest-name", &path, message);
    }
    let NetworkDocument::Nmstate(document) = &host.network else {
        let message = "is a keyfile; the Secret with a host's network contains NMState";
        report.error("manifest-keyfiles", &path, message);
        return None;
    };
    let nmstate = nmstate(document, host, &name);
    missing(host, &path, report);
    let objects = objects::of(host, &name, yaml_text::document(&nmstate), options);
    Some(HostManifests { host: name, yaml: yaml_text::stream(&objects) })
}

fn name(host: &HostSpec, path: &DocumentPath, report: &mut Report) -> Option<String> {
    let Some(name) = host.name.as_deref().or(host.hostname.as_ref().map(HostName::as_str)) else {
        let message = "belongs to a host without a name, and a BareMetalHost needs one";
        report.error("manifest-name", path, message);
        return None;
    };
    if is_object_name(name) && name.len() <= MAX_NAME {
        return Some(name.to_owned());
    }
    let shown: String = name.chars().take(64).collect();
    let message = format!(
        "belongs to the host {shown:?}, which is not a valid object name (a-z, 0-9, '-' and '.', {MAX_NAME} \
         characters at most)"
    );
    report.error("manifest-name", path, message);
    None
}

/// Returns the network as a complete document: with the MAC addresses of the NICs, and with the host name, unless that is the
/// object's name.
fn nmstate(document: &NmstateDocument, host: &HostSpec, name: &str) -> Value {
    // The conversion reports the findings about NICs.
    let mut value = nics::identify(document, &host.nics, &mut Report::new()).into_owned().value;
    let has_hostname =
        value.get("hostname").and_then(|hostname| hostname.get("config")).is_some_and(|config| !config.is_null());
    let hostname = host.hostname.as_ref().filter(|hostname| !has_hostname && hostname.as_str() != name);
    if let (Some(hostname), Value::Mapping(map)) = (hostname, &mut value) {
        map.insert("hostname".into(), mapping([("config", hostname.as_str().into())]).into());
    }
    value
}

/// Warns of facts that Metal3 needs and the documents lack.
fn missing(host: &HostSpec, path: &DocumentPath, report: &mut Report) {
    let Some(bmc) = &host.bmc else {
        let message = "belongs to a host without a BMC: Metal3 keeps its BareMetalHost as unmanaged, and installs \
                       nothing";
        report.warning("manifest-without-bmc", path, message);
        return;
    };
    if let Err(reason) = &bmc.credentials {
        let message = format!(
            "belongs to a host whose BMC credentials are unknown, so dayone does not write their Secret: {reason}"
        );
        report.warning("manifest-without-bmc-secret", path, message);
    }
    if host.boot_mac.is_none() {
        let message = "belongs to a host without a bootMACAddress, which Metal3 requires for a BMC with Redfish";
        report.warning("manifest-without-boot-mac", path, message);
    }
}
