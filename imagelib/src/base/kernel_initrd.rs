//! Bases that are a kernel and an initramfs, or the initramfs alone.

use super::live::NotCustomisable;
use super::{BaseError, BootLoaders, DATA_HAS_NO_BASE, Format, ONLY_LIVE_IS_MINIMAL, Role};
use crate::boot_medium::{Esp, SYSTEMD_BOOT_ON_ISO};
use crate::delivery::{self, Carried, DeliveryProfile, Detected};
use crate::initramfs::{self, Tree};
use crate::overlay::Sizes;
use crate::source::{Source, Sources};
use vocabulary::network_files::NetworkManagerVersion;

/// A kernel and an initramfs.
#[derive(Debug, Clone)]
pub struct KernelInitrdBase {
    /// Length of the initramfs in bytes.
    pub initrd_size: u64,
    /// Length of the kernel in bytes. `None` if something else starts the initramfs.
    pub kernel_size: Option<u64>,
    /// Length of the root file system in bytes.
    pub rootfs_size: Option<u64>,
    /// Where its system takes its configuration from, as detected.
    pub profile: DeliveryProfile,
    /// The signs of the profile, as lines for people to read.
    pub evidence: Vec<String>,
    /// Whether NetworkManager is in the initramfs. Without it, keyfiles take effect only if the root file system that the
    /// system fetches later has NetworkManager.
    pub has_network_manager: bool,
    /// The release of NetworkManager in the initramfs, if known.
    pub network_manager_version: Option<NetworkManagerVersion>,
    /// Whether the initramfs is customised already.
    pub customised: bool,
    carried: Carried,
    /// The file system that the initramfs unpacks to, which decides where dayone can add files.
    pub tree: Tree,
    /// The boot loaders for media around the kernel.
    pub loaders: Box<BootLoaders>,
}

impl KernelInitrdBase {
    pub(super) fn probe(files: &dyn Sources, initrd: &dyn Source) -> Result<Self, BaseError> {
        let kernel = files.source(Role::Kernel);
        if let Some(kernel) = kernel {
            check_kernel(kernel)?;
        }
        let survey = initramfs::survey(initrd, &delivery::release_files(), delivery::RELEASE_FILE_LIMIT)?;
        let Detected { profile, evidence } = delivery::detect(&survey);
        // Behind a part that cannot be read, an archive may be lost, or meet symbolic links that dayone does not know.
        survey.outcome.complete()?;
        let tree = survey.tree;
        let carried = Carried::of(profile, &tree);
        Ok(Self {
            initrd_size: initrd.size(),
            kernel_size: kernel.map(Source::size),
            rootfs_size: files.source(Role::Rootfs).map(Source::size),
            profile,
            evidence,
            has_network_manager: delivery::has_network_manager(&tree),
            network_manager_version: delivery::network_manager_version(&tree),
            customised: carried != Carried::Nothing,
            carried,
            tree,
            loaders: Box::new(BootLoaders::probe(files)?),
        })
    }

    /// Why dayone cannot make images of this base.
    pub fn problem(&self) -> Option<NotCustomisable> {
        (self.carried == Carried::Lasting).then_some(NotCustomisable::CustomisedInitramfs)
    }

    /// The formats that images of this base can have.
    pub(super) fn formats(&self) -> Vec<Format> {
        if self.problem().is_some() {
            return Vec::new();
        }
        Format::ALL.into_iter().filter(|format| self.check_format(*format).is_ok()).collect()
    }

    /// An error with the reason if dayone cannot make an image of the format.
    pub(crate) fn check_format(&self, format: Format) -> Result<(), &'static str> {
        let BootLoaders { esp, bios } = self.loaders.as_ref();
        match format {
            Format::Iso | Format::Usb if self.kernel_size.is_none() => {
                Err("it has no kernel; add kernel:PATH, or ask for 'initrd'")
            }
            Format::Iso if esp.is_none() && bios.is_none() => Err(
                "it has no boot loader; give esp:PATH for UEFI machines, bios-loader:PATH for BIOS machines, or ask \
                     for 'initrd'",
            ),
            Format::Iso | Format::Usb if esp.as_ref().is_some_and(Esp::starts_unified_kernel_image) => Err(
                "its ESP starts a unified kernel image, which boots its own kernel and initrd instead of these; give \
                 an ESP with a boot loader",
            ),
            Format::Iso if esp.as_ref().is_some_and(Esp::starts_systemd_boot) => Err(SYSTEMD_BOOT_ON_ISO),
            Format::Usb if esp.is_none() => {
                Err("it has no boot loader for UEFI machines, the only ones that boot this format; give esp:PATH")
            }
            Format::Iso | Format::Usb | Format::Initrd => Ok(()),
            Format::MinimalIso => Err(ONLY_LIVE_IS_MINIMAL),
            Format::Data => Err(DATA_HAS_NO_BASE),
        }
    }

    /// The sizes of its files.
    pub(crate) fn sizes(&self) -> Sizes {
        let esp = self.loaders.esp.as_ref().map(Esp::size);
        let others = [(Role::Kernel, self.kernel_size), (Role::Rootfs, self.rootfs_size), (Role::Esp, esp)];
        let others = others.into_iter().filter_map(|(role, size)| Some((role, size?)));
        others.chain([(Role::Initrd, self.initrd_size)]).collect()
    }
}

/// dayone serves the kernel unchanged. It only checks that nobody swapped the files, which would otherwise show up only when
/// the host boots.
fn check_kernel(kernel: &dyn Source) -> Result<(), BaseError> {
    let read = |error| BaseError::Read(Role::Kernel, error);
    if kernel.size() == 0 {
        return Err(BaseError::Kernel("it is empty"));
    }
    let mut start = [0_u8; 6];
    let count = kernel.read_at(0, &mut start).map_err(read)?;
    let start = start.get(..count).unwrap_or_default();
    if start.starts_with(b"07070") {
        return Err(BaseError::Kernel("it is a cpio archive, like an initramfs; did you swap kernel and initrd?"));
    }
    Ok(())
}
