//! Media whose programs Debian and Microsoft have signed, or somebody else, or nobody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imagelib::cpio::Archive;

use crate::peers::{cache, run};

/// A shim that Microsoft has signed, and with it the key of Debian.
pub const SHIM: &str = "/usr/lib/shim/shimx64.efi.signed";
/// A GRUB for CDs that Debian has signed.
pub const GRUB: &str = "/usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed";
/// A MokManager that Debian has signed.
pub const MOK_MANAGER: &str = "/usr/lib/shim/mmx64.efi.signed";
/// A small program that Debian has signed.
pub const FALLBACK: &str = "/usr/lib/shim/fbx64.efi.signed";
/// A boot loader that nobody has signed.
pub const SYSTEMD_BOOT: &str = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";

/// A kernel that Debian has signed.
pub fn kernel() -> PathBuf {
    let kernel = cache().join("kernel/vmlinuz");
    assert!(kernel.exists(), "{} is missing; run scripts/setup-peers.sh", kernel.display());
    kernel
}

/// A key of a site, with its certificate.
pub struct SiteKey {
    pub key: PathBuf,
    pub certificate: PathBuf,
}

impl SiteKey {
    pub fn new(directory: &Path) -> Self {
        let (key, certificate) = (directory.join("db.key"), directory.join("db.crt"));
        run(Command::new("openssl")
            .args("req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=Site -keyout".split(' '))
            .arg(&key)
            .arg("-out")
            .arg(&certificate));
        Self { key, certificate }
    }

    /// A program with its signature, in addition to others.
    pub fn sign(&self, program: &Path, to: &Path) {
        let mut sign = Command::new("sbsign");
        sign.arg("--key").arg(&self.key).arg("--cert").arg(&self.certificate).arg("--output").arg(to).arg(program);
        run(&mut sign);
    }
}

/// A program without its signatures.
pub fn unsigned(program: &Path, to: &Path) {
    fs::copy(program, to).expect("a copy");
    run(Command::new("sbattach").arg("--remove").arg(to));
}

/// A program of which one bit differs: of the version in a kernel's setup header, which a boot without Secure Boot does not
/// look at.
pub fn changed_kernel(kernel: &Path, to: &Path) {
    let mut bytes = fs::read(kernel).expect("the kernel");
    let version = usize::from(u16::from_le_bytes([bytes[0x20e], bytes[0x20f]])) + 0x200;
    bytes[version] ^= 1;
    fs::write(to, bytes).expect("a kernel");
}

/// An EFI system partition with these files.
pub fn esp(directory: &Path, files: &[(&str, &Path)]) -> PathBuf {
    let image = directory.join("esp.img");
    let _ = fs::remove_file(&image);
    run(Command::new("mformat").args(["-C", "-T", "24576", "-i"]).arg(&image).arg("::"));
    run(Command::new("mmd").arg("-i").arg(&image).args(["::EFI", "::EFI/BOOT", "::EFI/Linux"]));
    for (path, file) in files {
        run(Command::new("mcopy").arg("-i").arg(&image).arg(file).arg(format!("::{path}")));
    }
    image
}

/// A live ISO with Debian's shim and GRUB, and this kernel.
pub fn debian_iso(directory: &Path, kernel: &Path, initramfs: &Archive, arguments: &str) -> PathBuf {
    let files = [("EFI/BOOT/BOOTX64.EFI", Path::new(SHIM)), ("EFI/BOOT/grubx64.efi", Path::new(GRUB))];
    live_iso(directory, &esp(directory, &files), kernel, initramfs, arguments)
}

/// A live ISO that starts from this EFI system partition, with GRUB's menu.
pub fn live_iso(directory: &Path, esp: &Path, kernel: &Path, initramfs: &Archive, arguments: &str) -> PathBuf {
    live_iso_of_bytes(directory, esp, kernel, &initramfs.to_bytes(), arguments)
}

/// The same with the bytes of an initramfs.
pub fn live_iso_of_bytes(directory: &Path, esp: &Path, kernel: &Path, initramfs: &[u8], arguments: &str) -> PathBuf {
    let tree = directory.join("tree");
    let _ = fs::remove_dir_all(&tree);
    for part in ["live", "boot/grub", ".disk"] {
        fs::create_dir_all(tree.join(part)).expect("a directory");
    }
    fs::copy(esp, tree.join("boot/efi.img")).expect("a copy");
    fs::copy(kernel, tree.join("live/vmlinuz")).expect("a copy");
    fs::write(tree.join("live/initrd.img"), initramfs).expect("an initramfs");
    // By this file, Debian's GRUB for CDs finds its medium.
    fs::write(tree.join(".disk/info"), "Live\n").expect("a file");
    let menu = format!(
        "set default=0\nset timeout=0\nmenuentry 'Live' {{\n  linux /live/vmlinuz {arguments}\n  initrd \
         /live/initrd.img\n}}\n"
    );
    fs::write(tree.join("boot/grub/grub.cfg"), menu).expect("a menu");
    let iso = directory.join("live.iso");
    let _ = fs::remove_file(&iso);
    run(Command::new("xorriso")
        .args("-as mkisofs -quiet -r -J -V LIVE -eltorito-alt-boot -e boot/efi.img -no-emul-boot -o".split(' '))
        .args([&iso, &tree]));
    iso
}
