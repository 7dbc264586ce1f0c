//! The same system as a disk: an EFI system partition with the boot loader, the kernel and the initramfs in it.

use std::collections::BTreeMap;

use super::{BootMedium, BootMediumError, Esp, GRUB_DIRECTORIES, INITRD, KERNEL, configuration};
use crate::digest::Digest;
use crate::disk::fat::{FatEdit, FatError, FatPath, VolumeLabel};
use crate::disk::usb::UsbDisk;
use crate::overlay::{self, Segment};
use crate::source::Role;

const LABEL: &str = "DAYONE";

impl BootMedium {
    /// The same medium with this EFI system partition, which is the base's file [`Role::Esp`]. GRUB's own configurations
    /// in it lead to the medium's.
    pub fn with_esp(mut self, esp: &Esp) -> Result<Self, BootMediumError> {
        if esp.starts_systemd_boot() {
            return Err(BootMediumError::SystemdBootOnIso);
        }
        let grub = configuration::grub(&format!("dayone/{}", self.mark()), &self.arguments)?;
        let own = esp.fat.files().iter().filter(|file| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            name.eq_ignore_ascii_case("grub.cfg")
        });
        let edits = own.map(|file| Ok((file.path.parse()?, FatEdit::Write(grub.clone().into()))));
        let edits = edits.collect::<Result<Vec<_>, FatError>>()?;
        self.esp = Some(overlay::patched(Role::Esp, esp.size, esp.fat.edit(&edits)?)?);
        Ok(self)
    }

    /// The segments of a disk for UEFI machines. `esp`, the base's file [`Role::Esp`], has the boot loader: all that is in
    /// it is in the disk, but for its configuration. `identity` is the digest of what all identifiers of the disk follow
    /// from.
    pub fn disk(&self, esp: &Esp, identity: Digest) -> Result<Vec<Segment>, BootMediumError> {
        let mark = format!("dayone/{}", self.mark());
        let grub = configuration::grub(&mark, &self.arguments)?;
        let mut files: BTreeMap<FatPath, Vec<Segment>> = BTreeMap::new();
        for file in esp.fat.files() {
            let ranges = file.extents.iter().map(|range| Segment::base(Role::Esp, range.clone()));
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
            put(&format!("{directory}/grub.cfg"), text(&grub))?;
        }
        // GRUB does not look at it, and systemd-boot may be behind a shim.
        put("loader/loader.conf", text("timeout 0\ndefault dayone.conf\n"))?;
        put("loader/entries/dayone.conf", text(&configuration::systemd_boot(&self.arguments)?))?;
        let label: VolumeLabel = LABEL.parse()?;
        Ok(UsbDisk { label, identity, files: &files }.layout()?)
    }
}

fn text(text: &str) -> Vec<Segment> {
    vec![Segment::bytes(text.to_owned())]
}
