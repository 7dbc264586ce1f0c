//! Unified kernel images on disks.

use imagelib::base::live::NotCustomisable;
use imagelib::base::{Base, Format, Role};
use imagelib::digest::Digest;
use imagelib::disk::fat::FatImage;
use imagelib::disk::gpt::Gpt;
use imagelib::disk::usb::UsbDisk;
use imagelib::image::{self, FileName};
use imagelib::overlay::{Overlay, Segment, Sizes};
use imagelib::recipe::Recipe;
use imagelib::secure_boot::{ProgramRole, Verdict};

use crate::live_media::{self, Files, live_boot, planned, probe, recipe, systemd_boot, unified_by, unified_of};
use crate::uki::{LOADER, NEW, iso, section};
use crate::uki_signatures::{Key, surveyed};

/// A disk with a GPT and one EFI system partition, which has these files.
fn disk(files: Files<'_>) -> Vec<u8> {
    let content = |bytes: &Vec<u8>| vec![Segment::bytes(bytes.clone())];
    let files = files.iter().map(|(path, bytes)| (path.parse().unwrap(), content(bytes))).collect();
    let disk = UsbDisk { label: "ESP".parse().unwrap(), identity: Digest::of(b"disk"), files: &files };
    live_media::bytes_of(&Overlay::concatenated(&Sizes::new(), disk.layout().unwrap()).unwrap(), &[])
}

/// The image of a disk is customised like an ISO, and becomes a disk alone.
#[test]
fn a_disk_gets_addons_and_menu_entries_in_place() {
    let entry = b"title Live\nlinux /vmlinuz\ninitrd /initrd.img\noptions quiet\n".to_vec();
    let base = disk(&[
        (LOADER, systemd_boot()),
        ("EFI/Linux/live.efi", unified_by(NEW, "live")),
        ("loader/entries/live.conf", entry),
        ("vmlinuz", live_media::kernel()),
        ("initrd.img", live_boot("a")),
    ]);
    let probed = probe(&base);
    assert_eq!(probed.formats(), [Format::Usb]);
    let Base::Disk(found) = &probed else { panic!("a disk") };
    let described = found.system.as_ref().unwrap().describe();
    assert_eq!((described.boot_entries.len(), described.unified_kernel_images.len()), (1, 1), "{described:?}");
    assert!(planned(&base, &recipe(&base)).unwrap_err().to_string().contains("ask for 'usb'"));
    let recipe = Recipe { format: Format::Usb, ..recipe(&base) };
    let image = planned(&base, &recipe).unwrap();
    let made = live_media::bytes_of(&image.files[&FileName::BootDisk], &base);
    assert_eq!(made.len(), base.len());
    let ranges = Gpt::read(&made).unwrap().unwrap();
    let (_, partition) = ranges.partitions().next().unwrap();
    let fat = FatImage::open(&made, partition.first * 512..(partition.last + 1) * 512).unwrap();
    let read = |path: &str| {
        let ranges = fat.file(path).unwrap().extents.clone().into_iter();
        let bytes = |at: std::ops::Range<u64>| {
            made[usize::try_from(at.start).unwrap()..usize::try_from(at.end).unwrap()].to_vec()
        };
        ranges.map(bytes).collect::<Vec<_>>().concat()
    };
    assert!(section(&read("EFI/Linux/live.efi.extra.d/host.addon.efi"), ".initrd").is_some());
    assert_eq!(read("EFI/Linux/live.efi"), unified_by(NEW, "live"));
    assert!(read("initrd.img").len() > live_boot("a").len());
    assert!(String::from_utf8(read("loader/entries/live.conf")).unwrap().contains("options quiet x=y"));
    let changed: Vec<(&str, &str)> =
        image.changes.iter().map(|change| (change.subject.as_str(), change.action.as_str())).collect();
    assert_eq!(changed, [("EFI system partition", "bytes changed in place")]);
    let signed = image::sign(recipe, &probed, &Key::new()).unwrap();
    let programs = surveyed(&base, &signed).programs;
    let addon = programs.iter().find(|program| program.role == ProgramRole::Addon).unwrap();
    assert_eq!(addon.verdict, Verdict::NeedsSiteKey, "{addon:#?}");
    assert!(probe(&made).formats().is_empty(), "it is customised");
}

/// Its root file system may be read-only when the files are copied there. That of an ISO is an overlay in memory.
#[test]
fn a_script_makes_the_root_file_system_of_a_disk_writable() {
    let entry = b"title Live\nlinux /vmlinuz\ninitrd /initrd.img\n".to_vec();
    let menu = [
        (LOADER, systemd_boot()),
        ("loader/entries/live.conf", entry),
        ("vmlinuz", live_media::kernel()),
        ("initrd.img", live_boot("a")),
    ];
    let unified = [(LOADER, unified_of(NEW, "fedora", &["init", "usr/lib/dracut/hooks/pre-pivot/20-x.sh"]))];
    for files in [menu.as_slice(), &unified] {
        for (base, format, expected) in [(disk(files), Format::Usb, true), (iso(files), Format::Iso, false)] {
            let image = planned(&base, &Recipe { format, ..recipe(&base) }).unwrap();
            let has = |path: &str| image.embedded.iter().any(|file| file.path == path);
            assert!(has("/usr/lib/dayone/deliver"), "{format}");
            assert_eq!(has("/usr/lib/dayone/copy"), expected, "{format}");
        }
    }
}

#[test]
fn what_is_neither_an_iso_nor_a_disk_with_an_esp_is_named() {
    let error = Base::probe(&(Role::Iso, vec![0_u8; 1 << 20])).unwrap_err().to_string();
    assert!(error.contains("ISO 9660"), "{error}");
    let mut damaged = disk(&[(LOADER, unified_by(NEW, "live"))]);
    damaged[2048 * 512..][..512].fill(0);
    let Base::Disk(found) = probe(&damaged) else { panic!("a disk") };
    assert!(matches!(found.system, Err(NotCustomisable::UnreadablePartition)), "{found:?}");
    let base = disk(&[(LOADER, unified_by("252", "live"))]);
    assert!(probe(&base).formats().is_empty());
    let recipe = Recipe { format: Format::Usb, ..recipe(&base) };
    let error = planned(&base, &recipe).unwrap_err().to_string();
    assert!(error.starts_with("this base cannot be customised") && error.contains("systemd-stub 252"), "{error}");
}
