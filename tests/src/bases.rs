//! Base images: made by the scripts in `fixtures/bases` and kept in the cache, or published by others.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use imagelib::compression::Compression;
use imagelib::cpio::Archive;
use sha2::{Digest, Sha256};

use crate::peers::{cache, run, run_text};
use crate::qemu::{OtherArchitecture, arm64};

/// A directory of `fixtures`.
pub fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// An ISO that `fixtures/bases/make-coreos-iso.sh` makes with these options. It is made once, and the same file is
/// returned to all: copy it before changing it.
pub fn coreos_iso(options: &[&str]) -> PathBuf {
    made("make-coreos-iso.sh", options)
}

/// An ISO that a script of `fixtures/bases` makes.
pub fn made(script: &str, options: &[&str]) -> PathBuf {
    made_file(script, "iso", options)
}

/// What a script of `fixtures/bases` makes. Another script, or other options, are another file.
fn made_file(script: &str, suffix: &str, options: &[&str]) -> PathBuf {
    let script_path = fixtures("bases").join(script);
    let mut hasher = Sha256::new();
    hasher.update(fs::read(&script_path).expect("the script"));
    for option in options {
        hasher.update([0]);
        hasher.update(option);
    }
    let key: String = hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = cache().join("bases");
    let name = format!("{}-{key}", script.trim_start_matches("make-").trim_end_matches(".sh"));
    let path = directory.join(format!("{name}.{suffix}"));
    if !path.exists() {
        // Tests run side by side: one makes it, the others wait.
        fs::create_dir_all(&directory).expect("a directory for bases");
        let lock = File::create(directory.join(format!("{name}.lock"))).expect("a lock");
        lock.lock().expect("the lock");
        if !path.exists() {
            let temporary = tempfile::Builder::new().tempfile_in(&directory).expect("a temporary file");
            run(Command::new(&script_path).arg(temporary.path()).args(options));
            temporary.persist(&path).expect("the base is kept");
        }
    }
    path
}

/// Debian as it is on its live ISOs: live-boot's initramfs, a squashfs root, isolinux and GRUB.
pub fn debian_live_iso() -> PathBuf {
    made("make-debian-live-iso.sh", &[&live_root()])
}

/// The same with the drivers for a RAM disk in the initramfs, as Debian 13 has them.
pub fn debian_live_iso_with_ram_disk_drivers() -> PathBuf {
    made("make-debian-live-iso.sh", &[&live_root(), "initrd.live-boot-ram-disk"])
}

/// That ISO as live-build itself makes it: every initramfs and every kernel has two names.
pub fn live_build_iso() -> PathBuf {
    made("make-live-build-iso.sh", &[&live_root()])
}

/// The layout of the live ISOs of Fedora and RHEL: dracut's initramfs, a squashfs root, GRUB.
pub fn dracut_live_iso() -> PathBuf {
    made("make-dracut-live-iso.sh", &[&live_root()])
}

/// The same with the systemd of another suite of Debian.
pub fn dracut_live_iso_with_systemd_of(suite: &str) -> PathBuf {
    let root = made_file("make-live-root.sh", "tar", &["amd64", suite]).display().to_string();
    made("make-dracut-live-iso.sh", &[&root])
}

/// The layout of their installation media, without the installer: its system is dracut's live system.
pub fn anaconda_iso() -> PathBuf {
    made("make-dracut-live-iso.sh", &[&live_root(), "--anaconda"])
}

/// A ramdisk whose initramfs is the whole system, as Ironic makes an ISO of it: `/vmlinuz` and `/initrd`. Options are
/// those of `make-ramdisk-iso.sh`, such as `--networkd`.
pub fn ramdisk_iso(options: &[&str]) -> PathBuf {
    made("make-ramdisk-iso.sh", &[&[live_root().as_str()], options].concat())
}

/// The same with cloud-init and netplan, as Debian's cloud images have them.
pub fn cloud_ramdisk_iso() -> PathBuf {
    let root = made_file("make-cloud-root.sh", "tar", &[&live_root()]).display().to_string();
    made("make-ramdisk-iso.sh", &[&root, "--networkd"])
}

/// The same for arm64 machines.
pub fn arm64_cloud_ramdisk_iso() -> PathBuf {
    let root = made_file("make-live-root.sh", "tar", &["arm64"]).display().to_string();
    arm64_iso_of("ramdisk", &made_file("make-cloud-root.sh", "tar", &[&root, "arm64"]))
}

/// Takes a file out of an ISO.
pub fn extracted(iso: &Path, file: &str, directory: &Path) -> PathBuf {
    let path = directory.join(file.rsplit('/').next().unwrap_or(file));
    run(Command::new("xorriso").args(["-osirrox", "on", "-indev"]).arg(iso).args(["-extract", file]).arg(&path));
    // As everything on an ISO, it is read-only.
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("our file");
    path
}

/// An initramfs in which NetworkManager brings up hosts.
pub fn networkmanager_ramdisk() -> PathBuf {
    made_file("make-networkmanager-ramdisk.sh", "img", &[])
}

/// One of the layouts of `make-arm64-iso.sh`: `debian-live`, `dracut-live` or `ramdisk`.
pub fn arm64_iso(layout: &str) -> PathBuf {
    arm64_iso_of(layout, &made_file("make-live-root.sh", "tar", &["arm64"]))
}

fn arm64_iso_of(layout: &str, root: &Path) -> PathBuf {
    made("make-arm64-iso.sh", &[layout, &root.display().to_string(), &arm64::unpacked().display().to_string()])
}

/// The kernel and the initramfs of a ramdisk with NetworkManager, in this directory.
pub fn other_ramdisk(other: OtherArchitecture, directory: &Path) -> [PathBuf; 2] {
    let root = made_file("make-live-root.sh", "tar", &[other.debian()]).display().to_string();
    let parts = made_file("make-ramdisk-parts.sh", "tar", &[&root]);
    run(Command::new("tar").arg("-xf").arg(parts).arg("-C").arg(directory));
    ["vmlinuz", "initrd"].map(|name| directory.join(name))
}

/// An initramfs that runs this script of busybox's shell, and has nothing else.
pub fn busybox_initramfs(busybox: &Path, init: &'static str, directory: &Path) -> PathBuf {
    let mut archive = Archive::new();
    archive.file("init".parse().expect("a path"), 0o755, init).expect("room");
    let busybox = fs::read(busybox).expect("busybox-static; run scripts/setup-peers.sh");
    archive.file("bin/busybox".parse().expect("a path"), 0o755, busybox).expect("room");
    for path in ["bin", "proc", "dev"] {
        archive.directory(path.parse().expect("a path"), 0o755).expect("room");
    }
    let initrd = directory.join("initrd.img");
    fs::write(&initrd, Compression::Gzip.compress(&archive.to_bytes()).expect("memory")).expect("the initramfs");
    initrd
}

/// What makes a system say on its console what has become of its network, and switch off: a program for `/usr/local/sbin`, and its unit.
pub fn boot_report(directory: &Path) -> [PathBuf; 2] {
    let files = ["usr/local/sbin/boot-report", "etc/systemd/system/boot-report.service"];
    let archived = files.map(|file| format!("./{file}"));
    run(Command::new("tar").arg("-xf").arg(live_root()).arg("-C").arg(directory).args(archived));
    files.map(|file| directory.join(file))
}

/// The Debian installer's kernel and initramfs (`linux`, `initrd.gz`), unpacked into this directory, and a suite `components` of a Debian
/// mirror for it (`debian`). Everything else that it installs from is in the mirror of this machine, whose URL this returns.
pub fn installer_mirror(directory: &Path) -> String {
    let archive = made_file("make-installer-mirror.sh", "tar", &[]);
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(directory));
    let script = fixtures("bases").join("debian-mirror.sh");
    run_text(Command::new("bash").args(["-ec", "source \"$0\"; debian_mirror"]).arg(script)).trim().to_owned()
}

fn live_root() -> String {
    made_file("make-live-root.sh", "tar", &[]).display().to_string()
}

/// A GRUB for `--efi-loader` that reads `EFI/fedora/grub.cfg` of the ISO, wherever it was started from.
pub fn grub_efi_loader(directory: &Path) -> PathBuf {
    let early = directory.join("early.cfg");
    fs::write(&early, "search.file /EFI/fedora/grub.cfg root\nset prefix=($root)/EFI/fedora\n").expect("a config");
    let loader = directory.join("grubx64.efi");
    run(Command::new("grub-mkimage")
        .args(["-O", "x86_64-efi", "-p", "/EFI/BOOT", "-c"])
        .args([&early, Path::new("-o"), &loader])
        .args(
            "normal linux iso9660 fat search search_fs_file configfile part_gpt part_msdos all_video gzio".split(' '),
        ));
    loader
}

/// The ISOs of ten layouts, 2020 to 2023, that coreos-installer is tested with, by name. Their files are real, cut
/// short, and their layout is complete.
pub fn historical_coreos_isos() -> Vec<(String, Vec<u8>)> {
    let directory = cache().join("coreos-installer-0.27.0/fixtures/iso");
    let files = fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}; run scripts/setup-peers.sh", directory.display()));
    let mut isos: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".iso.xz")?.to_owned();
            Some((name, run(Command::new("xz").arg("-dc").arg(&path))))
        })
        .collect();
    isos.sort();
    assert_eq!(isos.len(), 11, "{}", directory.display());
    isos
}
