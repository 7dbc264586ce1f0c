//! Media in the layout of Talos' ISOs, with a small system in Talos' place: Talos itself cannot be had here.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use imagelib::cpio::Archive;
use serde_json::Value;

use crate::peers::{run, run_text};
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
    let esp = tree.join("efiboot.img");
    fs::rename(self::esp(directory), &esp).expect("a partition");
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

/// An EFI system partition with systemd-boot and a unified kernel image.
pub fn esp(directory: &Path) -> PathBuf {
    let uki = directory.join("talos.efi");
    unified(&trixie("linuxx64.efi.stub"), &kernel(), &initramfs(), ARGUMENTS, &uki);
    let esp = directory.join("talos-esp.img");
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
    esp
}

/// Writes and reads the values of a META partition as Talos' source does, in another language than dayone:
/// `write DISK OFFSET JSON` and `read DISK OFFSET`.
const META: &str = r#"
import hashlib, json, struct, sys
BLOCK = 256 << 10
command, disk, offset = sys.argv[1], open(sys.argv[2], "r+b"), int(sys.argv[3])
if command == "write":
    values = {int(key): value.encode() for key, value in json.loads(sys.argv[4]).items()}
    block = struct.pack(">I", 0x5a4b3c2d)
    block += b"".join(struct.pack(">II", key, len(value)) + value for key, value in values.items())
    block = block.ljust(BLOCK - 4, bytes(1)) + struct.pack(">I", 0xa5b4c3d2)
    block = block[:-36] + hashlib.sha256(block).digest() + block[-4:]
    disk.seek(offset)
    disk.write(block + block)
else:
    def values(start):
        disk.seek(start)
        block = disk.read(BLOCK)
        magic, end = struct.unpack(">I", block[:4])[0], struct.unpack(">I", block[-4:])[0]
        assert (magic, end) == (0x5a4b3c2d, 0xa5b4c3d2), (magic, end)
        assert hashlib.sha256(block[:-36] + bytes(32) + block[-4:]).digest() == block[-36:-4]
        found, at = {}, 4
        while True:
            key, length = struct.unpack(">II", block[at:at + 8])
            if key == 0:
                assert not any(block[at:-36])
                return found
            found[key] = block[at + 8:at + 8 + length].decode()
            at += 8 + length
    first, second = values(offset), values(offset + BLOCK)
    assert first == second
    disk.seek(offset + 2 * BLOCK)
    assert not any(disk.read((1 << 20) - 2 * BLOCK))
    print(json.dumps(first))
"#;

fn meta(command: &str, disk: &Path) -> Command {
    let table = run_text(Command::new("sfdisk").arg("--json").arg(disk));
    let table: Value = serde_json::from_str(&table).expect("JSON");
    let mut partitions = table["partitiontable"]["partitions"].as_array().into_iter().flatten();
    let start =
        partitions.find(|partition| partition["name"] == "META").and_then(|partition| partition["start"].as_u64());
    let mut python = Command::new("python3");
    python.args(["-c", META, command]).arg(disk).arg((start.expect("a META partition") * 512).to_string());
    python
}

/// The values in the META partition of a disk, by their keys.
pub fn meta_values(disk: &Path) -> Value {
    serde_json::from_str(&run_text(&mut meta("read", disk))).expect("JSON")
}

/// A disk as the imager makes it, with this EFI system partition: Talos adds its other partitions when it starts. Without values, its
/// META partition is empty.
pub fn disk(esp: &Path, values: Option<&str>, to: &Path) {
    let bytes = fs::read(esp).expect("a partition");
    let file = fs::File::create(to).expect("a disk");
    file.set_len(bytes.len() as u64 + (4 << 20)).expect("a disk");
    let sectors = bytes.len() / 512;
    run(Command::new("sgdisk")
        .args(["--new", &format!("1:2048:+{sectors}"), "--typecode", "1:ef00", "--change-name", "1:EFI"])
        .args(["--new", "2:0:+1M", "--typecode", "2:8300", "--change-name", "2:META"])
        .arg(to));
    file.write_all_at(&bytes, 1 << 20).expect("a partition");
    if let Some(values) = values {
        run(meta("write", to).arg(values));
    }
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
