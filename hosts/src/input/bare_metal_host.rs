//! Metal3's `BareMetalHost`, joined with the Secrets that hold its network and its BMC's credentials.
//!
//! Source: metal3-io/baremetal-operator, `apis/metal3.io/v1alpha1/baremetalhost_types.go`; the key `nmstate` is what
//! openshift/image-customization-controller reads.

use super::bmc::bmc;
use super::flaw::Reported;
use super::network_secret::{self, NMSTATE};
use super::object::{Fields, Object};
use super::part::{HostPart, Members, Placed, WithoutNetwork};
use super::secret::Secrets;
use super::yaml::Budget;
use vocabulary::host::{Architecture, BootMode, HostBmc, HostName, MacAddress, NetworkDocument};
use vocabulary::report::{Report, Severity};

pub(super) const KIND: &str = "BareMetalHost";
pub(super) const API_VERSIONS: [&str; 1] = ["metal3.io/v1alpha1"];

/// The member that names the Secret.
const NETWORK_SECRET: &str = "preprovisioningNetworkDataName";

/// References to Secrets that whoever installs the system reads; they are no business of the first boot.
const FOR_THE_INSTALLED_SYSTEM: [&str; 3] = ["userData", "metaData", "networkData"];

/// What `object` says of its host. What keeps it from being read is reported.
pub(super) fn part(
    object: &Object,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<HostPart, Reported> {
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
    let mut members = Members::default();
    let (hostname, role) = members.take(annotated(&top, report));
    let boot_mac = members.take(spec.parsed::<MacAddress>("bootMACAddress", report));
    let architecture = members.take(spec.parsed::<Architecture>("architecture", report));
    let boot_mode = members.take(spec.parsed::<BootMode>("bootMode", report));
    let bmc = members.take(bmc(&spec, namespace, secrets, budget, report));
    let root_device_hints = members.take(spec.whole_mapping("rootDeviceHints", report));
    let network = network(&spec, namespace, secrets, budget, report);
    let without_network = network.is_ok().then(|| without_network(&spec));
    let at = |key| spec.path.key(key);
    Ok(HostPart {
        name: Some((object.name.clone(), top.path.key("metadata").key("name"))),
        namespace: object.namespace.clone(),
        hostname,
        role,
        boot_mac: boot_mac.map(|mac| (mac, at("bootMACAddress"))),
        architecture: architecture.map(|architecture| (architecture, at("architecture"))),
        boot_mode: boot_mode.map(|mode| (mode, at("bootMode"))),
        bmc: bmc.map(|bmc| (bmc, at("bmc"))),
        root_device_hints: root_device_hints.map(|hints| (hints.mapping.clone(), hints.path)),
        network: members.take(network),
        without_network,
        is_flawed: members.any_wrong(),
        ..HostPart::new(KIND, object.path.clone())
    })
}

/// The host name and the role that assisted-service takes from annotations
/// (openshift/assisted-service, `internal/controller/controllers/bmh_agent_controller.go`).
fn annotated(top: &Fields<'_>, report: &mut Report) -> Result<(Option<HostName>, Placed<String>), Reported> {
    const HOSTNAME: &str = "bmac.agent-install.openshift.io/hostname";
    const ROLE: &str = "bmac.agent-install.openshift.io/role";
    let annotations = match top.mapping("metadata", report)? {
        Some(metadata) => metadata.mapping("annotations", report)?,
        None => None,
    };
    let Some(annotations) = annotations else { return Ok((None, None)) };
    let hostname = annotations.parsed(HOSTNAME, report);
    let role = annotations.text(ROLE, report)?.map(|role| (role.to_owned(), annotations.path.key(ROLE)));
    Ok((hostname?, role))
}

/// The BMC of the host that `object` describes, if it has one. Nothing else of the host is looked at.
pub(super) fn host_bmc(
    object: &Object,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Option<HostBmc>, Reported> {
    let top = object.fields();
    let Some(spec) = top.mapping("spec", report)? else {
        return Err(top.wrong("spec", "spec-missing", "is missing", report));
    };
    let boot_mode = spec.parsed::<BootMode>("bootMode", report);
    let bmc = bmc(&spec, object.namespace.as_deref(), secrets, budget, report);
    let (boot_mode, bmc) = (boot_mode?, bmc?);
    Ok(bmc.map(|bmc| HostBmc { name: object.name.clone(), boot_mode, bmc }))
}

fn network(
    spec: &Fields<'_>,
    namespace: Option<&str>,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Option<NetworkDocument>, Reported> {
    let Some(name) = spec.text(NETWORK_SECRET, report)? else { return Ok(None) };
    secrets.mark_used(name, namespace);
    let secret = secrets
        .find(name, namespace)
        .map_err(|message| spec.wrong(NETWORK_SECRET, "network-secret-missing", message, report))?;
    let mut get = |key: &str, budget: &mut Budget, report: &mut Report| secret.get(key, budget, report);
    network_secret::network(&secret.keys(report)?, &mut get, budget, report).map(Some)
}

fn without_network(spec: &Fields<'_>) -> WithoutNetwork {
    let beside = if spec.mapping.contains_key("networkData") {
        " (dayone does not read spec.networkData, which is for the installed system)"
    } else {
        ""
    };
    WithoutNetwork {
        severity: Severity::Warning,
        code: "network-secret-not-named",
        path: spec.path.key(NETWORK_SECRET),
        message: format!(
            "is missing: it names the Secret whose key {NMSTATE} contains the network{beside}. The host has no \
             network for its first boot, and dayone skips it"
        ),
    }
}
