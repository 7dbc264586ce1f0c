//! A base image: opened, understood and digested once, and never changed.

mod iso;
mod kernel_initrd;

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use iso::{IsoBase, IsoSystem, LiveFiles};
pub use kernel_initrd::{DeliveryProfile, KernelInitrdBase};

use crate::digest::Digest;
use crate::initramfs::{InitramfsError, StopReason};
use crate::iso::IsoError;
use crate::iso::coreos::CoreosIsoError;
use crate::source::Source;

/// Why something is not a base image.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// Could not be read.
    #[error("the {0} cannot be read: {1}")]
    Read(Role, #[source] io::Error),
    /// Not an ISO 9660 image.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// A CoreOS image whose embed areas are not what they should be.
    #[error(transparent)]
    Coreos(#[from] CoreosIsoError),
    /// Not an initramfs.
    #[error("the initrd is no initramfs: {0}")]
    Initramfs(#[from] InitramfsError),
    /// An initramfs that cannot be read to its end: either the kernel could not either, so that what is added behind it
    /// would be lost, or dayone cannot know which of its directories are symbolic links.
    #[error("the initrd can be read only up to offset {offset}: {reason}")]
    UnreadableInitramfs {
        /// Where the archive begins that cannot be read, in bytes.
        offset: u64,
        /// Why not.
        reason: StopReason,
    },
    /// Nothing that a boot loader would start.
    #[error("the kernel is not a bootable kernel image: {0}")]
    Kernel(&'static str),
}

/// What a file of a base is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A bootable ISO 9660 image.
    Iso,
    /// A Linux kernel.
    Kernel,
    /// An initramfs.
    Initrd,
    /// The root file system that a live initramfs fetches.
    Rootfs,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iso => "ISO",
            Self::Kernel => "kernel",
            Self::Initrd => "initrd",
            Self::Rootfs => "rootfs",
        })
    }
}

/// What kind of image is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A bootable ISO, for virtual media.
    Iso,
    /// A kernel and an initramfs, for network boot.
    Initrd,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iso => "iso",
            Self::Initrd => "initrd",
        })
    }
}

/// The identity of a base: a digest over the digests of its files. Two bases with the same bytes are the same base,
/// whatever they are called and wherever they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BaseIdentity(Digest);

impl BaseIdentity {
    /// The identity of the base that consists of files with these digests.
    pub fn of(files: &BTreeMap<Role, Digest>) -> Self {
        let mut hasher = Sha256::new_with_prefix(b"dayone base 1\0");
        for (role, digest) in files {
            hasher.update(role.to_string());
            hasher.update([0]);
            hasher.update(digest.as_bytes());
        }
        Self(Digest::finish(hasher))
    }
}

impl fmt::Display for BaseIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The files that a base is made of, as somebody hands them over.
#[derive(Clone, Copy)]
pub enum BaseSources<'a> {
    /// A bootable ISO.
    Iso(&'a dyn Source),
    /// A kernel, its initramfs, and the root file system where the initramfs fetches one.
    KernelInitrd {
        /// The kernel.
        kernel: Option<&'a dyn Source>,
        /// The initramfs.
        initrd: &'a dyn Source,
        /// The root file system.
        rootfs: Option<&'a dyn Source>,
    },
}

/// A base that has been understood.
#[derive(Debug, Clone)]
pub enum Base {
    /// A bootable ISO.
    Iso(IsoBase),
    /// A kernel and an initramfs.
    KernelInitrd(KernelInitrdBase),
}

impl Base {
    /// Looks into the files of a base and finds out what it is.
    pub fn probe(sources: BaseSources<'_>) -> Result<Self, BaseError> {
        match sources {
            BaseSources::Iso(iso) => IsoBase::probe(iso).map(Self::Iso),
            BaseSources::KernelInitrd { kernel, initrd, rootfs } => {
                KernelInitrdBase::probe(kernel, initrd, rootfs).map(Self::KernelInitrd)
            }
        }
    }

    /// The formats that images of this base can have.
    pub fn formats(&self) -> Vec<Format> {
        match self {
            Self::Iso(base) => base.formats(),
            Self::KernelInitrd(_) => vec![Format::Initrd],
        }
    }
}
