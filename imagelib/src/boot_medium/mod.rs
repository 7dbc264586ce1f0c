//! A bootable ISO image around a kernel and an initramfs, for machines whose BMC attaches images and whose system comes
//! as two files.
//!
//! The boot loaders are the user's. For BIOS machines: ISOLINUX, or GRUB's image for El Torito. For UEFI machines: an EFI
//! system partition with GRUB, with shim before it or without. Both find the kernel on the ISO file system, whether the
//! machine sees the image as a CD or as a disk.
//!
//! Where GRUB looks for its configuration is compiled into it, so the same text stands in all places where distributions'
//! GRUBs look. Started from a CD, GRUB's own device is the ISO file system, and it looks there: below `/EFI/<vendor>`,
//! `/EFI/BOOT` or `/boot/grub`. Started from the partition of a disk, its own device is the EFI system partition; Debian's
//! and Ubuntu's then search for a file system with `/.disk/info` and read `/boot/grub/grub.cfg` there, as long as the
//! partition has no configuration of its own. systemd-boot reads nothing but its own partition, and cannot start a kernel
//! from an ISO file system.

mod bios;
mod configuration;
mod disk;
mod esp;
mod program;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

pub use bios::BiosLoader;
pub(crate) use bios::{is_grub, is_isolinux};
pub use esp::{Esp, EspError};
pub(crate) use program::Program;

use crate::boot_config::CommandLineTooLong;
use crate::disk::fat::FatError;
use crate::disk::usb::UsbError;
use crate::iso::author::{AuthorError, ElTorito, Hybrid, IsoPath, NewFile, NewIso};
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Content, OverlayError, Segment};

const KERNEL: &str = "vmlinuz";
const INITRD: &str = "initrd";
const ESP: &str = "boot/efi.img";

/// By this file Debian's and Ubuntu's GRUBs know the medium that they were started from.
const DISK_INFORMATION: &str = ".disk/info";

/// Where GRUBs look for their configuration: those of GRUB's own tools, and the vendors'.
const GRUB_DIRECTORIES: &[&str] = &[
    "boot/grub",
    "boot/grub2",
    "EFI/BOOT",
    "EFI/almalinux",
    "EFI/centos",
    "EFI/debian",
    "EFI/fedora",
    "EFI/opensuse",
    "EFI/redhat",
    "EFI/rocky",
    "EFI/ubuntu",
];

/// Why an ESP with systemd-boot starts no ISO.
pub(crate) const SYSTEMD_BOOT_ON_ISO: &str =
    "systemd-boot in the ESP cannot start a kernel from an ISO file system; ask for 'usb', or give an ESP with GRUB";

/// Why there is no bootable image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootMediumError {
    /// A file given as a part of a BIOS boot loader that is none.
    #[error(
        "dayone does not know one of the files given as BIOS boot loader ({0} bytes); give isolinux.bin, ldlinux.c32 \
         and isohdpfx.bin of ISOLINUX, or an image made by `grub-mkimage -O i386-pc-eltorito`"
    )]
    UnknownLoader(usize),
    /// Parts that do not make a loader, or make more than one.
    #[error("the files given as BIOS boot loader do not go together: {0}")]
    LoaderParts(&'static str),
    /// An argument that a boot loader would change on the way.
    #[error(
        "the kernel arguments contain a line break or one of {{ }} | & $ ; < > \\ ' #, which boot loaders would change"
    )]
    Arguments,
    /// The kernel would not get all arguments.
    #[error(transparent)]
    CommandLine(#[from] CommandLineTooLong),
    /// systemd-boot, which reads nothing but its own partition.
    #[error("{SYSTEMD_BOOT_ON_ISO}")]
    SystemdBootOnIso,
    /// The image cannot be written.
    #[error(transparent)]
    Author(#[from] AuthorError),
    /// The files cannot stand in a FAT file system.
    #[error("in the EFI system partition: {0}")]
    Fat(#[from] FatError),
    /// The plan does not fit the base: a mistake in dayone.
    #[error("the boot medium's plan does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
    /// The disk cannot be made.
    #[error(transparent)]
    Disk(#[from] UsbError),
}

/// What is on the image. At least one of the boot loaders is there.
#[derive(Debug, Clone)]
pub struct BootMedium {
    /// The volume identifier.
    pub label: String,
    /// The kernel.
    pub kernel: Vec<Segment>,
    /// The initramfs, with what is added to it.
    pub initrd: Vec<Segment>,
    /// The kernel's command line.
    pub arguments: KernelArguments,
    /// What BIOSes start.
    pub bios: Option<BiosLoader>,
    /// The image of an EFI system partition.
    pub esp: Option<Vec<Segment>>,
}

impl BootMedium {
    /// The segments of the ISO image.
    pub fn layout(&self) -> Result<Vec<Segment>, BootMediumError> {
        Ok(self.iso()?.layout()?)
    }

    fn iso(&self) -> Result<NewIso, BootMediumError> {
        let mark = format!("dayone/{}", self.mark());
        let mut files = BTreeMap::new();
        let mut add = |path: &str, file: NewFile| path.parse::<IsoPath>().map(|path| files.insert(path, file));
        let text = |text: &str| NewFile::literal(0o644, text.to_owned());
        add(KERNEL, NewFile { content: self.kernel.clone(), mode: 0o644 })?;
        // Keyfiles are in there: no more readers than the medium itself has.
        add(INITRD, NewFile { content: self.initrd.clone(), mode: 0o600 })?;
        add(&mark, text("dayone\n"))?;
        let mut boot = ElTorito::default();
        if self.esp.is_some() || matches!(self.bios, Some(BiosLoader::Grub { .. })) {
            add(DISK_INFORMATION, text("dayone\n"))?;
            let grub = NewFile::literal(0o644, configuration::grub(&mark, &self.arguments)?);
            for directory in GRUB_DIRECTORIES {
                add(&format!("{directory}/grub.cfg"), grub.clone())?;
            }
        }
        if let Some(esp) = &self.esp {
            add(ESP, NewFile { content: esp.clone(), mode: 0o644 })?;
            boot.uefi = Some(ESP.parse()?);
        }
        let mut boot_code = None;
        match &self.bios {
            Some(BiosLoader::Isolinux { loader, core, boot_code: code }) => {
                boot.bios = Some("isolinux/isolinux.bin".parse()?);
                boot_code.clone_from(code);
                add("isolinux/isolinux.bin", NewFile::literal(0o644, loader.clone()))?;
                add("isolinux/isolinux.cfg", text(&configuration::isolinux(&self.arguments)?))?;
                if let Some(core) = core {
                    add("isolinux/ldlinux.c32", NewFile::literal(0o644, core.clone()))?;
                }
            }
            Some(BiosLoader::Grub { image }) => {
                boot.bios = Some("boot/grub/eltorito.img".parse()?);
                add("boot/grub/eltorito.img", NewFile::literal(0o644, image.clone()))?;
            }
            None => {}
        }
        let hybrid = (boot.uefi.is_some() || boot_code.is_some()).then_some(Hybrid { boot_code });
        Ok(NewIso {
            volume_id: self.label.clone(),
            preparer: "dayone".to_owned(),
            files,
            boot: Some(boot),
            hybrid,
            ..NewIso::default()
        })
    }

    /// A name by which a boot loader tells this image from others that are attached to the same machine.
    fn mark(&self) -> String {
        let mut hasher = Sha256::new_with_prefix(b"dayone boot medium\0");
        hasher.update(self.arguments.to_string());
        for segment in self.kernel.iter().chain(&self.initrd) {
            hasher.update(segment.length().to_le_bytes());
            if let Segment::Own(Content::Bytes(bytes)) = segment {
                hasher.update(bytes);
            }
        }
        data_encoding::HEXLOWER.encode(hasher.finalize().get(..8).unwrap_or_default())
    }
}
