//! Turns documents about hosts into the files of their networks.
//!
//! - [`input`] reads documents of many shapes to [`HostSpec`](vocabulary::host::HostSpec)s.
//! - [`network`] converts a host's network to NetworkManager keyfiles, or to another form, with the `nmstate` crate.
//! - [`model`] describes the network that a host will have, and [`topology`] shows it.
//! - [`check`] checks hosts by themselves and against each other.
//! - [`answers`] completes the answer files of installers with a host's network.
//! - [`initramfs_network`] finds the part of a host's network by which an initramfs can fetch its root file system.
//! - [`firmware_network`] finds the part of a host's network by which its firmware can fetch an image.
//! - [`second_step`] and [`manifests`] write documents for a cluster.
//!
//! ```
//! let documents = b"
//! interfaces:
//! - name: eth0
//!   type: ethernet
//!   state: up
//!   ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
//! ";
//! let input = hosts::input::read(documents);
//! let [host] = input.hosts.as_slice() else { panic!("one host") };
//! let (network, report) = hosts::network::convert(host);
//! assert!(report.is_empty());
//! let keyfile = &network.expect("there is one when there is no error").keyfiles[0];
//! assert_eq!(keyfile.name.as_str(), "eth0.nmconnection");
//! assert!(keyfile.content.contains("address0=192.0.2.10/24"));
//! ```
//!
//! This crate makes no images, uses no HTTP and no asynchronous code, and reads neither the clock nor the environment. The same
//! documents give the same files.

pub mod answers;
pub mod check;
pub mod every_host;
mod family;
pub mod firmware_network;
pub mod initramfs_network;
pub mod input;
mod keyfile_format;
pub mod manifests;
mod members;
pub mod model;
pub mod network;
mod nmstate_document;
pub mod parallel;
pub mod second_step;
pub mod topology;
mod yaml_text;
