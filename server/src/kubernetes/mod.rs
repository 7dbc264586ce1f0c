//! dayone in Kubernetes: images for Metal3, in the place of the
//! image-customization-controller.

pub mod provider;
pub mod resources;
