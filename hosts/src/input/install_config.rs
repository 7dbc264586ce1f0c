//! `install-config.yaml` of `OpenShift`'s installer: its bare-metal hosts, and the cluster's addresses.
//!
//! Source: openshift/installer, `pkg/types/installconfig.go` and `pkg/types/baremetal/platform.go`. What else it holds
//! (pull secret, SSH keys, trust bundle) is not looked at.

use serde_yaml::Value;

use super::bmc;
use super::cluster::{self, machine_networks, virtual_ips};
use super::document::Document;
use super::flaw::Reported;
use super::listing::listed;
use super::object::Fields;
use super::part::{HostPart, Members, WithoutNetwork};
use vocabulary::host::{BootMode, Cluster, HostBmc, MacAddress, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Severity};

/// What it is called in sentences; also the shape of its hosts.
pub(super) const SHAPE: &str = "install-config";
const API_VERSION: &str = "v1";

/// What an install-config says.
pub(super) struct InstallConfig {
    pub(super) hosts: Vec<HostPart>,
    pub(super) cluster: Cluster,
    /// Why there are no hosts, if there are none, and where: a sentence without its subject.
    pub(super) without_hosts: Option<(DocumentPath, String)>,
}

/// Reads an install-config.
pub(super) fn read(document: &Document, report: &mut Report) -> Result<InstallConfig, Reported> {
    let (top, platform) = parts(document, report)?;
    let name = match top.mapping("metadata", report)? {
        Some(metadata) => metadata.text("name", report)?.map(str::to_owned),
        None => None,
    };
    let machine_networks = machine_networks(&top, report);
    let virtual_ips = platform.fields.as_ref().map_or(Ok(Vec::new()), |fields| virtual_ips(fields, report));
    let hosts = platform.hosts(report)?;
    let read = hosts.iter().map(|fields| host(fields, report)).collect::<Vec<_>>();
    let cluster = Cluster {
        name,
        machine_networks: machine_networks?,
        virtual_ips: virtual_ips?,
        own_load_balancer: platform.fields.as_ref().map_or(Ok(false), |fields| own_load_balancer(fields, report))?,
        ..cluster::unknown(document.position.clone())
    };
    let without_hosts = hosts.is_empty().then(|| {
        let message = if platform.is_bare_metal {
            "has no hosts with networks; with an agent-config.yaml, their networks belong there".to_owned()
        } else {
            "is a platform whose hosts have no network here: dayone reads hosts from platform.baremetal; with an \
             agent-config.yaml, their networks belong there"
                .to_owned()
        };
        (platform.path.clone(), message)
    });
    Ok(InstallConfig { hosts: read, cluster, without_hosts })
}

/// Whether `loadBalancer` says that the virtual IPs are no host's.
fn own_load_balancer(platform: &Fields<'_>, report: &mut Report) -> Result<bool, Reported> {
    let Some(balancer) = platform.mapping("loadBalancer", report)? else { return Ok(false) };
    Ok(balancer.text("type", report)? == Some("UserManaged"))
}

/// The BMCs of its hosts. Nothing else is looked at.
pub(super) fn bmcs(document: &Document, report: &mut Report) -> Result<Vec<(HostBmc, DocumentPath)>, Reported> {
    let hosts = parts(document, report)?.1.hosts(report)?;
    Ok(hosts.iter().filter_map(|fields| bmc::inline_of_host(fields, "name", report)).collect())
}

/// The one platform of an install-config.
struct Platform<'a> {
    path: DocumentPath,
    /// What is said of it; `platform: {none: null}` says as much as `{}`.
    fields: Option<Fields<'a>>,
    is_bare_metal: bool,
}

impl<'a> Platform<'a> {
    fn hosts(&self, report: &mut Report) -> Result<Vec<Fields<'a>>, Reported> {
        match &self.fields {
            Some(fields) if self.is_bare_metal => fields.mappings("hosts", report),
            _ => Ok(Vec::new()),
        }
    }
}

/// The document, and its platform.
fn parts<'a>(document: &'a Document, report: &mut Report) -> Result<(Fields<'a>, Platform<'a>), Reported> {
    let top = Fields::new(&document.value, document.position.clone());
    if let Some(found) = top.text("apiVersion", report)?.filter(|found| *found != API_VERSION) {
        let message = format!("is {found:?}; dayone reads an {SHAPE} of {API_VERSION}");
        return Err(top.wrong("apiVersion", "api-version-not-read", message, report));
    }
    let platforms = top.mapping("platform", report)?;
    let names: Vec<&str> =
        platforms.iter().flat_map(|platforms| platforms.mapping.keys()).filter_map(Value::as_str).collect();
    if let (Some(platforms), [name]) = (platforms, names.as_slice()) {
        let fields = platforms.mapping(name, report)?;
        return Ok((top, Platform { path: platforms.path.key(name), fields, is_bare_metal: *name == "baremetal" }));
    }
    let message = format!("has to be one platform; found: {}", listed(names.iter().copied()));
    Err(top.wrong("platform", "invalid-value", message, report))
}

fn host(fields: &Fields<'_>, report: &mut Report) -> HostPart {
    let mut members = Members::default();
    let name = members.take(fields.required_text("name", "the name of the host", report).map(Some));
    let role = members.take(fields.text("role", report));
    let boot_mac = members.take(fields.parsed::<MacAddress>("bootMACAddress", report));
    let boot_mode = members.take(fields.parsed::<BootMode>("bootMode", report));
    let bmc = members.take(bmc::inline(fields, report));
    let root_device_hints = members.take(fields.whole_mapping("rootDeviceHints", report));
    let network = network(fields, report);
    let without_network = network.is_ok().then(|| without_network(fields));
    let at = |key| fields.path.key(key);
    HostPart {
        name: name.map(|name| (name.to_owned(), at("name"))),
        role: role.map(|role| (role.to_owned(), at("role"))),
        boot_mac: boot_mac.map(|mac| (mac, at("bootMACAddress"))),
        boot_mode: boot_mode.map(|mode| (mode, at("bootMode"))),
        bmc: bmc.map(|bmc| (bmc, at("bmc"))),
        root_device_hints: root_device_hints.map(|hints| (hints.mapping.clone(), hints.path)),
        network: members.take(network).map(Into::into),
        without_network,
        is_flawed: members.any_wrong(),
        ..HostPart::new(SHAPE, fields.path.clone())
    }
}

/// NMState that stands as it is under `networkConfig`.
pub(super) fn network(host: &Fields<'_>, report: &mut Report) -> Result<Option<NmstateDocument>, Reported> {
    let found = host.whole_mapping("networkConfig", report)?;
    Ok(found.map(|fields| NmstateDocument::new(Value::Mapping(fields.mapping.clone()), fields.path)))
}

/// What is said where no document has the network of a host that may have one under `networkConfig`.
pub(super) fn without_network(host: &Fields<'_>) -> WithoutNetwork {
    WithoutNetwork {
        severity: Severity::Warning,
        code: "host-without-network",
        path: host.path.key("networkConfig"),
        message: "is missing: the host has no network for its first boot, and dayone skips it".to_owned(),
    }
}
