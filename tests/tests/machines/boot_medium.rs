//! A kernel and an initramfs as a bootable image, started in every way in which firmware starts one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::peers::{cache, run};
use acceptance::qemu::{Boot, boot_image};
use acceptance::small_system::{Said, initramfs};
use imagelib::boot_medium::{BiosLoader, BootMedium};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use imagelib::overlay::{Content, Overlay, Segment};
use imagelib::source::{Role, Source};

const ARGUMENTS: &str = "console=ttyS0 panic=-1 loglevel=3 ip=[2001:db8::1]::[2001:db8::2]:64:h:eth0:none a=b#c";

fn initrd() -> Vec<u8> {
    let mut bytes = Compression::Gzip.compress(&initramfs(&["/etc/keyfile"]).to_bytes()).unwrap();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An EFI system partition whose only file is this loader.
fn esp(directory: &Path, loader: &Path) -> Vec<u8> {
    let image = directory.join("esp.img");
    let _ = fs::remove_file(&image);
    run(Command::new("mformat").args(["-C", "-T", "10240", "-i"]).arg(&image).arg("::"));
    run(Command::new("mmd").arg("-i").arg(&image).args(["::EFI", "::EFI/BOOT"]));
    run(Command::new("mcopy").arg("-i").arg(&image).arg(loader).arg("::EFI/BOOT/BOOTX64.EFI"));
    fs::read(image).unwrap()
}

/// A GRUB that looks into one directory of its own device.
fn grub(directory: &Path, format: &str, prefix: &str, modules: &str) -> std::path::PathBuf {
    let image = directory.join(format!("{format}.img"));
    run(Command::new("grub-mkimage")
        .args(["-O", format, "-p", prefix, "-o"])
        .arg(&image)
        .args("normal linux iso9660 fat search search_fs_file configfile part_gpt part_msdos".split(' '))
        .args(modules.split(' ')));
    image
}

fn isolinux() -> BiosLoader {
    let files = ["ISOLINUX/isolinux.bin", "syslinux/modules/bios/ldlinux.c32", "ISOLINUX/isohdpfx.bin"];
    BiosLoader::from_files(files.map(|file| fs::read(Path::new("/usr/lib").join(file)).unwrap().into())).unwrap()
}

fn boot(directory: &Path, bios: BiosLoader, esp: Vec<u8>, ways: &[Boot]) {
    let kernel = fs::read(cache().join("kernel/vmlinuz")).expect("a kernel; run scripts/setup-peers.sh");
    let base = BTreeMap::from([(Role::Kernel, kernel), (Role::Initrd, initrd()), (Role::Esp, esp)]);
    let sizes: BTreeMap<Role, u64> = base.iter().map(|(role, bytes)| (*role, bytes.size())).collect();
    let range = |file| Segment::Base { file, offset: 0, length: sizes[&file] };
    let mut archive = Archive::new();
    archive.file("etc/keyfile".parse().unwrap(), 0o600, "[connection]").unwrap();
    let medium = BootMedium {
        label: "DAYONE".to_owned(),
        kernel: vec![range(Role::Kernel)],
        initrd: vec![range(Role::Initrd), Segment::Own(Content::Bytes(archive.to_bytes().into()))],
        arguments: ARGUMENTS.parse().unwrap(),
        bios: Some(bios),
        esp: Some(vec![range(Role::Esp)]),
    };
    let overlay = Overlay::concatenated(&sizes, medium.layout().unwrap()).unwrap();
    let mut image = vec![0; usize::try_from(overlay.size()).unwrap()];
    overlay.read_at(&base, 0, &mut image).unwrap();
    let path = directory.join("boot.iso");
    fs::write(&path, image).unwrap();
    for way in ways {
        let said = Said::on(&boot_image(&path, *way));
        assert!(said.arguments().ends_with(ARGUMENTS), "{way:?}: {}", said.arguments());
        assert_eq!(said.file("/etc/keyfile"), "600 0 0 [connection]", "{way:?}");
    }
}

#[test]
#[ignore = "make matrix runs it"]
fn isolinux_starts_it_from_a_cd_and_debians_signed_grub_from_a_disk() {
    with_isolinux_and_debians_grub(&[Boot::BiosCd, Boot::UefiUsb]);
}

#[test]
#[ignore = "make matrix runs it"]
fn isolinux_starts_it_from_a_disk_and_debians_signed_grub_from_a_cd() {
    with_isolinux_and_debians_grub(&[Boot::BiosDisk, Boot::UefiCd]);
}

fn with_isolinux_and_debians_grub(ways: &[Boot]) {
    let directory = tempfile::tempdir().unwrap();
    let loader = Path::new("/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed");
    boot(directory.path(), isolinux(), esp(directory.path(), loader), ways);
}

#[test]
#[ignore = "make matrix runs it"]
fn grub_of_another_vendor_finds_its_configuration_on_a_cd() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let esp = esp(directory, &grub(directory, "x86_64-efi", "/EFI/fedora", "all_video"));
    let bios = fs::read(grub(directory, "i386-pc-eltorito", "/boot/grub", "biosdisk")).unwrap();
    let bios = BiosLoader::from_files([bios.into()]).unwrap();
    boot(directory, bios, esp, &[Boot::BiosCd, Boot::UefiCd]);
}
