//! Objects that stand beside hosts in what people have, and say nothing of a host's first network: they are left aside
//! without a word.

use serde_yaml::{Mapping, Value};

/// API groups (of the core group, its version), and their kinds.
const KINDS: [(&str, &[&str]); 10] = [
    ("v1", &["Namespace"]),
    ("agent-install.openshift.io", &["InfraEnv", "Agent", "AgentServiceConfig"]),
    ("agent.open-cluster-management.io", &["KlusterletAddonConfig"]),
    ("cluster.open-cluster-management.io", &["ManagedCluster"]),
    ("hive.openshift.io", &["ClusterDeployment", "ClusterImageSet"]),
    ("kustomize.config.k8s.io", &["Kustomization"]),
    ("machine.openshift.io", &["Machine", "MachineSet"]),
    ("machineconfiguration.openshift.io", &["MachineConfig", "MachineConfigPool"]),
    (
        "metal3.io",
        &[
            "BMCEventSubscription",
            "DataImage",
            "FirmwareSchema",
            "HardwareData",
            "HostFirmwareComponents",
            "HostFirmwareSettings",
            "HostUpdatePolicy",
            "PreprovisioningImage",
            "Provisioning",
        ],
    ),
    ("nmstate.io", &["NMState"]),
];

/// Whether `document` is an object of the kind `kind` that is expected beside hosts.
pub(super) fn is_expected(document: &Mapping, kind: &str) -> bool {
    let version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let group = version.split('/').next().unwrap_or_default();
    KINDS.iter().any(|(known, kinds)| *known == group && kinds.contains(&kind))
}
