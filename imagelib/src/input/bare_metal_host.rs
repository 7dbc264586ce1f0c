//! Metal3's `BareMetalHost`, joined with the Secrets that hold its network and its BMC's credentials.
//!
//! Source: metal3-io/baremetal-operator, `apis/metal3.io/v1alpha1/baremetalhost_types.go`; the key `nmstate` is what
//! openshift/image-customization-controller reads.

use std::str::FromStr;

use super::bmc::bmc;
use super::nmstate;
use super::object::{Fields, Object, Reported};
use super::secret::Secrets;
use super::yaml::Budget;
use crate::host::{Architecture, BootMode, HostBmc, HostError, HostSpec, MacAddress};
use crate::report::Report;

pub(super) const KIND: &str = "BareMetalHost";
pub(super) const API_VERSION: &str = "metal3.io/v1alpha1";

/// The member that names the Secret, and the Secret's key.
const NETWORK_SECRET: &str = "preprovisioningNetworkDataName";
const NETWORK_KEY: &str = "nmstate";

/// References to Secrets that whoever installs the system reads; they are no business of the first boot.
const FOR_THE_INSTALLED_SYSTEM: [&str; 3] = ["userData", "metaData", "networkData"];

/// The host that `object` describes. What keeps it from being unwrapped is reported.
pub(super) fn host(
    object: &Object,
    secrets: &mut Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<HostSpec, Reported> {
    let top = object.fields();
    let Some(spec) = top.mapping("spec", report)? else {
        return Err(top.wrong("spec", "spec-missing", "is missing", report));
    };
    let namespace = object.namespace.as_deref();
    for reference in FOR_THE_INSTALLED_SYSTEM {
        if let Some(secret) = spec.mapping(reference, report)?
            && let Some(name) = secret.text("name", report)?
        {
            secrets.mark_used(name, secret.text("namespace", report)?.or(namespace));
        }
    }
    // All that is wrong is said at once, so that nobody has to mend and try in turns.
    let boot_mac = parsed::<MacAddress>(&spec, "bootMACAddress", report);
    let architecture = parsed::<Architecture>(&spec, "architecture", report);
    let boot_mode = parsed::<BootMode>(&spec, "bootMode", report);
    let bmc = bmc(&spec, namespace, secrets, budget, report);
    let network = network(&spec, namespace, secrets, budget, report);
    let (boot_mac, architecture, boot_mode) = (boot_mac?, architecture?, boot_mode?);
    let (bmc, network) = (bmc?, network?);
    let hostname = object.name.parse().map_err(|error: HostError| {
        let message = format!("cannot be the host name, so none will be set: {error}");
        report.warning("hostname-not-derivable", &top.path.key("metadata").key("name"), message);
    });
    let (name, hostname) = (Some(object.name.clone()), hostname.ok());
    Ok(HostSpec { name, hostname, boot_mac, architecture, boot_mode, bmc, network })
}

/// The BMC of the host that `object` describes, if it has one. Nothing else of the host is looked at.
pub(super) fn host_bmc(
    object: &Object,
    secrets: &mut Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Option<HostBmc>, Reported> {
    let top = object.fields();
    let Some(spec) = top.mapping("spec", report)? else {
        return Err(top.wrong("spec", "spec-missing", "is missing", report));
    };
    let boot_mode = parsed::<BootMode>(&spec, "bootMode", report);
    let bmc = bmc(&spec, object.namespace.as_deref(), secrets, budget, report);
    let (boot_mode, bmc) = (boot_mode?, bmc?);
    Ok(bmc.map(|bmc| HostBmc { name: object.name.clone(), boot_mode, bmc }))
}

fn parsed<T: FromStr<Err = HostError>>(
    spec: &Fields<'_>,
    key: &str,
    report: &mut Report,
) -> Result<Option<T>, Reported> {
    let Some(text) = spec.text(key, report)? else { return Ok(None) };
    text.parse().map(Some).map_err(|error: HostError| spec.wrong(key, "invalid-value", error.to_string(), report))
}

fn network(
    spec: &Fields<'_>,
    namespace: Option<&str>,
    secrets: &mut Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<crate::host::NmstateDocument, Reported> {
    let Some(name) = spec.text(NETWORK_SECRET, report)? else {
        let beside = if spec.mapping.contains_key("networkData") {
            "; spec.networkData is for the installed system and is not read"
        } else {
            ""
        };
        let message = format!("is missing: it names the Secret whose key {NETWORK_KEY} holds the network{beside}");
        return Err(spec.wrong(NETWORK_SECRET, "network-secret-not-named", message, report));
    };
    secrets.mark_used(name, namespace);
    let secret = secrets
        .find(name, namespace)
        .map_err(|message| spec.wrong(NETWORK_SECRET, "network-secret-missing", message, report))?;
    let (text, path) = secret.get(NETWORK_KEY, budget, report)?;
    nmstate::embedded(&text, &path, budget, report).ok_or(Reported)
}
