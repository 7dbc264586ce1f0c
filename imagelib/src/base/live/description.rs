//! Descriptions of live ISOs for the API and the command line.

use serde::Serialize;
use utoipa::ToSchema;

use super::{FilesIn, LiveInitrd, LiveIso, LiveUki};
use crate::delivery::{self, DeliveryProfile};
use crate::uki::{Carrier, UnifiedKernel};
use vocabulary::network_files::NetworkManagerVersion;

/// What dayone can customise on an ISO.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LiveDescription {
    /// The boot entries that start Linux.
    pub boot_entries: Vec<BootEntryDescription>,
    /// The initramfs images that these entries load.
    pub initrds: Vec<InitrdDescription>,
    /// The unified kernel images that firmware or systemd-boot starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unified_kernel_images: Vec<UnifiedKernelDescription>,
}

/// An entry of a boot menu.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = BootEntry)]
pub struct BootEntryDescription {
    /// What the menu shows.
    #[schema(example = "Live system (amd64)")]
    pub title: String,
    /// The configuration that it stands in: a path on the ISO file system or on the EFI system partition.
    #[schema(example = "/boot/grub/grub.cfg")]
    pub configuration: String,
    /// The initramfs that is extended, as its path; absent where it was not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initrd: Option<String>,
    /// What the kernel is given.
    pub kernel_arguments: String,
}

/// An initramfs on an ISO.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Initrd)]
pub struct InitrdDescription {
    /// Its path on its file system.
    #[schema(example = "/live/initrd.img")]
    pub path: String,
    /// Whether that is the one of an EFI system partition, and not of the ISO; absent where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_esp: bool,
    /// Its length in bytes.
    pub size: u64,
    /// The kind of its system.
    #[schema(value_type = String, example = "initramfs-tools")]
    pub profile: DeliveryProfile,
    /// How that shows.
    pub evidence: Vec<String>,
    /// The release of NetworkManager in it, as far as it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "1.54.0")]
    pub network_manager_version: Option<NetworkManagerVersion>,
    /// Why it cannot be extended, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A unified kernel image in an EFI system partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UnifiedKernelImage)]
pub struct UnifiedKernelDescription {
    /// Its path there.
    #[schema(example = "/EFI/BOOT/BOOTX64.EFI")]
    pub path: String,
    /// The name of its system, or its path.
    #[schema(example = "Debian GNU/Linux 13 (trixie)")]
    pub title: String,
    /// Its length in bytes.
    pub size: u64,
    /// The release of its systemd-stub; absent if its stub is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "257.13-1~deb13u1")]
    pub stub: Option<String>,
    /// What the stub and the systemd in the initrd take beside the program.
    pub carrier: Carrier,
    /// The release of its kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "6.12.48+deb13-amd64")]
    pub kernel: Option<String>,
    /// Its kernel arguments.
    pub kernel_arguments: String,
    /// The kind of the system in its initrd.
    #[schema(value_type = String, example = "root-in-initramfs")]
    pub profile: DeliveryProfile,
    /// How that shows.
    pub evidence: Vec<String>,
    /// Why dayone cannot add anything to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl LiveIso {
    /// Describes the boot entries and the initramfs images.
    pub fn describe(&self) -> LiveDescription {
        let entry = |view: super::EntryView<'_>| BootEntryDescription {
            title: view.entry.title.clone(),
            configuration: view.configuration.found.path.clone(),
            initrd: view.initrd.map(|initrd| initrd.path.clone()),
            kernel_arguments: view.linux.arguments.to_string(),
        };
        LiveDescription {
            boot_entries: self.entries().map(entry).collect(),
            initrds: self.initrds.iter().map(LiveInitrd::describe).collect(),
            unified_kernel_images: self.ukis.iter().map(LiveUki::describe).collect(),
        }
    }

    /// The release of NetworkManager, if all initramfs images with NetworkManager have the same.
    pub(in crate::base) fn network_manager_version(&self) -> Option<NetworkManagerVersion> {
        let in_ukis = self.usable_ukis();
        let in_ukis = in_ukis.filter_map(|(_, usable, _)| delivery::network_manager_version(&usable.surveyed.tree));
        let mut versions = self.initrds.iter().filter_map(LiveInitrd::network_manager_version).chain(in_ukis);
        let first = versions.next()?;
        versions.all(|version| version == first).then_some(first)
    }
}

impl LiveInitrd {
    fn network_manager_version(&self) -> Option<NetworkManagerVersion> {
        self.state.as_ref().ok().and_then(|surveyed| delivery::network_manager_version(&surveyed.tree))
    }

    fn describe(&self) -> InitrdDescription {
        let (profile, evidence, problem) = match &self.state {
            Ok(surveyed) => (surveyed.detected.profile, surveyed.detected.evidence.clone(), None),
            Err(reason) => (DeliveryProfile::Unknown, Vec::new(), Some(reason.to_string())),
        };
        let (path, in_esp) = (self.path.clone(), self.esp.is_some());
        let network_manager_version = self.network_manager_version();
        InitrdDescription { path, in_esp, size: self.size(), profile, evidence, network_manager_version, problem }
    }
}

impl LiveUki {
    fn describe(&self) -> UnifiedKernelDescription {
        let (profile, evidence, problem) = match &self.state {
            Ok(usable) => (usable.surveyed.detected.profile, usable.surveyed.detected.evidence.clone(), None),
            Err(reason) => (DeliveryProfile::Unknown, Vec::new(), Some(reason.to_string())),
        };
        let unified = self.unified.as_ref();
        let by_credential = self.state.as_ref().is_ok_and(|usable| matches!(usable.files, FilesIn::Credential { .. }));
        let carrier = match unified {
            Some(_) if by_credential => Carrier::Credential,
            unified => unified.map_or(Carrier::None, UnifiedKernel::carrier),
        };
        UnifiedKernelDescription {
            path: format!("/{}", self.path),
            title: self.title(),
            size: self.size,
            stub: unified.and_then(|unified| unified.stub.as_ref()).map(ToString::to_string),
            carrier,
            kernel: unified.and_then(|unified| unified.kernel.clone()),
            kernel_arguments: unified.map(|unified| unified.arguments.clone()).unwrap_or_default(),
            profile,
            evidence,
            problem,
        }
    }
}
