//! The user's boot loaders, for media around a kernel and an initramfs.

use bytes::Bytes;

use super::BaseError;
use crate::boot_medium::{BiosLoader, Esp};
use crate::source::{Role, Sources};

/// The largest part of a BIOS boot loader, in bytes.
const MAX_PART_BYTES: u64 = 512 << 10;

/// The parts of a BIOS boot loader.
const BIOS_PARTS: [Role; 3] = [Role::BiosLoader, Role::BiosLoaderCore, Role::BiosBootCode];

/// The boot loaders that start a kernel.
#[derive(Debug, Clone, Default)]
pub struct BootLoaders {
    /// For UEFI machines.
    pub esp: Option<Esp>,
    /// For BIOS machines.
    pub bios: Option<BiosLoader>,
}

impl BootLoaders {
    pub(super) fn probe(files: &dyn Sources) -> Result<Self, BaseError> {
        let esp = files.source(Role::Esp).map(Esp::open).transpose()?;
        let mut parts = Vec::new();
        for role in BIOS_PARTS {
            let Some(source) = files.source(role) else { continue };
            if source.size() > MAX_PART_BYTES {
                return Err(BaseError::BootLoaderTooLarge { role, size: source.size(), limit: MAX_PART_BYTES });
            }
            let bytes = source.read_vec(0, source.size()).map_err(|error| BaseError::Read(role, error))?;
            parts.push(Bytes::from(bytes));
        }
        let bios =
            if parts.is_empty() { None } else { Some(BiosLoader::from_files(parts).map_err(BaseError::BootLoader)?) };
        Ok(Self { esp, bios })
    }
}
