//! dayone in Kubernetes: images for Metal3, in the place of the image-customization-controller.
//!
//! Every replica watches the same objects and computes the same images from them; the one that holds the Lease writes
//! what came of it. `decide` says what an object needs, `reconcile` does it, `watching` says which objects to look at,
//! and `controller` holds them together.

mod client;
mod controller;
mod decide;
mod events;
mod leadership;
mod metrics;
mod problem;
pub mod provider;
mod readiness;
mod reconcile;
pub mod resources;
mod retries;
mod watching;

pub use client::counted;
pub use controller::{Config, Controller};
pub use leadership::Leadership;
pub use metrics::KubernetesMetrics;
