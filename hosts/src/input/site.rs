//! Whole sites of zero-touch provisioning: a cluster with its nodes, each with its BMC and its network.
//!
//! Sources: stolostron/siteconfig, `api/v1alpha1/clusterinstance_types.go`, and openshift-kni/cnf-features-deploy,
//! `ztp/siteconfig-generator/siteConfig/siteConfig.go`, which came before it. `nodeNetwork` is the `spec` of an
//! `NMStateConfig` in both. What the operators make of templates, labels and overrides is not looked at.

use serde_yaml::Value;

use super::bmc;
use super::cluster::{self, networks, virtual_ips};
use super::flaw::Reported;
use super::nics::nics;
use super::object::{Fields, Object};
use super::part::{HostPart, Members, WithoutNetwork};
use super::secret::Secrets;
use super::yaml::Budget;
use vocabulary::host::{Architecture, BootMode, Cluster, HostBmc, HostName, MacAddress, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Severity};

/// The kinds, and the versions of each that are read.
const KINDS: [(&str, &[&str]); 2] = [
    ("ClusterInstance", &["siteconfig.open-cluster-management.io/v1alpha1"]),
    ("SiteConfig", &["ran.openshift.io/v1", "ran.openshift.io/v2"]),
];
/// What an operator takes a node for that has no `role`.
const USUAL_ROLE: &str = "master";
/// An architecture of a cluster whose nodes have several.
const SEVERAL_ARCHITECTURES: &str = "multi";

/// A site, and which kind it is.
pub(super) struct Site {
    pub(super) kind: &'static str,
    pub(super) object: Object,
}

/// A cluster of a site: a `ClusterInstance` is one, a `SiteConfig` may have several.
struct OneCluster<'a> {
    kind: &'static str,
    fields: Fields<'a>,
    namespace: Option<&'a str>,
}

/// The kind by its own name and the versions of it that are read, if sites are of it.
pub(super) fn versions(kind: &str) -> Option<(&'static str, &'static [&'static str])> {
    KINDS.into_iter().find(|(known, _)| *known == kind)
}

impl Site {
    fn clusters(&self, report: &mut Report) -> Result<Vec<OneCluster<'_>>, Reported> {
        let (kind, namespace) = (self.kind, self.object.namespace.as_deref());
        let top = self.object.fields();
        let Some(spec) = top.mapping("spec", report)? else {
            return Err(top.wrong("spec", "spec-missing", "is missing", report));
        };
        if kind == "ClusterInstance" {
            return Ok(vec![OneCluster { kind, fields: spec, namespace }]);
        }
        let mut clusters = Vec::new();
        for fields in spec.mappings("clusters", report)? {
            // What is made of a SiteConfig is in the namespace of its cluster.
            let own = fields.text("clusterName", report)?;
            clusters.push(OneCluster { kind, fields, namespace: own.or(namespace) });
        }
        Ok(clusters)
    }

    /// The site's clusters.
    pub(super) fn cluster_facts(&self, report: &mut Report) -> Result<Vec<Cluster>, Reported> {
        let clusters = self.clusters(report)?;
        clusters.iter().map(|cluster| cluster.facts(&self.object, report)).collect()
    }

    /// What the site says of its hosts. What keeps one from being read is reported, and the others are read.
    pub(super) fn parts(
        &self,
        secrets: &Secrets,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Result<Vec<HostPart>, Reported> {
        let mut parts = Vec::new();
        for cluster in self.clusters(report)? {
            for node in cluster.fields.mappings("nodes", report)? {
                parts.push(cluster.part(&node, secrets, budget, report));
            }
        }
        Ok(parts)
    }

    /// The BMCs of its hosts. Nothing else is looked at.
    pub(super) fn bmcs(
        &self,
        secrets: &Secrets,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Result<Vec<(HostBmc, DocumentPath)>, Reported> {
        let mut bmcs = Vec::new();
        for cluster in self.clusters(report)? {
            for node in cluster.fields.mappings("nodes", report)? {
                let name = node.text("hostName", report);
                let boot_mode = node.parsed::<BootMode>("bootMode", report);
                let bmc = bmc::of_node(&node, cluster.namespace, secrets, budget, report);
                let (Ok(name), Ok(boot_mode), Ok(Some(bmc))) = (name, boot_mode, bmc) else { continue };
                let name = name.map_or_else(|| node.path.to_string(), str::to_owned);
                bmcs.push((HostBmc { name, boot_mode, bmc }, node.path.key("bmcAddress")));
            }
        }
        Ok(bmcs)
    }
}

impl OneCluster<'_> {
    fn facts(&self, object: &Object, report: &mut Report) -> Result<Cluster, Reported> {
        let name = self.fields.text("clusterName", report);
        let machine_networks = networks(&self.fields, "machineNetwork", report);
        let virtual_ips = virtual_ips(&self.fields, report);
        let path = if self.kind == "ClusterInstance" { object.path.clone() } else { self.fields.path.clone() };
        Ok(Cluster {
            name: Some(name?.map_or_else(|| object.name.clone(), str::to_owned)),
            machine_networks: machine_networks?,
            virtual_ips: virtual_ips?,
            ..cluster::unknown(path)
        })
    }

    fn part(&self, node: &Fields<'_>, secrets: &Secrets, budget: &mut Budget, report: &mut Report) -> HostPart {
        let mut members = Members::default();
        let name = members.take(node.required_text("hostName", "the name of the host", report).map(Some));
        let hostname = members.take(node.parsed::<HostName>("hostName", report));
        let role = members.take(node.text("role", report));
        let boot_mac = members.take(node.parsed::<MacAddress>("bootMACAddress", report));
        let boot_mode = members.take(node.parsed::<BootMode>("bootMode", report));
        let architecture = members.take(self.architecture(node, report));
        let bmc = members.take(bmc::of_node(node, self.namespace, secrets, budget, report));
        let root_device_hints = members.take(node.whole_mapping("rootDeviceHints", report));
        let node_network = node.mapping("nodeNetwork", report);
        let network = match &node_network {
            Ok(Some(fields)) => fields.whole_mapping("config", report),
            Ok(None) => Ok(None),
            Err(Reported) => Err(Reported),
        };
        let nics = match &node_network {
            Ok(Some(fields)) => members.take(nics(fields, report)),
            _ => Vec::new(),
        };
        let at = |key| node.path.key(key);
        let without_network = network.is_ok().then(|| WithoutNetwork {
            severity: Severity::Warning,
            code: "host-without-network",
            path: at("nodeNetwork").key("config"),
            message: "is missing: the host has no network for its first boot, and dayone skips it".to_owned(),
        });
        let network = members.take(network);
        HostPart {
            name: name.map(|name| (name.to_owned(), at("hostName"))),
            namespace: self.namespace.map(str::to_owned),
            hostname,
            role: Some((role.unwrap_or(USUAL_ROLE).to_owned(), at("role"))),
            boot_mac: boot_mac.map(|mac| (mac, at("bootMACAddress"))),
            boot_mode: boot_mode.map(|mode| (mode, at("bootMode"))),
            architecture,
            bmc: bmc.map(|bmc| (bmc, at("bmcAddress"))),
            root_device_hints: root_device_hints.map(|hints| (hints.mapping.clone(), hints.path)),
            nics,
            network: network
                .map(|config| NmstateDocument::new(Value::Mapping(config.mapping.clone()), config.path).into()),
            without_network,
            is_flawed: members.any_wrong(),
            ..HostPart::new(self.kind, node.path.clone())
        }
    }

    /// A node's own architecture, else the cluster's.
    fn architecture(
        &self,
        node: &Fields<'_>,
        report: &mut Report,
    ) -> Result<Option<(Architecture, DocumentPath)>, Reported> {
        const KEY: &str = "cpuArchitecture";
        for fields in [node, &self.fields] {
            if fields.text(KEY, report)?.is_some_and(|text| text != SEVERAL_ARCHITECTURES) {
                return Ok(fields.parsed(KEY, report)?.map(|architecture| (architecture, fields.path.key(KEY))));
            }
        }
        Ok(None)
    }
}
