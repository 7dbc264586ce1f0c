//! From a host's NMState to the bytes of its boot image.
//!
//! Data goes one way: documents → [`host::HostSpec`] → keyfiles → recipe → image. The library does no HTTP and
//! no asynchronous work, and reads neither a clock nor the environment: the same inputs give the same bytes.

pub mod base;
mod base64_text;
pub mod boot_config;
pub mod boot_medium;
pub mod check;
pub mod compression;
pub mod cpio;
pub mod data_image;
pub mod delivery;
pub mod digest;
pub mod disk;
mod family;
pub mod host;
pub mod ignition;
pub mod image;
pub mod initramfs;
pub mod input;
pub mod iso;
pub mod kernel_arguments;
pub mod layout;
pub mod manifests;
mod members;
pub mod network;
pub mod overlay;
mod parallel;
pub mod recipe;
pub mod report;
pub mod second_step;
pub mod source;
mod text;
pub mod topology;
mod yaml_text;
