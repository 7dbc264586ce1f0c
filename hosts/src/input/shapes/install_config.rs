//! `install-config.yaml` of `OpenShift`'s installer: its bare-metal hosts, and the cluster's addresses.
//!
//! Source: openshift/installer, `pkg/types/installconfig.go` and `pkg/types/baremetal/platform.go`. dayone ignores the rest, such
//! as the pull secret, SSH keys and the trust bundle.

use serde_yaml::Value;

use super::cluster::{self, machine_networks, own_load_balancer, virtual_ips};
use super::host_reader::{HostReader, Reading, Scope};
use super::{Found, bmc};
use crate::input::document::Document;
use crate::input::fields::Fields;
use crate::input::host_part::{HostPart, MissingNetwork};
use crate::input::listing::listed;
use vocabulary::host::Cluster;
use vocabulary::report::{DocumentPath, Report, Reported};

/// Its name in sentences, and the shape of its hosts.
const SHAPE: &str = "install-config";
/// Its kind, which may be missing.
pub(super) const KIND: &str = "InstallConfig";
pub(super) const API_VERSION: &str = "v1";

/// Reads the hosts, and the facts about their cluster.
pub(super) fn read(document: &Document, reading: &mut Reading<'_>) -> Result<Found, Reported> {
    let top = document.fields();
    let platform = platform(&top, reading.report)?;
    let cluster = match reading.scope {
        Scope::Hosts => cluster(&top, &platform, reading.report).map(Some),
        Scope::Bmcs => Ok(None),
    };
    let hosts = match &platform.fields {
        Some(fields) if platform.is_bare_metal => fields.mappings("hosts", reading.report)?,
        _ => Vec::new(),
    };
    let parts = hosts.iter().map(|fields| host(fields, reading)).collect();
    let without_hosts = hosts.is_empty().then(|| {
        let message = if platform.is_bare_metal {
            "has no hosts with networks; with an agent-config.yaml, their networks belong there".to_owned()
        } else {
            "is a platform whose hosts have no network here: dayone reads hosts from platform.baremetal; with an \
             agent-config.yaml, their networks belong there"
                .to_owned()
        };
        (platform.path, message)
    });
    Ok(Found { parts, clusters: cluster?.map(|cluster| (SHAPE, cluster)).into_iter().collect(), without_hosts })
}

/// The only platform of an install-config.
struct Platform<'a> {
    path: DocumentPath,
    /// Its members. `platform: {none: null}` means the same as `{}`.
    fields: Option<Fields<'a>>,
    is_bare_metal: bool,
}

fn platform<'a>(top: &Fields<'a>, report: &mut Report) -> Result<Platform<'a>, Reported> {
    if let Some(found) = top.text("apiVersion", report)?.filter(|found| *found != API_VERSION) {
        let message = format!("is {found:?}; dayone reads an {SHAPE} of {API_VERSION}");
        return Err(top.wrong("apiVersion", "api-version-not-read", message, report));
    }
    let platforms = top.mapping("platform", report)?;
    let names: Vec<&str> =
        platforms.iter().flat_map(|platforms| platforms.mapping.keys()).filter_map(Value::as_str).collect();
    if let (Some(platforms), [name]) = (platforms, names.as_slice()) {
        let fields = platforms.mapping(name, report)?;
        return Ok(Platform { path: platforms.path.key(name), fields, is_bare_metal: *name == "baremetal" });
    }
    let message = format!("has to be one platform; found: {}", listed(names.iter().copied()));
    Err(top.wrong("platform", "invalid-value", message, report))
}

fn cluster(top: &Fields<'_>, platform: &Platform<'_>, report: &mut Report) -> Result<Cluster, Reported> {
    let name = top.text_in("metadata", "name", report)?.map(str::to_owned);
    let mut cluster = Cluster { name, ..cluster::unknown(top.path.clone()) };
    let machine_networks = machine_networks(top, report);
    if let Some(fields) = &platform.fields {
        cluster.virtual_ips = virtual_ips(fields, report)?;
        cluster.own_load_balancer = own_load_balancer(fields, report)?;
    }
    Ok(Cluster { machine_networks: machine_networks?, ..cluster })
}

fn host(fields: &Fields<'_>, reading: &mut Reading<'_>) -> HostPart {
    let mut host = HostReader::new(SHAPE, fields, reading);
    host.required_name("name");
    host.part.role = host.role();
    host.part.boot_mac = host.parsed("bootMACAddress");
    host.part.boot_mode = host.boot_mode();
    host.part.bmc = host.take(bmc::with_credentials);
    host.part.root_device_hints = host.root_device_hints();
    host.network(MissingNetwork::at(fields.path.key("networkConfig")), |fields, reading| {
        fields.nmstate("networkConfig", reading.report)
    });
    host.part
}
