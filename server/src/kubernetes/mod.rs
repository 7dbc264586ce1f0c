//! dayone in Kubernetes: makes images for Metal3, in place of the image-customization-controller.
//!
//! Every replica watches the same objects and computes the same images from them. The replica that holds the Lease writes
//! the results. `watching` queues the objects that an event is about, `turns` keeps them in line, `reconcile` handles one object
//! of any kind, and `controller` runs them. `decide` decides what a PreprovisioningImage needs, and `preprovisioning_image` does it.
//! `data_image` does both for DataImages.

mod claim;
mod client;
mod configuration;
mod contention;
mod context;
mod controller;
mod data_image;
mod decide;
mod events;
mod failing;
mod installation_key;
mod key_rotation;
mod key_secret;
mod kind;
mod kubeconfig;
mod leadership;
mod metal3_version;
mod metrics;
mod owner_permission;
mod preprovisioning_image;
mod problem;
mod readiness;
mod reconcile;
mod reloading;
pub mod resources;
mod retries;
#[cfg(test)]
mod test_replica;
mod turns;
mod unready;
mod watching;

pub use client::{connect, counted};
pub use configuration::ConnectError;
pub use controller::{Config, Controller};
pub use installation_key::{InstallationKeyError, installation_key};
pub use key_rotation::{KeySecretApi, RotateSecretError};
pub use key_secret::{KeySchedule, KeySecret};
pub use kubeconfig::kubeconfig_files;
pub use leadership::Leadership;
pub use metal3_version::with_metal3_version;
pub use metrics::KubernetesMetrics;
