//! A base image: opened, understood and digested once, and never changed.

mod format;
mod iso;
mod kernel_initrd;
pub mod live;
mod loaders;

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use format::{Format, UnknownFormat};
pub(crate) use iso::NOT_HYBRID;
pub use iso::{CUT_OFF_BY_CD_EMULATION, CoreosBase, DiskTable, IsoBase, IsoSystem, LiveFiles};
pub use kernel_initrd::KernelInitrdBase;
pub use loaders::BootLoaders;

use crate::boot_medium::{BootMediumError, EspError};
pub use crate::delivery::DeliveryProfile;
use crate::digest::Digest;
use crate::initramfs::{InitramfsError, StopReason};
use crate::iso::IsoError;
use crate::iso::coreos::CoreosIsoError;
use crate::kernel_arguments::{KernelArgumentEdits, KernelArgumentError};
pub use crate::source::Role;
use crate::source::Sources;
use vocabulary::network_files::NetworkManagerVersion;

/// Why there is no minimal ISO of anything else.
const ONLY_COREOS_IS_MINIMAL: &str = "only a CoreOS live ISO becomes one";
/// Why there is no data image of a base.
const DATA_HAS_NO_BASE: &str = "a data image has no base";

/// Why something is not a base image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// Nothing that could be a base.
    #[error("a base is an ISO, or has an initrd")]
    NoFiles,
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
    /// The ESP is none, or starts nothing.
    #[error(transparent)]
    Esp(#[from] EspError),
    /// A part of a BIOS boot loader that is none.
    #[error(transparent)]
    BootLoader(BootMediumError),
    /// A file that is too long for a boot loader.
    #[error("the {role} has {size} bytes; no boot loader has more than {limit}")]
    BootLoaderTooLarge {
        /// What it is said to be.
        role: Role,
        /// Its length in bytes.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// Nothing that a boot loader would start.
    #[error("the kernel is not a bootable kernel image: {0}")]
    Kernel(&'static str),
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

/// A base that has been understood.
#[derive(Debug, Clone)]
pub enum Base {
    /// A bootable ISO.
    Iso(IsoBase),
    /// A kernel and an initramfs.
    KernelInitrd(KernelInitrdBase),
    /// No files at all: data images are made from nothing else than their recipe.
    Nothing,
}

impl Base {
    /// Looks into the files of a base and finds out what it is: an ISO, or a kernel and an initramfs with what they
    /// need.
    pub fn probe(files: &dyn Sources) -> Result<Self, BaseError> {
        match (files.source(Role::Iso), files.source(Role::Initrd)) {
            (Some(iso), _) => IsoBase::probe(iso).map(Self::Iso),
            (None, Some(initrd)) => KernelInitrdBase::probe(files, initrd).map(Self::KernelInitrd),
            (None, None) => Err(BaseError::NoFiles),
        }
    }

    /// The kind of its system, as far as it shows.
    pub fn profile(&self) -> DeliveryProfile {
        match self {
            Self::Iso(base) => match &base.system {
                IsoSystem::Coreos(_) => DeliveryProfile::Coreos,
                IsoSystem::Live(live) => live.profile(),
                IsoSystem::Other(_) => DeliveryProfile::Unknown,
            },
            Self::KernelInitrd(base) => base.profile,
            Self::Nothing => DeliveryProfile::Unknown,
        }
    }

    /// What somebody changed of the kernel arguments since the base was published. Bases that do not tell have none.
    pub fn changed_kernel_arguments(&self) -> Result<KernelArgumentEdits, KernelArgumentError> {
        let areas = match self {
            Self::Iso(IsoBase { system: IsoSystem::Coreos(coreos), .. }) => coreos.areas.kernel_arguments(),
            _ => None,
        };
        let Some(areas) = areas else { return Ok(KernelArgumentEdits::default()) };
        KernelArgumentEdits::between(areas.default(), areas.current())
    }

    /// Reads what probing has only looked into: the minimal ISO of a CoreOS live ISO, of some hundred MB, whose checksum
    /// is in the base. One that does not match it is no format of this base any more.
    pub fn verify(&mut self, files: &dyn Sources) {
        if let (Self::Iso(IsoBase { system: IsoSystem::Coreos(coreos), .. }), Some(iso)) =
            (self, files.source(Role::Iso))
        {
            coreos.verify(iso);
        }
    }

    /// Looks for NetworkManager where probing has not: in the initramfs of a CoreOS live ISO, of some hundred MB when it is
    /// unpacked.
    pub fn find_network_manager(&mut self, files: &dyn Sources) {
        if let (Self::Iso(IsoBase { system: IsoSystem::Coreos(coreos), .. }), Some(iso)) =
            (self, files.source(Role::Iso))
        {
            coreos.find_network_manager(iso);
        }
    }

    /// The release of NetworkManager in its initramfs, as far as it shows; of several, the one that all of them have. Of a
    /// CoreOS live ISO it is known once it was looked for.
    pub fn network_manager_version(&self) -> Option<NetworkManagerVersion> {
        match self {
            Self::Iso(base) => match &base.system {
                IsoSystem::Coreos(coreos) => coreos.network_manager_version,
                IsoSystem::Live(live) => live.network_manager_version(),
                IsoSystem::Other(_) => None,
            },
            Self::KernelInitrd(base) => base.network_manager_version,
            Self::Nothing => None,
        }
    }

    /// Whether the system of an image of this format fetches its root file system over the network.
    pub fn fetches_rootfs(&self, format: Format) -> bool {
        match self {
            Self::Iso(_) => format == Format::MinimalIso,
            Self::KernelInitrd(base) => {
                matches!(format, Format::Iso | Format::Usb) && base.profile == DeliveryProfile::Coreos
            }
            Self::Nothing => false,
        }
    }

    /// Whether what the system fetches so is a file of the image, from beside which it comes where nothing else is said.
    pub fn has_rootfs_to_fetch(&self, format: Format) -> bool {
        let there = match self {
            Self::Iso(_) => true,
            Self::Nothing => false,
            Self::KernelInitrd(base) => base.rootfs_size.is_some(),
        };
        there && self.fetches_rootfs(format)
    }

    /// Why the kind of this base gives no image of a format. Whether a base of that kind is sound, and has all that it
    /// needs, shows when the image is planned.
    pub(crate) fn check_format(&self, format: Format) -> Result<(), &'static str> {
        match (self, format) {
            (Self::KernelInitrd(base), format) => base.check_format(format),
            (Self::Iso(_), Format::Data) => Err(DATA_HAS_NO_BASE),
            (Self::Iso(IsoBase { system: IsoSystem::Live(_), .. }), Format::MinimalIso) => Err(ONLY_COREOS_IS_MINIMAL),
            (Self::Iso(IsoBase { system: IsoSystem::Other(_), .. }), _) => Ok(()),
            (Self::Iso(IsoBase { disk: DiskTable::Impossible(reason), .. }), Format::Usb) => Err(reason),
            (Self::Iso(_) | Self::Nothing, _) => Ok(()),
        }
    }

    /// The formats that images of this base can have.
    pub fn formats(&self) -> Vec<Format> {
        match self {
            Self::Iso(base) => base.formats(),
            Self::KernelInitrd(base) => base.formats(),
            Self::Nothing => vec![Format::Data],
        }
    }
}
