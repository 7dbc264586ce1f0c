//! Reads at an offset: from a file of a base, or from memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// Immutable bytes that can be read at any offset by any number of readers at once.
pub trait Source: Send + Sync {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Reads up to `buffer.len()` bytes at `offset` and returns how many, like `pread(2)`: fewer than requested only near
    /// the end, and none behind it.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Fills `buffer` with the bytes at `offset`. If there are fewer, the error has the kind `UnexpectedEof`.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.read_at(offset + done as u64, rest) {
                Ok(0) => {
                    let wanted = done + rest.len();
                    let message = format!("the read of {wanted} bytes at offset {offset} found only {done}");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the `length` bytes at `offset`. The length is compared with [`Source::size`] before memory is allocated, so
    /// that a wrong length in a foreign file cannot exhaust the memory.
    fn read_vec(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let within = offset.checked_add(length).is_some_and(|end| end <= self.size());
        let Some(count) = usize::try_from(length).ok().filter(|_| within) else {
            let message =
                format!("the read of {length} bytes at offset {offset} is beyond the end, at {}", self.size());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        };
        let mut bytes = vec![0; count];
        self.read_exact_at(offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// References, smart pointers and containers of bytes: `&S`, `Arc<S>`, `Vec<u8>`, `Bytes`.
impl<D: Deref<Target: Source> + Send + Sync> Source for D {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buffer)
    }
}

impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// Which file of a base, or of a boot, a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A bootable ISO 9660 image.
    Iso,
    /// A Linux kernel.
    Kernel,
    /// An initramfs.
    Initrd,
    /// The root file system that a live initramfs fetches.
    Rootfs,
    /// The image of an EFI system partition: a FAT file system with the boot loader of UEFI machines.
    Esp,
    /// A boot loader for BIOS machines: `isolinux.bin`, or GRUB's image for El Torito.
    BiosLoader,
    /// The module that ISOLINUX needs since version 5: `ldlinux.c32`.
    BiosLoaderCore,
    /// The boot sector that starts ISOLINUX from a disk: `isohdpfx.bin`.
    BiosBootCode,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 8] = [
        Self::Iso,
        Self::Kernel,
        Self::Initrd,
        Self::Rootfs,
        Self::Esp,
        Self::BiosLoader,
        Self::BiosLoaderCore,
        Self::BiosBootCode,
    ];

    /// Returns the role that a word means.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// Returns the role as configurations and API responses spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Iso => "iso",
            Self::Kernel => "kernel",
            Self::Initrd => "initrd",
            Self::Rootfs => "rootfs",
            Self::Esp => "esp",
            Self::BiosLoader => "bios-loader",
            Self::BiosLoaderCore => "bios-loader-core",
            Self::BiosBootCode => "bios-boot-code",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iso => "ISO",
            Self::Kernel => "kernel",
            Self::Initrd => "initrd",
            Self::Rootfs => "rootfs",
            Self::Esp => "ESP",
            Self::BiosLoader => "BIOS boot loader",
            Self::BiosLoaderCore => "BIOS boot loader's core",
            Self::BiosBootCode => "BIOS boot code",
        })
    }
}

/// The files of a base by their roles.
pub trait Sources {
    /// Returns the file with this role, if the base has one.
    fn source(&self, role: Role) -> Option<&dyn Source>;
}

impl<S: Source> Sources for BTreeMap<Role, S> {
    fn source(&self, role: Role) -> Option<&dyn Source> {
        self.get(&role).map(|source| source as &dyn Source)
    }
}

/// A base that is one file.
impl<S: Source> Sources for (Role, S) {
    fn source(&self, role: Role) -> Option<&dyn Source> {
        (role == self.0).then_some(&self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_is_short_and_then_an_error() {
        let bytes = b"0123456789".to_vec();
        let mut buffer = [0; 4];
        assert_eq!(bytes.read_at(8, &mut buffer).unwrap(), 2);
        assert_eq!(bytes.read_at(10, &mut buffer).unwrap(), 0);
        assert_eq!(bytes.read_at(u64::MAX, &mut buffer).unwrap(), 0);
        assert_eq!(bytes.read_vec(6, 4).unwrap(), b"6789");
        for (offset, length) in [(7, 4), (u64::MAX, 1), (0, u64::MAX)] {
            assert_eq!(bytes.read_vec(offset, length).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
