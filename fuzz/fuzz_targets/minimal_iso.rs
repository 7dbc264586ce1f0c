//! Any bytes as the description of the minimal ISO, in an ISO that has one: no panic, no more memory than allowed, and
//! a minimal ISO that can be read to its end.
#![no_main]

use std::sync::LazyLock;

use imagelib::compression::Compression;
use imagelib::iso::Volume;
use imagelib::iso::coreos::MinimalIso;
use libfuzzer_sys::fuzz_target;

static ISO: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let packed = include_bytes!("../../fixtures/bases/coreos-packed.iso.xz");
    Compression::Xz.decompress(packed, 16 << 20).expect("the fixture")
});

fuzz_target!(|bytes: &[u8]| {
    let mut iso = ISO.clone();
    let volume = Volume::open(&iso).expect("the fixture");
    let entry = volume.find(&iso, "coreos/miniso.dat").expect("the fixture").expect("the fixture");
    let extent = entry.extents[0];
    let place = &mut iso[extent.offset as usize..(extent.offset + extent.length) as usize];
    let length = bytes.len().min(place.len());
    place.fill(0);
    place[..length].copy_from_slice(&bytes[..length]);
    let Ok(Some(minimal)) = MinimalIso::probe(&iso, &volume) else { return };
    assert!(minimal.size() <= iso.len() as u64);
    let _ = minimal.verify(&iso);
    let default = minimal.areas().kernel_arguments().expect("they are part of it").default();
    if let Ok(planned) = minimal.plan(vec![1; 64], default) {
        assert_eq!(planned.overlay.size(), minimal.size());
    }
});
