//! EFI system partitions without room: the image has a larger one. fsck.fat, mtools, sgdisk and xorriso read it. Machines boot it in
//! `machines::uki`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::fat::{clean, content_of, grub_reads};
use acceptance::peers::{run, run_text};
use acceptance::secure_boot::kernel;
use acceptance::server::dayone;
use acceptance::small_system::initramfs;
use acceptance::uki::{EspIn, disk_of, esp, full_iso, trixie, unified};
use serde_json::Value;

const HOST: &str = "
interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
";
const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
const ADDON: &str = "EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi";

fn build(directory: &Path, base: &Path, more: &[&str]) -> Command {
    let host = directory.join("host.yaml");
    fs::write(&host, HOST).unwrap();
    let mut build = dayone();
    build.arg("build").arg(&host).arg("--base").arg(base).args(["--karg-append", "x=y"]).args(more);
    build.arg("--output").arg(directory.join("image"));
    build
}

/// What mkfs.fat makes, and what it becomes.
const FILE_SYSTEMS: [(&str, &str); 5] = [
    ("-F 12 -s 64 32768", "FAT12"),
    ("-F 12 -s 8 16256", "FAT16"),
    // As mformat makes the partitions of grub-mkrescue.
    ("-F 12 -s 8 -M 0xf0 16256", "FAT16"),
    ("-F 16 -s 4 32768", "FAT16"),
    ("-F 32 -s 1 40960", "FAT32"),
];

fn base(directory: &Path, place: EspIn, file_system: &str) -> PathBuf {
    let uki = directory.join("uki.efi");
    unified(&trixie("linuxx64.efi.stub"), &kernel(), &initramfs(&[]), "quiet", &uki);
    full_iso(directory, &[(LOADER, &uki)], place, file_system)
}

/// All that the partition had, and the addon.
fn is_whole(directory: &Path, partition: &Path) {
    clean(partition);
    assert!(content_of(partition, LOADER) == fs::read(directory.join("uki.efi")).unwrap());
    assert!(content_of(partition, "filler") == fs::read(directory.join("filler")).unwrap());
    let addon = content_of(partition, ADDON);
    assert!(addon.windows(12).any(|window| window == b"192.0.2.7/24"));
    grub_reads(partition, "", ADDON, &addon);
}

#[test]
fn a_full_partition_in_a_file_grows() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let large = directory.join("large");
    fs::write(&large, vec![b'l'; 1 << 20]).unwrap();
    for (file_system, becomes) in FILE_SYSTEMS {
        let base = base(directory, EspIn::File, file_system);
        run(&mut build(directory, &base, &["--force", "--file", &format!("/etc/large={}", large.display())]));
        let partition = esp(&directory.join("image"), directory);
        is_whole(directory, &partition);
        let boot_sector = &fs::read(partition).unwrap()[..512];
        assert!(boot_sector.windows(5).any(|window| window == becomes.as_bytes()), "{file_system}");
    }
}

/// Where the partition that the table names is written to.
fn partition_of(image: &Path, directory: &Path) -> (usize, PathBuf) {
    let table = run_text(Command::new("sfdisk").arg("--json").arg(image));
    let table: Value = serde_json::from_str(&table).unwrap();
    let partitions = table["partitiontable"]["partitions"].as_array().unwrap();
    let esp = partitions.iter().find(|part| part["type"] == "C12A7328-F81F-11D2-BA4B-00A0C93EC93B").unwrap();
    let [start, size] = ["start", "size"].map(|key| usize::try_from(esp[key].as_u64().unwrap() * 512).unwrap());
    let partition = directory.join("partition");
    fs::write(&partition, &fs::read(image).unwrap()[start..start + size]).unwrap();
    let found = run_text(Command::new("sgdisk").arg("-v").arg(image));
    assert!(!found.contains("Problem") && !found.contains("overlap"), "{found}");
    (start, partition)
}

/// An ISO without a partition table becomes a disk with one, which must name the partition that firmware shall start.
#[test]
fn a_disk_of_an_iso_starts_from_the_grown_partition() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = base(directory, EspIn::File, "-F 16 -s 4 32768");
    run(&mut build(directory, &base, &["--format", "usb"]));
    let (_, partition) = partition_of(&directory.join("image"), directory);
    is_whole(directory, &partition);
}

#[test]
fn a_full_partition_behind_the_file_system_grows() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = base(directory, EspIn::Partition, "-F 32 -s 1 40960");
    run(&mut build(directory, &base, &[]));
    let image = directory.join("image");
    let (start, partition) = partition_of(&image, directory);
    assert!(start as u64 >= fs::metadata(&base).unwrap().len(), "behind all that was there");
    is_whole(directory, &partition);
    // A CD's firmware finds the same.
    let report = run_text(Command::new("xorriso").arg("-indev").arg(&image).args(["-report_el_torito", "plain"]));
    let line = report.lines().find(|line| line.starts_with("El Torito boot img") && line.contains("UEFI")).unwrap();
    let block: usize = line.split_whitespace().last().unwrap().parse().unwrap();
    assert_eq!(block * 2048, start, "{report}");
}

/// The system on a disk may enlarge its last partition, which one behind it would prevent.
#[test]
fn a_full_partition_of_a_disk_is_refused_with_the_sizes() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let disk = directory.join("disk.raw");
    disk_of(&esp(&base(directory, EspIn::File, "-F 16 -s 4 32768"), directory), &disk);
    let refused = build(directory, &disk, &["--format", "usb"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains("more bytes are needed, 0 are free"), "{said}");
}
