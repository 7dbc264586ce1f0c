//! What the delivery profiles put behind an initramfs, at work: unpacked by the kernel, its scripts run by the shell of
//! an initramfs, against a root file system that is about to be started.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use acceptance::peers::run;
use acceptance::qemu::boot_initramfs;
use imagelib::base::{Base, BaseIdentity, Format, Role};
use imagelib::compression::Compression;
use imagelib::cpio::MemberPath;
use imagelib::delivery::{DeliveryProfile, Members, members};
use imagelib::ignition::Additions;
use imagelib::image::{FileName, Image};
use imagelib::initramfs::{appendix, survey};
use imagelib::recipe::Recipe;
use serde_json::json;

/// The parts of a real `init` that matter here, of initramfs-tools and of dracut, and a look at what came of them.
const INIT: &str = r#"#!/bin/busybox sh
export PATH=/usr/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t tmpfs run /run
mkdir -p /root /sysroot

# conf/conf.d first, the stages' scripts when the root file system is there.
export rootmnt=/root
for conf in conf/conf.d/*; do
  [ -f "$conf" ] && . "$conf"
done
export NEWROOT=/sysroot
for root in /root /sysroot; do
  mount -t tmpfs root "$root"
  mkdir -p "$root/etc" "$root/usr/srv" "$root/var/taken"
  ln -s usr/srv "$root/srv"
  ln -s /nowhere "$root/etc/hostname"
  [ -e /read-only ] && mount -o remount,ro none "$root"
done
. /scripts/init-bottom/ORDER
for hook in /lib/dracut/hooks/pre-pivot/*.sh; do
  [ -e "$hook" ] && . "$hook"
done

for root in /root /sysroot; do
  echo "MOUNTED $(grep " $root tmpfs " /proc/mounts)"
  find "$root" -type f -exec stat -c 'FOUND %u:%g %a %n' {} ';'
  [ -f "$root/etc/hostname" ] && echo "HOSTNAME $(cat "$root/etc/hostname")"
  [ -f "$root/srv/it's here" ] && echo "CONTENT $(cat "$root/srv/it's here")"
done
[ -f /run/tmpfiles.d/dayone.conf ] && echo "LABELS $(grep -c '^z ' /run/tmpfiles.d/dayone.conf)"
echo "LIB $(readlink lib)"
echo END
poweroff -f
"#;

/// An initramfs that is one of initramfs-tools and one of dracut, as far as the profiles look.
fn base(directory: &Path) -> Vec<u8> {
    let root = directory.join("base");
    for name in
        ["dev", "proc", "run", "conf", "etc", "scripts/init-bottom", "usr/bin", "usr/lib/dracut/hooks/pre-pivot"]
    {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    symlink("usr/lib", root.join("lib")).unwrap();
    symlink("usr/bin", root.join("bin")).unwrap();
    fs::copy("/bin/busybox", root.join("usr/bin/busybox")).unwrap();
    for applet in ["sh", "mount", "mkdir", "rm", "cp", "cat", "ln", "find", "stat", "grep", "readlink", "poweroff"] {
        symlink("busybox", root.join("usr/bin").join(applet)).unwrap();
    }
    fs::write(root.join("conf/initramfs.conf"), "MODULES=most\n").unwrap();
    fs::write(root.join("scripts/init-bottom/ORDER"), "echo ORDER is kept\n").unwrap();
    fs::write(root.join("init"), INIT).unwrap();
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    let archiver = "find . | LC_ALL=C sort | cpio -o -H newc --owner 0:0 --quiet";
    let archive = run(Command::new("sh").args(["-c", archiver]).current_dir(&root).stdin(Stdio::null()));
    Compression::Gzip.compress(&archive).unwrap()
}

fn additions() -> Additions {
    serde_json::from_value(json!({
        "keyfiles": [{"name": "eth0.nmconnection", "content": "[connection]\nid=eth0\n"}],
        "hostname": "worker-0",
        "files": [
            {"path": "/srv/it's here", "mode": "0640", "user": 1000, "group": 100, "contents": "eA=="},
            {"path": "/opt/a/program", "mode": "4755", "contents": ""},
            {"path": "/var/taken", "contents": "eA=="},
            {"path": "/etc/last", "mode": "0444", "contents": ""},
        ],
    }))
    .unwrap()
}

fn planned(profile: DeliveryProfile, base: &[u8]) -> Members {
    let tree = survey(&base, &[], 0).unwrap().tree;
    members(profile, &additions(), None, &tree).unwrap()
}

/// What the machine says that gets these additions in this way.
fn booted(profile: DeliveryProfile) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut image = base(directory.path());
    let archive = planned(profile, &image).archive;
    image.extend(appendix(image.len() as u64, &archive));
    started(directory.path(), &image)
}

/// The same initramfs for a kernel whose root file system is on a disk.
fn for_disk(profile: DeliveryProfile, base: Vec<u8>) -> Vec<u8> {
    let files = BTreeMap::from([(Role::Initrd, base)]);
    let identity = BaseIdentity::of(&BTreeMap::new());
    let kernel_arguments = serde_json::from_value(json!({"append": ["root=/dev/vda2"]})).unwrap();
    let recipe = Recipe::new(identity, Format::Initrd, additions());
    let recipe = Recipe { delivery: Some(profile), kernel_arguments, ..recipe };
    let image = Image::plan(&recipe, &Base::probe(&files).unwrap(), identity).unwrap();
    let initrd = &image.files[&FileName::Initrd];
    let mut bytes = vec![0; usize::try_from(initrd.size()).unwrap()];
    assert_eq!(initrd.read_at(&files, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn booted_from_disk(profile: DeliveryProfile, read_only: bool) -> String {
    let directory = tempfile::tempdir().unwrap();
    if read_only {
        fs::create_dir(directory.path().join("base")).unwrap();
        fs::write(directory.path().join("base/read-only"), "").unwrap();
    }
    let image = for_disk(profile, base(directory.path()));
    started(directory.path(), &image)
}

fn started(directory: &Path, image: &[u8]) -> String {
    let file = directory.join("initramfs.img");
    fs::write(&file, image).unwrap();
    let console = boot_initramfs(&file);
    assert!(console.contains("\nEND\n") && !console.contains("Initramfs unpacking failed"), "{console}");
    console
}

fn expect(console: &str, root: &str) {
    let mut found: Vec<&str> = console.lines().filter(|line| line.starts_with("FOUND ")).collect();
    found.sort_unstable();
    let mut wanted = [
        ("0:0 600", "/etc/NetworkManager/system-connections/eth0.nmconnection"),
        ("0:0 644", "/etc/hostname"),
        ("0:0 444", "/etc/last"),
        ("0:0 4755", "/opt/a/program"),
        // Through the link of the root file system.
        ("1000:100 640", "/usr/srv/it's here"),
    ]
    .map(|(mode, path)| format!("FOUND {mode} {root}{path}"));
    wanted.sort_unstable();
    assert_eq!(found, wanted, "{console}");
    for line in ["HOSTNAME worker-0", "CONTENT x", "ORDER is kept", "LIB usr/lib"] {
        assert!(console.lines().any(|said| said == line), "{line}: {console}");
    }
    // A directory in a file's place is an error that is told, and the others do not suffer from it.
    assert!(console.contains("dayone: could NOT be copied to the root file system: /var/taken"), "{console}");
    assert_eq!(console.matches("could NOT").count(), 1, "{console}");
}

#[test]
fn an_initramfs_of_initramfs_tools_hands_the_files_over() {
    let console = booted(DeliveryProfile::InitramfsTools);
    expect(&console, "/root");
    assert!(!console.contains("LABELS"), "{console}");
}

#[test]
fn an_initramfs_of_dracut_hands_the_files_over() {
    let console = booted(DeliveryProfile::Dracut);
    expect(&console, "/sysroot");
    // Six files, and the directories /etc, /etc/NetworkManager, its system-connections, /opt, /opt/a, /srv and /var.
    assert!(console.lines().any(|line| line == "LABELS 13"), "{console}");
}

/// As a disk is when the scripts run, unless the kernel arguments have `rw`. It is read-only again for its own system.
#[test]
fn a_root_file_system_that_is_read_only_gets_the_files_too() {
    for (profile, root) in [(DeliveryProfile::InitramfsTools, "/root"), (DeliveryProfile::Dracut, "/sysroot")] {
        let console = booted_from_disk(profile, true);
        expect(&console, root);
        assert_eq!(console.matches(" tmpfs ro,").count(), 2, "{console}");
    }
}

#[test]
fn a_root_file_system_that_is_writable_stays_writable() {
    let console = booted_from_disk(DeliveryProfile::Dracut, false);
    expect(&console, "/sysroot");
    assert_eq!(console.matches(" tmpfs rw,").count(), 2, "{console}");
}

#[test]
fn the_scripts_are_good_shell() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(directory.path());
    let live = |profile| {
        let archive = planned(profile, &base).archive.to_bytes();
        // Beneath the base, for the directories that the archive does not bring.
        [base.clone(), vec![0; base.len().wrapping_neg() % 4], archive].concat()
    };
    let scripts = [
        (live(DeliveryProfile::InitramfsTools), "usr/lib/dayone/deliver"),
        (live(DeliveryProfile::InitramfsTools), "conf/conf.d/zz-dayone"),
        (live(DeliveryProfile::Dracut), "usr/lib/dracut/hooks/pre-pivot/90-dayone.sh"),
        (for_disk(DeliveryProfile::Dracut, base.clone()), "usr/lib/dayone/deliver"),
    ];
    for (image, path) in scripts {
        let path: MemberPath = path.parse().unwrap();
        let files = survey(&image, std::slice::from_ref(&path), 1 << 20).unwrap().files;
        let script = directory.path().join("script.sh");
        fs::write(&script, &files[&path]).unwrap();
        run(Command::new("sh").arg("-n").arg(&script));
        run(Command::new("busybox").args(["sh", "-n"]).arg(&script));
        // SC2016: what is written to ORDER is for the shell that reads it. SC2148: read by another script.
        run(Command::new("shellcheck").args(["--shell=sh", "--exclude=SC2016,SC2148"]).arg(&script));
    }
}
