//! Base images: what they are, and which images dayone can make from them.

mod disk;
mod format;
mod iso;
mod kernel_initrd;
pub mod live;
mod loaders;
mod packed;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use disk::DiskBase;
pub use format::{Format, UnknownFormat};
pub(crate) use iso::{BIOS_ONLY_FROM_CD, NOT_HYBRID};
pub use iso::{CUT_OFF_BY_CD_EMULATION, CoreosBase, DiskTable, IsoBase, IsoSystem, LiveFiles};
pub use kernel_initrd::KernelInitrdBase;
pub use loaders::BootLoaders;
pub use packed::Packed;

use crate::boot_medium::{BootMediumError, EspError};
pub use crate::delivery::DeliveryProfile;
use crate::digest::Digest;
use crate::disk::IncompleteDisk;
use crate::initramfs::{InitramfsError, StopReason};
use crate::iso::IsoError;
use crate::iso::coreos::CoreosIsoError;
use crate::kernel_arguments::{KernelArgumentEdits, KernelArgumentError};
pub use crate::source::Role;
use crate::source::{Source, Sources};
use vocabulary::network_files::NetworkManagerVersion;

/// Why other bases than CoreOS live ISOs have no minimal ISO.
const ONLY_LIVE_IS_MINIMAL: &str = "only a live ISO can become a minimal ISO";
/// Why no base has a data image.
const DATA_HAS_NO_BASE: &str = "a data image has no base";

/// Why files cannot be a base.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// There is neither an ISO nor an initrd.
    #[error("a base needs an ISO or an initrd")]
    NoFiles,
    /// A file cannot be read.
    #[error("the {0} cannot be read: {1}")]
    Read(Role, #[source] io::Error),
    /// The ISO is not an ISO 9660 image, or is damaged.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// The end of the disk image is missing.
    #[error(transparent)]
    Disk(#[from] IncompleteDisk),
    /// The file must be unpacked first.
    #[error(transparent)]
    Packed(#[from] Packed),
    /// The disk has sectors that dayone does not read.
    #[error("it is the image of a disk with sectors of 4096 bytes: use the image for sectors of 512 bytes")]
    LargeSectors,
    /// The embed areas of a CoreOS live ISO are damaged.
    #[error(transparent)]
    Coreos(#[from] CoreosIsoError),
    /// The initrd is not an initramfs, or cannot be read to its end.
    #[error("the initrd cannot be used: {0}")]
    Initramfs(#[from] InitramfsError),
    /// The ESP is not an EFI system partition, or has nothing to start.
    #[error(transparent)]
    Esp(#[from] EspError),
    /// The BIOS boot loader is unknown or incomplete.
    #[error(transparent)]
    BootLoader(BootMediumError),
    /// A part of a boot loader is too large.
    #[error("the {role} has {size} bytes; no boot loader has more than {limit}")]
    BootLoaderTooLarge {
        /// The part.
        role: Role,
        /// Its length in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The kernel is not a kernel.
    #[error("the kernel is not a bootable kernel image: {0}")]
    Kernel(&'static str),
}

/// The identity of a base: a SHA-256 over the digests of its files. Two bases with the same bytes have the same identity,
/// whatever their names and paths are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BaseIdentity(Digest);

impl BaseIdentity {
    /// Computes the identity of the base that consists of files with these SHA-256 digests.
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

/// A base that dayone has examined.
#[derive(Debug, Clone)]
pub enum Base {
    /// A bootable ISO.
    Iso(IsoBase),
    /// The image of a disk with an EFI system partition.
    Disk(DiskBase),
    /// A kernel and an initramfs.
    KernelInitrd(KernelInitrdBase),
    /// No files: a data image has only its recipe.
    Nothing,
}

impl Base {
    /// Examines the files of a base. With a [`Role::Iso`] the base is that ISO or disk; otherwise it needs a [`Role::Initrd`].
    pub fn probe(files: &dyn Sources) -> Result<Self, BaseError> {
        match (files.source(Role::Iso), files.source(Role::Initrd)) {
            (Some(iso), _) => match IsoBase::probe(iso) {
                Err(BaseError::Iso(error @ IsoError::NotIso { .. })) => match DiskBase::probe(iso)? {
                    Some(disk) => Ok(Self::Disk(disk)),
                    None => Err(unpack_first(Role::Iso, iso)?.unwrap_or(BaseError::Iso(error))),
                },
                probed => probed.map(Self::Iso),
            },
            (None, Some(initrd)) => match KernelInitrdBase::probe(files, initrd) {
                Err(BaseError::Initramfs(
                    error @ (InitramfsError::NotAnInitramfs(_)
                    | InitramfsError::Unreadable { offset: 0, reason: StopReason::Unsupported(_) }),
                )) => Err(unpack_first(Role::Initrd, initrd)?.unwrap_or(BaseError::Initramfs(error))),
                probed => probed.map(Self::KernelInitrd),
            },
            (None, None) => Err(BaseError::NoFiles),
        }
    }

    /// The delivery profile of its system, as detected.
    pub fn profile(&self) -> DeliveryProfile {
        match self {
            Self::Iso(base) => match &base.system {
                IsoSystem::Coreos(_) => DeliveryProfile::Coreos,
                IsoSystem::Live(live) => live.profile(),
                IsoSystem::Other(_) => DeliveryProfile::Unknown,
            },
            Self::Disk(base) => base.profile(),
            Self::KernelInitrd(base) => base.profile,
            Self::Nothing => DeliveryProfile::Unknown,
        }
    }

    /// The kernel arguments with which its systems start: those of the boot entries with these titles or ids. If there are none, those of
    /// all boot entries and unified kernel images. Those of a CoreOS live ISO are not among them.
    pub fn kernel_arguments(&self, boot_entries: &BTreeSet<String>) -> Vec<&str> {
        let live = match self {
            Self::Iso(IsoBase { system: IsoSystem::Live(live), .. }) => Some(live),
            Self::Disk(base) => base.system.as_deref().ok(),
            _ => None,
        };
        live.map(|live| live.kernel_arguments(boot_entries)).unwrap_or_default()
    }

    /// The changes to the kernel arguments since the base was published. Only CoreOS live ISOs record them; for other bases
    /// the result is empty.
    pub fn changed_kernel_arguments(&self) -> Result<KernelArgumentEdits, KernelArgumentError> {
        let areas = match self {
            Self::Iso(IsoBase { system: IsoSystem::Coreos(coreos), .. }) => coreos.areas.kernel_arguments(),
            _ => None,
        };
        let Some(areas) = areas else { return Ok(KernelArgumentEdits::default()) };
        KernelArgumentEdits::between(areas.default(), areas.current())
    }

    /// Verifies the minimal ISO of a CoreOS live ISO, which [`probe`](Self::probe) does not read: some hundred MB. If it does
    /// not match the checksum in the base, the base loses that format.
    pub fn verify(&mut self, files: &dyn Sources) {
        if let Some((coreos, iso)) = self.coreos(files) {
            coreos.verify(iso);
        }
    }

    fn coreos<'s>(&mut self, files: &'s dyn Sources) -> Option<(&mut CoreosBase, &'s dyn Source)> {
        match self {
            Self::Iso(IsoBase { system: IsoSystem::Coreos(coreos), .. }) => Some((coreos, files.source(Role::Iso)?)),
            _ => None,
        }
    }

    /// Looks for NetworkManager and for drivers in the initramfs of a CoreOS live ISO, which [`probe`](Self::probe) does not unpack:
    /// some hundred MB.
    pub fn survey_initramfs(&mut self, files: &dyn Sources) {
        if let Some((coreos, iso)) = self.coreos(files) {
            coreos.survey_initramfs(iso);
        }
    }

    /// The release of NetworkManager in its initramfs, if known. If there are several initramfs images, all must have the same
    /// release. For a CoreOS live ISO, call [`survey_initramfs`](Self::survey_initramfs) first.
    pub fn network_manager_version(&self) -> Option<NetworkManagerVersion> {
        match self {
            Self::Iso(base) => match &base.system {
                IsoSystem::Coreos(coreos) => coreos.network_manager_version,
                IsoSystem::Live(live) => live.network_manager_version(),
                IsoSystem::Other(_) => None,
            },
            Self::Disk(base) => base.system.as_ref().ok().and_then(|live| live.network_manager_version()),
            Self::KernelInitrd(base) => base.network_manager_version,
            Self::Nothing => None,
        }
    }

    /// Whether the system fetches its root file system over the network if it boots an image of this format.
    pub fn fetches_rootfs(&self, format: Format) -> bool {
        match self {
            Self::Iso(_) => format == Format::MinimalIso,
            Self::KernelInitrd(base) => {
                matches!(format, Format::Iso | Format::Usb) && base.profile == DeliveryProfile::Coreos
            }
            Self::Disk(_) | Self::Nothing => false,
        }
    }

    /// Whether an image of this format has a root file system beside it that the system can fetch.
    pub fn has_rootfs_to_fetch(&self, format: Format) -> bool {
        let has_rootfs = match self {
            Self::Iso(_) => true,
            Self::Disk(_) | Self::Nothing => false,
            Self::KernelInitrd(base) => base.rootfs_size.is_some(),
        };
        has_rootfs && self.fetches_rootfs(format)
    }

    /// An error with the reason if bases of this kind have no images of the format. Planning the image finds out whether
    /// this base has everything that the format needs.
    pub(crate) fn check_format(&self, format: Format) -> Result<(), &'static str> {
        match (self, format) {
            (Self::KernelInitrd(base), format) => base.check_format(format),
            (Self::Disk(_), format) => DiskBase::check_format(format),
            (Self::Iso(_), Format::Data) => Err(DATA_HAS_NO_BASE),
            (Self::Iso(IsoBase { system: IsoSystem::Other(_), .. }), _) => Ok(()),
            (Self::Iso(base), Format::Usb) => base.disk.check(),
            (Self::Iso(_) | Self::Nothing, _) => Ok(()),
        }
    }

    /// The formats that images of this base can have.
    pub fn formats(&self) -> Vec<Format> {
        match self {
            Self::Iso(base) => base.formats(),
            Self::Disk(base) => base.formats(),
            Self::KernelInitrd(base) => base.formats(),
            Self::Nothing => vec![Format::Data],
        }
    }
}

/// The error of a file that must be unpacked first.
fn unpack_first(role: Role, source: &dyn Source) -> Result<Option<BaseError>, BaseError> {
    let packed = Packed::of(source).map_err(|error| BaseError::Read(role, error))?;
    Ok(packed.map(BaseError::Packed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;

    #[test]
    fn a_disk_with_large_sectors_is_named() {
        let mut disk = vec![0_u8; 1 << 17];
        // The protective entry of the MBR, from the second sector on.
        (disk[446 + 4], disk[446 + 8], disk[446 + 12]) = (0xEE, 1, 31);
        disk[510..512].copy_from_slice(&[0x55, 0xAA]);
        let refused = |disk: &[u8]| Base::probe(&(Role::Iso, disk.to_vec())).unwrap_err();
        assert!(matches!(refused(&disk), BaseError::Iso(IsoError::NotIso { .. })));
        disk[4096..4104].copy_from_slice(b"EFI PART");
        let error = refused(&disk).to_string();
        assert!(error.contains("sectors of 4096 bytes: use the image for sectors of 512 bytes"), "{error}");
        let cut = refused(&disk[..4100]).to_string();
        assert!(cut.contains("not an ISO 9660 image"), "{cut}");
    }

    #[test]
    fn what_must_be_unpacked_first_is_named() {
        let disk = [vec![0; 448], b"disk".to_vec(), vec![0; 3000]].concat();
        let qcow2 = [b"QFI\xfb".to_vec(), vec![0; 3000]].concat();
        let refused = |role: Role, bytes: &Vec<u8>| {
            let files: BTreeMap<Role, Vec<u8>> = [(role, bytes.clone())].into();
            Base::probe(&files).unwrap_err().to_string()
        };
        for role in [Role::Iso, Role::Initrd] {
            let error = refused(role, &qcow2);
            assert!(error.contains("format qcow2: convert it with qemu-img convert -O raw"), "{error}");
            for (compression, name) in
                [(Compression::Xz, "xz"), (Compression::Gzip, "gzip"), (Compression::Zstd, "zstd")]
            {
                let error = refused(role, &compression.compress(&disk).unwrap());
                assert!(
                    error.contains(&format!("compressed with {name}")) && error.contains("decompress it"),
                    "{error}"
                );
            }
            // dayone does not read bzip2, so it cannot know what is inside. Any base can be given uncompressed.
            let error = refused(role, &b"BZh91AY&SY".repeat(400));
            assert!(error.contains("compressed with bzip2") && error.contains("decompress it"), "{error}");
        }
    }
}
