//! Any bytes as an ISO image or as the image of a disk: no panic, and files, boot images and areas for embedding only where the image has
//! bytes, each of which belongs to one file.
#![no_main]

use std::ops::Range;

use imagelib::base::{Base, BaseIdentity, IsoSystem};
use imagelib::digest::Digest;
use imagelib::ignition::Additions;
use imagelib::image::Image;
use imagelib::iso::{TreeKind, Volume, el_torito};
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::layout::{Layout, Roles};
use imagelib::overlay::Overlay;
use imagelib::recipe::Recipe;
use imagelib::source::Role;
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
    if let Ok(layout) = Layout::of_iso(&bytes, &Roles::default()) {
        let sizes: Vec<u64> = layout.files().iter().map(|file| file.size).collect();
        let whole = Range { start: 0, end: bytes.len() as u64 };
        assert_eq!(layout.count(std::slice::from_ref(&whole)), sizes);
        assert_eq!(sizes.iter().sum::<u64>(), whole.end);
    }
    let base = match Base::probe(&(Role::Iso, &bytes)) {
        Ok(Base::Iso(base)) => base,
        Ok(disk @ Base::Disk(_)) => return plan(bytes, disk),
        _ => return,
    };
    if let IsoSystem::Live(_) = base.system {
        return plan(bytes, Base::Iso(base));
    }
    let IsoSystem::Coreos(coreos) = base.system else { return };
    let areas = &coreos.areas;
    let arguments = areas.kernel_arguments().map(|areas| areas.default().clone());
    if let Ok(patches) = areas.embed(vec![1; 64], arguments.as_ref()) {
        Overlay::patched(Role::Iso, bytes.len() as u64, patches).expect("patches fit the image");
    }
});

/// An image of it: what is planned can be read to its end.
fn plan(bytes: &[u8], base: Base) {
    let identity = BaseIdentity::of(&[(Role::Iso, Digest::of(bytes))].into());
    let additions = Additions { hostname: "worker-0".parse().ok(), ..Additions::default() };
    let arguments =
        KernelArgumentEdits { append: "a=b".parse().into_iter().collect(), ..KernelArgumentEdits::default() };
    for format in base.formats() {
        let recipe = Recipe { kernel_arguments: arguments.clone(), ..Recipe::new(identity, format, additions.clone()) };
        let Ok(image) = Image::plan(&recipe, &base, identity) else { continue };
        for file in image.files.values() {
            let mut start = [0; 4096];
            file.read_at(&(Role::Iso, &bytes), 0, &mut start).expect("the beginning can be read");
            file.read_at(&(Role::Iso, &bytes), file.size().saturating_sub(4096), &mut start).expect("the end, too");
        }
    }
}
