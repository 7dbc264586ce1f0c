//! Streams that every program unpacks, except the kernel.

use std::io::Write as _;

use liblzma::stream::{Check, Filters, LzmaOptions, Stream};

use super::*;
use crate::compression::KernelLacks;

/// An archive, compressed with xz: with this check, and with these filters before LZMA2.
fn xz(check: Check, filters: impl Fn(&mut Filters)) -> Vec<u8> {
    compressed(&raw(&["f a 1"]), check, filters)
}

fn compressed(bytes: &[u8], check: Check, filters: impl Fn(&mut Filters)) -> Vec<u8> {
    let mut chain = Filters::new();
    filters(&mut chain);
    chain.lzma2(&LzmaOptions::new_preset(6).unwrap());
    let stream = Stream::new_stream_encoder(&chain, check).unwrap();
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An archive, compressed with gzip: with a flag, and what it announces in the header.
fn gzip(flag: u8, part: &[u8]) -> Vec<u8> {
    let mut stream = packed(GZIP, &["f a 1"]);
    stream[3] |= flag;
    stream.splice(10..10, part.iter().copied());
    stream
}

fn lacks(image: &[u8]) -> Option<String> {
    match walk(&image, |_, _| Ok(())).unwrap().outcome {
        ReadOutcome::Complete => None,
        ReadOutcome::Stopped { reason: StopReason::KernelLacks(setting), .. } => Some(setting.to_string()),
        ReadOutcome::Stopped { reason, .. } => panic!("{reason}"),
    }
}

#[test]
fn xz_has_the_settings_that_the_kernel_knows() {
    for check in [Check::None, Check::Crc32] {
        assert_eq!(lacks(&xz(check, |_| ())), None);
    }
    for (check, name) in [(Check::Crc64, "the check CRC64"), (Check::Sha256, "the check SHA-256")] {
        let said = lacks(&xz(check, |_| ())).unwrap();
        assert!(said.contains(name) && said.contains("xz --check=crc32"), "{said}");
    }
    // Kernels differ in the filters for programs.
    let with = |filters: fn(&mut Filters)| lacks(&xz(Check::Crc32, filters));
    assert_eq!(
        with(|filters| {
            filters.x86();
        }),
        None
    );
    let delta = with(|filters| {
        filters.delta_properties(&[0]).unwrap();
    });
    assert!(delta.unwrap().contains("delta"));
    let three = with(|filters| {
        filters.x86().arm();
    });
    assert!(three.unwrap().contains("more than two filters"));
}

/// Streams whose headers ask for a dictionary of this size (as xz encodes it, and in bytes), so that no test needs memory for one.
fn with_dictionary(code: u8, bytes: u32) -> [Vec<u8>; 2] {
    let mut xz = packed(XZ, &["f a 1"]);
    // The header of the block: eight bytes, of which the fifth is the dictionary, and their CRC32.
    xz[16] = code;
    let mut sum = flate2::Crc::new();
    sum.update(&xz[12..20]);
    xz[20..24].copy_from_slice(&sum.sum().to_le_bytes());
    let mut lzma = packed(Compression::Lzma, &["f a 1"]);
    lzma[1..5].copy_from_slice(&bytes.to_le_bytes());
    [xz, lzma]
}

#[test]
fn dictionaries_have_up_to_128_mib() {
    for image in with_dictionary(30, 128 << 20) {
        assert_eq!(lacks(&image), None);
    }
    // The kernel unpacks these, too.
    for image in with_dictionary(31, 192 << 20) {
        let (offset, reason) = stop(&image);
        assert!(offset == 0 && matches!(reason, StopReason::Dictionary), "{reason}");
        assert!(!walk(&image, |_, _| Ok(())).unwrap().outcome.stops_the_kernel());
    }
}

#[test]
fn the_kernel_passes_over_no_part_of_a_gzip_header_but_a_name() {
    assert_eq!(lacks(&gzip(0x08, b"name\0")), None);
    for (flag, part, name) in [(0x04, &b"\x04\0abcd"[..], "an extra field"), (0x10, b"comment\0", "a comment")] {
        let said = lacks(&gzip(flag, part)).unwrap();
        assert!(said.contains(name) && said.contains("gzip -n"), "{said}");
    }
}

#[test]
fn a_member_that_the_kernel_cannot_unpack_ends_the_image() {
    let start = base();
    let image = [start.clone(), xz(Check::Crc64, |_| ()), raw(&["f b 2"])].concat();
    let (offset, reason) = stop(&image);
    assert_eq!(offset, start.len() as u64);
    assert!(matches!(reason, StopReason::KernelLacks(KernelLacks::XzCheck("CRC64"))), "{reason}");
    let walked = walk(&image, |_, _| Ok(())).unwrap();
    assert!(walked.outcome.stops_the_kernel());
    let error = walked.outcome.complete().unwrap_err().to_string();
    assert!(error.contains(&format!("offset {offset}: the kernel cannot unpack")), "{error}");
}

#[test]
fn what_is_not_for_the_kernel_may_have_any_settings() {
    let disk = [vec![0; 448], b"disk".to_vec(), vec![0; 1000]].concat();
    let error = survey(&compressed(&disk, Check::Crc64, |_| ()), &[], 0).unwrap_err();
    assert!(matches!(error, InitramfsError::OtherContent(XZ)), "{error}");
}
