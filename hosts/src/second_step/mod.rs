//! The second step: the network that a host gets after the installation, with the bridge `br-ex` of Open vSwitch that
//! OVN-Kubernetes needs.
//!
//! It is NMState, too, and applied by the installed system, which finds it at `/etc/nmstate/openshift/<host>.yml`: a
//! file that a `MachineConfig` brings. The first step is what every other part of dayone is about; the two must agree,
//! or the host changes its address, or loses its network, when the second one is applied.
//!
//! Sources: openshift/machine-config-operator, `templates/common/_base/files/nmstate-configuration.yaml` (which file a
//! host takes); openshift/openshift-docs, `modules/creating-manifest-file-customized-br-ex-bridge.adoc` (the
//! `MachineConfig`, reserved names, metric 48).

mod bridge;
mod check;
mod compare;
mod derive;
mod document;
mod machine_config;
mod read;
mod roles;
mod second_network;

#[cfg(test)]
mod tests;

pub use check::check;
pub use derive::derive;
pub use document::{SecondStepDocument, ShortName, Target};
pub use machine_config::{MachineConfig, machine_configs};
pub use read::{SecondStepText, read, read_first_step};
pub use roles::{Role, RoleError};

/// The bridge that OVN-Kubernetes takes for the host's way out, and the interface of the same name that has the host's
/// addresses.
const BRIDGE: &str = "br-ex";

/// Where the installed system looks for these documents.
const DIRECTORY: &str = "/etc/nmstate/openshift";
