//! The keys in a shim, with which it verifies what it starts: the section `.vendor_cert` (shim, `cert.S`), and the signature lists
//! in it (UEFI 2.10 §32.4.1).

use std::io;

use crate::authenticode::{Certificate, PeImage};
use crate::disk::guid::Guid;
use crate::fields::{array, u32_le};
use crate::source::Source;

/// The maximum length of a shim's section with keys, in bytes. Debian's has 10 KB.
const MAX_SECTION_BYTES: u64 = 1 << 20;

/// A list of X.509 certificates.
const X509: Guid = Guid::new(0xA5C0_59A1_94E4_4AA7_87B5_AB15_5C2B_F072);
/// A list of SHA-256 digests of programs.
const SHA256: Guid = Guid::new(0xC1C4_1626_504C_4092_ACA9_41F9_3693_4328);

/// What a shim accepts and what it refuses, whatever the machine's own lists say.
#[derive(Debug, Clone, Default)]
pub(super) struct VendorKeys {
    pub(super) accepted: SignatureList,
    pub(super) refused: SignatureList,
}

/// Certificates and digests of programs.
#[derive(Debug, Clone, Default)]
pub(super) struct SignatureList {
    pub(super) certificates: Vec<Certificate>,
    pub(super) digests: Vec<[u8; 32]>,
}

impl VendorKeys {
    /// The keys in a program; `None` if it is no shim.
    pub(super) fn of(source: &dyn Source, program: &PeImage) -> io::Result<Option<Self>> {
        let Some(bytes) = program.section(source, b".vendor_cert", MAX_SECTION_BYTES)? else { return Ok(None) };
        Ok(Self::read(&bytes))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let number = |at| usize::try_from(u32_le(bytes, at)?).ok();
        let part = |length: usize, start: usize| bytes.get(start..)?.get(..length);
        let accepted = part(number(0)?, number(8)?)?;
        let refused = part(number(4)?, number(12)?)?;
        Some(Self { accepted: SignatureList::read(accepted), refused: SignatureList::read(refused) })
    }
}

impl SignatureList {
    /// Reads a certificate, or several lists one after the other.
    fn read(bytes: &[u8]) -> Self {
        if let Some(certificate) = Certificate::from_der(bytes) {
            return Self { certificates: vec![certificate], digests: Vec::new() };
        }
        let mut found = Self::default();
        let mut rest = bytes;
        while let Some((list, behind)) = Self::split(rest) {
            found.add(list);
            rest = behind;
        }
        found
    }

    /// The first list, and what is behind it.
    fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let length = usize::try_from(u32_le(bytes, 16)?).ok()?;
        if length < 28 { None } else { bytes.split_at_checked(length) }
    }

    fn add(&mut self, list: &[u8]) {
        let number = |at| u32_le(list, at).and_then(|number| usize::try_from(number).ok());
        let (Some(kind), Some(header), Some(size)) = (array::<16>(list, 0), number(20), number(24)) else { return };
        let entries = header.checked_add(28).and_then(|start| list.get(start..)).unwrap_or_default();
        // Each has its owner in front.
        for entry in entries.chunks_exact(size.max(17)).filter_map(|entry| entry.get(16..)) {
            if &kind == X509.as_bytes() {
                self.certificates.extend(Certificate::from_der(entry));
            } else if &kind == SHA256.as_bytes() {
                self.digests.extend(array::<32>(entry, 0));
            }
        }
    }
}
