//! The second step: the network that a host gets after the installation, with Open vSwitch's bridge `br-ex`, which
//! OVN-Kubernetes needs.
//!
//! The second step is NMState, too. A `MachineConfig` brings it to `/etc/nmstate/openshift/<host>.yml`, and the installed system
//! applies it. All other parts of dayone are about the first step. If the two do not agree, the host changes its address or
//! loses its network when it applies the second one.
//!
//! Sources: openshift/machine-config-operator, `templates/common/_base/files/nmstate-configuration.yaml` (which file a
//! host uses); openshift/openshift-docs, `modules/creating-manifest-file-customized-br-ex-bridge.adoc` (the
//! `MachineConfig`, reserved names, metric 48).

mod bridge;
mod check;
mod compare;
mod default_routes;
mod derive;
mod document;
mod machine_config;
mod read;
mod roles;
mod rules;

#[cfg(test)]
mod tests;

pub use check::check;
pub use derive::derive;
pub use document::{SecondStepDocument, ShortName, Target};
pub use machine_config::{MachineConfig, machine_configs};
pub use read::{FirstStep, SecondStepText, read, read_first_step};
pub use roles::{Role, RoleError};

/// The bridge to the external network for OVN-Kubernetes, and the interface of the same name with the host's addresses.
const BRIDGE: &str = "br-ex";

/// The directory of these documents on the installed system.
const DIRECTORY: &str = "/etc/nmstate/openshift";
