//! Images: what is built is read by the tools that others read it with.

mod autoinstall;
mod boot_config;
mod boot_paths;
mod build;
mod coreos_architectures;
mod coreos_grown;
mod coreos_iso;
mod coreos_minimal;
mod data_drive;
mod data_image;
mod delivery;
mod disk;
mod fat_edit;
mod initramfs;
mod iso_author;
mod iso_edit;
mod iso_reader;
mod kernel_mounts;
mod kickstart;
mod layout;
mod live_boot_network;
mod live_iso;
mod preseed;
mod secure_boot;
mod third_party_isos;
mod uki;
