//! Ways to boot that dayone cannot change, made with the real parts: they are refused, or named.

#[allow(dead_code)]
use crate::iso_edit::layouts;
#[allow(dead_code)]
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use acceptance::bases::fixtures;
use acceptance::peers::{cache, run};
use acceptance::server::{Server, dayone};
use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use layouts::LAYOUTS;
use serde_json::Value;
use tempfile::TempDir;

const SYSTEMD: &str = "/usr/lib/systemd/boot/efi";
const MENU: &str = "default live\nlabel live\n linux /live/vmlinuz\n append initrd=/live/initrd.img boot=live\n";
const GRUB: &str = "menuentry Live {\n linux /live/vmlinuz boot=live\n initrd /live/initrd.img\n}\n";

fn initramfs() -> Vec<u8> {
    let mut archive = Archive::new();
    for path in ["init", "conf/initramfs.conf", "scripts/live", "bin/cp"] {
        archive.file(path.parse().unwrap(), 0o755, path).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    Compression::Gzip.compress(&archive.to_bytes()).unwrap()
}

/// A live medium of Debian's layout, with a good menu for BIOSes.
struct Medium {
    directory: TempDir,
}

impl Medium {
    fn new() -> Self {
        let medium = Self { directory: TempDir::new().unwrap() };
        // Its beginning is all that is looked at.
        let kernel = fs::read(cache().join("kernel/vmlinuz")).unwrap()[..40_000].to_vec();
        medium.write("live/vmlinuz", &kernel);
        medium.write("live/initrd.img", &initramfs());
        medium.write("isolinux/isolinux.cfg", MENU.as_bytes());
        fs::create_dir_all(medium.esp("")).unwrap();
        medium
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn esp(&self, name: &str) -> PathBuf {
        self.path("tree.esp").join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path("tree").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Puts a file into the EFI system partition.
    fn put(&self, name: &str, from: &Path) {
        fs::create_dir_all(self.esp(name).parent().unwrap()).unwrap();
        fs::copy(from, self.esp(name)).unwrap();
    }

    /// A unified kernel image, as ukify and dracut make them by objcopy.
    fn unified(&self) -> PathBuf {
        let (tree, image) = (self.path("tree"), self.path("live.efi"));
        fs::write(self.path("cmdline"), "boot=live").unwrap();
        fs::write(self.path("osrel"), "ID=live\n").unwrap();
        let mut objcopy = Command::new("objcopy");
        let parts = [
            (".osrel", self.path("osrel"), 0x20000),
            (".cmdline", self.path("cmdline"), 0x30000),
            (".linux", tree.join("live/vmlinuz"), 0x40000),
            (".initrd", tree.join("live/initrd.img"), 0x60000),
        ];
        for (name, content, offset) in parts {
            objcopy.arg("--add-section").arg(format!("{name}={}", content.display()));
            objcopy.args(["--change-section-vma", &format!("{name}={:#x}", 0x1000_0000 + offset)]);
        }
        run(objcopy.arg(format!("{SYSTEMD}/linuxx64.efi.stub")).arg(&image));
        image
    }

    fn iso(&self) -> PathBuf {
        let layout = LAYOUTS.iter().find(|layout| layout.name == "debian").unwrap();
        let to = self.path("base.iso");
        fs::copy(layout.make_of(&self.path("tree")).path(), &to).unwrap();
        to
    }
}

fn build(base: &Path, image: &Path, extra: &[&str]) -> Output {
    let mut command = dayone();
    command.arg("build").arg("--host").arg(fixtures("nmstate/bond-vlan/nmstate.yaml")).arg("--base").arg(base);
    command.arg("-o").arg(image).args(extra).output().unwrap()
}

/// What is said by a refusal. No image is left behind.
fn refusal(base: &Path, extra: &[&str]) -> String {
    let image = base.with_extension("refused");
    let refused = build(base, &image, extra);
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && !image.exists(), "{errors}");
    errors
}

/// The warnings of a base, and of an image of the BIOS's entry alone.
fn named(base: &Path) -> [String; 2] {
    let found: Value =
        serde_json::from_slice(&run(dayone().arg("inspect").arg(base).args(["--format", "json"]))).unwrap();
    let built = build(base, &base.with_extension("image"), &["--boot-entry", "live"]);
    let errors = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success(), "{errors}");
    [found["findings"].to_string(), errors]
}

/// What the API says to an order.
fn problem(base: &Path, query: &str) -> String {
    let server = Server::start("base", base);
    let order = reqwest::blocking::Client::new()
        .post(format!("{}/v1/images?base=base&{query}", server.api))
        .header("content-type", "application/yaml")
        .body(fs::read(fixtures("nmstate/bond-vlan/nmstate.yaml")).unwrap());
    let answer = order.send().unwrap();
    assert_eq!(answer.status(), 422);
    answer.json::<Value>().unwrap()["detail"].as_str().unwrap().to_owned()
}

const UNIFIED: &str = "is a unified kernel image, which contains its own initrd and kernel arguments";

#[test]
fn a_unified_kernel_image_that_firmware_starts_is_an_error() {
    let medium = Medium::new();
    medium.put("EFI/BOOT/BOOTX64.EFI", &medium.unified());
    let base = medium.iso();
    let expected =
        format!("UEFI machines start /EFI/BOOT/BOOTX64.EFI in /boot/grub/efi.img by default, which {UNIFIED}");
    let error = refusal(&base, &[]);
    assert!(error.contains(&expected) && error.contains("--boot-entry"), "{error}");
    let detail = problem(&base, "format=iso");
    assert!(detail.contains(&expected), "{detail}");
    for text in named(&base) {
        assert!(text.contains(UNIFIED) && text.contains("UEFI machines start it by default"), "{text}");
    }
    // Behind shim, and with a menu for GRUB, which is not there.
    let medium = Medium::new();
    medium.write("boot/grub/grub.cfg", GRUB.as_bytes());
    medium.put("EFI/BOOT/BOOTX64.EFI", Path::new("/usr/lib/shim/shimx64.efi.signed"));
    medium.put("EFI/BOOT/grubx64.efi", &medium.unified());
    let error = refusal(&medium.iso(), &[]);
    assert!(error.contains("UEFI machines start /EFI/BOOT/grubx64.efi"), "{error}");
}

/// Its table is an MBR, as images for USB sticks and small boards have it.
#[test]
fn a_disk_with_an_mbr_is_a_base_of_the_command_line() {
    let medium = Medium::new();
    let (disk, image) = (medium.path("disk.img"), medium.path("out.img"));
    medium.write("entry", b"title Live\nlinux /vmlinuz\ninitrd /initrd.img\noptions quiet\n");
    let script = "truncate -s 40M $1
        printf 'label: dos\nstart=2048, type=ef, bootable\n' | sfdisk --quiet $1
        mkfs.fat -F 32 --offset 2048 $1 $((38 * 1024)) >/dev/null
        mmd -i $1@@1M ::EFI ::EFI/BOOT ::loader ::loader/entries
        mcopy -i $1@@1M $3/systemd-bootx64.efi ::EFI/BOOT/BOOTX64.EFI
        mcopy -i $1@@1M $2/entry ::loader/entries/live.conf
        mcopy -i $1@@1M $2/live/vmlinuz $2/live/initrd.img ::";
    run(Command::new("sh").args(["-ec", script, "sh"]).arg(&disk).arg(medium.path("tree")).arg(SYSTEMD));
    run(dayone().arg("inspect").arg(&disk));
    let built = build(&disk, &image, &["--format", "usb"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let grown = medium.path("initrd");
    run(Command::new("mcopy").arg("-i").arg(format!("{}@@1M", image.display())).arg("::initrd.img").arg(&grown));
    let grown = fs::read(grown).unwrap();
    assert!(grown.len() > initramfs().len() && grown.starts_with(&initramfs()));
    run(Command::new("fsck.fat").arg("-n").arg(image_of_partition(&image)));
}

/// The only partition of a disk, as a file of its own.
fn image_of_partition(disk: &Path) -> PathBuf {
    let partition = disk.with_extension("fat");
    fs::write(&partition, &fs::read(disk).unwrap()[1 << 20..]).unwrap();
    partition
}

#[test]
fn a_unified_kernel_image_in_the_menu_of_systemd_boot_is_named() {
    let of = |loader: &str| {
        let medium = Medium::new();
        medium.put("EFI/BOOT/BOOTX64.EFI", &Path::new(SYSTEMD).join("systemd-bootx64.efi"));
        medium.put("EFI/Linux/live.efi", &medium.unified());
        medium.put("vmlinuz", &medium.path("tree/live/vmlinuz"));
        medium.put("initrd.img", &medium.path("tree/live/initrd.img"));
        fs::create_dir_all(medium.esp("loader/entries")).unwrap();
        let entry = "title Live\nlinux /vmlinuz\ninitrd /initrd.img\noptions boot=live\n";
        fs::write(medium.esp("loader/entries/live.conf"), entry).unwrap();
        fs::write(medium.esp("loader/loader.conf"), loader).unwrap();
        let base = medium.iso();
        (medium, base)
    };
    let (_medium, base) = of("default live.conf\n");
    let built = build(&base, &base.with_extension("image"), &[]);
    let errors = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success() && errors.contains("/EFI/Linux/live.efi in /boot/grub/efi.img"), "{errors}");
    let (_medium, base) = of("timeout 3\n");
    let error = refusal(&base, &[]);
    assert!(error.contains(&format!(
        "UEFI machines start /EFI/Linux/live.efi in /boot/grub/efi.img by default, which {UNIFIED}"
    )));
}

/// What mkisofs makes of a floppy's image when nobody says otherwise.
#[test]
fn a_menu_in_an_emulated_floppy_is_an_error() {
    let medium = Medium::new();
    let floppy = medium.path("tree/floppy.img");
    run(Command::new("mkfs.fat").arg("-C").arg(&floppy).arg("1440"));
    fs::write(medium.path("syslinux.cfg"), MENU).unwrap();
    run(Command::new("mcopy").arg("-i").arg(&floppy).arg(medium.path("syslinux.cfg")).arg("::"));
    let make = |more: &dyn Fn()| {
        more();
        let base = medium.path("floppy.iso");
        run(Command::new("genisoimage")
            .args(["-quiet", "-R", "-b", "floppy.img", "-c", "boot.cat", "-o"])
            .args([&base, &medium.path("tree")]));
        base
    };
    let reason = "which is the image of a floppy or a hard disk that the BIOS emulates (El Torito)";
    let error = refusal(&make(&|| ()), &[]);
    assert!(error.contains("BIOS machines start /floppy.img by default") && error.contains(reason), "{error}");
    // Alone.
    let error = refusal(&make(&|| fs::remove_dir_all(medium.path("tree/isolinux")).unwrap()), &[]);
    assert!(
        error.contains("cannot be customised: no boot menu on it") && error.contains("/floppy.img is the image"),
        "{error}"
    );
}

#[test]
fn only_live_isos_whose_root_is_fetched_have_a_minimal_iso() {
    let medium = Medium::new();
    medium.write("boot/grub/grub.cfg", GRUB.as_bytes());
    medium.put("EFI/BOOT/BOOTX64.EFI", Path::new("/usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed"));
    let base = medium.iso();
    let built = build(&base, &base.with_extension("image"), &[]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let reason = "its initramfs lacks the components of live-boot that fetch a root file system";
    let errors = [refusal(&base, &["--format", "minimal-iso"]), problem(&base, "format=minimal-iso")];
    assert!(errors.iter().all(|error| error.contains(reason)), "{errors:?}");
    let parts = format!("kernel:{0}/live/vmlinuz,initrd:{0}/live/initrd.img", medium.path("tree").display());
    let reason =
        "dayone cannot make an image of format 'minimal-iso' from this base: only a live ISO can become a minimal ISO";
    let image = medium.path("refused.iso");
    let refused = build(Path::new(&parts), &image, &["--format", "minimal-iso"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && error.contains(reason) && !image.exists(), "{error}");
}
