//! Delivery profiles: where a kind of system takes its configuration from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::kernel_arguments::{KernelArgument, key_of};
use vocabulary::network_files::NetworkFiles;

/// Where a system that boots from an initramfs takes its configuration from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryProfile {
    /// A CoreOS live initramfs: `config.ign` and `etc/coreos-firstboot-network`.
    Coreos,
    /// The initramfs is the whole system and stays its root: `etc/NetworkManager/system-connections`, `etc/hostname`.
    RootInInitramfs,
    /// An initramfs of dracut (Fedora, RHEL and SUSE: live systems and installers), which starts another root file
    /// system. Its NetworkManager, if it has one, reads the keyfiles, and a hook copies them to the root.
    Dracut,
    /// An initramfs of initramfs-tools (Debian with live-boot, Ubuntu with casper), which starts another root file
    /// system. A script copies the files there.
    InitramfsTools,
    /// As [`DeliveryProfile::RootInInitramfs`], with systemd-networkd in NetworkManager's place: `etc/systemd/network`.
    Networkd,
    /// Flatcar: an Ignition config, with units of systemd-networkd among its files.
    Flatcar,
    /// Talos Linux: takes no files, and its network from a kernel argument.
    Talos,
    /// A system that accepts no files, or dayone does not know how.
    Unknown,
}

impl DeliveryProfile {
    /// The form in which such a system accepts its network configuration.
    pub fn network_files(self) -> NetworkFiles {
        match self {
            Self::Networkd | Self::Flatcar => NetworkFiles::NetworkdUnits,
            Self::Talos => NetworkFiles::TalosNetwork,
            _ => NetworkFiles::Keyfiles,
        }
    }

    /// Whether such a system reads an Ignition config, and so takes systemd units and SSH keys.
    pub fn reads_ignition(self) -> bool {
        matches!(self, Self::Coreos | Self::Flatcar)
    }

    /// Whether such a system takes files from an archive behind its initramfs.
    pub fn takes_files(self) -> bool {
        self != Self::Talos
    }

    /// The kernel arguments without which such a system does not start, or ignores what is delivered. An ISO of such a system may
    /// already have them.
    pub fn kernel_arguments(self) -> &'static str {
        match self {
            Self::Coreos => "ignition.firstboot ignition.platform.id=metal",
            Self::Flatcar => "flatcar.first_boot=1",
            // Talos does not start without the last two ("Kernel" in its documentation).
            Self::Talos => "talos.platform=metal slab_nomerge pti=on",
            _ => "",
        }
    }

    /// The kernel arguments without which such a system ignores its Ignition config, unless its command line has others of the same
    /// keys: those may have another value for a reason, such as `ignition.platform.id=qemu`.
    pub fn missing_for_ignition<'a>(self, command_line: impl IntoIterator<Item = &'a str>) -> Vec<KernelArgument> {
        if !self.reads_ignition() {
            return Vec::new();
        }
        let keys: BTreeSet<String> = command_line.into_iter().map(key_of).collect();
        let missing = self.kernel_arguments().split_whitespace().filter(|argument| !keys.contains(&key_of(argument)));
        // dayone's own arguments are valid.
        missing.filter_map(|argument| argument.parse().ok()).collect()
    }

    /// The keys of the kernel arguments that make such a system verify its medium. They must go once dayone has changed the
    /// medium; otherwise the boot stops or asks. Files that dayone delivers to dracut also keep `rd.live.check` from stopping the boot.
    pub fn medium_checks(self) -> &'static [&'static str] {
        match self {
            // `mediacheck` belongs to SUSE's live systems: those of kiwi, and Agama.
            Self::Dracut => &["rd.live.check", "mediacheck"],
            Self::InitramfsTools => &["verify-checksums", "integrity-check"],
            _ => &[],
        }
    }
}

/// Why a text is not a delivery profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a delivery profile; use coreos, root-in-initramfs, dracut, initramfs-tools, networkd, flatcar, \
     talos or unknown"
)]
pub struct DeliveryProfileError(String);

named_variants!(DeliveryProfile, DeliveryProfileError {
    Coreos => "coreos",
    RootInInitramfs => "root-in-initramfs",
    Dracut => "dracut",
    InitramfsTools => "initramfs-tools",
    Networkd => "networkd",
    Flatcar => "flatcar",
    Talos => "talos",
    Unknown => "unknown",
});
