//! dayone in Kubernetes: images for Metal3, in the place of the image-customization-controller.
//!
//! Every replica watches the same objects and computes the same images from them; the one that holds the Lease writes
//! what came of it. `decide` says what a PreprovisioningImage needs, `reconcile` does it, `watching` says which objects to
//! look at, and `controller` holds them together; these two are for objects of every kind. `data_image` is the rest of it
//! for DataImages.

mod claim;
mod client;
mod context;
mod controller;
mod data_image;
mod decide;
mod events;
mod installation_key;
mod kind;
mod leadership;
mod look;
mod metrics;
mod owners;
mod problem;
pub mod provider;
mod readiness;
mod reconcile;
pub mod resources;
mod retries;
mod rivals;
mod waiting;
mod watching;

pub use client::{ConnectError, connect, counted};
pub use controller::{Config, Controller};
pub use installation_key::{InstallationKeyError, installation_key};
pub use leadership::Leadership;
pub use metrics::KubernetesMetrics;
