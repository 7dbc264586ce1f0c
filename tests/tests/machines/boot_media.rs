//! Media that `dayone build` makes around a kernel and its initramfs, and disks that it makes of ISOs without a partition
//! table: booted in every way that they are for, and read by the tools that everybody reads them with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use acceptance::bases::{extracted, fixtures, ramdisk_iso};
use acceptance::fat::{clean, content_of, made};
use acceptance::peers::{run, run_text};
use acceptance::qemu::{Boot, boot_image};
use acceptance::server::dayone;
use acceptance::small_system::{Said, initramfs};
use imagelib::compression::Compression;
use imagelib::disk::gpt::Gpt;
use tempfile::TempDir;

const HOST: &str = "
interfaces:
- name: provisioning
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: 52:54:00:12:34:01
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
";

/// What the system needs to speak over its serial console, undisturbed.
const ARGUMENTS: [&str; 4] = ["console=ttyS0,115200", "panic=1", "nomodeset", "loglevel=3"];

/// The last argument of a command line that is as long as possible.
const LAST: &str = "last=end";

/// Where the host's profile comes to lie.
const PROFILE: &str = "/etc/NetworkManager/system-connections/provisioning.nmconnection";

/// A kernel and an initramfs, with the boot loaders that Debian has.
struct Parts {
    directory: TempDir,
    kernel: PathBuf,
    initrd: PathBuf,
}

impl Parts {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let iso = ramdisk_iso(&[]);
        let kernel = extracted(&iso, "/vmlinuz", directory.path());
        let initrd = directory.path().join("initrd");
        fs::write(&initrd, system()).unwrap();
        Self { directory, kernel, initrd }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// An EFI system partition with these files, each with the place that it is copied from.
    fn esp(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let files = files.iter().map(|(path, from)| ((*path).to_owned(), fs::read(from).unwrap()));
        let image = self.path(name);
        made(&image, &[], 8192, &files.collect());
        image
    }

    /// As on Debian's own media, shim and GRUB behind it: what `docs/bases.md` says.
    fn debian_esp(&self) -> PathBuf {
        let page = fs::read_to_string(fixtures("../docs/bases.md")).unwrap();
        let mut scripts = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let script = scripts.find(|script| script.starts_with("mkfs.fat")).expect("commands that make an ESP");
        run(Command::new("bash").args(["-euc", script]).current_dir(self.directory.path()));
        self.path("esp.img")
    }

    /// What `grub-mkimage` makes, with a configuration beside it that has nothing to start.
    fn own_grub_esp(&self) -> PathBuf {
        let [loader, menu] = ["grub.efi", "grub.cfg"].map(|name| self.path(name));
        let modules = "normal linux fat iso9660 part_gpt part_msdos search search_fs_file configfile all_video";
        run(Command::new("grub-mkimage")
            .args(["-O", "x86_64-efi", "-p", "/boot/grub", "-o"])
            .arg(&loader)
            .args(modules.split(' ')));
        fs::write(&menu, "echo nothing\n").unwrap();
        let places = [("EFI/BOOT/BOOTX64.EFI", &loader), ("boot/grub/grub.cfg", &menu)];
        self.esp("grub.esp", &places.map(|(path, from)| (path, from.to_str().unwrap())))
    }

    /// What `bootctl install` makes.
    fn systemd_boot_esp(&self) -> PathBuf {
        let loader = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";
        let places = ["EFI/BOOT/BOOTX64.EFI", "EFI/systemd/systemd-bootx64.efi"];
        self.esp("systemd.esp", &places.map(|path| (path, loader)))
    }

    /// What dayone makes of it with these boot loaders, with a command line that is as long as the loaders pass on.
    fn build(&self, format: &str, loaders: &str, name: &str) -> PathBuf {
        let base = format!("kernel:{},initrd:{}{loaders}", self.kernel.display(), self.initrd.display());
        let added = if loaders.contains(",bios-loader:") {
            "BOOT_IMAGE=/vmlinuz initrd=/initrd "
        } else {
            "BOOT_IMAGE=/vmlinuz "
        };
        let others = format!("{added}{} long= {LAST}", ARGUMENTS.join(" "));
        let long = format!("long={}", "x".repeat(2046 - others.len()));
        let mut arguments = ARGUMENTS.to_vec();
        arguments.extend([long.as_str(), LAST]);
        let arguments: Vec<_> = arguments.into_iter().flat_map(|argument| ["--karg-append", argument]).collect();
        build(&base, &[&["--format", format], arguments.as_slice()].concat(), &self.path(name))
    }

    /// What dayone makes of it with the boot loader in this EFI system partition.
    fn build_around(&self, format: &str, esp: &Path) -> PathBuf {
        self.build(format, &format!(",esp:{}", esp.display()), &format!("{}.{format}", esp.display()))
    }
}

/// As Ironic makes ISOs of ramdisks for UEFI machines: without a partition table.
struct PlainIso {
    directory: TempDir,
}

impl PlainIso {
    fn new() -> Self {
        let iso = Self { directory: tempfile::tempdir().unwrap() };
        let tree = iso.path("tree");
        run(Command::new("xorriso")
            .args(["-osirrox", "on", "-indev"])
            .arg(ramdisk_iso(&[]))
            .args(["-extract", "/"])
            .arg(&tree));
        // What is on an ISO cannot be written to.
        fs::remove_file(tree.join("initrd")).unwrap();
        fs::write(tree.join("initrd"), system()).unwrap();
        run(Command::new("genisoimage")
            .args(["-quiet", "-r", "-l", "-V", "PLAIN", "-e", "boot/grub/efiboot.img", "-no-emul-boot", "-o"])
            .args([&iso.path("plain.iso"), &tree]));
        iso
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What dayone makes of it for a BMC that shows it to the host as a disk.
    fn disk(&self) -> PathBuf {
        build(self.path("plain.iso").to_str().unwrap(), &["--format", "usb"], &self.path("boot.img"))
    }
}

fn build(base: &str, options: &[&str], image: &Path) -> PathBuf {
    let host = image.with_extension("yaml");
    fs::write(&host, HOST).unwrap();
    let mut build = dayone();
    build.args(["build", "--quiet", "--hostname", "node-7", "--base", base]).args(options);
    run(build.arg("--host").arg(host).arg("--output").arg(image));
    image.to_owned()
}

/// The system that is booted, as an initramfs.
fn system() -> Vec<u8> {
    let mut archive = initramfs(&["/etc/hostname", PROFILE]);
    // Nothing of it is run, but a system without it would get no profiles.
    archive.file("usr/sbin/NetworkManager".parse().unwrap(), 0o755, "").unwrap();
    archive.add_parents(0o755).unwrap();
    Compression::Zstd.compress(&archive.to_bytes()).unwrap()
}

/// Boots an image around a kernel in these ways: all arguments of the longest command line reach the kernel.
fn boot_longest(images: &[(&Path, Boot)]) {
    boot_with(images, &|said| said.arguments().ends_with(LAST));
}

/// Boots an image in these ways, and asks the system what has reached it.
fn boot(images: &[(&Path, Boot)]) {
    boot_with(images, &|_| true);
}

fn boot_with(images: &[(&Path, Boot)], has_arguments: &(dyn Fn(&Said) -> bool + Sync)) {
    thread::scope(|scope| {
        for (image, boot) in images {
            scope.spawn(move || {
                let said = Said::on(&boot_image(image, *boot));
                assert!(has_arguments(&said), "{boot:?}: {}", said.arguments());
                assert_eq!(said.file("/etc/hostname"), "644 0 0 node-7", "{boot:?}");
                let profile = said.file(PROFILE);
                assert!(profile.starts_with("600 0 0 [connection] "), "{boot:?}: {profile}");
                assert!(profile.contains(" address0=192.0.2.10/24 "), "{boot:?}: {profile}");
            });
        }
    });
}

fn isolinux() -> String {
    [
        ("bios-loader", "/usr/lib/ISOLINUX/isolinux.bin"),
        ("bios-loader-core", "/usr/lib/syslinux/modules/bios/ldlinux.c32"),
        ("bios-boot-code", "/usr/lib/ISOLINUX/isohdpfx.bin"),
    ]
    .map(|(part, path)| format!(",{part}:{path}"))
    .concat()
}

/// Fails unless sgdisk finds nothing wrong with the disk's GPT, and returns its only partition as a file.
fn partition(disk: &Path) -> PathBuf {
    let found = run_text(Command::new("sgdisk").arg("-v").arg(disk));
    assert!(found.contains("No problems found"), "{found}");
    let bytes = fs::read(disk).unwrap();
    let gpt = Gpt::read(&bytes).unwrap().unwrap();
    let partitions: Vec<_> = gpt.partitions().collect();
    let [(_, partition)] = partitions.as_slice() else { panic!("{partitions:?}") };
    let [first, end] = [partition.first, partition.last + 1].map(|sector| usize::try_from(sector * 512).unwrap());
    let path = disk.with_extension("partition");
    fs::write(&path, &bytes[first..end]).unwrap();
    path
}

#[test]
fn an_iso_around_a_kernel() {
    let parts = Parts::new();
    let esp = parts.debian_esp();
    let image = parts.build("iso", &format!(",esp:{}{}", esp.display(), isolinux()), "boot.iso");

    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str| fs::read(extracted(&image, path, directory.path())).unwrap();
    assert!(file("/vmlinuz") == fs::read(&parts.kernel).unwrap());
    assert!(file("/initrd").starts_with(&fs::read(&parts.initrd).unwrap()));
    assert!(file("/boot/efi.img") == fs::read(&esp).unwrap());
    let catalog = run_text(Command::new("xorriso").args(["-indev"]).arg(&image).args(["-report_el_torito", "plain"]));
    for loader in ["/isolinux/isolinux.bin", "/boot/efi.img"] {
        assert!(catalog.contains(loader), "{catalog}");
    }
    run(Command::new("7z").arg("t").arg(&image));

    boot_longest(&[(&image, Boot::BiosCd), (&image, Boot::UefiUsb)]);
}

#[test]
fn a_disk_around_a_kernel() {
    let parts = Parts::new();
    let esps = [parts.debian_esp(), parts.systemd_boot_esp()];
    let images = esps.map(|esp| {
        let image = parts.build_around("usb", &esp);
        let partition = partition(&image);
        clean(&partition);
        assert!(content_of(&partition, "vmlinuz") == fs::read(&parts.kernel).unwrap());
        assert!(content_of(&partition, "initrd").starts_with(&fs::read(&parts.initrd).unwrap()));
        let loader = |esp| content_of(esp, "EFI/BOOT/BOOTX64.EFI");
        assert!(loader(&partition) == loader(&esp));
        image
    });
    boot_longest(&images.each_ref().map(|image| (image.as_path(), Boot::UefiUsb)));
}

#[test]
fn a_disk_of_an_iso_without_a_partition_table() {
    let plain = PlainIso::new();
    let image = plain.disk();

    let before = fs::read(plain.path("plain.iso")).unwrap();
    assert!(before[..32768].iter().all(|byte| *byte == 0), "genisoimage has written a partition table");
    clean(&partition(&image));
    let kernel = fs::read(extracted(&image, "/vmlinuz", plain.directory.path())).unwrap();
    assert!(kernel == fs::read(plain.path("tree/vmlinuz")).unwrap());

    boot(&[(&image, Boot::UefiUsb)]);
}

/// The loaders and the ways that the tests above leave out. Each is made by the same code as one of those.
#[test]
#[ignore = "make matrix runs it"]
fn other_loaders_and_ways() {
    let parts = Parts::new();
    let (debian, own_grub) = (parts.debian_esp(), parts.own_grub_esp());
    let [iso, own_iso] = [&debian, &own_grub].map(|esp| parts.build_around("iso", esp));
    let own_disk = parts.build_around("usb", &own_grub);
    boot_longest(&[(&iso, Boot::UefiCd), (&own_iso, Boot::UefiUsb), (&own_disk, Boot::UefiUsb)]);
    let plain = PlainIso::new();
    boot(&[(&plain.disk(), Boot::UefiCd)]);
}
