//! Any bytes as an ISO image: no panic, and files, boot images and areas for embedding only where the image has bytes.
#![no_main]

use imagelib::base::{Base, IsoSystem};
use imagelib::iso::{TreeKind, Volume, el_torito};
use imagelib::overlay::Overlay;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(volume) = Volume::open(&bytes) {
        for entry in el_torito::read(&bytes, &volume).ok().flatten().into_iter().flat_map(|catalog| catalog.entries) {
            assert!(entry.image.offset + entry.image.length <= bytes.len() as u64);
        }
        for tree in [TreeKind::Primary, TreeKind::Joliet] {
            for entry in volume.walk(&bytes, tree).take_while(Result::is_ok).flatten() {
                for extent in entry.1.extents {
                    assert!(extent.offset + extent.length <= bytes.len() as u64);
                }
            }
        }
    }
    let Ok(Base::Iso(base)) = Base::probe(&(imagelib::source::Role::Iso, &bytes)) else { return };
    let IsoSystem::Coreos(coreos) = base.system else { return };
    let areas = &coreos.areas;
    let arguments = areas.kernel_arguments().map(|areas| areas.default().clone());
    if let Ok(patches) = areas.embed(vec![1; 64], arguments.as_ref()) {
        Overlay::patched(imagelib::source::Role::Iso, bytes.len() as u64, patches).expect("patches fit the image");
    }
});
