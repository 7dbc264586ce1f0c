use super::super::tests::{HEADER, program, vendor};
use super::*;
use crate::secure_boot::examine;

/// A program of this machine type.
fn machine(bytes: &[u8], machine: u16) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[HEADER + 4..HEADER + 6].copy_from_slice(&machine.to_le_bytes());
    bytes
}

const X64: u16 = 0x8664;
const IA32: u16 = 0x014c;

fn found(path: &str, bytes: &[u8]) -> Found {
    let place = Place { esp: Some(0), path: path.to_owned() };
    let file = Located { place, name: path.to_owned(), extents: Vec::new() };
    Found { file, examined: Arc::new(examine(&bytes)), is_kernel: path.ends_with("vmlinuz"), unchanged: None }
}

/// A medium whose shim accepts these programs; firmware accepts nothing.
fn behind_shim(accepted: &[(&str, &[u8])], others: &[(&str, &[u8])]) -> Vec<Found> {
    let shim = program(b".vendor_cert"[..8].as_ref(), &vendor(b""), b"");
    let mut shim = examine(&shim);
    let accepted: Vec<Found> = accepted.iter().map(|(path, bytes)| found(path, bytes)).collect();
    let keys = shim.vendor.as_mut().unwrap();
    keys.accepted.digests.extend(accepted.iter().filter_map(|program| program.examined.digest));
    let shim = Found { examined: Arc::new(shim), ..found("/EFI/BOOT/BOOTX64.EFI", b"") };
    let others = others.iter().map(|(path, bytes)| found(path, bytes));
    std::iter::once(shim).chain(accepted).chain(others).collect()
}

/// The worst verdict on what follows the shim, which firmware starts only with a key of the site here.
fn after_shim(found: &[Found], lists: &[&str]) -> (Verdict, String) {
    let boot_lists = lists.iter().map(|path| Place { esp: Some(0), path: (*path).to_owned() }).collect();
    let (verdict, reason, _) = verdict(found, &OtherFiles { boot_lists, ..OtherFiles::default() }, 1, false);
    (verdict, reason)
}

#[test]
fn shim_starts_the_fallback_in_place_of_the_boot_loader() {
    let grub = program(b".text", b"grub", b"");
    let kernel = program(b".text", b"kernel", b"");
    let shims = program(b".sbat", b"sbat,1,x\nshim,4,UEFI shim\n", b"");
    let others = program(b".text", b"other", b"");
    let good: [(&str, &[u8]); 2] = [("/EFI/BOOT/grubx64.efi", &grub), ("/live/vmlinuz", &kernel)];
    assert_eq!(after_shim(&behind_shim(&good, &[]), &[]).0, Verdict::NeedsSiteKey, "the shim itself");
    let fallback = "/efi/boot/FBX64.efi";
    // The shim refuses it, and never reaches GRUB.
    let refused = behind_shim(&good, &[(fallback, &shims)]);
    let (verdict, reason) = after_shim(&refused, &[]);
    assert_eq!(verdict, Verdict::Impossible);
    assert!(reason.contains("in place of the boot loader, and is not signed"), "{reason}");
    let accepted = |bytes: &[u8]| behind_shim(&[good[0], good[1], (fallback, bytes)], &[]);
    let (verdict, reason) =
        after_shim(&accepted(&shims), &["/EFI/BOOT/BOOTX64.CSV", "/EFI/debian/BOOTAA64.CSV", "/BOOT.CSV"]);
    assert_eq!(verdict, Verdict::Impossible);
    assert!(reason.contains("restarts the machine"), "{reason}");
    for list in ["/EFI/debian/BOOTX64.CSV", "/efi/fedora/boot.csv"] {
        let (verdict, reason) = after_shim(&accepted(&shims), &[list]);
        assert_eq!(verdict, Verdict::Unknown);
        assert!(reason.contains(list), "{reason}");
    }
    assert_eq!(after_shim(&accepted(&others), &[]).0, Verdict::Unknown);
    // It is the shim's own business whether it knows this name.
    let (verdict, reason) = after_shim(&behind_shim(&good, &[("/EFI/BOOT/fallback.efi", &shims)]), &[]);
    assert_eq!(verdict, Verdict::Unknown);
    assert!(reason.contains("fallback.efi"), "{reason}");
    // Shim looks only into its own directory, and only for its own architecture.
    for elsewhere in ["/EFI/debian/fbx64.efi", "/EFI/BOOT/fbia32.efi"] {
        let found = behind_shim(&good, &[(elsewhere, &shims)]);
        assert_eq!(after_shim(&found, &[]).0, Verdict::NeedsSiteKey, "{elsewhere}");
    }
}

#[test]
fn a_program_for_another_architecture_is_not_loaded() {
    let code = program(b".text", b"code", b"");
    let (x64, ia32) = (machine(&code, X64), machine(&code, IA32));
    for (path, bytes, expected) in [
        ("/EFI/BOOT/BOOTX64.EFI", &x64, Verdict::NeedsSiteKey),
        ("/EFI/BOOT/BOOTX64.EFI", &ia32, Verdict::Impossible),
        ("/EFI/BOOT/BOOTAA64.EFI", &x64, Verdict::Impossible),
    ] {
        let found = [found(path, bytes), found("/live/vmlinuz", &x64)];
        let (_, _, judged) = verdict(&found, &OtherFiles::default(), 1, false);
        assert_eq!(judged[0].verdict, expected, "{path}: {}", judged[0].reason);
    }
    let (verdict, reason, _) = verdict(
        &[found("/EFI/BOOT/BOOTX64.EFI", &ia32), found("/live/vmlinuz", &x64)],
        &OtherFiles::default(),
        1,
        false,
    );
    assert_eq!(verdict, Verdict::Impossible);
    assert!(reason.ends_with("is a program for ia32, and machines with firmware for x64 do not load it"), "{reason}");
    let found = behind_shim(&[("/EFI/BOOT/grubx64.efi", &ia32), ("/live/vmlinuz", &x64)], &[]);
    assert_eq!(after_shim(&found, &[]).0, Verdict::Impossible);
}
