//! Plans images: the bytes of each file of an image, from a recipe and an examined base. Reads and writes nothing.

mod changes;
mod coreos;
mod data;
mod disk;
mod kernel_initrd;
mod live;
mod medium_edits;
mod minimal;
mod options;
mod sign;
mod talos_disk;
mod uki;

use std::collections::BTreeMap;

pub use changes::Change;
pub use minimal::{initramfs_server, rootfs_name};
pub use sign::sign;

use crate::authenticode::SignError;
use crate::base::live::{Firmware, NotCustomisable, UnreachedPath, UnusableInitrd};
use crate::base::{Base, BaseIdentity, Format, IsoBase, IsoSystem};
use crate::boot_config::{BootConfigError, CommandLineTooLong, check_length};
use crate::boot_medium::BootMediumError;
use crate::compression::CompressionError;
use crate::data_image::DataImageError;
use crate::delivery::{self, DeliveryError, NotFetched};
pub use crate::delivery::{DeliveredBy, EmbeddedFile};
use crate::disk::fat::FatError;
use crate::disk::gpt::GptError;
use crate::ignition::UserConfig;
use crate::iso::coreos::GrowthError;
use crate::iso::edit::EditError;
use crate::kernel_arguments::{KernelArgumentError, KernelArguments};
use crate::overlay::{Overlay, OverlayError};
use crate::recipe::{Recipe, RootfsUrl};
use crate::talos::TalosError;
use vocabulary::answers::Installer;
use vocabulary::report::{DocumentPath, Report};

/// Why dayone cannot make an image. The user can correct every error except `Overlay`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The recipe is for another base.
    #[error("the recipe is for the base {wanted}, and this is {found}")]
    OtherBase {
        /// The recipe's base.
        wanted: BaseIdentity,
        /// The given base.
        found: BaseIdentity,
    },
    /// The base has no image of this format.
    #[error("dayone cannot make an image of format '{format}' from this base: {reason}")]
    Format {
        /// The requested format.
        format: Format,
        /// Why not.
        reason: &'static str,
    },
    /// The base already carries a configuration. With what it carries.
    #[error(
        "the base already carries a configuration ({0}); use the image as it was published, or allow dayone to replace \
         the configuration"
    )]
    Customised(String),
    /// dayone cannot deliver the additions to the base's system.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// The archive does not fit uncompressed, and compressing it failed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// A change to the kernel arguments is impossible.
    #[error(transparent)]
    KernelArguments(#[from] KernelArgumentError),
    /// The kernel would not get all arguments.
    #[error(transparent)]
    CommandLine(#[from] CommandLineTooLong),
    /// The archive or the kernel arguments do not fit into the embed areas, which cannot grow enough.
    #[error(transparent)]
    Growth(#[from] GrowthError),
    /// The ISO has no usable description of a minimal ISO. With the reason.
    #[error("dayone cannot make a minimal ISO from this base: {0}")]
    NoMinimalIso(String),
    /// The system of a boot entry does not fetch its root file system.
    #[error(
        "dayone cannot make a minimal ISO from this base: boot entry {entry:?}: {reason}. Name the boot entries that the hosts start \
         (--boot-entry, boot_entry), or make the format 'iso'"
    )]
    NotFetched {
        /// The title of the entry.
        entry: String,
        /// Why.
        reason: NotFetched,
    },
    /// The base has no system that fetches its root file system, or its system does not accept the URL.
    #[error("dayone cannot make a minimal ISO from this base: {0}")]
    NothingFetched(#[from] NotFetched),
    /// The URL of the root file system is missing.
    #[error("the system fetches its root file system from a URL, which is missing; give it (--rootfs-url, rootfs_url)")]
    NoRootfsUrl,
    /// A part of the recipe would have no effect.
    #[error("{what} has no effect on this image: {reason}")]
    NoEffect {
        /// The part.
        what: &'static str,
        /// Why it has no effect.
        reason: &'static str,
    },
    /// dayone cannot customise this base.
    #[error("this base cannot be customised: {0}")]
    NotCustomisable(#[from] NotCustomisable),
    /// Firmware starts by default something that dayone cannot change.
    #[error(
        "{firmware} machines start {} by default, which {}: a host that boots this way gets no network configuration. \
         Use another ISO; if all hosts boot in another way, name the boot entries that they start (--boot-entry, \
         boot_entry)",
        .path.place,
        .path.reason
    )]
    BootPath {
        /// The firmware.
        firmware: Firmware,
        /// What it starts.
        path: UnreachedPath,
    },
    /// Firmware loads by default an initramfs that dayone cannot extend, while it can extend others.
    #[error(
        "{firmware} machines load the initrd {path} by default, which cannot get the network configuration: {reason}. \
         Use another ISO; if all hosts boot in another way, name the boot entries that they start (--boot-entry, \
         boot_entry)"
    )]
    DefaultInitrd {
        /// The firmware.
        firmware: Firmware,
        /// The path of the initramfs.
        path: String,
        /// Why dayone cannot extend it.
        reason: String,
    },
    /// dayone cannot extend an initramfs on an ISO.
    #[error("the initrd {path} cannot be extended: {reason}")]
    Initrd {
        /// Its path.
        path: String,
        /// Why.
        reason: UnusableInitrd,
    },
    /// dayone cannot write an addon for a unified kernel image.
    #[error("the unified kernel image {path} cannot get these additions: {reason}")]
    UnifiedKernelImage {
        /// Its path in the EFI system partition.
        path: String,
        /// Why.
        reason: String,
    },
    /// The addons of the image cannot be signed, or have other bytes than when they were signed.
    #[error("the addon for a unified kernel image: {0}")]
    AddonSignature(#[from] SignError),
    /// dayone cannot change the boot menus in this way.
    #[error(transparent)]
    BootConfig(#[from] BootConfigError),
    /// Two boot loaders read the same file as a menu. With the two names of the file.
    #[error(
        "the boot menus {} and {} are the same file on the ISO, and two boot loaders read it in different ways: no \
         change suits both of them",
        .0[0],
        .0[1]
    )]
    SharedMenu([String; 2]),
    /// dayone cannot edit the file system of the ISO in this way.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// dayone cannot edit the EFI system partition in this way.
    #[error("in the EFI system partition: {0}")]
    Fat(#[from] FatError),
    /// dayone cannot make a medium around the kernel.
    #[error(transparent)]
    BootMedium(#[from] BootMediumError),
    /// dayone cannot add a partition table to the ISO.
    #[error(transparent)]
    PartitionTable(#[from] GptError),
    /// dayone cannot write the META values of Talos in this way.
    #[error(transparent)]
    Talos(#[from] TalosError),
    /// The data drive would be invalid.
    #[error(transparent)]
    DataImage(#[from] DataImageError),
    /// The plan does not fit the base. This is a mistake in dayone.
    #[error("the image's plan does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
}

/// The name of a file of an image, on disk and in URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileName {
    /// `boot.iso`
    BootIso,
    /// `vmlinuz`
    Kernel,
    /// `initrd.img`
    Initrd,
    /// `rootfs.img`
    Rootfs,
    /// `rootfs.squashfs`: the same for live-boot, which sees from the ending what it fetches.
    RootSquashfs,
    /// `rootfs.iso`: the base, which casper fetches as a whole.
    RootIso,
    /// `boot.img`
    BootDisk,
    /// `data.iso`
    DataIso,
    /// `data.img`
    DataDisk,
}

impl FileName {
    /// The main files of images. Every image has exactly one of them.
    pub const MAIN: [Self; 5] = [Self::BootIso, Self::BootDisk, Self::DataIso, Self::DataDisk, Self::Initrd];
}

// Letters, digits and a dot only: BMC firmware refuses more.
named_variants!(FileName {
    BootIso => "boot.iso",
    Kernel => "vmlinuz",
    Initrd => "initrd.img",
    Rootfs => "rootfs.img",
    RootSquashfs => "rootfs.squashfs",
    RootIso => "rootfs.iso",
    BootDisk => "boot.img",
    DataIso => "data.iso",
    DataDisk => "data.img",
});

/// The kernel argument by which a CoreOS live initramfs finds its root file system when there is no medium.
const COREOS_ROOTFS_ARGUMENT: &str = "coreos.live.rootfs_url";

fn names_rootfs(arguments: &KernelArguments) -> bool {
    arguments.iter().any(|argument| argument.split('=').next() == Some(COREOS_ROOTFS_ARGUMENT))
}

/// Reports a medium from which CoreOS starts and then waits for ever.
fn warn_of_rootfs(report: &mut Report) {
    let message = format!(
        "has no URL, so the system cannot fetch it: give the URL of rootfs.img, or the kernel argument \
         {COREOS_ROOTFS_ARGUMENT}"
    );
    report.warning("rootfs-url-missing", &DocumentPath::document("rootfs"), message);
}

/// A planned image.
#[derive(Debug, Clone)]
pub struct Image {
    /// Its files.
    pub files: BTreeMap<FileName, Overlay>,
    /// The files that dayone puts into it.
    pub embedded: Vec<EmbeddedFile>,
    /// The kernel arguments of its boot entries. For the format `initrd`, the arguments that the user's boot loader must pass.
    pub kernel_arguments: Option<String>,
    /// The kernel argument for the URL of [`FileName::Rootfs`], if the system fetches that file.
    pub rootfs_argument: Option<&'static str>,
    /// Its changes to the base.
    pub changes: Vec<Change>,
    /// Warnings about the image.
    pub report: Report,
}

impl Image {
    /// Plans the image of a recipe over `base`, whose identity is `identity`.
    pub fn plan(recipe: &Recipe, base: &Base, identity: BaseIdentity) -> Result<Self, ImageError> {
        Self::plan_at(recipe, base, identity, None)
    }

    /// Plans an image that a server publishes. `rootfs_url` is the URL of its own root file system ([`rootfs_name`]).
    pub fn plan_at(
        recipe: &Recipe,
        base: &Base,
        identity: BaseIdentity,
        rootfs_url: Option<&RootfsUrl>,
    ) -> Result<Self, ImageError> {
        let recipe = recipe.arranged();
        let recipe = recipe.as_ref();
        if recipe.base != identity {
            return Err(ImageError::OtherBase { wanted: recipe.base, found: identity });
        }
        options::check(recipe, base)?;
        // No fix that the other errors suggest would help.
        if let Base::KernelInitrd(base) = base
            && let Some(problem) = base.problem()
        {
            return Err(problem.into());
        }
        base.check_format(recipe.format).map_err(|reason| ImageError::Format { format: recipe.format, reason })?;
        let mut image = match base {
            Base::Iso(iso) if recipe.format == Format::Usb => disk::plan(recipe, iso, rootfs_url),
            Base::Iso(iso) => Self::plan_iso(recipe, iso, rootfs_url).map(|planned| planned.image),
            Base::Disk(disk) => match (&disk.talos_meta, &disk.system) {
                (Some(meta), _) => talos_disk::plan(recipe, disk, meta),
                (None, Ok(live)) => {
                    live::plan(recipe, disk.size, Report::new(), live, None).map(|planned| planned.image)
                }
                (None, Err(reason)) => Err(reason.clone().into()),
            },
            Base::KernelInitrd(base) => kernel_initrd::plan(recipe, base, rootfs_url),
            Base::Nothing => data::plan(recipe),
        }?;
        if recipe.format == Format::Initrd {
            image.check_network_boot(None)?;
        }
        for key in recipe.ignition.iter().flat_map(UserConfig::unused_keys) {
            let message = format!("has {key}, which its spec does not know: Ignition will ignore it");
            image.report.warning("ignition-unused-key", &DocumentPath::document("ignition"), message);
        }
        match delivery::installer(&recipe.additions) {
            // The installer gets its network from that file.
            Some(Installer::Preseed) => image.report.forget("debian-installer"),
            // The system that follows is the installer's. Anaconda's and Agama's have NetworkManager, and Subiquity's needs none.
            Some(Installer::Kickstart | Installer::Autoinstall | Installer::Agama) => {
                image.report.forget("network-manager-assumed");
            }
            None => {}
        }
        Ok(image)
    }

    /// Fails if the kernel would not get all its arguments from iPXE, with this one behind those of the image. Under UEFI, iPXE
    /// also puts the kernel's name on the command line. dayone does not know what other loaders add in a network boot.
    pub fn check_network_boot(&self, last: Option<&str>) -> Result<(), ImageError> {
        // Arguments of a base may have quotes and more than one space between them.
        let arguments = self.kernel_arguments.as_deref().unwrap_or_default().split(' ');
        let added = format!("{} initrd={} ", FileName::Kernel, FileName::Initrd).len();
        Ok(check_length(added, &arguments.chain(last).collect::<Vec<_>>())?)
    }

    fn plan_iso(
        recipe: &Recipe,
        base: &IsoBase,
        rootfs_url: Option<&RootfsUrl>,
    ) -> Result<live::PlannedMedium, ImageError> {
        match &base.system {
            IsoSystem::Coreos(system) => Ok(coreos::plan(recipe, base, system, rootfs_url)?.into()),
            IsoSystem::Live(live) => {
                let minimal = live.minimal().ok().filter(|_| recipe.format == Format::MinimalIso);
                let report = base.report_at(minimal.map_or(base.size, |minimal| minimal.size));
                live::plan(recipe, base.size, report, live, rootfs_url)
            }
            IsoSystem::Other(reason) => Err(reason.clone().into()),
        }
    }

    /// The main file: the ISO, the disk, or the initramfs.
    pub fn main_file(&self) -> Option<(FileName, &Overlay)> {
        let name = FileName::MAIN.into_iter().find(|name| self.files.contains_key(name))?;
        self.files.get(&name).map(|file| (name, file))
    }
}
