//! The body of `POST /v1/bases`.

use std::collections::BTreeMap;

use imagelib::base::Role;
use imagelib::delivery::DeliveryProfile;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::store::{BaseName, BaseRecord, BaseSource, BaseSourceFields};

/// A base to add: an ISO, or an initramfs with its kernel and the files that they need.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schema(as = NewBase)]
pub(in crate::api) struct BaseOrder {
    /// The name. If a base of this name was added before, this one replaces it.
    #[schema(value_type = String, pattern = "^[a-z0-9][a-z0-9._-]{0,62}$", example = "fcos")]
    name: BaseName,
    /// The delivery profile, to override the one that dayone detects.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "coreos")]
    profile: Option<DeliveryProfile>,
    /// A bootable ISO.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    iso: Option<BaseSource>,
    /// A Linux kernel.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    kernel: Option<BaseSource>,
    /// An initramfs.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    initrd: Option<BaseSource>,
    /// The root file system that a live initramfs fetches.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    rootfs: Option<BaseSource>,
    /// The image of an EFI system partition.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    esp: Option<BaseSource>,
    /// A boot loader for BIOS machines.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    bios_loader: Option<BaseSource>,
    /// The module that ISOLINUX needs.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    bios_loader_core: Option<BaseSource>,
    /// The boot sector that starts ISOLINUX from a disk.
    #[serde(default)]
    #[schema(value_type = Option<BaseSourceFields>)]
    bios_boot_code: Option<BaseSource>,
}

impl BaseOrder {
    /// The record of the base.
    pub(in crate::api) fn into_record(self) -> BaseRecord {
        let sources = [
            (Role::Iso, self.iso),
            (Role::Kernel, self.kernel),
            (Role::Initrd, self.initrd),
            (Role::Rootfs, self.rootfs),
            (Role::Esp, self.esp),
            (Role::BiosLoader, self.bios_loader),
            (Role::BiosLoaderCore, self.bios_loader_core),
            (Role::BiosBootCode, self.bios_boot_code),
        ];
        let sources: BTreeMap<Role, BaseSource> =
            sources.into_iter().filter_map(|(role, source)| Some((role, source?))).collect();
        BaseRecord::new(self.name, self.profile, sources)
    }
}
