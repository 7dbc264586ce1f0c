//! Bases that are a kernel and an initramfs.

use super::{BaseError, Role};
use crate::cpio::MemberPath;
use crate::delivery::{self, DeliveryProfile, Detected};
use crate::initramfs::{self, Ending, Tree};
use crate::source::{Source, Sources};

/// What carries a CoreOS live system's configuration once somebody has put it there.
const COREOS_CONFIGURATION: [&str; 2] = ["config.ign", "etc/coreos-firstboot-network"];

/// A kernel and an initramfs.
#[derive(Debug, Clone)]
pub struct KernelInitrdBase {
    /// Length of the initramfs in bytes.
    pub initrd_size: u64,
    /// Length of the kernel in bytes.
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
    /// Whether the initramfs already carries a configuration that somebody put there.
    pub customised: bool,
    /// The file system that it unpacks to, which decides where members can be added.
    pub tree: Tree,
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
            customised: profile == DeliveryProfile::Coreos && COREOS_CONFIGURATION.iter().any(|path| has(path)),
            tree,
        })
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
