//! Images over media of Flatcar: Ignition runs there only with a kernel argument that Flatcar's own menu lacks.

use imagelib::base::{DeliveryProfile, Format};
use imagelib::cpio::Archive;
use imagelib::ignition::Additions;
use imagelib::image::{FileName, Image};
use imagelib::iso::TreeKind;
use imagelib::recipe::Recipe;

use crate::live_media::{
    file_in, file_of, identity, iso, isolinux, kernel, live_boot, output, planned, probe, systemd_boot, unified_with,
};
use crate::uki::{ADDON, LOADER, NEW, in_esp, section};

const MENU: &str = "/syslinux/syslinux.cfg";

/// What Flatcar's initramfs has; its kernel brings the rest.
fn initramfs() -> Vec<u8> {
    let mut archive = Archive::new();
    archive.file("usr.squashfs".parse().unwrap(), 0o644, "x").unwrap();
    archive.to_bytes()
}

/// An entry as `_write_iso_disk` in Flatcar's `build_library/vm_image_util.sh` writes it, with these arguments.
fn entry(arguments: &str) -> String {
    format!("label flatcar\n  menu default\n  kernel /flatcar/vmlinuz\n  append initrd=/flatcar/cpio.gz {arguments}\n")
}

/// Flatcar's ISO, with this menu.
fn flatcar(entries: &str) -> Vec<u8> {
    let files = [
        isolinux(),
        ("isolinux/isolinux.cfg", b"INCLUDE /syslinux/syslinux.cfg\n".to_vec()),
        ("syslinux/syslinux.cfg", format!("default flatcar\nprompt 1\ntimeout 15\n\n{entries}").into_bytes()),
        ("flatcar/vmlinuz", kernel()),
        ("flatcar/cpio.gz", initramfs()),
        ("flatcar/rescue.gz", live_boot("r")),
    ];
    iso(&files, &[])
}

fn additions() -> Additions {
    let units = r#"[{"name": "10-eth0.network", "content": "[Match]\nName=eth0\n"}]"#;
    Additions { networkd_units: serde_json::from_str(units).unwrap(), ..Additions::default() }
}

/// An image with the network, and with these changes of kernel arguments.
fn made(base: &[u8], format: Format, edits: &str) -> Image {
    let kernel_arguments = serde_json::from_str(edits).unwrap();
    planned(base, &Recipe { kernel_arguments, ..Recipe::new(identity(base), format, additions()) }).unwrap()
}

fn menu(iso: &[u8]) -> String {
    String::from_utf8(file_in(iso, TreeKind::Primary, MENU)).unwrap()
}

#[test]
fn the_menu_of_flatcars_iso_gets_the_argument_without_which_ignition_does_not_run() {
    let base = flatcar(&entry("flatcar.autologin"));
    assert_eq!(probe(&base).profile(), DeliveryProfile::Flatcar);
    let image = made(&base, Format::Iso, "{}");
    assert_eq!(image.kernel_arguments.as_deref(), Some("flatcar.autologin flatcar.first_boot=1"));
    let menu_before = menu(&base);
    let expected = menu_before.replace("flatcar.autologin", "flatcar.autologin flatcar.first_boot=1");
    assert_eq!(menu(&output(&base, &image)), expected);

    // Without anything for Ignition, the system starts as it did.
    let edits = serde_json::from_str(r#"{"append": ["quiet"]}"#).unwrap();
    let nothing = Recipe::new(identity(&base), Format::Iso, Additions::default());
    let quiet = planned(&base, &Recipe { kernel_arguments: edits, ..nothing }).unwrap();
    assert_eq!(quiet.kernel_arguments.as_deref(), Some("flatcar.autologin quiet"));
}

#[test]
fn an_argument_of_the_key_is_left_as_it_is() {
    for (own, edits, expected) in [
        ("flatcar.first_boot=detected", "{}", "flatcar.first_boot=detected"),
        ("quiet", r#"{"append": ["flatcar.first_boot=yes"]}"#, "quiet flatcar.first_boot=yes"),
        // A user who removes it does not want it.
        ("quiet flatcar.first_boot=1", r#"{"delete": ["flatcar.first_boot=1"]}"#, "quiet"),
    ] {
        let image = made(&flatcar(&entry(own)), Format::Iso, edits);
        assert_eq!(image.kernel_arguments.as_deref(), Some(expected), "{own}");
    }
    // Another system of the menu alone needs nothing.
    let rescue = "label rescue\n  kernel /flatcar/vmlinuz\n  append initrd=/flatcar/rescue.gz quiet\n";
    let base = flatcar(&(entry("flatcar.first_boot=1") + rescue));
    assert_eq!(menu(&output(&base, &made(&base, Format::Iso, "{}"))), menu(&base));
}

#[test]
fn only_the_entries_without_an_argument_of_the_key_get_it() {
    let menu_of =
        |[first, second]: [&str; 2]| entry(first) + &entry(second).replace("flatcar\n  menu default", "other");
    for (own, edits, expected) in [
        (["flatcar.first_boot=detected", "b"], "{}", ["flatcar.first_boot=detected", "b flatcar.first_boot=1"]),
        (["a", "flatcar.first_boot=detected"], "{}", ["a flatcar.first_boot=1", "flatcar.first_boot=detected"]),
        // A user who removes it does not want it in any entry.
        (["a flatcar.first_boot=1", "b"], r#"{"delete": ["flatcar.first_boot=1"]}"#, ["a", "b"]),
        // The first entry lacks what changes.
        (["a", "b x=1"], r#"{"replace": ["x=1=2"]}"#, ["a flatcar.first_boot=1", "b x=2 flatcar.first_boot=1"]),
    ] {
        let base = flatcar(&menu_of(own));
        let image = made(&base, Format::Iso, edits);
        assert_eq!(menu(&output(&base, &image)), menu(&flatcar(&menu_of(expected))));
        assert_eq!(image.kernel_arguments.as_deref(), Some(expected[0]));
    }
}

/// The initramfs has the whole system in it, as for PXE.
#[test]
fn flatcars_iso_also_boots_from_the_network() {
    let base = flatcar(&entry("flatcar.autologin"));
    assert_eq!(probe(&base).formats(), [Format::Iso, Format::Initrd]);
    let image = made(&base, Format::Initrd, r#"{"append": ["quiet"]}"#);
    let expected = "flatcar.autologin quiet flatcar.first_boot=1";
    assert_eq!(image.kernel_arguments.as_deref(), Some(expected));
    assert_eq!(file_of(&image, FileName::Kernel, &base), kernel());
    let initrd = file_of(&image, FileName::Initrd, &base);
    assert!(initrd.starts_with(&initramfs()) && initrd.len() > initramfs().len());
}

#[test]
fn the_addon_of_a_unified_kernel_image_has_the_argument() {
    for (own, appended) in [("quiet", "flatcar.first_boot=1"), ("quiet flatcar.first_boot=detected", "")] {
        let base = iso(&[], &[(LOADER, unified_with(NEW, "flatcar", own, &[("usr.squashfs", "x")]))]);
        let image = made(&base, Format::Iso, "{}");
        let expected = format!("{own} {appended}");
        assert_eq!(image.kernel_arguments.as_deref(), Some(expected.trim()));
        let addon = in_esp(&output(&base, &image), ADDON).unwrap();
        let arguments = section(&addon, ".cmdline").unwrap_or_default();
        assert_eq!(String::from_utf8(arguments).unwrap(), appended);
    }
}

/// The options of a boot entry stand in place of the program's own arguments: a host starts with the ones or the others.
#[test]
fn the_addon_has_the_argument_if_the_program_or_one_of_its_entries_lacks_it() {
    const HAS: &str = "quiet flatcar.first_boot=1";
    for (own, options, appended) in [
        (HAS, "quiet", "flatcar.first_boot=1"),
        ("quiet", HAS, "flatcar.first_boot=1"),
        (HAS, "flatcar.first_boot=detected", ""),
    ] {
        let entry = format!("title Flatcar\nefi /EFI/Linux/flatcar.efi\noptions {options}\n").into_bytes();
        let base = iso(
            &[],
            &[
                (LOADER, systemd_boot()),
                ("EFI/Linux/flatcar.efi", unified_with(NEW, "flatcar", own, &[("usr.squashfs", "x")])),
                ("loader/entries/flatcar.conf", entry),
            ],
        );
        let made = output(&base, &made(&base, Format::Iso, "{}"));
        let addon = in_esp(&made, "EFI/Linux/flatcar.efi.extra.d/host.addon.efi").unwrap();
        let arguments = section(&addon, ".cmdline").unwrap_or_default();
        assert_eq!(String::from_utf8(arguments).unwrap(), appended, "{own}, {options}");
    }
}
