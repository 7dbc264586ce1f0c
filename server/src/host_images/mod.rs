//! Images of hosts, made of what the environment says and of one host's network data: for Metal3's
//! PreprovisioningImages, and for the static server.

pub mod discovery;
pub mod kernel_arguments;
mod request;

pub use request::{BuildError, HostFormat, ImageRequest, NetworkData, PublishedImage};
