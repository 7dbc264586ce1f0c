//! Kinds of objects that users keep together with hosts, and that say nothing about a host's first network. dayone ignores them
//! without a finding.

use serde_yaml::{Mapping, Value};

/// API groups and their kinds. The core group is known by its version.
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

/// Whether `document` is an object of the kind `kind` that dayone ignores.
pub(in crate::input) fn is_known(document: &Mapping, kind: &str) -> bool {
    let version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let group = version.split('/').next().unwrap_or_default();
    KINDS.iter().any(|(known, kinds)| *known == group && kinds.contains(&kind))
}

/// The names of files that kustomize reads. It fills in the kind and the version of such a file if these are missing.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether a file with this name is a kustomization.
pub(in crate::input) fn is_kustomization(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| KUSTOMIZATIONS.contains(&file))
}
