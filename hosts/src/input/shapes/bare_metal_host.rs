//! Metal3's `BareMetalHost`, with the Secrets that hold its network and its BMC's credentials.
//!
//! Source: metal3-io/baremetal-operator, `baremetalhost_types.go` in `apis/metal3.io/v1alpha1` and `apis/metal3.io/v1beta1`: what dayone
//! reads is the same in both. The key `nmstate` is the one that openshift/image-customization-controller reads.

use super::bmc;
use super::host_reader::{HostReader, Reading, Scope};
use super::network_secret::{self, NMSTATE};
use crate::input::document::Object;
use crate::input::fields::{Fields, Placed};
use crate::input::host_part::{HostPart, MissingNetwork};
use crate::input::yaml::Budget;
use vocabulary::host::{HostName, NetworkDocument};
use vocabulary::report::{Report, Reported};

pub(super) const KIND: &str = "BareMetalHost";
pub(super) const API_VERSIONS: &[&str] = &["metal3.io/v1alpha1", "metal3.io/v1beta1"];

/// The member that names the Secret with the network.
const NETWORK_SECRET: &str = "preprovisioningNetworkDataName";

/// References to Secrets for the installed system, which have nothing to do with the first boot.
const FOR_THE_INSTALLED_SYSTEM: [&str; 3] = ["userData", "metaData", "networkData"];

/// Reads what `object` says about its host.
pub(super) fn read(object: &Object, reading: &mut Reading<'_>) -> Result<HostPart, Reported> {
    let spec = object.spec(reading.report)?;
    let namespace = object.namespace.as_deref();
    if reading.scope == Scope::Hosts {
        for reference in FOR_THE_INSTALLED_SYSTEM {
            if let Some(secret) = spec.mapping(reference, reading.report)?
                && let Some(name) = secret.text("name", reading.report)?
            {
                reading.secrets.mark_used(name, secret.text("namespace", reading.report)?.or(namespace));
            }
        }
    }
    let mut host = HostReader::new(KIND, &spec, reading);
    host.part.path = object.path().clone();
    host.part.name = Some((object.name.clone(), object.path().key("metadata").key("name")));
    host.part.namespace.clone_from(&object.namespace);
    (host.part.hostname, host.part.role) = host.take_other(|_, reading| annotated(object, reading.report));
    host.part.boot_mac = host.parsed("bootMACAddress");
    host.part.architecture = host.parsed("architecture");
    host.part.boot_mode = host.boot_mode();
    host.part.bmc = host.take(|fields, reading| bmc::with_secret(fields, namespace, reading));
    host.part.root_device_hints = host.root_device_hints();
    host.network(missing_network(&spec), |spec, reading| network(spec, namespace, reading));
    Ok(host.part)
}

/// Reads the host name and the role that assisted-service takes from annotations
/// (openshift/assisted-service, `internal/controller/controllers/bmh_agent_controller.go`).
fn annotated(object: &Object, report: &mut Report) -> Result<(Option<HostName>, Placed<String>), Reported> {
    const HOSTNAME: &str = "bmac.agent-install.openshift.io/hostname";
    const ROLE: &str = "bmac.agent-install.openshift.io/role";
    let annotations = match object.fields().mapping("metadata", report)? {
        Some(metadata) => metadata.mapping("annotations", report)?,
        None => None,
    };
    let Some(annotations) = annotations else { return Ok((None, None)) };
    let hostname = annotations.parsed(HOSTNAME, report);
    let role = annotations.placed(ROLE, annotations.text(ROLE, report)?.map(str::to_owned));
    Ok((hostname?, role))
}

fn network(
    spec: &Fields<'_>,
    namespace: Option<&str>,
    reading: &mut Reading<'_>,
) -> Result<Option<NetworkDocument>, Reported> {
    let Reading { secrets, budget, report, .. } = reading;
    let Some(name) = spec.text(NETWORK_SECRET, report)? else { return Ok(None) };
    secrets.mark_used(name, namespace);
    let secret = secrets
        .find(name, namespace)
        .map_err(|message| spec.wrong(NETWORK_SECRET, "network-secret-missing", message, report))?;
    let mut get = |key: &str, budget: &mut Budget, report: &mut Report| secret.get(key, budget, report);
    network_secret::network(&secret.keys(report)?, &mut get, budget, report).map(Some)
}

fn missing_network(spec: &Fields<'_>) -> MissingNetwork {
    let ignored = if spec.mapping.contains_key("networkData") {
        " (dayone does not read spec.networkData, which is for the installed system)"
    } else {
        ""
    };
    MissingNetwork {
        code: "network-secret-not-named",
        path: spec.path.key(NETWORK_SECRET),
        message: format!(
            "is missing: it names the Secret whose key {NMSTATE} contains the network{ignored}. The host has no \
             network for its first boot, and dayone skips it"
        ),
    }
}
