//! Programs as no compiler makes them. Real ones, with their signatures, are in the acceptance tests.

use proptest::prelude::*;

use super::report::Verdict;
use super::trust::{Verifier, judge};
use super::vendor::VendorKeys;
use super::{Architecture, SignatureState, examine};
use crate::authenticode::{PeError, PeImage};
use crate::compression::Compression;

/// Where things are in [`program`].
pub(super) const HEADER: usize = 0x40;
const OPTIONAL: usize = HEADER + 24;
const CHECKSUM: usize = OPTIONAL + 64;
const CERTIFICATES: usize = OPTIONAL + 112 + 4 * 8;
const HEADERS: usize = 0x200;
/// A section of this length follows the headers.
const SECTION: usize = 0x100;

/// An EFI program of one section with `certificates` behind it.
pub(super) fn program(name: &[u8], content: &[u8], certificates: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADERS];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let long = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    put(0, b"MZ");
    put(0x3c, &long(HEADER));
    put(HEADER, b"PE\0\0");
    put(HEADER + 4, &0x8664_u16.to_le_bytes());
    put(HEADER + 6, &1_u16.to_le_bytes());
    put(HEADER + 20, &240_u16.to_le_bytes());
    put(OPTIONAL, &0x20b_u16.to_le_bytes());
    put(OPTIONAL + 60, &long(HEADERS));
    put(OPTIONAL + 68, &10_u16.to_le_bytes());
    put(OPTIONAL + 108, &long(16));
    if !certificates.is_empty() {
        put(CERTIFICATES, &long(HEADERS + SECTION));
        put(CERTIFICATES + 4, &long(certificates.len()));
    }
    let section = OPTIONAL + 240;
    put(section, name);
    put(section + 8, &long(content.len()));
    put(section + 16, &long(SECTION));
    put(section + 20, &long(HEADERS));
    bytes.extend(content);
    bytes.resize(HEADERS + SECTION, 0);
    bytes.extend(certificates);
    bytes
}

/// An entry of a certificate table.
fn entry(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(8 + content.len()).unwrap();
    let mut entry = [&length.to_le_bytes()[..], &0x200_u16.to_le_bytes(), &kind.to_le_bytes(), content].concat();
    entry.resize(entry.len().next_multiple_of(8), 0);
    entry
}

#[test]
fn a_program_without_signatures_has_a_digest() {
    let found = examine(&program(b".text", b"code", b""));
    assert_eq!(found.architecture, Some(Architecture::X64));
    assert!(found.signatures.is_empty() && found.digest.is_some() && found.problem.is_none());
}

#[test]
fn the_digest_leaves_out_the_checksum_and_the_signatures_alone() {
    let certificates = entry(2, b"no signature");
    let bytes = program(b".text", b"code", &certificates);
    let digest = examine(&bytes).digest;
    assert_eq!(digest, examine(&program(b".text", b"code", &entry(2, b"another one!"))).digest);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let is_left_out = (CHECKSUM..CHECKSUM + 4).contains(&at) || at >= HEADERS + SECTION;
        let found = examine(&changed).digest;
        if (CERTIFICATES..CERTIFICATES + 8).contains(&at) {
            // The table may now be elsewhere in the file, where there are no signatures.
            assert!(found.is_none() || found == digest, "byte {at}");
        } else {
            // What is no program any more has no digest.
            assert_eq!(found == digest, is_left_out, "byte {at}");
        }
    }
}

#[test]
fn what_is_behind_the_sections_counts() {
    let bytes = program(b".text", b"code", b"");
    let digest = examine(&bytes).digest;
    let longer = [bytes.as_slice(), b"symbols"].concat();
    assert!(examine(&longer).digest.is_some());
    assert_ne!(examine(&longer).digest, digest);
}

#[test]
fn a_signature_that_cannot_be_read_is_not_good() {
    let table = [entry(2, b"garbage"), entry(0xef0, b"of another kind")].concat();
    let found = examine(&program(b".text", b"code", &table));
    let states: Vec<SignatureState> = found.signatures.iter().map(|signature| signature.state).collect();
    assert_eq!(states, [SignatureState::Unverified]);
    assert!(found.signatures[0].problem.as_ref().unwrap().contains("PKCS #7"));
}

#[test]
fn sections_and_tables_outside_of_the_file_are_damage() {
    let read = |bytes: &[u8]| PeImage::read(&bytes).unwrap_err().to_string();
    let bytes = program(b".text", b"code", &entry(2, b"x"));
    assert!(read(&bytes[..bytes.len() - 1]).contains("certificate table is cut off"));
    let mut changed = program(b".text", b"code", b"");
    changed[OPTIONAL + 240 + 16..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&changed).contains("a section is cut off"));
    assert!(matches!(PeImage::read(&&b"#!/bin/sh"[..]), Err(PeError::NotPe(_))));
    assert!(matches!(PeImage::read(&&b""[..]), Err(PeError::NotPe(_))));
}

#[test]
fn components_are_read_from_sbat_data() {
    let text = b"sbat,1,SBAT Version,sbat,1,https://x\nshim,4,UEFI shim,shim,1,https://x\nbad\ngrub,x,\n";
    let sbat = examine(&program(b".sbat", text, b"")).sbat;
    assert_eq!(sbat.len(), 1, "{sbat:?}");
    assert_eq!((sbat[0].component.as_str(), sbat[0].generation), ("shim", 4));
}

#[test]
fn a_compressed_kernel_is_unknown_behind_a_shim_and_impossible_for_firmware() {
    let bytes = program(b".vendor_cert"[..8].as_ref(), &vendor(b""), b"");
    let shim = VendorKeys::of(&bytes, &PeImage::read(&bytes).unwrap()).unwrap().unwrap();
    let compressed = Compression::Gzip.compress(&program(b".text", b"code", b"")).unwrap();
    for (kernel, by_shim) in [(compressed, Verdict::Unknown), (b"text".to_vec(), Verdict::Impossible)] {
        let found = examine(&kernel);
        assert_eq!(judge(&found, Verifier::Shim(&shim)).0, by_shim);
        assert_eq!(judge(&found, Verifier::Firmware).0, Verdict::Impossible);
    }
}

/// The section of a shim that accepts nothing and refuses what is in these lists.
pub(super) fn vendor(refused: &[u8]) -> Vec<u8> {
    let length = u32::try_from(refused.len()).unwrap();
    let numbers = [0, length, 16, 16].map(u32::to_le_bytes).concat();
    [&numbers, refused].concat()
}

#[test]
fn digests_are_read_from_the_lists_in_a_shim() {
    // EFI_CERT_SHA256_GUID; the length of the list, of its header and of an entry; and two entries with their owners.
    let guid = *b"\x26\x16\xc4\xc1\x4c\x50\x92\x40\xac\xa9\x41\xf9\x36\x93\x43\x28";
    let list = |entries: &[[u8; 48]]| {
        let length = u32::try_from(28 + 48 * entries.len()).unwrap();
        [&guid[..], &length.to_le_bytes(), &0_u32.to_le_bytes(), &48_u32.to_le_bytes(), &entries.concat()].concat()
    };
    let lists = [list(&[[1; 48], [2; 48]]), list(&[[3; 48]])].concat();
    let bytes = program(b".vendor_cert"[..8].as_ref(), &vendor(&lists), b"");
    let program = PeImage::read(&bytes).unwrap();
    let keys = VendorKeys::of(&bytes, &program).unwrap().unwrap();
    assert_eq!(keys.refused.digests, [[1; 32], [2; 32], [3; 32]]);
    assert!(keys.accepted.digests.is_empty() && keys.accepted.certificates.is_empty());
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
        examine(&bytes);
    }

    #[test]
    fn a_changed_program_has_an_answer(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        certificates in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = program(b".vendor_", &vendor(&[7; 96]), &entry(2, &certificates));
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let found = examine(&bytes);
        prop_assert!(found.signatures.iter().all(|signature| signature.state != SignatureState::Good));
    }
}
