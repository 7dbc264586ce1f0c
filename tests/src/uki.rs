//! Media whose boot is a unified kernel image, as `ukify` makes them, and machines that trust a key of the site.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use imagelib::cpio::Archive;

use crate::peers::{cache, run, run_text};
use crate::secure_boot::SiteKey;

/// A stub that reads no addons: bookworm's.
pub const OLD_STUB: &str = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub";

/// A file of trixie's `systemd-boot-efi`.
pub fn trixie(name: &str) -> PathBuf {
    let path = cache().join("ukify-trixie/usr/lib/systemd/boot/efi").join(name);
    assert!(path.exists(), "{} is missing; run scripts/setup-peers.sh", path.display());
    path
}

/// A stub that takes kernel arguments from addons, and no initrd: that of bookworm's backports.
pub fn stub_without_initrd() -> PathBuf {
    let path = cache().join("stub-254/usr/lib/systemd/boot/efi/linuxx64.efi.stub");
    assert!(path.exists(), "{} is missing; run scripts/setup-peers.sh", path.display());
    path
}

/// The stub of trixie's `systemd-boot-efi` for arm64.
pub fn arm64_stub() -> PathBuf {
    let path = cache().join("arm64-stub/usr/lib/systemd/boot/efi/linuxaa64.efi.stub");
    assert!(path.exists(), "{} is missing; run scripts/setup-peers.sh matrix", path.display());
    path
}

/// A program of the Python environment with what ukify needs.
pub fn python(program: &str) -> Command {
    Command::new(cache().join("virt-firmware-26.10-pefile-2024.8.26/bin").join(program))
}

/// `ukify build` with these arguments.
pub fn ukify(arguments: &[&str], to: &Path) {
    let mut ukify = python("python");
    ukify.arg(cache().join("ukify-trixie/usr/bin/ukify")).arg("build");
    run(ukify.args(arguments).arg("--output").arg(to));
}

/// A unified kernel image of a kernel and an initramfs.
pub fn unified(stub: &Path, kernel: &Path, initramfs: &Archive, arguments: &str, to: &Path) {
    let initrd = to.with_extension("initrd");
    fs::write(&initrd, initramfs.to_bytes()).expect("an initramfs");
    unified_of_files(stub, kernel, &initrd, arguments, to);
}

/// The same of files.
pub fn unified_of_files(stub: &Path, kernel: &Path, initrd: &Path, arguments: &str, to: &Path) {
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let (stub, kernel, initrd) = (text(stub), text(kernel), text(initrd));
    let os_release = "ID=live\nPRETTY_NAME=\"Live system\"";
    let parts = ["--stub", &stub, "--linux", &kernel, "--initrd", &initrd];
    let texts = ["--cmdline", arguments, "--os-release", os_release, "--uname", "6.1"];
    ukify(&[parts.as_slice(), &texts].concat(), to);
}

/// An ISO with these files in its EFI system partition, and with nothing else to boot.
pub fn iso(directory: &Path, files: &[(&str, &Path)]) -> PathBuf {
    iso_of(directory, &esp_with(directory, files), EspIn::File, None)
}

/// The same with the root file system of a live system, which is at `LiveOS/squashfs.img`.
pub fn live_iso(directory: &Path, files: &[(&str, &Path)], root: &Path) -> PathBuf {
    iso_of(directory, &esp_with(directory, files), EspIn::File, Some(root))
}

fn esp_with(directory: &Path, files: &[(&str, &Path)]) -> PathBuf {
    let bytes: u64 = files.iter().map(|(_, file)| fs::metadata(file).expect("a file").len()).sum();
    // There is room for an addon.
    let sectors = 98304.max(bytes / 512 + 16384).to_string();
    let esp = directory.join("uki-esp.img");
    run(Command::new("mformat").args(["-C", "-T", &sectors, "-i"]).arg(&esp).arg("::"));
    fill(&esp, files);
    esp
}

/// The same without a free byte in the partition, which mkfs.fat makes with these options.
pub fn full_iso(directory: &Path, files: &[(&str, &Path)], place: EspIn, options: &str) -> PathBuf {
    let esp = directory.join("uki-esp.img");
    let _ = fs::remove_file(&esp);
    let (options, kibibytes) = options.rsplit_once(' ').expect("a size");
    run(Command::new("mkfs.fat").args(options.split(' ')).arg("-C").arg(&esp).arg(kibibytes));
    fill(&esp, files);
    let listed = run_text(Command::new("mdir").arg("-i").arg(&esp).arg("::"));
    let free = listed.lines().rev().find_map(|line| line.strip_suffix(" bytes free")).expect("the free bytes");
    let free: String = free.chars().filter(char::is_ascii_digit).collect();
    let filler = directory.join("filler");
    fs::write(&filler, vec![b'f'; free.parse().expect("a number")]).expect("a file");
    run(Command::new("mcopy").arg("-i").arg(&esp).arg(filler).arg("::filler"));
    iso_of(directory, &esp, place, None)
}

/// Where an ISO has its EFI system partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EspIn {
    /// In a file, as most tools put it.
    File,
    /// Behind the file system, as a partition.
    Partition,
}

fn fill(esp: &Path, files: &[(&str, &Path)]) {
    run(Command::new("mmd").arg("-i").arg(esp).args(["::EFI", "::EFI/BOOT", "::EFI/Linux"]));
    for (path, file) in files {
        run(Command::new("mcopy").arg("-i").arg(esp).arg(file).arg(format!("::{path}")));
    }
}

fn iso_of(directory: &Path, esp: &Path, place: EspIn, root: Option<&Path>) -> PathBuf {
    let tree = directory.join("uki-tree");
    let _ = fs::remove_dir_all(&tree);
    fs::create_dir_all(tree.join("boot")).expect("a directory");
    if let Some(root) = root {
        fs::create_dir(tree.join("LiveOS")).expect("a directory");
        fs::copy(root, tree.join("LiveOS/squashfs.img")).expect("a file");
    }
    let iso = directory.join("uki.iso");
    let _ = fs::remove_file(&iso);
    let mut xorriso = Command::new("xorriso");
    xorriso.args("-as mkisofs -quiet -r -J -V UKI".split(' '));
    match place {
        EspIn::File => {
            fs::rename(esp, tree.join("boot/efi.img")).expect("a file");
            xorriso.args(["-e", "boot/efi.img"]);
        }
        EspIn::Partition => {
            xorriso.args(["-append_partition", "2", "0xef"]).arg(esp);
            xorriso.args(["-appended_part_as_gpt", "-e", "--interval:appended_partition_2:all::"]);
        }
    }
    run(xorriso.args(["-no-emul-boot", "-o"]).args([&iso, &tree]));
    iso
}

/// The image of the EFI system partition of an ISO.
pub fn esp(iso: &Path, directory: &Path) -> PathBuf {
    let esp = directory.join("extracted.img");
    let _ = fs::remove_file(&esp);
    run(Command::new("xorriso")
        .args(["-osirrox", "on", "-indev"])
        .arg(iso)
        .args(["-extract", "/boot/efi.img"])
        .arg(&esp));
    esp
}

/// Variables of a machine that trusts the key of a site, and no other one.
pub fn variables(key: &SiteKey, to: &Path) {
    variables_over(Path::new("/usr/share/OVMF/OVMF_VARS_4M.fd"), key, to);
}

/// Who has enrolled a key: any GUID.
const OWNER: &str = "77fa9abd-0359-4d32-bd60-28f4e78f784b";

/// Variables of a machine as it comes from its vendor, whose owner has told shim alone of the key of a site (`mokutil --import`).
pub fn variables_with_mok(key: &SiteKey, to: &Path) {
    let mut enrol = python("virt-fw-vars");
    enrol.args(["--input", "/usr/share/OVMF/OVMF_VARS_4M.ms.fd", "--output"]).arg(to);
    run(enrol.args(["--add-mok", OWNER]).arg(&key.certificate));
}

/// These variables with the key of a site.
pub fn variables_over(variables: &Path, key: &SiteKey, to: &Path) {
    let mut enrol = python("virt-fw-vars");
    enrol.arg("--input").arg(variables).arg("--output").arg(to).arg("--sb");
    for list in ["--set-pk", "--add-kek", "--add-db"] {
        enrol.args([list, OWNER]).arg(&key.certificate);
    }
    run(&mut enrol);
}

/// A disk with a GPT whose one partition is this EFI system partition.
pub fn disk_of(esp: &Path, to: &Path) {
    let bytes = fs::read(esp).expect("a partition");
    let file = fs::File::create(to).expect("a disk");
    file.set_len(bytes.len() as u64 + (2 << 20)).expect("a disk");
    let sectors = bytes.len() / 512;
    run(Command::new("sgdisk").args(["--new", &format!("1:2048:+{sectors}"), "--typecode", "1:ef00"]).arg(to));
    file.write_all_at(&bytes, 1 << 20).expect("a partition");
}
