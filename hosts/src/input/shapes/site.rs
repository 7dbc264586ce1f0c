//! Sites of zero-touch provisioning: `ClusterInstance` and `SiteConfig`, a cluster with its nodes, their BMCs and networks.
//!
//! Sources: stolostron/siteconfig, `api/v1alpha1/clusterinstance_types.go`, and its predecessor openshift-kni/cnf-features-deploy,
//! `ztp/siteconfig-generator/siteConfig/siteConfig.go`. In both, `nodeNetwork` is the `spec` of an `NMStateConfig`. dayone ignores
//! the operators' templates, labels and overrides.

use super::cluster::{self, networks, virtual_ips};
use super::host_reader::{HostReader, Reading, Scope};
use super::nics::nics;
use super::{Found, bmc};
use crate::input::document::Object;
use crate::input::fields::{Fields, Placed};
use crate::input::host_part::{HostPart, MissingNetwork};
use vocabulary::host::{Architecture, Cluster};
use vocabulary::report::{Report, Reported};

pub(super) const CLUSTER_INSTANCE: &str = "ClusterInstance";
pub(super) const CLUSTER_INSTANCE_VERSIONS: &[&str] = &["siteconfig.open-cluster-management.io/v1alpha1"];
pub(super) const SITE_CONFIG: &str = "SiteConfig";
pub(super) const SITE_CONFIG_VERSIONS: &[&str] = &["ran.openshift.io/v1", "ran.openshift.io/v2"];

/// The role that the operators give a node without a `role`.
const DEFAULT_ROLE: &str = "master";
/// The architecture of a cluster whose nodes have several.
const SEVERAL_ARCHITECTURES: &str = "multi";

/// A cluster of a site.
struct SiteCluster<'a> {
    kind: &'static str,
    fields: Fields<'a>,
    namespace: Option<&'a str>,
}

/// Reads a `ClusterInstance`, which is one cluster.
pub(super) fn read_cluster_instance(object: &Object, reading: &mut Reading<'_>) -> Result<Found, Reported> {
    let (fields, namespace) = (object.spec(reading.report)?, object.namespace.as_deref());
    let cluster = SiteCluster { kind: CLUSTER_INSTANCE, fields, namespace };
    read(object, &[cluster], reading)
}

/// Reads a `SiteConfig`, which may have several clusters.
pub(super) fn read_site_config(object: &Object, reading: &mut Reading<'_>) -> Result<Found, Reported> {
    let mut clusters = Vec::new();
    for fields in object.spec(reading.report)?.mappings("clusters", reading.report)? {
        // The operator creates the objects of a cluster in a namespace with the cluster's name.
        let namespace = fields.text("clusterName", reading.report)?.or(object.namespace.as_deref());
        clusters.push(SiteCluster { kind: SITE_CONFIG, fields, namespace });
    }
    read(object, &clusters, reading)
}

fn read(object: &Object, clusters: &[SiteCluster<'_>], reading: &mut Reading<'_>) -> Result<Found, Reported> {
    let mut found = Found::default();
    for cluster in clusters {
        for node in cluster.fields.mappings("nodes", reading.report)? {
            found.parts.push(cluster.host(&node, reading));
        }
    }
    if reading.scope == Scope::Hosts {
        let facts = |cluster: &SiteCluster<'_>| Ok((cluster.kind, cluster.facts(object, reading.report)?));
        found.clusters = clusters.iter().map(facts).collect::<Result<_, Reported>>().unwrap_or_default();
    }
    Ok(found)
}

impl SiteCluster<'_> {
    fn facts(&self, object: &Object, report: &mut Report) -> Result<Cluster, Reported> {
        let name = self.fields.text("clusterName", report);
        let machine_networks = networks(&self.fields, "machineNetwork", report);
        let virtual_ips = virtual_ips(&self.fields, report);
        let path = if self.kind == CLUSTER_INSTANCE { object.path().clone() } else { self.fields.path.clone() };
        Ok(Cluster {
            name: Some(name?.unwrap_or(&object.name).to_owned()),
            machine_networks: machine_networks?,
            virtual_ips: virtual_ips?,
            ..cluster::unknown(path)
        })
    }

    fn host(&self, node: &Fields<'_>, reading: &mut Reading<'_>) -> HostPart {
        let mut host = HostReader::new(self.kind, node, reading);
        host.part.namespace = self.namespace.map(str::to_owned);
        host.required_name("hostName");
        host.host_name_is_name();
        host.part.role = host.role().or_else(|| Some((DEFAULT_ROLE.to_owned(), node.path.key("role"))));
        host.part.boot_mac = host.parsed("bootMACAddress");
        host.part.boot_mode = host.boot_mode();
        host.part.architecture = host.take_other(|node, reading| self.architecture(node, reading.report));
        host.part.bmc = host.take(|node, reading| bmc::of_node(node, self.namespace, reading));
        host.part.leaves_verification = true;
        host.part.root_device_hints = host.root_device_hints();
        if let Some(network) = host.take_other(|node, reading| node.mapping("nodeNetwork", reading.report).map(Some)) {
            let missing = MissingNetwork::at(node.path.key("nodeNetwork").key("config"));
            host.network(missing, |_, reading| match &network {
                Some(network) => network.nmstate("config", reading.report),
                None => Ok(None),
            });
            if let Some(network) = &network {
                host.part.nics = host.take_other(|_, reading| nics(network, reading.report));
            }
        }
        host.part
    }

    /// Reads the architecture of a node, or else that of the cluster.
    fn architecture(&self, node: &Fields<'_>, report: &mut Report) -> Result<Placed<Architecture>, Reported> {
        const KEY: &str = "cpuArchitecture";
        for fields in [node, &self.fields] {
            if fields.text(KEY, report)?.is_some_and(|text| text != SEVERAL_ARCHITECTURES) {
                return Ok(fields.placed(KEY, fields.parsed(KEY, report)?));
            }
        }
        Ok(None)
    }
}
