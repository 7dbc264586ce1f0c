//! Which menus a boot loader reads: that of another loader on the same medium does not make up for its own.

use imagelib::base::live::Firmware;
use imagelib::image::ImageError;
use imagelib::iso::author::{NewFile, NewIso};
use imagelib::overlay::{Overlay, Sizes};
use imagelib::recipe::Recipe;

use crate::live_media::*;

const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
const BIOS_LOADER: &str = "isolinux/isolinux.bin";
const ISOLINUX: &str = "default live\nlabel live\n  linux /live/vmlinuz\n  append initrd=/live/initrd.img quiet\n";
const GRUB: &str = "menuentry Live {\n linux /live/vmlinuz quiet\n initrd /live/initrd.img\n}\n";

/// The menu with an initrd that is not on the medium.
fn dead(menu: &str) -> Vec<u8> {
    menu.replace("initrd.img", "gone.img").into_bytes()
}

/// The files of a live system, and these.
fn with_system<'a>(more: &[(&'a str, Vec<u8>)]) -> Vec<(&'a str, Vec<u8>)> {
    let system = [("live/vmlinuz", kernel()), ("live/initrd.img", live_boot("i"))];
    system.into_iter().chain(more.iter().cloned()).collect()
}

fn medium(files: Files<'_>, in_esp: Files<'_>) -> Vec<u8> {
    iso(&with_system(files), in_esp)
}

/// A loader that contains this text.
fn loader(text: &[u8]) -> Vec<u8> {
    [vec![0; 535], text.to_vec(), vec![0; 3000]].concat()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn found(iso: &[u8]) -> Vec<String> {
    warnings(&planned(iso, &recipe(iso)).unwrap())
}

fn refused(iso: &[u8]) -> (Firmware, String) {
    match planned(iso, &recipe(iso)) {
        Err(ImageError::BootPath { firmware, path }) => (firmware, path.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_menu_of_grub_2_is_not_that_of_the_grub_before() {
    let in_esp = [(LOADER, grub())];
    let files = |text: &[u8]| [(BIOS_LOADER, loader(text)), ("boot/grub/grub.cfg", GRUB.into())];
    assert_eq!(found(&medium(&files(b"cdrom read fails"), &in_esp)), [""; 0]);
    let base = medium(&files(b"\x000.97\0/boot/grub/menu.lst\0"), &in_esp);
    let reason = "is GRUB Legacy, whose menus dayone does not read; dayone reads the menus of ISOLINUX, GRUB 2 and \
                  systemd-boot";
    assert_eq!(refused(&base), (Firmware::Bios, format!("/{BIOS_LOADER} {reason}")));
    let chosen = Recipe { boot_entries: ["Live".to_owned()].into(), ..recipe(&base) };
    let found = warnings(&planned(&base, &chosen).unwrap());
    assert!(found.len() == 1 && found[0].contains("BIOS machines start it by default"), "{found:?}");
}

#[test]
fn grub_does_not_read_the_menu_of_isolinux() {
    let menus = [("isolinux/isolinux.cfg", ISOLINUX.into()), ("boot/grub/grub.cfg", dead(GRUB))];
    let with = |loader: (&'static str, Vec<u8>)| medium(&[menus.as_slice(), &[loader]].concat(), &[]);
    let (firmware, path) = refused(&with((BIOS_LOADER, loader(b"cdrom read fails"))));
    assert!(firmware == Firmware::Bios && path.contains("of /boot/grub/grub.cfg loads /live/gone.img"), "{path}");
    assert_eq!(found(&with(isolinux())).len(), 1);
}

#[test]
fn what_uefi_starts_is_not_grub_because_grub_has_a_menu() {
    let menus = [isolinux(), ("isolinux/isolinux.cfg", ISOLINUX.into()), ("boot/grub/grub.cfg", GRUB.into())];
    for (text, name) in [
        (utf16("refind.conf"), "rEFInd"),
        (utf16("elilo.conf"), "ELILO"),
        (b"++CONFIG_B2SUM_SIGNATURE++00".to_vec(), "Limine"),
    ] {
        let other = program(&[(".text", b"code"), (".data", &text)]);
        let behind_shim = vec![(LOADER, shim()), ("EFI/BOOT/grubx64.efi", other.clone())];
        for in_esp in [vec![(LOADER, other)], behind_shim] {
            let (firmware, path) = refused(&medium(&menus, &in_esp));
            let expected = format!("/boot/efi.img is {name}, whose menus dayone does not read");
            assert!(firmware == Firmware::Uefi && path.contains(&expected), "{path}");
        }
    }
    assert_eq!(found(&medium(&menus, &[(LOADER, grub())])), [""; 0]);
}

#[test]
fn isolinux_reads_the_first_configuration_alone() {
    // Where it looks, in its order.
    let places = [
        "boot/isolinux/isolinux.cfg",
        "boot/isolinux/syslinux.cfg",
        "isolinux/isolinux.cfg",
        "isolinux/syslinux.cfg",
        "boot/syslinux/syslinux.cfg",
        "syslinux/isolinux.cfg",
        "isolinux.cfg",
        // It does not look here.
        "a/isolinux.cfg",
    ];
    for pair in places.windows(2) {
        let [first, second] = [pair[0], pair[1]];
        let with = |first_menu: &[u8], second_menu: &[u8]| {
            medium(&[isolinux(), (first, first_menu.to_vec()), (second, second_menu.to_vec())], &[])
        };
        let (firmware, path) = refused(&with(&dead(ISOLINUX), ISOLINUX.as_bytes()));
        assert!(firmware == Firmware::Bios && path.contains(&format!("of /{first} loads /live/gone.img")), "{path}");
        let found = found(&with(ISOLINUX.as_bytes(), &dead(ISOLINUX)));
        assert!(found.len() == 1 && found[0].contains(&format!("of /{second}")), "{found:?}");
    }
    // What the first one includes, or continues with, is read as well.
    for first in
        ["include /isolinux/isolinux.cfg\n", "config /isolinux/isolinux.cfg\n", "ui menu.c32 /isolinux/isolinux.cfg\n"]
    {
        let files =
            [isolinux(), ("boot/isolinux/isolinux.cfg", first.into()), ("isolinux/isolinux.cfg", ISOLINUX.into())];
        assert_eq!(found(&medium(&files, &[])), [""; 0], "{first}");
    }
    // openSUSE's media have it here.
    let files = [isolinux(), ("boot/x86_64/loader/isolinux.cfg", ISOLINUX.into())];
    assert_eq!(found(&medium(&files, &[])), [""; 0]);
}

/// An ISO for POWER machines: without a boot catalog.
fn without_catalog(menu: Vec<u8>) -> Vec<u8> {
    let files = with_system(&[("ppc/bootinfo.txt", b"<chrp-boot>".to_vec()), ("boot/grub/grub.cfg", menu)]);
    let files = files.into_iter();
    let iso = NewIso {
        volume_id: "LIVE".to_owned(),
        files: files.map(|(path, bytes)| (path.parse().unwrap(), NewFile::literal(0o644, bytes))).collect(),
        ..NewIso::default()
    };
    bytes_of(&Overlay::concatenated(&Sizes::new(), iso.layout().unwrap()).unwrap(), &[])
}

#[test]
fn grub_has_the_default_of_an_iso_without_a_boot_catalog() {
    let others = GRUB.replace("Live", "Other").into_bytes();
    let base = without_catalog([dead(GRUB), others.clone()].concat());
    let reason = "boot entry \"Live\" of /boot/grub/grub.cfg loads /live/gone.img, which was not found on the ISO";
    assert_eq!(refused(&base), (Firmware::OpenFirmware, reason.to_owned()));
    let error = planned(&base, &recipe(&base)).unwrap_err().to_string();
    assert!(error.starts_with("Open Firmware machines start boot entry"), "{error}");
    assert_eq!(found(&without_catalog([others, dead(GRUB)].concat())).len(), 1);
}
