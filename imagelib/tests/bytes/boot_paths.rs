//! Ways to boot that lead past what dayone can change: each is an error or a warning that names it.

use crate::live_media;

use imagelib::base::live::Firmware;
use imagelib::image::ImageError;
use imagelib::recipe::Recipe;
use live_media::*;

const MENU: &str = "default live\nlabel live\n  linux /live/vmlinuz\n  append initrd=/live/initrd.img quiet\n";
const GRUB: &str = "menuentry Live {\n linux /live/vmlinuz quiet\n initrd /live/initrd.img\n}\n";

/// With a good menu for BIOSes.
fn with_isolinux(in_esp: Files<'_>, more: Files<'_>) -> Vec<u8> {
    let mut files = vec![
        isolinux(),
        ("isolinux/isolinux.cfg", MENU.into()),
        ("live/vmlinuz", kernel()),
        ("live/initrd.img", live_boot("i")),
    ];
    files.extend(more.iter().cloned());
    iso(&files, in_esp)
}

fn refused(iso: &[u8]) -> (Firmware, String) {
    match planned(iso, &recipe(iso)) {
        Err(ImageError::BootPath { firmware, path }) => (firmware, path.to_string()),
        other => panic!("{other:?}"),
    }
}

/// The user says that hosts start the entry of the other firmware.
fn chosen(iso: &[u8]) -> Vec<String> {
    let recipe = Recipe { boot_entries: ["live".to_owned()].into(), ..recipe(iso) };
    warnings(&planned(iso, &recipe).unwrap())
}

const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
const IN_ITSELF: &str = "is a unified kernel image, which contains its own initrd and kernel arguments";

#[test]
fn what_uefi_starts_by_default_must_be_reached() {
    let image = format!("/{LOADER} in /boot/efi.img {IN_ITSELF}");
    let second = format!("/EFI/BOOT/grubx64.efi in /boot/efi.img {IN_ITSELF}");
    let unknown = format!("/{LOADER} in /boot/efi.img is a boot loader whose menu dayone did not find");
    let plain = format!("/{LOADER} in /boot/efi.img is a Linux kernel that starts without an initrd");
    for (in_esp, expected) in [
        (vec![(LOADER, unified("live"))], &image),
        (vec![(LOADER, shim()), ("EFI/BOOT/grubx64.efi", unified("live"))], &second),
        (vec![(LOADER, kernel())], &plain),
        // It reads the EFI system partition alone, and there is no menu.
        (vec![(LOADER, systemd_boot())], &unknown),
        (vec![(LOADER, grub())], &unknown),
    ] {
        let iso = with_isolinux(&in_esp, &[]);
        let (firmware, path) = refused(&iso);
        assert!(firmware == Firmware::Uefi && path.starts_with(expected.as_str()), "{path}, not {expected}");
        let error = planned(&iso, &recipe(&iso)).unwrap_err().to_string();
        assert!(error.starts_with("UEFI machines start /EFI/BOOT/") && error.contains("--boot-entry"), "{error}");
        let warnings = chosen(&iso);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("UEFI machines start it by default"), "{warnings:?}");
        assert!(live(&iso).unwrap().report().findings().iter().any(|finding| finding.code == "boot-path-unreached"));
        // Nothing is lost where nothing is asked for.
        let nothing =
            Recipe::new(identity(&iso), imagelib::base::Format::Iso, imagelib::ignition::Additions::default());
        assert!(
            planned(&iso, &nothing).unwrap().report.findings().iter().all(|found| !found.code.starts_with("boot-"))
        );
    }
    for in_esp in [
        vec![(LOADER, shim()), ("EFI/BOOT/grubx64.efi", grub())],
        vec![(LOADER, grub())],
        vec![(LOADER, grub()), ("EFI/BOOT/grub.cfg", b"configfile /boot/grub/grub.cfg\n".to_vec())],
    ] {
        let iso = with_isolinux(&in_esp, &[("boot/grub/grub.cfg", GRUB.into())]);
        assert_eq!(warnings(&planned(&iso, &recipe(&iso)).unwrap()), [""; 0]);
    }
}

const TO_ANOTHER_MENU: &str = "search --file --set=root /live/vmlinuz\nconfigfile /boot/grub/efi.cfg\n";

#[test]
fn what_grub_reads_on_its_partition_leads_to_a_menu_of_any_name_on_the_iso() {
    let in_esp = [(LOADER, grub()), ("EFI/BOOT/grub.cfg", TO_ANOTHER_MENU.into())];
    let second = GRUB.replace("initrd.img", "initrd2.img");
    let another = [("boot/grub/efi.cfg", second.clone().into_bytes()), ("live/initrd2.img", live_boot("2"))];
    let usual = ("boot/grub/grub.cfg", GRUB.as_bytes().to_vec());
    let with_usual = [another.as_slice(), std::slice::from_ref(&usual)].concat();
    let alone = [another.as_slice(), &[("live/vmlinuz", kernel())]].concat();
    for base in [with_isolinux(&in_esp, &with_usual), with_isolinux(&in_esp, &another), iso(&alone, &in_esp)] {
        let image = planned(&base, &recipe(&base)).unwrap();
        assert_eq!(warnings(&image), [""; 0]);
        let made = output(&base, &image);
        let menu = file_in(&made, imagelib::iso::TreeKind::Primary, "/boot/grub/efi.cfg");
        assert_eq!(String::from_utf8(menu).unwrap(), second.replace("quiet", "quiet x=y"));
        let initrd = file_in(&made, imagelib::iso::TreeKind::Primary, "/live/initrd2.img");
        assert!(initrd.len() > live_boot("2").len() && initrd.starts_with(&live_boot("2")));
    }
    // The menu of the usual name is for others, whatever it starts.
    let gone = [another.as_slice(), &[("boot/grub/grub.cfg", GRUB.replace("initrd.img", "gone.img").into_bytes())]];
    let base = with_isolinux(&in_esp, &gone.concat());
    assert!(planned(&base, &recipe(&base)).is_ok());
    let gone = [usual.clone(), ("boot/grub/efi.cfg", GRUB.replace("initrd.img", "gone.img").into_bytes())];
    assert!(refused(&with_isolinux(&in_esp, &gone)).1.contains("of /boot/grub/efi.cfg loads /live/gone.img"));

    let missing =
        "/EFI/BOOT/grub.cfg in /boot/efi.img continues with /boot/grub/efi.cfg, which was not found on the medium";
    let base = with_isolinux(&in_esp, std::slice::from_ref(&usual));
    assert_eq!(refused(&base), (Firmware::Uefi, missing.to_owned()));
    assert!(chosen(&base)[0].contains("UEFI machines start it by default"), "{:?}", chosen(&base));
    // Another configuration on the partition leads to a menu.
    let more = ("EFI/debian/grub.cfg", b"configfile /boot/grub/grub.cfg\n".to_vec());
    let base = with_isolinux(&[in_esp.as_slice(), &[more]].concat(), std::slice::from_ref(&usual));
    let found = warnings(&planned(&base, &recipe(&base)).unwrap());
    assert!(found.len() == 1 && found[0].contains("continues with /boot/grub/efi.cfg"), "{found:?}");
    // GRUB tests for the file first.
    let tested = format!("if [ -f /boot/grub/efi.cfg ]; then\n{TO_ANOTHER_MENU}fi\n");
    let base = with_isolinux(&[(LOADER, grub()), ("EFI/BOOT/grub.cfg", tested.into())], &[usual]);
    assert_eq!(warnings(&planned(&base, &recipe(&base)).unwrap()), [""; 0]);
}

const ENTRY: &str = "title Live\nlinux /vmlinuz\ninitrd /initrd.img\noptions quiet\n";

/// With systemd-boot, an entry that can be changed, and more.
fn with_systemd_boot(entry: &str, more: Files<'_>) -> Vec<u8> {
    let mut files = vec![
        (LOADER, systemd_boot()),
        ("loader/entries/live.conf", entry.into()),
        ("vmlinuz", kernel()),
        ("initrd.img", live_boot("e")),
    ];
    files.extend(more.iter().cloned());
    with_isolinux(&files, &[])
}

#[test]
fn what_systemd_boot_starts_by_default_must_be_reached() {
    let image = ("EFI/Linux/live.efi", unified("live"));
    let conf = |text: &str| ("loader/loader.conf", text.as_bytes().to_vec());
    let named = format!("/EFI/Linux/live.efi in /boot/efi.img {IN_ITSELF}");
    let sorted = |key: &str| format!("{ENTRY}sort-key {key}\n");
    for (entry, more, default) in [
        (ENTRY.to_owned(), vec![image.clone()], true),
        (ENTRY.to_owned(), vec![image.clone(), conf("timeout 3\ndefault live.conf\n")], false),
        (ENTRY.to_owned(), vec![image.clone(), conf("default  LIVE*.conf\n")], false),
        (ENTRY.to_owned(), vec![image.clone(), conf("default *.efi\n")], true),
        (sorted("a"), vec![image.clone()], false),
        (sorted("z"), vec![image.clone()], true),
    ] {
        let iso = with_systemd_boot(&entry, &more);
        if default {
            let (firmware, path) = refused(&iso);
            assert!(firmware == Firmware::Uefi && path.starts_with(&named), "{path}");
        } else {
            let warnings = warnings(&planned(&iso, &recipe(&iso)).unwrap());
            assert!(warnings.len() == 1 && warnings[0].contains(&named[..20]), "{warnings:?}");
        }
        assert!(chosen(&iso)[0].contains("/EFI/Linux/live.efi in /boot/efi.img"), "{:?}", chosen(&iso));
    }
    assert_eq!(
        warnings(&planned(&with_systemd_boot(ENTRY, &[]), &recipe(&with_systemd_boot(ENTRY, &[]))).unwrap()),
        [""; 0]
    );
}

#[test]
fn entries_that_start_such_programs_are_named() {
    let program = ("loader/entries/program.conf", b"title Program\nefi /EFI/tools/live.efi\n".to_vec());
    let at = "EFI/tools/live.efi";
    let starts =
        "boot entry \"Program\" of /loader/entries/program.conf: starts /EFI/tools/live.efi, a unified kernel image";
    let iso = with_systemd_boot(ENTRY, &[program.clone(), (at, unified("live"))]);
    let found = warnings(&planned(&iso, &recipe(&iso)).unwrap());
    assert!(found.len() == 1 && found[0].contains(starts), "{found:?}");
    // A shell, or a memory test.
    let iso = with_systemd_boot(ENTRY, &[program.clone(), (at, grub())]);
    assert_eq!(warnings(&planned(&iso, &recipe(&iso)).unwrap()), [""; 0]);
    let default = ("loader/loader.conf", b"default program.conf\n".to_vec());
    let iso = with_systemd_boot(ENTRY, &[program, default, (at, kernel())]);
    assert!(refused(&iso).1.ends_with("starts /EFI/tools/live.efi, a Linux kernel that starts without an initrd"));

    for (chain, expected) in [
        ("chainloader /EFI/Linux/live.efi", Some("starts /EFI/Linux/live.efi, a unified kernel image")),
        ("chainloader ($root)/EFI/Linux/live.efi", Some("starts /EFI/Linux/live.efi, a unified kernel image")),
        (
            "linux /live/vmlinuz root=/dev/sda1",
            Some("starts /live/vmlinuz, a Linux kernel that starts without an initrd"),
        ),
        ("set root=(hd0)\nchainloader +1", None),
        ("chainloader (hd0,gpt1)/EFI/Microsoft/Boot/bootmgfw.efi", None),
        ("linux16 /live/memtest", None),
        ("exit", None),
    ] {
        let other = format!("menuentry Other {{\n {chain}\n}}\n");
        let iso_of = |menu: String| {
            let more = [
                ("boot/grub/grub.cfg", menu.into_bytes()),
                ("EFI/Linux/live.efi", unified("live")),
                ("live/memtest", vec![0; 600]),
            ];
            with_isolinux(&[(LOADER, grub())], &more)
        };
        let iso = iso_of(format!("{GRUB}{other}"));
        let found = warnings(&planned(&iso, &recipe(&iso)).unwrap());
        assert_eq!(found.len(), usize::from(expected.is_some()), "{chain}: {found:?}");
        assert!(found.iter().all(|found| found.contains(expected.unwrap())), "{chain}: {found:?}");
        // As the first entry it is the default.
        for menu in [format!("{other}{GRUB}"), format!("set default=Other\n{GRUB}{other}")] {
            let iso = iso_of(menu);
            match expected {
                Some(expected) => assert!(refused(&iso).1.contains(expected), "{chain}"),
                None => assert_eq!(warnings(&planned(&iso, &recipe(&iso)).unwrap()), [""; 0], "{chain}"),
            }
        }
    }
}

#[test]
fn what_grub_loads_from_another_device_is_not_the_file_of_that_name() {
    for (menu, device) in [
        ("linux (memdisk)/live/vmlinuz\n initrd (memdisk)/live/initrd.img", "(memdisk)"),
        ("loopback inner /a.iso\n linux (inner)/live/vmlinuz\n initrd (inner)/live/initrd.img", "(inner)"),
        ("set root=(loop)\n linux /live/vmlinuz\n initrd /live/initrd.img", "(loop)"),
        ("linux /live/vmlinuz\n initrd (http,192.0.2.1)/live/initrd.img", "(http,192.0.2.1)"),
    ] {
        let entry = format!("menuentry Other {{\n {menu}\n}}\n");
        let base = with_isolinux(&[(LOADER, grub())], &[("boot/grub/grub.cfg", format!("{GRUB}{entry}").into_bytes())]);
        let found = warnings(&planned(&base, &recipe(&base)).unwrap());
        let expected =
            format!("from {device}, which is not the ISO file system: the system that it starts gets no network");
        assert!(found.len() == 1 && found[0].contains(&expected), "{found:?}, not {expected}");
        let base = with_isolinux(&[(LOADER, grub())], &[("boot/grub/grub.cfg", format!("{entry}{GRUB}").into_bytes())]);
        assert!(refused(&base).1.contains(&format!("from {device}")));
    }
}

fn boot_catalog(iso: &[u8]) -> usize {
    let block = u32::from_le_bytes(iso[17 * 2048 + 71..17 * 2048 + 75].try_into().unwrap());
    usize::try_from(block).unwrap() * 2048
}

/// Makes the first entry of the boot catalog one of an emulated floppy.
fn emulated(mut iso: Vec<u8>) -> Vec<u8> {
    let at = boot_catalog(&iso) + 33;
    iso[at] = 2;
    iso
}

/// Makes the second entry of the boot catalog one for BIOSes, as `-b` of xorriso and genisoimage does.
fn for_bios(mut iso: Vec<u8>) -> Vec<u8> {
    let at = boot_catalog(&iso) + 65;
    assert_eq!(iso[at], 0xef);
    iso[at] = 0;
    iso
}

#[test]
fn uefi_starts_a_partition_that_the_catalog_has_for_bioses() {
    let in_esp = [(LOADER, grub()), ("EFI/BOOT/grub.cfg", GRUB.as_bytes().to_vec())];
    let base = for_bios(with_isolinux(&in_esp, &[]));
    let image = planned(&base, &recipe(&base)).unwrap();
    assert_eq!(warnings(&image), [""; 0]);
    let esp = file_in(&output(&base, &image), imagelib::iso::TreeKind::Primary, "/boot/efi.img");
    assert!(esp.windows(9).any(|window| window == b"quiet x=y"));

    let base = for_bios(with_isolinux(&[(LOADER, unified("live"))], &[]));
    let (firmware, path) = refused(&base);
    let expected = format!("/{LOADER} in /boot/efi.img {IN_ITSELF}");
    assert!(firmware == Firmware::Uefi && path.starts_with(&expected), "{path}");

    // Something else, which a BIOS may offer.
    let mut base = for_bios(with_isolinux(&in_esp, &[]));
    let volume = imagelib::iso::Volume::open(&base).unwrap();
    let file = volume.find(&base, "/boot/efi.img").unwrap().unwrap();
    let at = usize::try_from(file.extents[0].offset).unwrap();
    base[at..at + 512].fill(0);
    let found = warnings(&planned(&base, &recipe(&base)).unwrap());
    let unknown = "is a boot loader whose menu dayone did not find";
    assert!(found.len() == 1 && found[0].contains("/boot/efi.img") && found[0].contains(unknown), "{found:?}");
}

#[test]
fn an_emulated_floppy_is_named() {
    let emulation = "/isolinux/isolinux.bin is the image of a floppy or a hard disk that the BIOS emulates (El Torito), and \
                     dayone does not change the boot menu in it";
    let in_esp = [(LOADER, grub())];
    let iso = emulated(with_isolinux(&in_esp, &[("boot/grub/grub.cfg", GRUB.into())]));
    assert_eq!(refused(&iso), (Firmware::Bios, emulation.to_owned()));
    assert!(chosen(&iso)[0].contains("BIOS machines start it by default"), "{:?}", chosen(&iso));
    // With nothing else, there is no menu at all.
    let iso = emulated(live_media::iso(&[isolinux()], &[]));
    let reason = live(&iso).unwrap_err().to_string();
    assert!(reason.ends_with(emulation) && reason.starts_with("no boot menu on it"), "{reason}");
    let iso = live_media::iso(&[("readme", vec![1])], &[(LOADER, unified("live"))]);
    let reason = live(&iso).unwrap_err().to_string();
    assert!(reason.contains(&format!("/{LOADER} in /boot/efi.img {IN_ITSELF}")), "{reason}");
}

#[test]
fn a_menu_of_each_firmware_needs_a_default_that_is_reached() {
    let gone = GRUB.replace("initrd.img", "gone.img");
    let base = with_isolinux(&[(LOADER, grub())], &[("boot/grub/grub.cfg", gone.clone().into_bytes())]);
    let (firmware, path) = refused(&base);
    assert_eq!(firmware, Firmware::Uefi);
    assert_eq!(path, "boot entry \"Live\" of /boot/grub/grub.cfg loads /live/gone.img, which was not found on the ISO");
    // Another entry may be gone.
    let menu = format!("{GRUB}{}", gone.replace("Live", "Gone"));
    let base = with_isolinux(&[(LOADER, grub())], &[("boot/grub/grub.cfg", menu.into_bytes())]);
    assert_eq!(warnings(&planned(&base, &recipe(&base)).unwrap()).len(), 1);
    // An initramfs of a kind that is not known, beside one that is.
    let other = {
        let mut archive = imagelib::cpio::Archive::new();
        for path in ["init", "init_functions", "hooks/base"] {
            archive.file(path.parse().unwrap(), 0o755, "x").unwrap();
        }
        archive.add_parents(0o755).unwrap();
        archive.to_bytes()
    };
    let base = with_isolinux(&[(LOADER, grub())], &[("boot/grub/grub.cfg", gone.into()), ("live/gone.img", other)]);
    let error = planned(&base, &recipe(&base)).unwrap_err();
    assert!(matches!(error, ImageError::DefaultInitrd { firmware: Firmware::Uefi, .. }), "{error}");
    assert!(error.to_string().contains("/live/gone.img by default"), "{error}");
    assert!(planned(&base, &Recipe { boot_entries: ["live".to_owned()].into(), ..recipe(&base) }).is_ok());
}

#[test]
fn a_command_line_in_place_of_a_label_is_an_entry() {
    let base = |menu: &str| {
        iso(
            &[
                isolinux(),
                ("isolinux/isolinux.cfg", menu.into()),
                ("live/vmlinuz", kernel()),
                ("live/initrd.img", live_boot("i")),
                ("live/other.img", live_boot("o")),
            ],
            &[],
        )
    };
    let alone = "DEFAULT /live/vmlinuz initrd=/live/initrd.img quiet\n";
    let beside = "DEFAULT /live/vmlinuz initrd=/live/initrd.img quiet\nLABEL other\n KERNEL /live/vmlinuz\n APPEND initrd=/live/other.img\n";
    for menu in [alone, beside] {
        let iso = base(menu);
        let image = planned(&iso, &recipe(&iso)).unwrap();
        assert_eq!(warnings(&image), [""; 0]);
        let made = output(&iso, &image);
        let text =
            String::from_utf8(file_in(&made, imagelib::iso::TreeKind::Primary, "/isolinux/isolinux.cfg")).unwrap();
        assert!(text.starts_with("DEFAULT /live/vmlinuz initrd=/live/initrd.img quiet x=y\n"), "{text}");
        let initrd = file_in(&made, imagelib::iso::TreeKind::Primary, "/live/initrd.img");
        assert!(initrd.len() > live_boot("i").len() && initrd.starts_with(&live_boot("i")));
    }
    // Only what hosts start changes.
    let iso = base(beside);
    let only = Recipe { boot_entries: ["/live/vmlinuz".to_owned()].into(), ..recipe(&iso) };
    let made = output(&iso, &planned(&iso, &only).unwrap());
    assert_eq!(file_in(&made, imagelib::iso::TreeKind::Primary, "/live/other.img"), live_boot("o"));
}
