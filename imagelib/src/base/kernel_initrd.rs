//! Bases that are a kernel and an initramfs.

use serde::{Deserialize, Serialize};

use super::{BaseError, Role};
use crate::cpio::MemberPath;
use crate::initramfs::{self, Ending, Node, Tree};
use crate::source::{Source, Sources};

/// Says that an initramfs is that of a CoreOS live system; coreos-installer looks for the same file.
const COREOS_MARK: &str = "etc/coreos-live-initramfs";
/// What carries a CoreOS live system's configuration once somebody has put it there.
const COREOS_CONFIGURATION: [&str; 2] = ["config.ign", "etc/coreos-firstboot-network"];
/// NetworkManager's daemon, where distributions install it.
const NETWORK_MANAGER: [&str; 2] = ["usr/sbin/NetworkManager", "usr/bin/NetworkManager"];

/// Where a system that boots from an initramfs looks for its network configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryProfile {
    /// A CoreOS live initramfs: `config.ign` and `etc/coreos-firstboot-network`.
    Coreos,
    /// The initramfs is the whole system and stays its root: `etc/NetworkManager/system-connections`, `etc/hostname`.
    RootInInitramfs,
}

/// A kernel and an initramfs.
#[derive(Debug, Clone)]
pub struct KernelInitrdBase {
    /// Length of the initramfs in bytes.
    pub initrd_size: u64,
    /// Length of the kernel in bytes.
    pub kernel_size: Option<u64>,
    /// Length of the root file system in bytes.
    pub rootfs_size: Option<u64>,
    /// Where its system looks for keyfiles.
    pub profile: DeliveryProfile,
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
        let survey = initramfs::survey(initrd, &[], 0)?;
        if let Ending::Stopped { offset, reason } = survey.ending {
            return Err(BaseError::UnreadableInitramfs { offset, reason });
        }
        let tree = survey.tree;
        let has = |path: &str| path.parse::<MemberPath>().is_ok_and(|path| tree.resolve(&path).is_some());
        let is_file =
            |path: &str| path.parse::<MemberPath>().is_ok_and(|path| tree.resolve(&path) == Some(&Node::File));
        let profile = if has(COREOS_MARK) { DeliveryProfile::Coreos } else { DeliveryProfile::RootInInitramfs };
        Ok(Self {
            initrd_size: initrd.size(),
            kernel_size: kernel.map(Source::size),
            rootfs_size: files.source(Role::Rootfs).map(Source::size),
            profile,
            has_network_manager: NETWORK_MANAGER.iter().any(|path| is_file(path)),
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
