//! Boot loaders for BIOS machines, told by their bytes: users give the files that their distribution has.

use bytes::Bytes;

use super::BootMediumError;

/// The boot code of ISOLINUX for the first sector of a disk (`isohdpfx.bin`) has this length, and nothing else has.
const BOOT_CODE: usize = 432;

/// A boot loader that BIOSes start from a CD.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BiosLoader {
    /// ISOLINUX.
    Isolinux {
        /// `isolinux.bin`.
        loader: Bytes,
        /// `ldlinux.c32`, which ISOLINUX loads from its own directory from version 5 on.
        core: Option<Bytes>,
        /// `isohdpfx.bin`, by which the image starts from a disk, too.
        boot_code: Option<Bytes>,
    },
    /// GRUB.
    Grub {
        /// What `grub-mkimage -O i386-pc-eltorito` makes, with the modules `biosdisk`, `iso9660`, `normal`, `linux` and
        /// `search_fs_file`.
        image: Bytes,
    },
}

impl BiosLoader {
    /// The loader that these files are, in whatever order.
    pub fn from_files(files: impl IntoIterator<Item = Bytes>) -> Result<Self, BootMediumError> {
        let (mut loader, mut core, mut boot_code, mut grub) = (None, None, None, None);
        for file in files {
            let slot = match file.as_ref() {
                bytes if bytes.len() == BOOT_CODE => &mut boot_code,
                bytes if bytes.starts_with(b"\x7fELF") && contains(bytes, b"ldlinux.c32") => &mut core,
                bytes if is_isolinux(bytes) => &mut loader,
                bytes if is_grub(bytes) => &mut grub,
                bytes => return Err(BootMediumError::UnknownLoader(bytes.len())),
            };
            if slot.replace(file).is_some() {
                return Err(BootMediumError::LoaderParts("two of them are the same part"));
            }
        }
        match (loader, grub) {
            (Some(loader), None) => {
                if core.is_none() && needs_core(&loader) {
                    let reason = "isolinux.bin is of version 5 or later and needs ldlinux.c32 of the same version";
                    return Err(BootMediumError::LoaderParts(reason));
                }
                Ok(Self::Isolinux { loader, core, boot_code })
            }
            (None, Some(image)) if core.is_none() && boot_code.is_none() => Ok(Self::Grub { image }),
            (_, Some(_)) => {
                Err(BootMediumError::LoaderParts("some are ISOLINUX's and one is GRUB's; give those of one loader"))
            }
            (None, None) => Err(BootMediumError::LoaderParts("isolinux.bin is missing")),
        }
    }
}

/// Whether the bytes are ISOLINUX's, by the name in them.
pub(crate) fn is_isolinux(bytes: &[u8]) -> bool {
    contains(bytes, b"ISOLINUX ")
}

/// Whether the bytes are GRUB 2's for a CD, by a message of `cdboot.img`, with which they begin.
pub(crate) fn is_grub(bytes: &[u8]) -> bool {
    bytes.get(..2048).is_some_and(|head| contains(head, b"cdrom read fails"))
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// Whether an `isolinux.bin` says a version that keeps most of itself in `ldlinux.c32`.
fn needs_core(loader: &[u8]) -> bool {
    let name = b"ISOLINUX ";
    let version = loader.windows(name.len() + 1).find(|window| window.starts_with(name)).and_then(|found| found.last());
    version.is_some_and(|digit| digit.is_ascii_digit() && *digit >= b'5')
}
