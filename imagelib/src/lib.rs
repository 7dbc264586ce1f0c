//! Bytes of boot images: an ISO, an initramfs or a disk with something added to it, without a copy of it.
//!
//! An image is an [`overlay`]: a list of ranges of files that do not change, and a few KiB of bytes of its own. To make one
//! costs what is added costs; to serve one is to read at an offset, by any number of readers. The same inputs give the same
//! bytes. There is no HTTP and no asynchronous work here, and neither a clock nor the environment is read.
//!
//! # A walk-through
//!
//! A base is anything that can be read at an offset ([`source::Source`]). With patches it is an image:
//!
//! ```
//! use imagelib::overlay::{Overlay, Patch};
//! use imagelib::source::Role;
//!
//! let base: &[u8] = b"kernel quiet root=live:CDLABEL=x";
//! let patches = vec![Patch::bytes(7, "debug")];
//! let image = Overlay::patched(Role::Iso, base.len() as u64, patches)?;
//!
//! let mut middle = [0; 10];
//! image.read_at(&(Role::Iso, base), 5, &mut middle)?;
//! assert_eq!(&middle, b"l debug ro");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is to be patched, the other modules say:
//!
//! - [`iso`] reads ISO 9660 with byte offsets; [`iso::edit`] adds and replaces files (`examples/edit_iso.rs`),
//!   [`iso::coreos`] fills the embed areas of CoreOS' images, [`iso::author`] makes new images.
//! - [`cpio`] and [`initramfs`] append archives to an initramfs as the kernel reads them; [`disk`] edits GPT, MBR and FAT.
//! - [`boot_config`] finds and changes the boot entries of SYSLINUX, GRUB and systemd-boot; [`delivery`] knows which system
//!   an initramfs starts, and where that looks for its files.
//!
//! And from the top: [`base::Base::probe`] says what a base is, a [`recipe::Recipe`] is the canonical form of all that goes
//! into an image, and [`image::Image::plan`] makes the overlays of both. [`layout`] says which file of an image a byte
//! belongs to.

pub mod base;
mod base64_text;
pub mod boot_config;
pub mod boot_medium;
pub mod compression;
pub mod cpio;
pub mod data_image;
pub mod delivery;
pub mod disk;
pub mod ignition;
pub mod image;
pub mod initramfs;
pub mod iso;
pub mod kernel_arguments;
pub mod layout;
pub mod overlay;
pub mod recipe;

pub use vocabulary::{digest, source};
