//! Images over media of Talos: a kernel argument in every menu and beside every unified kernel image, and nothing else.

use imagelib::base::live::NotCustomisable;
use imagelib::base::{DeliveryProfile, Format};
use imagelib::cpio::Archive;
use imagelib::delivery::DeliveryError;
use imagelib::ignition::Additions;
use imagelib::image::{FileName, ImageError};
use imagelib::iso::TreeKind;
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::Recipe;
use imagelib::talos::network_argument;

use crate::live_media::{file_in, grub, iso, kernel, live, output, planned, probe, recipe, unified_of};
use crate::uki::{in_esp, section};

const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
const ADDON: &str = "EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi";
/// What Talos' initramfs has.
const FILES: [&str; 2] = ["init", "rootfs.sqsh"];

fn initramfs() -> Vec<u8> {
    let mut archive = Archive::new();
    for path in FILES {
        archive.file(path.parse().unwrap(), 0o755, "x").unwrap();
    }
    archive.to_bytes()
}

/// Talos takes its network from a kernel argument. Its initramfs stays as it is, byte for byte.
#[test]
fn talos_gets_a_kernel_argument_and_no_file() {
    let talos = initramfs();
    let menu = "menuentry 'Talos ISO' {\n linux /live/vmlinuz talos.platform=metal\n initrd /live/initrd.img\n}\n";
    let files = [
        ("boot/grub/grub.cfg", menu.as_bytes().to_vec()),
        ("live/vmlinuz", kernel()),
        ("live/initrd.img", talos.clone()),
    ];
    let base = iso(&files, &[(LOADER, grub())]);
    assert_eq!(probe(&base).profile(), DeliveryProfile::Talos);
    let argument = network_argument("{}").unwrap();
    let arguments = KernelArgumentEdits { append: vec![argument.clone()], ..KernelArgumentEdits::default() };
    let plain = Recipe { additions: Additions::default(), kernel_arguments: arguments, ..recipe(&base) };
    let image = planned(&base, &plain).unwrap();
    assert_eq!(image.kernel_arguments, Some(format!("talos.platform=metal {argument}")));
    assert!(image.report.findings().iter().any(|finding| finding.code == "talos-untested"), "{:?}", image.report);
    let image = output(&base, &image);
    assert_eq!(file_in(&image, TreeKind::Primary, "/live/initrd.img"), talos);
    let menu = file_in(&image, TreeKind::Primary, "/boot/grub/grub.cfg");
    assert!(String::from_utf8(menu).unwrap().contains(argument.as_str()));

    let netboot = planned(&base, &Recipe { format: Format::Initrd, ..plain.clone() }).unwrap();
    assert_eq!(netboot.files[&FileName::Initrd].size(), talos.len() as u64);
    assert!(netboot.changes.is_empty(), "{:?}", netboot.changes);
    let error = planned(&base, &Recipe { additions: recipe(&base).additions, ..plain }).unwrap_err();
    assert!(matches!(error, ImageError::Delivery(DeliveryError::TalosTakesNoFiles("keyfiles"))), "{error}");
}

/// Talos takes nothing but kernel arguments, and so older stubs are enough.
#[test]
fn a_stub_that_takes_arguments_alone_is_enough_for_talos() {
    let talos = |stub: &str| iso(&[], &[(LOADER, unified_of(stub, "talos", &FILES))]);
    let base = talos("255");
    assert_eq!(live(&base).unwrap().profile(), DeliveryProfile::Talos);
    let arguments = Recipe { additions: Additions::default(), ..recipe(&base) };
    let made = output(&base, &planned(&base, &arguments).unwrap());
    let addon = in_esp(&made, ADDON).unwrap();
    assert_eq!(section(&addon, ".cmdline").unwrap(), b"x=y");
    assert_eq!(section(&addon, ".initrd"), None);
    // For another system, the addon would need an initrd, which this stub ignores.
    let error =
        planned(&base, &Recipe { delivery: Some(DeliveryProfile::RootInInitramfs), ..recipe(&base) }).unwrap_err();
    assert!(error.to_string().contains("systemd-stub 255, which takes kernel arguments"), "{error}");
    let Err(NotCustomisable::Unreachable(reason)) = live(&talos("253")) else { panic!("253") };
    assert!(reason.contains("reads no addons"), "{reason}");
}
