//! Media in the layout of Talos' ISOs, with a small system in Talos' place: Talos itself cannot be had here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imagelib::cpio::Archive;

use crate::peers::run;
use crate::secure_boot::kernel;
use crate::small_system;
use crate::uki::{trixie, unified};

/// What Talos' imager puts among the kernel arguments, as far as it matters here, and what a console needs.
pub const ARGUMENTS: &str =
    "talos.platform=metal console=ttyS0 panic=-1 loglevel=4 init_on_alloc=1 slab_nomerge pti=on";

/// An initramfs like that of Talos, which says with which arguments the kernel was started.
pub fn initramfs() -> Archive {
    let mut archive = small_system::initramfs(&[]);
    archive.file("rootfs.sqsh".parse().expect("a path"), 0o644, "the whole system").expect("a file");
    archive
}

/// An ISO as the imager makes it (`pkg/imager/iso` in its source): GRUB starts it on machines with BIOS, and systemd-boot with a
/// unified kernel image on those with UEFI.
pub fn iso(directory: &Path) -> PathBuf {
    let tree = directory.join("talos-tree");
    fs::create_dir_all(tree.join("boot/grub")).expect("a directory");
    fs::copy(kernel(), tree.join("boot/vmlinuz")).expect("a copy");
    fs::write(tree.join("boot/initramfs.xz"), initramfs().to_bytes()).expect("an initramfs");
    let entry = |title: &str, more: &str| {
        format!(
            "menuentry \"{title}\" {{\n\tset gfxmode=auto\n\tset gfxpayload=text\n\tlinux /boot/vmlinuz \
             {ARGUMENTS}{more}\n\tinitrd /boot/initramfs.xz\n}}\n\n"
        )
    };
    let menu = format!(
        "set default=0\nset timeout=3\n\ninsmod all_video\n\nterminal_input console\nterminal_output console\n\n{}{}",
        entry("Talos ISO", ""),
        entry("Reset Talos installation", " talos.experimental.wipe=system")
    );
    fs::write(tree.join("boot/grub/grub.cfg"), menu).expect("a menu");
    let uki = directory.join("talos.efi");
    unified(&trixie("linuxx64.efi.stub"), &kernel(), &initramfs(), ARGUMENTS, &uki);
    let esp = tree.join("efiboot.img");
    let sectors = (fs::metadata(&uki).expect("a file").len() / 512 + 20480).to_string();
    run(Command::new("mformat").args(["-C", "-T", &sectors, "-i"]).arg(&esp).arg("::"));
    run(Command::new("mmd").arg("-i").arg(&esp).args(["::EFI", "::EFI/BOOT", "::EFI/Linux", "::loader"]));
    let loader = directory.join("loader.conf");
    fs::write(&loader, "timeout 1\nsecure-boot-enroll if-safe\n").expect("a file");
    for (file, path) in [
        (trixie("systemd-bootx64.efi"), "EFI/BOOT/BOOTX64.EFI"),
        (uki, "EFI/Linux/Talos-v1.10.0.efi"),
        (loader, "loader/loader.conf"),
    ] {
        run(Command::new("mcopy").arg("-i").arg(&esp).arg(file).arg(format!("::{path}")));
    }
    let iso = directory.join("talos.iso");
    run(Command::new("grub-mkrescue")
        .arg("--compress=xz")
        .arg(format!("--output={}", iso.display()))
        .arg("--directory=/usr/lib/grub/i386-pc")
        .args(["-m", "efiboot.img", "-iso-level", "3"])
        .arg(&tree)
        .args(["-eltorito-alt-boot", "-e", "--interval:appended_partition_2:all::", "-append_partition", "2", "0xef"])
        .arg(&esp)
        .args(["-appended_part_as_gpt", "-partition_cyl_align", "all", "-partition_offset", "16"])
        .args(["-iso_mbr_part_type", "0x83", "-no-emul-boot", "--"]));
    iso
}

/// The value with META key 10 in kernel arguments, unpacked by the tools that Talos' documentation packs it with.
pub fn network_in(arguments: &str) -> String {
    let mut values = arguments
        .split_whitespace()
        .filter_map(|argument| argument.strip_prefix("talos.environment=INSTALLER_META_BASE64="));
    let value = values.next().unwrap_or_else(|| panic!("no META values in {arguments}"));
    assert_eq!(values.next(), None, "{arguments}");
    let unpacked = run(Command::new("sh").args(["-euc", "printf %s \"$1\" | base64 -d | gunzip", "sh", value]));
    let text = String::from_utf8(unpacked).expect("UTF-8");
    text.strip_prefix("0xa=").unwrap_or_else(|| panic!("{text}")).to_owned()
}
