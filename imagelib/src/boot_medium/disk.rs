//! The same system as a disk: an EFI system partition with the boot loader, the kernel and the initramfs in it.

use std::collections::BTreeMap;

use super::{BootMedium, BootMediumError, GRUB_DIRECTORIES, INITRD, KERNEL, configuration};
use crate::digest::Digest;
use crate::disk::fat::{FatEdit, FatError, FatImage, FatPath, VolumeLabel};
use crate::disk::usb::UsbDisk;
use crate::overlay::{self, Content, Segment};
use crate::source::Role;

/// What firmware starts from a removable medium begins with this, and ends with the machine's architecture (UEFI 2.10
/// §3.5.1.1).
const REMOVABLE: &str = "EFI/BOOT/BOOT";
/// By its directory systemd-boot is told.
const SYSTEMD_BOOT: &str = "EFI/systemd";
const LABEL: &str = "DAYONE";

impl BootMedium {
    /// The same medium with this EFI system partition, the whole of the base's file [`Role::Esp`] of `size` bytes. GRUB's
    /// own configurations in it lead to the medium's.
    pub fn with_esp(mut self, esp: &FatImage, size: u64) -> Result<Self, BootMediumError> {
        if !esp.files().iter().any(|file| is_removable_loader(&file.path)) {
            return Err(BootMediumError::NoRemovableLoader);
        }
        if has_systemd_boot(esp) && !has_grub(esp) {
            return Err(BootMediumError::SystemdBootOnIso);
        }
        let grub = configuration::grub(&format!("dayone/{}", self.mark()), &configuration::arguments(&self.arguments)?);
        let own = esp.files().iter().filter(|file| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            name.eq_ignore_ascii_case("grub.cfg")
        });
        let edits = own.map(|file| Ok((file.path.parse()?, FatEdit::Write(grub.clone().into()))));
        let edits = edits.collect::<Result<Vec<_>, FatError>>()?;
        self.esp = Some(overlay::patched(Role::Esp, size, esp.edit(&edits)?)?);
        Ok(self)
    }

    /// The segments of a disk for UEFI machines. `esp`, the file system in the base's file [`Role::Esp`], has the boot
    /// loader: all that is in it is in the disk, but for its configuration. `identity` is the digest of what all
    /// identifiers of the disk follow from.
    pub fn disk(&self, esp: &FatImage, identity: Digest) -> Result<Vec<Segment>, BootMediumError> {
        if !esp.files().iter().any(|file| is_removable_loader(&file.path)) {
            return Err(BootMediumError::NoRemovableLoader);
        }
        let arguments = configuration::arguments(&self.arguments)?;
        let mark = format!("dayone/{}", self.mark());
        let mut files: BTreeMap<FatPath, Vec<Segment>> = BTreeMap::new();
        for file in esp.files() {
            let ranges = file.extents.iter().map(|range| Segment::Base {
                file: Role::Esp,
                offset: range.start,
                length: range.end.saturating_sub(range.start),
            });
            files.insert(file.path.parse()?, ranges.collect());
        }
        let mut put = |path: &str, content: Vec<Segment>| -> Result<(), BootMediumError> {
            // FAT does not tell upper from lower case.
            files.retain(|known, _| !known.as_str().eq_ignore_ascii_case(path));
            files.insert(path.parse()?, content);
            Ok(())
        };
        put(KERNEL, self.kernel.clone())?;
        put(INITRD, self.initrd.clone())?;
        put(&mark, text("dayone\n"))?;
        for directory in GRUB_DIRECTORIES {
            put(&format!("{directory}/grub.cfg"), text(&configuration::grub(&mark, &arguments)))?;
        }
        let in_systemd_boot =
            |path: &str| path.get(..SYSTEMD_BOOT.len()).is_some_and(|start| start.eq_ignore_ascii_case(SYSTEMD_BOOT));
        if esp.files().iter().any(|file| in_systemd_boot(&file.path)) {
            put("loader/loader.conf", text("timeout 0\ndefault dayone.conf\n"))?;
            put("loader/entries/dayone.conf", text(&configuration::systemd_boot(&arguments)))?;
        }
        let label: VolumeLabel = LABEL.parse()?;
        Ok(UsbDisk { label, identity, files: &files }.layout()?)
    }
}

fn has_systemd_boot(esp: &FatImage) -> bool {
    let below =
        |path: &str| path.get(..SYSTEMD_BOOT.len()).is_some_and(|start| start.eq_ignore_ascii_case(SYSTEMD_BOOT));
    esp.files().iter().any(|file| below(&file.path))
}

fn has_grub(esp: &FatImage) -> bool {
    esp.files().iter().any(|file| file.path.to_ascii_lowercase().contains("grub"))
}

fn is_removable_loader(path: &str) -> bool {
    let architecture = path.to_ascii_uppercase();
    architecture.strip_prefix(REMOVABLE).is_some_and(|rest| matches!(rest, "X64.EFI" | "AA64.EFI"))
}

fn text(text: &str) -> Vec<Segment> {
    vec![Segment::Own(Content::Bytes(text.to_owned().into()))]
}
