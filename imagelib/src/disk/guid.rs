//! GUIDs as partition tables have them: UEFI 2.10 §A, the first three fields in little-endian order.

use std::fmt;

use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use crate::digest::Digest;

/// A GUID. Printed as everybody prints them, such as `C12A7328-F81F-11D2-BA4B-00A0C93EC93B`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guid([u8; 16]);

impl Guid {
    /// The type of an EFI system partition.
    pub const EFI_SYSTEM: Self = Self::new(0xC12A_7328_F81F_11D2_BA4B_00A0_C93E_C93B);
    /// The type of a partition with data that no firmware looks at.
    pub const BASIC_DATA: Self = Self::new(0xEBD0_A0A2_B9E5_4433_87C0_68B6_B726_99C7);

    /// The GUID of these digits.
    pub(crate) const fn new(digits: u128) -> Self {
        Self(Uuid::from_u128(digits).to_bytes_le())
    }

    /// The GUID in the order in which a partition table has it.
    pub(super) const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes in the order in which a partition table has them.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether it is the type of entries that are not used.
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 16]
    }

    /// The one GUID of `what` in the image of this identity: a version 8 UUID (RFC 9562 §5.8), because chance would give
    /// every replica another image.
    pub fn derived(identity: &Digest, what: &str) -> Self {
        let hash =
            Sha256::new_with_prefix(b"dayone guid\0").chain_update(identity.as_bytes()).chain_update(what).finalize();
        let bytes = hash.first_chunk().copied().unwrap_or_default();
        Self(Builder::from_custom_bytes(bytes).as_uuid().to_bytes_le())
    }
}

impl From<Guid> for Uuid {
    fn from(guid: Guid) -> Self {
        Self::from_bytes_le(guid.0)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::UpperHex::fmt(Uuid::from(*self).as_hyphenated(), f)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_is_that_of_the_standard() {
        assert_eq!(Guid::EFI_SYSTEM.to_string(), "C12A7328-F81F-11D2-BA4B-00A0C93EC93B");
        assert_eq!(Guid::BASIC_DATA.to_string(), "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7");
        assert_eq!(Guid::EFI_SYSTEM.as_bytes()[..4], [0x28, 0x73, 0x2A, 0xC1]);
    }

    #[test]
    fn a_derived_guid_depends_on_the_image_and_on_what_it_is_of() {
        let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
        let guid = Guid::derived(&one, "disk");
        assert_eq!(guid, Guid::derived(&one, "disk"));
        assert_ne!(guid, Guid::derived(&two, "disk"));
        assert_ne!(guid, Guid::derived(&one, "esp"));
        let text = guid.to_string();
        assert_eq!(&text[14..15], "8", "{text}");
        assert!(["8", "9", "A", "B"].contains(&&text[19..20]), "{text}");
    }
}
