//! What an image's bytes are: the files of a layout lie where xorriso and isoinfo see them, on the ISOs of many layouts and
//! on the images that dayone makes of them.

#[allow(dead_code)]
#[path = "iso_edit/layouts.rs"]
mod layouts;
#[allow(dead_code)]
#[path = "iso_edit/readers.rs"]
mod readers;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use acceptance::bases::{
    coreos_iso, debian_live_iso, dracut_live_iso, fixtures, historical_coreos_isos, made, ramdisk_iso,
};
use acceptance::extents::{Extents, by_isoinfo, by_xorriso};
use acceptance::peers::run;
use acceptance::server::dayone;
use imagelib::layout::{BootRole, Layout, MOST_FILES, Roles};
use layouts::LAYOUTS;
use tempfile::TempDir;

fn layout_of(iso: &Path) -> Layout {
    let bytes = fs::read(iso).unwrap();
    let layout = Layout::of_iso(&bytes, &Roles::default()).unwrap();
    let mut position = 0;
    for (range, _) in layout.parts() {
        assert_eq!(range.start, position, "{}: there is a gap", iso.display());
        position = range.end;
    }
    assert_eq!(position, bytes.len() as u64);
    layout
}

/// Every byte of a file belongs to it, by this name or by another one that the same bytes have, or to what is in it.
fn assert_extents(layout: &Layout, extents: &Extents, by_name: bool, what: &str) {
    let mut files = 0;
    for (path, ranges) in extents {
        let same = extents.iter().filter(|(_, others)| others.first() == ranges.first()).map(|(path, _)| path);
        let names: BTreeSet<&str> = same.map(String::as_str).collect();
        let mut owners = BTreeSet::new();
        for range in ranges {
            let parts = layout.parts().skip_while(|(part, _)| part.end <= range.start);
            for (part, file) in parts.take_while(|(part, _)| part.start < range.end) {
                let container = file.name.split_once(':').map_or(file.name.as_str(), |(container, _)| container);
                assert!(file.is_file || file.name == "boot catalog", "{what}: {path} at {part:?} is {}", file.name);
                let known = names.contains(container) || container == "boot catalog" || !by_name;
                assert!(known, "{what}: {path} at {part:?} is {}", file.name);
                owners.insert(container);
            }
        }
        assert!(owners.len() == 1 || ranges.is_empty(), "{what}: {path} is {owners:?}");
        files += usize::from(!ranges.is_empty());
    }
    assert!(files > 0, "{what}");
}

#[test]
fn files_lie_where_others_see_them_in_all_layouts() {
    for (seed, kind) in (1..).zip(&LAYOUTS) {
        let iso = kind.make(seed);
        let layout = layout_of(iso.path());
        assert_extents(&layout, &by_xorriso(iso.path()), kind.rock_ridge, kind.name);
        if kind.rock_ridge {
            assert_extents(&layout, &by_isoinfo(iso.path()), true, kind.name);
        }
    }
}

#[test]
fn files_lie_where_others_see_them_on_bases() {
    let directory = TempDir::new().unwrap();
    let mut isos = vec![coreos_iso(&[]), debian_live_iso(), dracut_live_iso(), ramdisk_iso(&[])];
    for (name, bytes) in historical_coreos_isos() {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        isos.push(path);
    }
    for iso in isos {
        assert_extents(&layout_of(&iso), &by_xorriso(&iso), true, &iso.display().to_string());
    }
    // A file of 4 GiB and more, in several extents, that is one hole.
    let split = directory.path().join("split");
    fs::copy(made("make-split-file-iso.sh", &[]), &split).unwrap();
    fs::OpenOptions::new().write(true).open(&split).unwrap().set_len(4_614_113_280).unwrap();
    let opened = dayone::store::base_file::BaseFile::open(&split).unwrap();
    let layout = Layout::of_iso(&opened, &Roles::default()).unwrap();
    assert_extents(&layout, &by_xorriso(&split), true, "split");
}

fn built(base: &Path, format: &str, output: &Path) -> PathBuf {
    let host = fixtures("nmstate/bond-vlan/nmstate.yaml");
    run(dayone()
        .args(["build", "--format", format, "--host"])
        .arg(host)
        .args(["--hostname", "worker-0", "--base"])
        .arg(base)
        .arg("-o")
        .arg(output));
    output.to_owned()
}

#[test]
fn what_moved_to_the_end_is_found_there_and_has_its_role() {
    let directory = TempDir::new().unwrap();
    for (name, base) in [("coreos", coreos_iso(&[])), ("debian", debian_live_iso()), ("dracut", dracut_live_iso())] {
        let image = built(&base, "iso", &directory.path().join(format!("{name}.iso")));
        let (before, layout) = (layout_of(&base), layout_of(&image));
        let extents = by_xorriso(&image);
        assert_extents(&layout, &extents, true, name);
        let find = |layout: &Layout, role| -> Option<(String, u64)> {
            let mut files = layout.files().iter().filter(|file| file.role == Some(role));
            files.next().map(|file| (file.name.clone(), file.size))
        };
        for role in [BootRole::Kernel, BootRole::Rootfs] {
            assert!(find(&layout, role).is_some(), "{name}: no {role}");
            assert_eq!(find(&layout, role), find(&before, role), "{name}");
        }
        let (path, size) = find(&layout, BootRole::Initrd).unwrap();
        let seen: u64 = extents[&path].iter().map(|range| range.end - range.start).sum();
        assert_eq!(size, seen, "{name}: {path}");
        if name != "coreos" {
            assert!(size > find(&before, BootRole::Initrd).unwrap().1, "{name}: {path} has not grown");
            assert!(extents[&path][0].start >= fs::metadata(&base).unwrap().len(), "{name}: {path} has not moved");
        }
        let reduced = layout.reduced(MOST_FILES);
        assert!(reduced.files().len() <= MOST_FILES && find(&reduced, BootRole::Initrd).unwrap().1 == size, "{name}");
    }
}
