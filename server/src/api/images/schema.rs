//! The library's types as the API's documentation shows them. They are read and written by the library itself.
#![expect(dead_code, reason = "only their descriptions are used")]

use utoipa::ToSchema;

/// Kind of image.
#[derive(ToSchema)]
#[schema(as = Format, rename_all = "kebab-case")]
pub(crate) enum FormatBody {
    /// A bootable ISO, `boot.iso`.
    Iso,
    /// A bootable ISO without its root file system, `boot.iso`, and that, `rootfs.img`, which the host fetches over the
    /// network.
    MinimalIso,
    /// A kernel and an initramfs, `vmlinuz` and `initrd.img`.
    Initrd,
    /// A disk, `boot.img`, for BMCs that show virtual media to the host as a disk.
    Usb,
    /// A small medium with configuration only, `data.iso` or `data.img`, for a second slot or a running host.
    Data,
}

/// Whom a data drive is for; its label.
#[derive(ToSchema)]
#[schema(as = DataKind, rename_all = "kebab-case")]
pub(in crate::api) enum DataKindBody {
    /// `OpenStack`'s config drive, for cloud-init, cloudbase-init and the Ironic Python agent.
    #[schema(rename = "config-2")]
    ConfigDrive,
    /// A seed of cloud-init's data source `NoCloud`.
    #[schema(rename = "cidata")]
    NoCloud,
    /// A configuration for SUSE's Combustion.
    Combustion,
}

/// The file system of a data drive.
#[derive(ToSchema)]
#[schema(as = FileSystem, rename_all = "kebab-case")]
pub(in crate::api) enum FileSystemBody {
    /// ISO 9660, `data.iso`.
    Iso,
    /// FAT, `data.img`, for slots that show a disk.
    Vfat,
}

/// What is on a data image, besides the host's network and its name. Contents are in base64 (RFC 4648 §4).
#[derive(ToSchema)]
#[schema(as = DataDrive)]
pub(in crate::api) struct DataDriveBody {
    /// Whom it is for.
    kind: DataKindBody,
    /// Its file system; `iso` if absent.
    #[schema(nullable = false)]
    file_system: Option<FileSystemBody>,
    /// `network_data.json` or `network-config`, in place of documents. Not for `combustion`.
    #[schema(format = Byte)]
    network_data: Option<String>,
    /// `meta_data.json` or `meta-data`; if absent, one with the host name and an instance id that follows from the content
    /// of the drive. Not for `combustion`.
    #[schema(format = Byte)]
    meta_data: Option<String>,
    /// `user_data` or `user-data`; for `combustion`, a script of your own.
    #[schema(example = "I2Nsb3VkLWNvbmZpZwo=", format = Byte)]
    user_data: Option<String>,
    /// `vendor_data.json` or `vendor-data`. Not for `combustion`.
    #[schema(format = Byte)]
    vendor_data: Option<String>,
    /// The publisher of a `config-2` drive's ISO, which Ironic compares with the kernel argument `ir_pub_id`.
    publisher: Option<String>,
}

/// Changes to kernel arguments, made in this order.
#[derive(ToSchema)]
#[schema(as = KernelArguments)]
pub(in crate::api) struct KernelArgumentEditsBody {
    /// Arguments to remove, as they stand there.
    #[schema(example = json!(["mitigations=auto,nosmt"]), nullable = false)]
    delete: Option<Vec<String>>,
    /// Arguments to add behind the others.
    #[schema(example = json!(["console=ttyS0,115200n8"]), nullable = false)]
    append: Option<Vec<String>>,
    /// Values to change: `KEY=OLD=NEW`.
    #[schema(example = json!(["ignition.platform.id=metal=qemu"]), nullable = false)]
    replace: Option<Vec<String>>,
}

/// A file to add.
#[derive(ToSchema)]
#[schema(as = ExtraFile)]
pub(in crate::api) struct ExtraFileBody {
    /// Where it goes, absolute.
    #[schema(example = "/etc/motd")]
    path: String,
    /// Permission bits, octal; `0644` if absent.
    #[schema(example = "0644", nullable = false)]
    mode: Option<String>,
    /// Number of the user that owns it; root's if absent.
    #[schema(nullable = false)]
    user: Option<u32>,
    /// Number of the group that owns it; root's if absent.
    #[schema(nullable = false)]
    group: Option<u32>,
    /// Content in base64 (RFC 4648 §4).
    #[schema(example = "SGVsbG8K", format = Byte)]
    contents: String,
}

/// A systemd unit in `/etc/systemd/system`.
#[derive(ToSchema)]
#[schema(as = Unit)]
pub(in crate::api) struct UnitBody {
    /// Its name.
    #[schema(example = "network-check.service")]
    name: String,
    /// Whether it is started at boot.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// The unit file; absent for a unit that the operating system has.
    contents: Option<String>,
}

/// The bytes of an image.
#[derive(ToSchema)]
#[schema(as = ImageBytes, value_type = String, format = Binary)]
pub(crate) struct BytesBody(Vec<u8>);
