//! What boot loaders decide while they run: which initrd they load, which configurations they read, and which entry they start if
//! nobody chooses one.

use imagelib::iso::TreeKind;

use crate::live_media::*;

const GRUB: &str = "menuentry Live {\n linux /live/vmlinuz quiet\n initrd /live/initrd.img\n}\n";
const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";

/// An ISO for UEFI with this menu and these files.
fn grub_iso(menu: &str, more: Files<'_>) -> Vec<u8> {
    let mut files =
        vec![("boot/grub/grub.cfg", menu.into()), ("live/vmlinuz", kernel()), ("live/initrd.img", live_boot("i"))];
    files.extend(more.iter().cloned());
    iso(&files, &[(LOADER, grub())])
}

/// An ISO for BIOSes with this menu.
fn isolinux_iso(menu: &str) -> Vec<u8> {
    let files = [isolinux(), ("isolinux/isolinux.cfg", menu.into())];
    let live = [("live/vmlinuz", kernel()), ("live/initrd.img", live_boot("i"))];
    iso(&[files, live].concat(), &[])
}

fn is_grown(iso: &[u8], path: &str, before: &[u8]) -> bool {
    let found = file_in(iso, TreeKind::Primary, path);
    assert!(found.starts_with(before));
    found.len() > before.len()
}

fn found(iso: &[u8]) -> Vec<String> {
    warnings(&planned(iso, &recipe(iso)).unwrap())
}

fn refusal(iso: &[u8]) -> String {
    planned(iso, &recipe(iso)).unwrap_err().to_string()
}

#[test]
fn every_initrd_that_a_script_may_load_grows() {
    let menu = "menuentry Live {\n linux /live/vmlinuz quiet\n if [ -f /live/other.img ]; then\n  initrd /live/ucode.img /live/other.img\n \
                elif [ -f /live/gone.img ]; then\n  initrd /live/gone.img\n else\n  initrd /live/initrd.img\n fi\n}\n";
    let ucode = live_boot("u");
    let base = grub_iso(menu, &[("live/other.img", live_boot("o")), ("live/ucode.img", ucode.clone())]);
    let image = planned(&base, &recipe(&base)).unwrap();
    assert_eq!(warnings(&image), [""; 0]);
    let made = output(&base, &image);
    assert!(
        is_grown(&made, "/live/initrd.img", &live_boot("i")) && is_grown(&made, "/live/other.img", &live_boot("o"))
    );
    assert!(!is_grown(&made, "/live/ucode.img", &ucode));
    // Only the running loader knows the name of this initrd.
    let base = grub_iso(&menu.replace("/live/other.img\n", "/live/$other.img\n"), &[]);
    assert!(refusal(&base).contains("did not find the initrds"), "{}", refusal(&base));
}

#[test]
fn an_initrd_behind_different_files_gets_what_is_right_for_all_of_them_or_nothing() {
    let entry = |title: &str, initrds: &str| {
        format!("menuentry {title} {{\n linux /live/vmlinuz quiet\n initrd {initrds}\n}}\n")
    };
    let archive = |paths: &[(&str, u32)], files: &[&str]| {
        let mut archive = imagelib::cpio::Archive::new();
        for (path, mode) in paths {
            archive.directory(path.parse().unwrap(), *mode).unwrap();
        }
        for path in files {
            archive.file(path.parse().unwrap(), 0o755, "x").unwrap();
        }
        archive.add_parents(0o755).unwrap();
        archive.to_bytes()
    };
    let menu = entry("A", "/live/first.img /live/initrd.img") + &entry("B", "/live/initrd.img");
    for (first, is_right) in [
        (archive(&[], &["kernel/x86/microcode/GenuineIntel.bin"]), true),
        (archive(&[("usr", 0o755), ("usr/lib", 0o755)], &[]), true),
        // An archive with the missing directory would change its permissions.
        (archive(&[("usr", 0o700)], &[]), false),
        // Of another kind.
        (archive(&[], &["usr/lib/dracut/hooks/cmdline/00.sh", "usr/lib/systemd/systemd"]), false),
    ] {
        let base = grub_iso(&menu, &[("live/first.img", first)]);
        match planned(&base, &recipe(&base)) {
            Ok(image) => {
                assert!(is_right);
                assert!(is_grown(&output(&base, &image), "/live/initrd.img", &live_boot("i")));
            }
            Err(error) => {
                assert!(!is_right, "{error}");
                assert!(error.to_string().contains("boot entries load it behind different files"), "{error}");
            }
        }
    }
}

#[test]
fn configurations_with_computed_names_are_read() {
    let second = GRUB.replace("Live", "Second").replace("initrd.img", "second.img");
    let more = |at: &'static str| [(at, second.clone().into_bytes()), ("live/second.img", live_boot("s"))];
    for (menu, at) in [
        ("for file in /boot/grub/kernels/*.cfg; do\n source $file\ndone\n", "boot/grub/kernels/b.cfg"),
        ("for file in $prefix/kernels/a*.cfg; do\n source $file\ndone\n", "boot/grub/kernels/A-b.cfg"),
        (
            "if [ -n \"$x\" ]; then set kind=a; else set kind=b; fi\nsource /boot/grub/menu-$kind.cfg\n",
            "boot/grub/menu-b.cfg",
        ),
    ] {
        let base = grub_iso(&format!("{GRUB}{menu}"), &more(at));
        let image = planned(&base, &recipe(&base)).unwrap();
        assert!(is_grown(&output(&base, &image), "/live/second.img", &live_boot("s")), "{menu}");
    }
    for (menu, at) in [
        ("for file in /boot/grub/kernels/*.cfg; do\n source $file\ndone\n", "boot/grub/kernels/inner/b.cfg"),
        ("for file in /boot/grub/kernels/*.cfg; do\n source $file\ndone\n", "boot/grub/kernels/b.txt"),
        ("source $unknown\n", "boot/grub/b.cfg"),
        ("source /boot/$unknown/b.cfg\n", "boot/grub/b.cfg"),
    ] {
        let base = grub_iso(&format!("{GRUB}{menu}"), &more(at));
        let image = planned(&base, &recipe(&base)).unwrap();
        assert!(!is_grown(&output(&base, &image), "/live/second.img", &live_boot("s")), "{menu}");
    }
}

const LIVE: &str = "label live\n linux /live/vmlinuz\n append initrd=/live/initrd.img quiet\n";
/// A system without an initrd, to which dayone cannot add anything.
const BARE: &str = "label bare\n linux /live/vmlinuz\n append root=/dev/sda\n";

#[test]
fn the_entry_that_isolinux_boots_unattended_must_be_reached() {
    for menu in [
        format!("UI menu.c32\n{BARE}{LIVE}"),
        format!("ui /boot/VESAMENU.C32 theme.txt\n{BARE}{LIVE}"),
        format!("default vesamenu.c32\n{BARE}{LIVE}"),
        format!("default live\ntimeout 50\nontimeout bare\n{LIVE}{BARE}"),
        format!("UI menu.c32\n{LIVE}{}", BARE.replace("bare\n", "bare\nmenu default\n")),
    ] {
        let said = refusal(&isolinux_iso(&menu));
        assert!(said.starts_with("BIOS machines start boot entry \"bare\""), "{menu}: {said}");
    }
    for menu in [
        format!("UI menu.c32\n{LIVE}{BARE}"),
        format!("UI menu.c32\ndefault live\n{BARE}{LIVE}"),
        format!("default live\nontimeout live\n{BARE}{LIVE}"),
        // Without a menu, the first label means nothing.
        format!("{BARE}{LIVE}"),
    ] {
        let found = found(&isolinux_iso(&menu));
        assert!(found.len() == 1 && !found[0].contains("by default"), "{menu}: {found:?}");
    }
}

/// Debian's menus are several files, of which the first has no entry.
#[test]
fn a_configuration_without_entries_names_the_default_of_those_that_it_includes() {
    let bios = |first: &str| {
        let files = [
            isolinux(),
            ("isolinux/isolinux.cfg", first.into()),
            ("isolinux/menu.cfg", format!("{BARE}{LIVE}").into()),
            ("live/vmlinuz", kernel()),
            ("live/initrd.img", live_boot("i")),
        ];
        iso(&files, &[])
    };
    for first in ["include menu.cfg\nui menu.c32\n", "include menu.cfg\ndefault live\nontimeout bare\n"] {
        let said = refusal(&bios(first));
        assert!(said.starts_with("BIOS machines start boot entry \"bare\" of /isolinux/menu.cfg"), "{said}");
    }
    assert_eq!(found(&bios("include menu.cfg\nui menu.c32\ndefault live\n")).len(), 1);
    let bare = "menuentry Bare {\n linux /live/vmlinuz root=/dev/sda\n}\n";
    let uefi = |first: &str| grub_iso(first, &[("boot/grub/more.cfg", format!("{GRUB}{bare}").into())]);
    let said = refusal(&uefi("set default=Bare\nsource /boot/grub/more.cfg\n"));
    assert!(said.starts_with("UEFI machines start boot entry \"Bare\" of /boot/grub/more.cfg"), "{said}");
    assert_eq!(found(&uefi("set default=Live\nsource /boot/grub/more.cfg\n")).len(), 1);
}

#[test]
fn entries_of_grub_are_counted_where_all_are_known() {
    let bare = "menuentry Bare {\n linux /live/vmlinuz root=/dev/sda\n}\n";
    let two = "menuentry Two {\n if [ $x ]; then\n linux /live/vmlinuz a\n else\n linux /live/vmlinuz b\n fi\n initrd /live/initrd.img\n}\n";
    for menu in [format!("set default=1\n{GRUB}{bare}"), format!("set default=2\n{GRUB}{two}{bare}")] {
        let said = refusal(&grub_iso(&menu, &[]));
        assert!(said.starts_with("UEFI machines start boot entry \"Bare\""), "{menu}: {said}");
    }
    for menu in [
        format!("set default=1\n{bare}{GRUB}"),
        format!("set default=1\n{two}{GRUB}{bare}"),
        // Which entries there are depends on the machine, or on a file that is not there.
        format!("set default=1\nif [ $x ]; then\n{GRUB}\nfi\n{bare}{GRUB}"),
        format!("set default=1\nsubmenu More {{\n{GRUB}\n}}\n{bare}{GRUB}"),
        format!("set default=1\nsource /boot/grub/more.cfg\n{GRUB}{bare}"),
    ] {
        let found = found(&grub_iso(&menu, &[]));
        assert!(found.len() == 1 && !found[0].contains("by default"), "{menu}: {found:?}");
    }
}

#[test]
fn linux_by_way_of_other_commands_is_named() {
    for (entry, command) in [
        ("multiboot2 /boot/xen.gz dom0_mem=1G\n module2 /live/vmlinuz quiet\n module2 /live/initrd.img", "multiboot2"),
        ("xen_hypervisor /boot/xen.gz\n xen_module /live/vmlinuz", "xen_hypervisor"),
    ] {
        let entry = format!("menuentry Xen {{\n {entry}\n}}\n");
        let expected = format!("it boots with {command}, and dayone changes only what 'linux' and 'initrd' load");
        let said = refusal(&grub_iso(&format!("{entry}{GRUB}"), &[]));
        assert!(said.contains("\"Xen\"") && said.contains(&expected), "{said}");
        let found = found(&grub_iso(&format!("{GRUB}{entry}"), &[]));
        assert!(found.len() == 1 && found[0].contains(&expected), "{found:?}");
    }
    for (entry, module) in [
        ("kernel mboot.c32\n append /boot/xen.gz --- /live/vmlinuz --- /live/initrd.img", "mboot.c32"),
        ("com32 /isolinux/linux.c32\n append /live/vmlinuz initrd=/live/initrd.img", "linux.c32"),
    ] {
        let said = refusal(&isolinux_iso(&format!("default other\nlabel other\n {entry}\n{LIVE}")));
        assert!(said.contains("\"other\"") && said.contains(&format!("it boots with {module}")), "{said}");
    }
    // It chooses another label.
    let menu = format!("default both\nlabel both\n com32 ifcpu64.c32\n append live -- live\n{LIVE}");
    assert_eq!(found(&isolinux_iso(&menu)), [""; 0]);
}

/// Damages the EFI system partition: the first FAT no longer begins as that of this medium must.
fn with_damaged_esp(mut iso: Vec<u8>) -> Vec<u8> {
    let at = iso.windows(8).position(|window| window == b"FAT16   " || window == b"FAT32   " || window == b"FAT12   ");
    let sector = at.unwrap() / 512 * 512;
    iso[sector + 11..sector + 13].copy_from_slice(&[0, 7]);
    iso
}

#[test]
fn an_efi_system_partition_that_cannot_be_read_is_named() {
    let with = |menus: Files<'_>| {
        let menu = format!("default live\n{LIVE}").into_bytes();
        let mut files = vec![isolinux(), ("isolinux/isolinux.cfg", menu)];
        files.extend([("live/vmlinuz", kernel()), ("live/initrd.img", live_boot("i"))]);
        files.extend(menus.iter().cloned());
        with_damaged_esp(iso(&files, &[(LOADER, systemd_boot())]))
    };
    let said = refusal(&with(&[]));
    let expected = "UEFI machines start EFI system partition /boot/efi.img by default, which cannot be read (not a FAT file system: ";
    assert!(said.starts_with(expected) && said.contains("so dayone does not know what starts from it"), "{said}");
    // It may have a GRUB, which reads this menu.
    let found = found(&with(&[("boot/grub/grub.cfg", GRUB.into())]));
    assert!(found.len() == 1 && found[0].contains("/boot/efi.img") && !found[0].contains("by default"), "{found:?}");
}

/// Repeats the entry for UEFI in the boot catalog.
fn with_repeated_entry(mut iso: Vec<u8>) -> Vec<u8> {
    let block = u32::from_le_bytes(iso[17 * 2048 + 71..17 * 2048 + 75].try_into().unwrap());
    let catalog = usize::try_from(block).unwrap() * 2048;
    let header = (catalog..catalog + 2048).step_by(32).find(|at| iso[*at] == 0x91 && iso[*at + 1] == 0xef).unwrap();
    let entry = iso[header + 32..header + 64].to_vec();
    iso[header + 2] = 2;
    iso[header + 64..header + 96].copy_from_slice(&entry);
    iso
}

#[test]
fn an_efi_system_partition_that_several_entries_start_is_one() {
    let files = [isolinux(), ("isolinux/isolinux.cfg", format!("default live\n{LIVE}").into_bytes())];
    let live = [("live/vmlinuz", kernel()), ("live/initrd.img", live_boot("i"))];
    let entry = b"title Live\nlinux /vmlinuz\ninitrd /initrd.img\noptions quiet\n".to_vec();
    let in_esp = [
        (LOADER, systemd_boot()),
        ("loader/entries/live.conf", entry),
        ("vmlinuz", kernel()),
        ("initrd.img", live_boot("e")),
    ];
    let base = with_repeated_entry(iso(&[files, live].concat(), &in_esp));
    assert_eq!(found(&base), [""; 0]);
}
