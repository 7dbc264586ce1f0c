//! Bases that are a kernel and an initramfs, or the initramfs alone.

use super::{BaseError, BootLoaders, DATA_HAS_NO_BASE, Format, ONLY_COREOS_IS_MINIMAL, Role};
use crate::boot_medium::{Esp, SYSTEMD_BOOT_ON_ISO};
use crate::cpio::MemberPath;
use crate::delivery::{self, DeliveryProfile, Detected};
use crate::initramfs::{self, Ending, Tree};
use crate::overlay::Sizes;
use crate::source::{Source, Sources};
use vocabulary::network_files::NetworkManagerVersion;

/// What carries a CoreOS live system's configuration once somebody has put it there.
const COREOS_CONFIGURATION: [&str; 2] = ["config.ign", "etc/coreos-firstboot-network"];

/// A kernel and an initramfs.
#[derive(Debug, Clone)]
pub struct KernelInitrdBase {
    /// Length of the initramfs in bytes.
    pub initrd_size: u64,
    /// Length of the kernel in bytes. Without one, images of this base are initramfs images, which something else starts.
    pub kernel_size: Option<u64>,
    /// Length of the root file system in bytes.
    pub rootfs_size: Option<u64>,
    /// Where its system takes its configuration from.
    pub profile: DeliveryProfile,
    /// How that shows, as lines for a person to read.
    pub evidence: Vec<String>,
    /// Whether NetworkManager is in the initramfs. Without it, keyfiles have no effect, unless a root file system that
    /// is fetched later brings it.
    pub has_network_manager: bool,
    /// Its release, as far as it shows.
    pub network_manager_version: Option<NetworkManagerVersion>,
    /// Whether the initramfs already carries a configuration that somebody put there.
    pub customised: bool,
    /// The file system that it unpacks to, which decides where members can be added.
    pub tree: Tree,
    /// What starts the kernel from a medium.
    pub loaders: Box<BootLoaders>,
}

impl KernelInitrdBase {
    pub(super) fn probe(files: &dyn Sources, initrd: &dyn Source) -> Result<Self, BaseError> {
        let kernel = files.source(Role::Kernel);
        if let Some(kernel) = kernel {
            check_kernel(kernel)?;
        }
        let survey = initramfs::survey(initrd, &delivery::release_files(), delivery::RELEASE_FILE_LIMIT)?;
        if let Ending::Stopped { offset, reason } = survey.ending {
            return Err(BaseError::UnreadableInitramfs { offset, reason });
        }
        let Detected { profile, evidence } = delivery::detect(&survey);
        let tree = survey.tree;
        let has = |path: &str| path.parse::<MemberPath>().is_ok_and(|path| tree.resolve(&path).is_some());
        Ok(Self {
            initrd_size: initrd.size(),
            kernel_size: kernel.map(Source::size),
            rootfs_size: files.source(Role::Rootfs).map(Source::size),
            profile,
            evidence,
            has_network_manager: delivery::has_network_manager(&tree),
            network_manager_version: delivery::network_manager_version(&tree),
            customised: delivery::is_handed_over(&tree)
                || profile == DeliveryProfile::Coreos && COREOS_CONFIGURATION.iter().any(|path| has(path)),
            tree,
            loaders: Box::new(BootLoaders::probe(files)?),
        })
    }

    /// The formats that images of this base can have.
    pub(super) fn formats(&self) -> Vec<Format> {
        Format::ALL.into_iter().filter(|format| self.check_format(*format).is_ok()).collect()
    }

    /// Why there is no image of a format.
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
                "its ESP starts a unified kernel image, which boots its own kernel and its own initrd in place of these; give \
                 an ESP with a boot loader",
            ),
            Format::Iso if esp.as_ref().is_some_and(Esp::starts_systemd_boot) => Err(SYSTEMD_BOOT_ON_ISO),
            Format::Usb if esp.is_none() => {
                Err("it has no boot loader for UEFI machines, the only ones that boot this format; give esp:PATH")
            }
            Format::Iso | Format::Usb | Format::Initrd => Ok(()),
            Format::MinimalIso => Err(ONLY_COREOS_IS_MINIMAL),
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

/// A kernel is served as it is. What is looked for is that files have not been mixed up: an initramfs or an ISO in the
/// kernel's place would only show on the host.
fn check_kernel(kernel: &dyn Source) -> Result<(), BaseError> {
    let read = |error| BaseError::Read(Role::Kernel, error);
    if kernel.size() == 0 {
        return Err(BaseError::Kernel("it is empty"));
    }
    let mut start = [0_u8; 6];
    let count = kernel.read_at(0, &mut start).map_err(read)?;
    let start = start.get(..count).unwrap_or_default();
    if start.starts_with(b"07070") {
        return Err(BaseError::Kernel("it is a cpio archive, as an initramfs is; are kernel and initrd mixed up?"));
    }
    Ok(())
}
