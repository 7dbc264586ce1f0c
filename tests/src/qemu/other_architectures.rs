//! Machines with s390x and ppc64le processors. Their firmware is QEMU's own: the boot code of s390-ccw, and SLOF, an Open Firmware.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Machine, Platform};
use crate::peers;

/// An architecture without UEFI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherArchitecture {
    /// IBM Z.
    S390x,
    /// Power, little-endian.
    Ppc64le,
}

impl OtherArchitecture {
    /// As Debian calls it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::S390x => "s390x",
            Self::Ppc64le => "ppc64el",
        }
    }

    /// The console of Linux that the tests read.
    pub fn console(self) -> &'static str {
        match self {
            Self::S390x => "ttysclp0",
            Self::Ppc64le => "hvc0",
        }
    }

    /// What `scripts/setup-peers.sh matrix` unpacks: `kernel`, `bin/busybox`, and a boot loader.
    pub fn unpacked(self, file: &str) -> PathBuf {
        let path = peers::cache().join(self.debian()).join(file);
        assert!(path.exists(), "{} is missing; run scripts/setup-peers.sh matrix", path.display());
        path
    }

    fn scsi(self) -> &'static str {
        match self {
            Self::S390x => "virtio-scsi-ccw",
            Self::Ppc64le => "virtio-scsi-pci",
        }
    }
}

impl fmt::Display for OtherArchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::S390x => "s390x",
            Self::Ppc64le => "ppc64le",
        })
    }
}

impl Machine {
    /// One that boots an ISO from a CD.
    pub fn other_with_cd(other: OtherArchitecture, image: &Path) -> Self {
        let name = image.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let drive = format!("format=raw,file={},if=none,id=medium,media=cdrom,readonly=on", image.display());
        let devices = ["-drive", &drive, "-device", other.scsi(), "-device", "scsi-cd,drive=medium,bootindex=1"];
        let machine = Self::new(format!("{name}-{other}"), devices.map(str::to_owned).to_vec());
        Self { platform: Platform::Other(other), ..machine }
    }

    /// One that boots a kernel and an initramfs, as a network boot starts them.
    pub fn other_with_kernel(other: OtherArchitecture, kernel: &Path, initramfs: &Path, command_line: &str) -> Self {
        let machine = Self::with_kernel(kernel, initramfs, command_line);
        Self { platform: Platform::Other(other), name: format!("{}-{other}", machine.name), ..machine }
    }
}
