//! Every kind of base in every format: an image is of the format that was asked for, or there is none.

use crate::live_media;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use imagelib::base::{Base, BaseIdentity, Format, Role};
use imagelib::cpio::Archive;
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::digest::Digest;
use imagelib::disk::mbr::{Mbr, MbrPartition};
use imagelib::image::{FileName, Image};
use imagelib::overlay::Content;
use imagelib::recipe::{DataDrive, Recipe};
use live_media::*;

type Files = BTreeMap<Role, Vec<u8>>;

const ALL: [Format; 5] = [Format::Iso, Format::MinimalIso, Format::Initrd, Format::Usb, Format::Data];

fn fixture(name: &str) -> Files {
    let packed = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/bases").join(name)).unwrap();
    let mut iso = Vec::new();
    liblzma::read::XzDecoder::new(packed.as_slice()).read_to_end(&mut iso).unwrap();
    Files::from([(Role::Iso, iso)])
}

/// Whose root is its initramfs.
fn ramdisk() -> Vec<u8> {
    let mut archive = Archive::new();
    for path in ["init", "usr/sbin/NetworkManager"] {
        archive.file(path.parse().unwrap(), 0o755, "x").unwrap();
    }
    archive.add_parents(0o755).unwrap();
    archive.to_bytes()
}

fn live_iso(initrd: Vec<u8>, in_esp: &[(&str, Vec<u8>)]) -> Files {
    let menu = "menuentry Live {\n linux /vmlinuz quiet\n initrd /initrd.img\n}\n";
    let files = [("boot/grub/grub.cfg", menu.into()), ("vmlinuz", kernel()), ("initrd.img", initrd), loader()];
    Files::from([(Role::Iso, iso(&files, in_esp))])
}

/// GRUB for BIOSes.
fn loader() -> (&'static str, Vec<u8>) {
    ("isolinux/isolinux.bin", vec![7; 4096])
}

fn esp_of(program: Vec<u8>) -> Vec<u8> {
    let image = iso(&[("readme", vec![1])], &[("EFI/BOOT/BOOTX64.EFI", program)]);
    file_in(&image, imagelib::iso::TreeKind::Primary, "/boot/efi.img")
}

/// With a partition table that has this one entry, or none that is used, and without code for a BIOS.
fn with_table(mut files: Files, partition: Option<MbrPartition>) -> Files {
    let Content::Bytes(table) = Mbr::new([partition, None, None, None]).table().content else { panic!("bytes") };
    let iso = files.get_mut(&Role::Iso).unwrap();
    iso[512 - table.len()..512].copy_from_slice(&table);
    files
}

/// An entry for the whole of an ISO: of isohybrid's type, which means nothing to firmware, or of another.
fn whole(kind: u8) -> MbrPartition {
    MbrPartition { bootable: true, kind, first_sector: 0, sectors: 4000 }
}

/// Each base with the formats that it has.
fn bases() -> Vec<(&'static str, Files, Vec<Format>)> {
    use Format::{Data, Initrd, Iso, MinimalIso, Usb};
    let of_kernel = |more: &[(Role, Vec<u8>)]| {
        let mut files = Files::from([(Role::Initrd, ramdisk())]);
        files.extend(more.iter().cloned());
        files
    };
    let kernel = (Role::Kernel, kernel());
    let bios = vec![0; 4096].into_iter().chain(*b"ISOLINUX 6.04").collect();
    let core = (Role::BiosLoaderCore, b"\x7fELF ldlinux.c32".to_vec());
    let with_esp = [("EFI/BOOT/BOOTX64.EFI", grub())];
    vec![
        ("CoreOS", fixture("coreos.iso.xz"), vec![Iso, Initrd, Usb]),
        ("CoreOS with a minimal one", fixture("coreos-packed.iso.xz"), vec![Iso, MinimalIso, Initrd, Usb]),
        ("CoreOS of 2021", fixture("coreos-headers.iso.xz"), vec![Iso, Initrd, Usb]),
        ("CoreOS for s390x", fixture("coreos-s390x.iso.xz"), vec![Iso, Initrd]),
        ("no boot menu", fixture("tree.iso.xz"), vec![]),
        ("live, no disk", live_iso(live_boot("l"), &[]), vec![Iso]),
        // As `genisoimage -hfs` writes one, and `xorriso -partition_offset 16`.
        ("live, unused table", with_table(live_iso(live_boot("l"), &[]), None), vec![Iso]),
        ("live, no boot code", with_table(live_iso(live_boot("l"), &[]), Some(whole(0x17))), vec![Iso]),
        ("live, unused table and UEFI", with_table(live_iso(live_boot("l"), &with_esp), None), vec![Iso]),
        ("live, table and UEFI", with_table(live_iso(live_boot("l"), &with_esp), Some(whole(0x17))), vec![Iso, Usb]),
        ("live", live_iso(live_boot("l"), &with_esp), vec![Iso, Usb]),
        ("ramdisk", live_iso(ramdisk(), &with_esp), vec![Iso, Initrd, Usb]),
        ("an initramfs", of_kernel(&[]), vec![Initrd]),
        ("a kernel and an initramfs", of_kernel(std::slice::from_ref(&kernel)), vec![Initrd]),
        ("with GRUB", of_kernel(&[kernel.clone(), (Role::Esp, esp_of(grub()))]), vec![Iso, Initrd, Usb]),
        ("with a unified kernel image", of_kernel(&[kernel.clone(), (Role::Esp, esp_of(unified("l")))]), vec![Initrd]),
        ("with systemd-boot", of_kernel(&[kernel.clone(), (Role::Esp, esp_of(systemd_boot()))]), vec![Initrd, Usb]),
        ("with ISOLINUX", of_kernel(&[kernel, (Role::BiosLoader, bios), core]), vec![Iso, Initrd]),
        ("nothing", Files::new(), vec![Data]),
    ]
}

#[test]
fn an_image_is_of_the_format_asked_for_or_there_is_none() {
    for (name, files, expected) in bases() {
        let base = if files.is_empty() { Base::Nothing } else { Base::probe(&files).unwrap() };
        let identity = BaseIdentity::of(&files.iter().map(|(role, bytes)| (*role, Digest::of(bytes))).collect());
        let mut sorted = base.formats();
        sorted.sort();
        assert_eq!(sorted, expected, "{name}");
        for format in ALL {
            let mut recipe = Recipe::new(identity, format, additions());
            if files.is_empty() {
                recipe.additions.keyfiles.clear();
                recipe.data = Some(DataDrive::new(DataKind::NoCloud, FileSystem::Iso));
                recipe.additions.hostname = Some("node-7".parse().unwrap());
            }
            let planned = Image::plan(&recipe, &base, identity);
            let image = match (planned, expected.contains(&format)) {
                (Ok(image), true) => image,
                (Err(error), false) => {
                    let text = error.to_string();
                    let reason = match (format, &base) {
                        (_, Base::Nothing) => "without a base, dayone makes only data images",
                        (format, _) if name == "no boot menu" && format != Format::Data => "no boot menu on it",
                        (Format::Data, _) => {
                            "dayone cannot make an image of format 'data' from this base: a data image has no base"
                        }
                        (Format::MinimalIso, _) if name.starts_with("CoreOS") => {
                            "a minimal ISO from this base: it has no /coreos/miniso.dat"
                        }
                        (Format::MinimalIso, Base::Iso(_)) => "cannot make a minimal ISO from this base",
                        (Format::MinimalIso, _) => {
                            "'minimal-iso' from this base: only a live ISO can become a minimal ISO"
                        }
                        _ => "dayone cannot make an image of format",
                    };
                    assert!(text.contains(reason), "{name} as {format}: {text}, not {reason}");
                    continue;
                }
                (planned, _) => panic!("{name} as {format}: {:?}", planned.map(|image| image.files)),
            };
            let main = match format {
                Format::Iso | Format::MinimalIso => FileName::BootIso,
                Format::Initrd => FileName::Initrd,
                Format::Usb => FileName::BootDisk,
                Format::Data => FileName::DataIso,
            };
            assert_eq!(image.main_file().map(|(name, _)| name), Some(main), "{name} as {format}");
            let findings = image.report.findings();
            let only_cd = findings.iter().any(|finding| finding.code == "bios-only-from-cd");
            // The others have boot code for disks, or nothing for a BIOS.
            let has_isolinux_alone = matches!(name, "live" | "live, table and UEFI" | "ramdisk");
            assert_eq!(only_cd, format == Format::Usb && has_isolinux_alone, "{name} as {format}");
            let left_out = image.changes.iter().any(|change| change.action == "left out of the ISO");
            assert_eq!(left_out, format == Format::MinimalIso, "{name} as {format}");
        }
    }
}
