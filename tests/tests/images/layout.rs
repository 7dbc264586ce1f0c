//! What an image's bytes are: the files of a layout lie where xorriso and isoinfo see them, on the ISOs of many layouts and
//! on the images that dayone makes of them, and on disks where mtools sees them.

#[allow(dead_code)]
use crate::iso_edit::layouts;
#[allow(dead_code)]
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use acceptance::bases::{
    coreos_iso, debian_live_iso, dracut_live_iso, extracted, fixtures, historical_coreos_isos, made, ramdisk_iso,
};
use acceptance::extents::{Extents, by_isoinfo, by_xorriso};
use acceptance::fat::{content_of, made as made_fat};
use acceptance::peers::run;
use acceptance::server::dayone;
use imagelib::base::Base;
use imagelib::image::FileName;
use imagelib::layout::{BootRole, Layout, MAX_FILES, Roles};
use imagelib::overlay::Overlay;
use imagelib::source::Role;
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
    let opened = media::base_file::BaseFile::open(&split).unwrap();
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
        let reduced = layout.reduced(MAX_FILES);
        assert!(reduced.files().len() <= MAX_FILES && find(&reduced, BootRole::Initrd).unwrap().1 == size, "{name}");
    }
}

/// Every file of a FAT file system has its own bytes, as mtools reads them.
fn assert_fat(layout: &Layout, image: &Path, file_system: &Path, files: &[(&str, Option<BootRole>)]) {
    let bytes = fs::read(image).unwrap();
    for (path, role) in files {
        let mut content = Vec::new();
        for (range, file) in layout.parts().filter(|(_, file)| file.name == *path) {
            assert_eq!(file.role, *role, "{path}");
            content
                .extend_from_slice(&bytes[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]);
        }
        assert!(!content.is_empty() && content == content_of(file_system, path), "{path}");
    }
}

#[test]
fn files_on_disks_and_drives_are_told_apart() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let layout_of = |name: FileName, image: &Path| {
        let bytes = fs::read(image).unwrap();
        let whole = Overlay::patched(Role::Iso, bytes.len() as u64, vec![]).unwrap();
        Layout::of_file(name, &whole, &Base::Nothing, (Role::Iso, bytes)).unwrap()
    };
    let [kernel, initrd] = ["/vmlinuz", "/initrd"].map(|file| extracted(&ramdisk_iso(&[]), file, directory.path()));
    let (esp, loader) = (path("esp.img"), "/usr/lib/systemd/boot/efi/systemd-bootx64.efi");
    let files = [("EFI/BOOT/BOOTX64.EFI".to_owned(), fs::read(loader).unwrap())];
    made_fat(&esp, &[], 8192, &files.into());
    let base = format!("kernel:{},initrd:{},esp:{}", kernel.display(), initrd.display(), esp.display());
    let disk = built(Path::new(&base), "usb", &path("boot.img"));
    let file_system = PathBuf::from(format!("{}@@1M", disk.display()));
    let layout = layout_of(FileName::BootDisk, &disk);
    let files = [
        ("/EFI/BOOT/BOOTX64.EFI", None),
        ("/vmlinuz", Some(BootRole::Kernel)),
        ("/initrd", Some(BootRole::Initrd)),
        ("/loader/entries/dayone.conf", None),
    ];
    assert_fat(&layout, &disk, &file_system, &files);
    for structure in ["partition tables", "FAT and directories"] {
        assert!(layout.files().iter().any(|file| file.name == structure && !file.is_file), "{structure}");
    }

    let host = fixtures("nmstate/mac-identified/nmstate.yaml");
    let drive = path("data.img");
    let options = ["build", "--format", "data", "--data", "config-2", "--file-system", "vfat", "--host"];
    run(dayone().args(options).arg(&host).arg("-o").arg(&drive));
    let layout = layout_of(FileName::DataDisk, &drive);
    assert_fat(&layout, &drive, &drive, &[("/openstack/latest/network_data.json", None)]);
    let drive = path("data.iso");
    run(dayone().args(["build", "--format", "data", "--data", "cidata", "--host"]).arg(&host).arg("-o").arg(&drive));
    assert_extents(&layout_of(FileName::DataIso, &drive), &by_xorriso(&drive), true, "cidata");
}
