//! From a recipe and a base to an image: which bytes stand where. Nothing is read and nothing is written here; the
//! plan follows from the recipe and from what probing the base has found.

mod changes;
mod coreos;
mod data;
mod disk;
mod kernel_initrd;
mod live;
mod options;

use std::collections::BTreeMap;

pub use changes::Change;

use crate::base::live::{Firmware, NotCustomisable, UnreachedPath, UnusableInitrd};
use crate::base::{Base, BaseIdentity, Format, IsoBase, IsoSystem};
use crate::boot_config::BootConfigError;
use crate::boot_medium::BootMediumError;
use crate::compression::CompressionError;
use crate::data_image::DataImageError;
use crate::delivery::DeliveryError;
pub use crate::delivery::{DeliveredBy, EmbeddedFile};
use crate::disk::fat::FatError;
use crate::disk::gpt::GptError;
use crate::ignition::UserConfig;
use crate::iso::coreos::GrowthError;
use crate::iso::edit::EditError;
use crate::kernel_arguments::{KernelArgumentError, KernelArguments};
use crate::overlay::{Overlay, OverlayError};
use crate::recipe::{Recipe, RootfsUrl};
use vocabulary::report::{DocumentPath, Report};

/// Why an image cannot be made. Each is the user's to mend, but for `Overlay`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The recipe was written for another base.
    #[error("the recipe is for the base {wanted}, and this is {found}")]
    OtherBase {
        /// The recipe's base.
        wanted: BaseIdentity,
        /// The base that was handed over.
        found: BaseIdentity,
    },
    /// The base cannot become an image of this format.
    #[error("dayone cannot make an image of format '{format}' from this base: {reason}")]
    Format {
        /// What was asked for.
        format: Format,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// The base carries a configuration already.
    #[error(
        "the base already carries a configuration ({0}); use the image as it was published, or allow dayone to replace \
         the configuration"
    )]
    Customised(String),
    /// The base's system cannot get what is to be added.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// The archive does not fit as it is and could not be compressed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The kernel arguments cannot be changed so.
    #[error(transparent)]
    KernelArguments(#[from] KernelArgumentError),
    /// It does not go into the base's embed areas, nor into larger ones.
    #[error(transparent)]
    Growth(#[from] GrowthError),
    /// An ISO whose minimal one is not known.
    #[error("dayone cannot make a minimal ISO from this base: {0}")]
    NoMinimalIso(String),
    /// Something that was asked for and would change nothing.
    #[error("{what} has no effect on this image: {reason}")]
    NoEffect {
        /// What.
        what: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// An ISO that gives no images.
    #[error("this ISO cannot be customised: {0}")]
    NotCustomisable(#[from] NotCustomisable),
    /// What firmware starts by default is nothing that can be changed.
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
    /// What firmware starts by default has an initramfs that gets nothing, while others do.
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
        /// Why it gets nothing.
        reason: String,
    },
    /// An initramfs on an ISO that cannot be extended.
    #[error("the initrd {path} cannot be extended: {reason}")]
    Initrd {
        /// Its path.
        path: String,
        /// Why.
        reason: UnusableInitrd,
    },
    /// The boot menus cannot be changed so.
    #[error(transparent)]
    BootConfig(#[from] BootConfigError),
    /// Two boot loaders read one file, each as a menu of its own.
    #[error(
        "the boot menus {} and {} are the same file on the ISO, and two boot loaders read it in different ways: no \
         change suits both of them",
        .0[0],
        .0[1]
    )]
    SharedMenu([String; 2]),
    /// The file system of an ISO cannot be changed so.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The EFI system partition cannot be changed so.
    #[error("in the EFI system partition: {0}")]
    Fat(#[from] FatError),
    /// A medium cannot be made around the kernel.
    #[error(transparent)]
    BootMedium(#[from] BootMediumError),
    /// No partition table can be laid over the ISO.
    #[error(transparent)]
    PartitionTable(#[from] GptError),
    /// A data drive that its readers would stumble over.
    #[error(transparent)]
    DataImage(#[from] DataImageError),
    /// The plan does not fit the base: a mistake in dayone.
    #[error("the image's plan does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
}

/// The name under which a file of an image is served and written.
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
    /// `boot.img`
    BootDisk,
    /// `data.iso`
    DataIso,
    /// `data.img`
    DataDisk,
}

impl FileName {
    /// Those that an image can be all about: it has one of them.
    pub const MAIN: [Self; 5] = [Self::BootIso, Self::BootDisk, Self::DataIso, Self::DataDisk, Self::Initrd];
}

// Letters, digits and a dot only: BMC firmware refuses more.
named_variants!(FileName {
    BootIso => "boot.iso",
    Kernel => "vmlinuz",
    Initrd => "initrd.img",
    Rootfs => "rootfs.img",
    BootDisk => "boot.img",
    DataIso => "data.iso",
    DataDisk => "data.img",
});

/// The kernel argument by which a CoreOS live initramfs finds its root file system when there is no medium.
const COREOS_ROOTFS_ARGUMENT: &str = "coreos.live.rootfs_url";

fn names_rootfs(arguments: &KernelArguments) -> bool {
    arguments.iter().any(|argument| argument.split('=').next() == Some(COREOS_ROOTFS_ARGUMENT))
}

/// An image, planned.
#[derive(Debug, Clone)]
pub struct Image {
    /// Its files.
    pub files: BTreeMap<FileName, Overlay>,
    /// What is embedded in it.
    pub embedded: Vec<EmbeddedFile>,
    /// The kernel arguments of its boot entries. Where a boot loader of the user's own starts it (format `initrd`),
    /// those that it needs.
    pub kernel_arguments: Option<String>,
    /// The kernel argument that must name the address of [`FileName::Rootfs`], where the system fetches it from there.
    pub rootfs_argument: Option<&'static str>,
    /// What it changes of the base.
    pub changes: Vec<Change>,
    /// What the user should know about it.
    pub report: Report,
}

impl Image {
    /// Plans the image that `recipe` describes over `base`, whose identity is `identity`.
    pub fn plan(recipe: &Recipe, base: &Base, identity: BaseIdentity) -> Result<Self, ImageError> {
        Self::plan_at(recipe, base, identity, None)
    }

    /// Plans an image that is served, so that it can name the URL of its own `rootfs.img`.
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
        base.check_format(recipe.format).map_err(|reason| ImageError::Format { format: recipe.format, reason })?;
        let mut image = match base {
            Base::Iso(iso) if recipe.format == Format::Usb => disk::plan(recipe, iso, rootfs_url),
            Base::Iso(iso) => Self::plan_iso(recipe, iso, rootfs_url),
            Base::KernelInitrd(base) => kernel_initrd::plan(recipe, base, rootfs_url),
            Base::Nothing => data::plan(recipe),
        }?;
        for key in recipe.ignition.iter().flat_map(UserConfig::unused_keys) {
            let message = format!("has {key}, which its spec does not know: Ignition will ignore it");
            image.report.warning("ignition-unused-key", &DocumentPath::document("ignition"), message);
        }
        Ok(image)
    }

    fn plan_iso(recipe: &Recipe, base: &IsoBase, rootfs_url: Option<&RootfsUrl>) -> Result<Self, ImageError> {
        match &base.system {
            IsoSystem::Coreos(system) => coreos::plan(recipe, base, system, rootfs_url),
            IsoSystem::Live(live) => live::plan(recipe, base, live),
            IsoSystem::Other(reason) => Err(reason.clone().into()),
        }
    }

    /// The file that the image is all about: the ISO, the disk, or the initramfs.
    pub fn main_file(&self) -> Option<(FileName, &Overlay)> {
        let name = FileName::MAIN.into_iter().find(|name| self.files.contains_key(name))?;
        self.files.get(&name).map(|file| (name, file))
    }
}
