//! What is embedded arrives: the layout of a CoreOS live ISO, booted in every way in which firmware boots an ISO.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::{busybox_initramfs, fixtures, grub_efi_loader};
use acceptance::peers::{cache, run};
use acceptance::qemu::{Boot, boot_image};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use imagelib::iso::Volume;
use imagelib::iso::coreos::{CoreosIso, Growth};
use imagelib::kernel_arguments::{KernelArgumentEdits, KernelArguments};
use imagelib::overlay::Overlay;
use imagelib::source::Role;
use serde_json::json;

/// Says what came with the boot, and switches the machine off.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
exec > /dev/ttyS0 2>&1
echo CMDLINE $(/bin/busybox cat /proc/cmdline) END
echo KEYFILE $(/bin/busybox cat /etc/coreos-firstboot-network/eth0.nmconnection) END
echo LARGE $(/bin/busybox sha256sum /config.ign 2>&1) END
/bin/busybox stat -c 'MODE %a %u %g END' /etc/coreos-firstboot-network/eth0.nmconnection
/bin/busybox poweroff -f
";

const KEYFILE: &str = "[connection]\nid=eth0\ntype=ethernet\n";

fn base(directory: &Path) -> PathBuf {
    let initrd = busybox_initramfs(Path::new("/bin/busybox"), INIT, directory);
    let base = directory.join("base.iso");
    run(Command::new(fixtures("bases/make-coreos-iso.sh"))
        .arg(&base)
        .arg("--kernel")
        .arg(cache().join("kernel/vmlinuz"))
        .args([Path::new("--initrd"), &initrd, Path::new("--efi-loader"), &grub_efi_loader(directory)])
        .args(["--kargs", "console=ttyS0 panic=-1 loglevel=3 ignition.firstboot ignition.platform.id=metal"]));
    base
}

#[test]
fn embedded_files_and_arguments_reach_the_running_system() {
    let directory = tempfile::tempdir().unwrap();
    let image = fs::read(base(directory.path())).unwrap();
    let iso = CoreosIso::probe(&image, &Volume::open(&image).unwrap()).unwrap().unwrap();
    let areas = iso.kernel_arguments().unwrap();

    let mut archive = Archive::new();
    archive.file("etc/coreos-firstboot-network/eth0.nmconnection".parse().unwrap(), 0o600, KEYFILE).unwrap();
    archive.add_parents(0o755).unwrap();
    // Everything that an argument may hold, and as many bytes as there is room for.
    let odd =
        ["a=b#c", "ip=[2001:db8::1]::[2001:db8::2]:64:h:eth0:none", "o=%20,~@^*?!+-_./:`", "console=ttyS0,115200n8"];
    let edits = json!({"append": odd, "replace": ["mitigations=auto,nosmt=off"]});
    let edits: KernelArgumentEdits = serde_json::from_value(edits).unwrap();
    let mut arguments = edits.apply_to(areas.default()).unwrap();
    let room = usize::try_from(areas.capacity()).unwrap() - arguments.to_string().len();
    arguments.append(&format!("x={}", "y".repeat(room - 3)).parse().unwrap());
    assert_eq!(arguments.to_string().len() as u64, areas.capacity());

    // Both boot loaders, each with a compressed and with a raw archive behind the initramfs.
    let (raw, compressed) = (archive.to_bytes(), Compression::Gzip.compress(&archive.to_bytes()).unwrap());
    for (boot, archive) in
        [(Boot::BiosCd, &raw), (Boot::BiosDisk, &compressed), (Boot::UefiCd, &compressed), (Boot::UefiUsb, &raw)]
    {
        let patches = iso.embed(archive.clone(), Some(&arguments)).unwrap();
        let mut patched = vec![0; image.len()];
        Overlay::patched(Role::Iso, image.len() as u64, patches)
            .unwrap()
            .read_at(&(Role::Iso, &image), 0, &mut patched)
            .unwrap();
        let path = directory.path().join("patched.iso");
        fs::write(&path, patched).unwrap();
        check(&path, boot, &arguments);
    }
}

/// Boots an image, and returns what it said, on one line.
fn check(image: &Path, boot: Boot, arguments: &KernelArguments) -> String {
    let console = boot_image(image, boot);
    let flat = console.replace('\n', " ");
    assert!(flat.contains(&format!(" {arguments} END")), "{boot:?}: {console}");
    assert!(flat.contains(&format!("KEYFILE {} END", KEYFILE.trim_end().replace('\n', " "))), "{boot:?}: {console}");
    assert!(flat.contains("MODE 600 0 0 END"), "{boot:?}: {console}");
    flat
}

/// The boot loaders read the files, and there are two of them.
#[test]
fn larger_areas_reach_the_running_system_in_whole() {
    larger_areas(&[Boot::BiosCd, Boot::UefiUsb]);
}

#[test]
#[ignore = "make matrix runs it"]
fn larger_areas_in_the_other_ways() {
    larger_areas(&[Boot::BiosDisk, Boot::UefiCd]);
}

fn larger_areas(ways: &[Boot]) {
    let directory = tempfile::tempdir().unwrap();
    let image = fs::read(base(directory.path())).unwrap();
    let volume = Volume::open(&image).unwrap();
    let iso = CoreosIso::probe(&image, &volume).unwrap().unwrap();
    let growth = Growth::probe(&image, &volume, &iso).unwrap();

    let mut archive = Archive::new();
    archive.file("etc/coreos-firstboot-network/eth0.nmconnection".parse().unwrap(), 0o600, KEYFILE).unwrap();
    let large: Vec<u8> = (0..600_000_u32).map(|number| (number % 251) as u8).collect();
    archive.file("config.ign".parse().unwrap(), 0o600, large.clone()).unwrap();
    archive.add_parents(0o755).unwrap();
    // As many arguments as there may be: boot loaders put their own before them, and the kernel must take all.
    let mut arguments = iso.kernel_arguments().unwrap().default().clone();
    arguments.append(&"x".repeat(1919 - 1 - arguments.to_string().len()).parse().unwrap());

    let grown = growth.plan(&iso, archive.to_bytes(), Some(&arguments)).unwrap();
    let mut bytes = vec![0; usize::try_from(grown.overlay.size()).unwrap()];
    grown.overlay.read_at(&(Role::Iso, &image), 0, &mut bytes).unwrap();
    let path = directory.path().join("grown.iso");
    fs::write(&path, bytes).unwrap();
    for boot in ways {
        let said = check(&path, *boot, &arguments);
        assert!(
            said.contains(&format!("LARGE {}  /config.ign END", Digest::of(&large)).replace("  ", " ")),
            "{boot:?}: {said}"
        );
    }
}
