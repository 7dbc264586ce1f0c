//! Adds files and kernel arguments to ISO images, initramfs images and disks without copying them.
//!
//! An image is an [`overlay`]: a list of ranges of files that never change, with a few KiB of new bytes in between. Making
//! an image costs what its new bytes cost. Serving it means reading at offsets, which any number of readers can do at once.
//! The same inputs give the same bytes. The crate has no HTTP and no asynchronous code, writes no files, and reads neither
//! the clock nor the environment.
//!
//! # Walk-through
//!
//! A base is anything that can be read at an offset ([`source::Source`]): bytes in memory, a file, another overlay. Patch it,
//! and read the result at any offset:
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
//! Appending to an initramfs works the same way. The kernel unpacks one archive after the other:
//!
//! ```
//! use imagelib::cpio::Archive;
//! use imagelib::initramfs::appendix;
//! use imagelib::overlay::{Overlay, Segment, Sizes};
//! use imagelib::source::Role;
//!
//! let initrd_size = 1000;
//! let mut archive = Archive::new();
//! archive.file("etc/hostname".parse()?, 0o644, "node-1\n")?;
//!
//! let segments = vec![
//!     Segment::base(Role::Initrd, 0..initrd_size),
//!     Segment::bytes(appendix(initrd_size, &archive)),
//! ];
//! let image = Overlay::concatenated(&Sizes::from([(Role::Initrd, initrd_size)]), segments)?;
//! assert!(image.size() > initrd_size && image.patch_size() < 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To add a file to an ISO, see `examples/edit_iso.rs`: [`iso::Volume::open`] reads the ISO, [`iso::edit::Editor`] plans the
//! patches, and an [`overlay::Overlay`] is the new ISO.
//!
//! # Modules
//!
//! These modules find out what to patch:
//!
//! - [`iso`] reads ISO 9660 with byte offsets. [`iso::edit`] adds and replaces files, [`iso::coreos`] fills the embed areas of
//!   CoreOS live ISOs, and [`iso::author`] makes new ISOs.
//! - [`cpio`] and [`initramfs`] read and write archives as the kernel reads them. [`disk`] edits GPT, MBR and FAT.
//! - [`boot_config`] finds and changes the boot entries of SYSLINUX, GRUB and systemd-boot.
//! - [`delivery`] finds out which system an initramfs starts, and where that system looks for its files.
//!
//! These modules make whole images from them: [`base::Base::probe`] examines a base, a [`recipe::Recipe`] is the canonical
//! form of everything that goes into an image, and [`image::Image::plan`] makes the overlays. [`layout`] tells which file of
//! an image a byte belongs to, [`secure_boot`] whether machines with Secure Boot start an image, [`ram_disk`] whether its system runs
//! from memory, [`minimal_iso`] whether its system fetches its root file system, and
//! [`medium_reads`] how many bytes of a medium a boot reads.

#[macro_use]
mod macros;

pub mod authenticode;
pub mod base;
mod base64_text;
pub mod boot_config;
pub mod boot_medium;
pub mod compression;
pub mod cpio;
pub mod data_image;
pub mod delivery;
pub mod disk;
mod fields;
pub mod ignition;
pub mod image;
pub mod initramfs;
pub mod iso;
pub mod kernel_arguments;
pub mod layout;
pub mod medium_reads;
pub mod minimal_iso;
pub mod overlay;
pub mod ram_disk;
pub mod recipe;
pub mod secure_boot;
pub mod talos;
pub mod uki;
mod url_server;

// All modules with types of this crate's own signatures, so that its users need no second dependency with the same version.
pub use vocabulary::{answers, digest, host, network_files, report, source, url_host};
