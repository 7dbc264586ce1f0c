//! Bytes: images and what they are made of, against golden digests and properties.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_collect,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

mod boot_config;
mod boot_loaders;
mod boot_paths;
mod data;
mod flatcar;
mod formats;
mod image;
mod initramfs_image;
mod live;
mod live_media;
mod live_names;
mod many_files;
mod media;
mod menu_decisions;
mod minimal;
mod minimal_casper;
mod minimal_live_boot;
mod order;
mod partition_tables;
mod talos;
mod uki;
mod uki_credential;
mod uki_disk;
mod uki_signatures;
