//! A machine that mounts disks with Linux's own file systems and says what is in them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::peers::{cache, run_text};
use acceptance::qemu::Machine;
use imagelib::cpio::Archive;

/// What Debian's cloud kernel needs for the disks and for the file systems on them, each after those that it needs.
const MODULES: &str = "virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
                       cdrom isofs nls_utf8 nls_cp437 nls_ascii fat vfat";

/// Says of every file its mode, its owner, and its digest or its target; and what cannot be read.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
export PATH=/bin
exec < /dev/null > /dev/ttyS0 2>&1
dmesg -n 1
for module in $(cat /modules/order); do insmod "/modules/$module"; done
show() {
  echo "BEGIN $1 $2 $3"
  mount -t "$2" -o "$3" "/dev/$1" /mnt && cd /mnt && {
    find . -print0 > /names
    xargs -0 stat -c '%f %u:%g %N' < /names
    find . -type f -print0 2> /dev/null | xargs -0 sha256sum
    cd /
    umount /mnt
  }
  echo "END $1 $2 $3"
}
"#;

/// The word for content that cannot be read, and the whole value of a directory that cannot.
pub const UNREADABLE: &str = "unreadable";

/// What is in a file system, by path: mode in hexadecimal digits, owner, and the digest or the target of a link.
pub type Tree = BTreeMap<String, String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount {
    /// Such as `vda1`.
    pub device: &'static str,
    pub kind: &'static str,
    pub options: &'static str,
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.device, self.kind, self.options)
    }
}

/// Boots one machine with these disks and mounts everything.
pub fn mounted(mounts: &[Mount], disks: &[&Path], directory: &Path) -> BTreeMap<Mount, Tree> {
    let (kernel, initramfs) = (cache().join("kernel/vmlinuz"), directory.join("kernel-mounts.img"));
    assert!(kernel.exists(), "{} is missing; run scripts/setup-peers.sh", kernel.display());
    fs::write(&initramfs, archive(mounts).to_bytes()).unwrap();
    let machine = Machine::with_kernel(&kernel, &initramfs, "console=ttyS0 panic=-1 loglevel=4");
    let console = disks.iter().fold(machine, |machine, disk| machine.disk(disk)).console();
    mounts.iter().map(|mount| (*mount, tree(&console, *mount))).collect()
}

fn archive(mounts: &[Mount]) -> Archive {
    let mut archive = Archive::new();
    for directory in ["bin", "dev", "mnt", "modules", "proc"] {
        archive.directory(directory.parse().unwrap(), 0o755).unwrap();
    }
    let mut file = |name: &str, content: Vec<u8>| archive.file(name.parse().unwrap(), 0o755, content).unwrap();
    for module in MODULES.split_whitespace() {
        let mut find = Command::new("find");
        find.arg(cache().join("kernel/modules")).args(["-name", &format!("{module}.ko")]);
        let found = run_text(&mut find);
        file(&format!("modules/{module}"), fs::read(found.trim()).unwrap_or_else(|_| panic!("{module}: {found}")));
    }
    file("modules/order", MODULES.into());
    let show = |mount: &Mount| format!("show {} {} {}\n", mount.device, mount.kind, mount.options);
    let shown: String = mounts.iter().map(show).collect();
    file("init", format!("{INIT}{shown}poweroff -f\n").into_bytes());
    file("bin/busybox", fs::read("/bin/busybox").expect("busybox-static; run scripts/setup-peers.sh"));
    archive
}

/// What the machine says of one mount.
fn tree(console: &str, mount: Mount) -> Tree {
    let (_, rest) = console.split_once(&format!("BEGIN {mount}\n")).unwrap_or_else(|| panic!("no {mount}: {console}"));
    let (said, _) = rest.split_once(&format!("END {mount}\n")).unwrap_or_else(|| panic!("no end of {mount}: {rest}"));
    let (mut tree, mut contents) = (Tree::new(), Tree::new());
    for line in said.lines() {
        let (head, name) = line.split_once('.').unwrap_or_else(|| panic!("{mount}: {line}"));
        let head = head.trim_end_matches([' ', '\'']);
        if let Some(name) = name.strip_suffix(": Input/output error") {
            contents.insert(name.trim_end_matches('\'').to_owned(), UNREADABLE.to_owned());
        } else if head.len() == 64 {
            contents.insert(name.to_owned(), head.to_owned());
        } else if let Some((name, target)) = name.split_once("' -> '") {
            tree.insert(name.to_owned(), format!("{head} {}", target.trim_end_matches('\'')));
        } else {
            tree.insert(name.to_owned(), head.to_owned());
        }
    }
    for (path, content) in contents {
        tree.entry(path).and_modify(|value| *value = format!("{value} {content}")).or_insert(content);
    }
    tree
}
