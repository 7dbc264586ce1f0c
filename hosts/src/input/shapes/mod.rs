//! The documents that describe hosts: one file for each shape.
//!
//! A new shape is such a file, a variant of [`HostDocument`] and, unless it is a Kubernetes object in [`object_kind`], a rule
//! in [`recognize`]. [`UNDERSTOOD`] lists the shapes for users.

mod agent_config;
mod bare_metal_host;
mod bmc;
pub(super) mod booleans;
pub(super) mod cluster;
pub(super) mod fleet;
mod host_reader;
pub(super) mod ignored;
mod install_config;
pub(super) mod keyfiles;
pub(super) mod network_config;
mod network_data;
pub(super) mod network_secret;
mod nics;
pub(super) mod nmstate;
mod nmstate_config;
pub(super) mod node_network_policy;
pub(super) mod recognize;
mod site;

use serde_yaml::Value;

use super::document::{Document, Object};
use super::host_part::HostPart;
use super::join::By;
use vocabulary::host::{Cluster, NmstateDocument};
use vocabulary::report::{DocumentPath, Reported};

pub(super) use agent_config::KIND as AGENT_CONFIG;
pub(super) use host_reader::{Reading, Scope};

/// The shapes that describe hosts, for sentences.
pub(super) const UNDERSTOOD: &str = "NMState (a mapping with interfaces, routes, dns-resolver, …, without kind), OpenStack's network \
     data (a mapping with links, networks, services), cloud-init's network-config (version 1, or 2, which is netplan's), BareMetalHost with its Secret, NMStateConfig, install-config.yaml \
     (platform.baremetal), agent-config.yaml, ClusterInstance, SiteConfig, NodeNetworkConfigurationPolicy, HostFleet (with its table) and NetworkManager's \
     profiles (.nmconnection)";

/// A document that describes hosts or their networks.
pub(super) enum HostDocument {
    Nmstate(Document),
    NetworkData(Document),
    NetworkConfig(Document),
    InstallConfig(Document),
    AgentConfig(Document),
    BareMetalHost(Object),
    NmstateConfig(Object),
    Policy(Object),
    ClusterInstance(Object),
    SiteConfig(Object),
    Fleet(Object),
}

/// What a document says.
#[derive(Default)]
pub(super) struct Found {
    pub(super) parts: Vec<HostPart>,
    /// Facts about clusters, each with the shape of the document.
    pub(super) clusters: Vec<(&'static str, Cluster)>,
    /// If there are no hosts: the path that shows why, and a sentence about it.
    pub(super) without_hosts: Option<(DocumentPath, String)>,
}

impl From<HostPart> for Found {
    fn from(part: HostPart) -> Self {
        Self { parts: vec![part], ..Self::default() }
    }
}

/// The supported versions of a kind of Kubernetes objects that describe hosts, and the variant for them.
type ObjectKind = (&'static [&'static str], fn(Object) -> HostDocument);

/// Returns what dayone knows of a kind of Kubernetes objects that describe hosts.
pub(super) fn object_kind(kind: &str) -> Option<ObjectKind> {
    Some(match kind {
        bare_metal_host::KIND => (bare_metal_host::API_VERSIONS, HostDocument::BareMetalHost),
        nmstate_config::KIND => (nmstate_config::API_VERSIONS, HostDocument::NmstateConfig),
        node_network_policy::KIND => (node_network_policy::API_VERSIONS, HostDocument::Policy),
        site::CLUSTER_INSTANCE => (site::CLUSTER_INSTANCE_VERSIONS, HostDocument::ClusterInstance),
        site::SITE_CONFIG => (site::SITE_CONFIG_VERSIONS, HostDocument::SiteConfig),
        fleet::KIND => (fleet::API_VERSIONS, HostDocument::Fleet),
        _ => return None,
    })
}

impl HostDocument {
    pub(super) fn document(&self) -> &Document {
        match self {
            Self::Nmstate(document)
            | Self::NetworkData(document)
            | Self::NetworkConfig(document)
            | Self::InstallConfig(document)
            | Self::AgentConfig(document) => document,
            Self::BareMetalHost(object)
            | Self::NmstateConfig(object)
            | Self::Policy(object)
            | Self::ClusterInstance(object)
            | Self::SiteConfig(object)
            | Self::Fleet(object) => &object.document,
        }
    }

    /// Reads what the document says. Nothing comes of a policy: [`node_network_policy`] needs the other hosts first.
    pub(super) fn read(&self, reading: &mut Reading<'_>) -> Result<Found, Reported> {
        match self {
            Self::BareMetalHost(object) => bare_metal_host::read(object, reading).map(Found::from),
            Self::InstallConfig(document) => install_config::read(document, reading),
            Self::AgentConfig(document) => agent_config::read(document, reading),
            Self::ClusterInstance(object) => site::read_cluster_instance(object, reading),
            Self::SiteConfig(object) => site::read_site_config(object, reading),
            Self::Fleet(object) => fleet::read(object, reading),
            Self::Nmstate(_)
            | Self::NetworkData(_)
            | Self::NetworkConfig(_)
            | Self::NmstateConfig(_)
            | Self::Policy(_)
                if reading.scope == Scope::Bmcs =>
            {
                Ok(Found::default())
            }
            Self::Nmstate(Document { value, path, .. }) => {
                let network = NmstateDocument::new(Value::Mapping(value.clone()), path.clone());
                Ok(HostPart::nameless("NMState", network).into())
            }
            Self::NetworkData(Document { value, path, .. }) => {
                let network = network_data::translate(value, path, reading.report)?;
                Ok(HostPart::nameless("network data", network).into())
            }
            Self::NetworkConfig(Document { value, path, .. }) => {
                let network = network_config::translate(value, path, reading.report)?;
                Ok(HostPart::nameless("network-config", network).into())
            }
            Self::NmstateConfig(object) => nmstate_config::read(object, reading.report).map(Found::from),
            Self::Policy(_) => Ok(Found::default()),
        }
    }

    /// Returns the shape, if the document is a network without the name of its host.
    pub(super) fn nameless(&self) -> Option<recognize::Shape<'static>> {
        match self {
            Self::Nmstate(_) => Some(recognize::Shape::Nmstate),
            Self::NetworkData(_) => Some(recognize::Shape::NetworkData),
            Self::NetworkConfig(_) => Some(recognize::Shape::NetworkConfig),
            _ => None,
        }
    }

    /// Whether kubectl or the installer of `OpenShift` may read the document, too.
    pub(super) fn is_for_clusters(&self) -> bool {
        !matches!(self, Self::NetworkData(_) | Self::NetworkConfig(_) | Self::Fleet(_))
    }

    /// Returns when and how the parts of the document are joined with others. Parts of the same shape are joined together, and
    /// networks after the machines.
    pub(super) fn join_order(&self) -> (usize, [By; 2]) {
        match self {
            Self::Nmstate(_) | Self::NetworkData(_) | Self::NetworkConfig(_) => (0, [By::Name, By::Mac]),
            Self::BareMetalHost(_) => (1, [By::Name, By::Mac]),
            Self::InstallConfig(_) => (2, [By::Name, By::Mac]),
            Self::AgentConfig(_) => (3, [By::Name, By::Mac]),
            Self::ClusterInstance(_) | Self::SiteConfig(_) => (4, [By::Name, By::Mac]),
            Self::Fleet(_) => (5, [By::Name, By::Mac]),
            Self::NmstateConfig(_) | Self::Policy(_) => (6, [By::Mac, By::Name]),
        }
    }
}
