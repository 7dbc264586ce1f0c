//! Virtual machines: images that boot, and hosts that NetworkManager brings up.

mod arbitrary_profiles_loaded;
mod arm64;
mod boot_media;
mod boot_medium;
mod chain;
mod coreos_boot;
mod http_boot;
mod installers;
mod live_boot;
mod matrix;
mod minimal_iso;
mod network_manager;
mod network_manager_gateways;
mod network_manager_refusals;
mod other_architectures;
mod rack;
mod secure_boot;
mod talos;
mod uki;
mod uki_credential;
mod whole_installation;
