//! The minimal ISO of Ubuntu's live media: what is left out, and what the shells of an initramfs do with the network that dayone adds to
//! casper's stage. The tests do not run casper: none of their package sources has it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::autoinstall::ubuntu_iso;
use super::initramfs_machine::{FOUND, LOOPBACK, Machine, Nic, OTHER, SHELLS};
use acceptance::bases::extracted;
use acceptance::peers::{run, run_text};
use acceptance::qemu::boot_initramfs;
use acceptance::server::dayone;
use imagelib::cpio::Archive;
use imagelib::initramfs::survey;
use tempfile::TempDir;

const URL: &str = "http://198.51.100.7/ubuntu.iso";
const HOST: &str = "
interfaces:
- {name: ens4, type: ethernet, mac-address: 52:54:00:12:34:01, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: ens4}]}
";
const NETWORK: &str = "usr/lib/dayone/network";
const HOOK: &str = "conf/conf.d/zz-dayone-network";

fn build(directory: &Path, base: &Path, url: &str) -> Output {
    build_with(directory, base, url, &[])
}

fn build_with(directory: &Path, base: &Path, url: &str, extra: &[&str]) -> Output {
    let (host, image) = (directory.join("host.yaml"), directory.join("minimal.iso"));
    fs::write(&host, HOST).unwrap();
    let mut build = dayone();
    build.args(["build", "--format", "minimal-iso", "--rootfs-url", url, "--force", "--base"]).arg(base);
    build.args(extra).arg("--host").arg(host).arg("--output").arg(image).output().unwrap()
}

/// The files that dayone adds to the initramfs for casper.
fn added(directory: &Path) -> BTreeMap<String, String> {
    added_with(directory, &[])
}

fn added_with(directory: &Path, extra: &[&str]) -> BTreeMap<String, String> {
    let base = directory.join("ubuntu.iso");
    let base = if base.exists() { base } else { ubuntu_iso(directory) };
    let built = build_with(directory, &base, URL, extra);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let files = TempDir::new_in(directory).unwrap();
    let initrd = extracted(&directory.join("minimal.iso"), "/casper/initrd", files.path());
    let paths = [NETWORK, HOOK].map(|path| path.parse().unwrap());
    let files = survey(&fs::read(initrd).unwrap(), &paths, 1 << 20).unwrap().files;
    files.into_iter().map(|(path, text)| (path.to_string(), String::from_utf8(text).unwrap())).collect()
}

#[test]
fn xorriso_finds_no_layer_and_the_menu_leads_to_the_iso() {
    let directory = TempDir::new().unwrap();
    added(directory.path());
    let image = directory.path().join("minimal.iso");
    let files =
        |iso: &Path| run_text(Command::new("xorriso").arg("-indev").arg(iso).args(["-find", "/", "-type", "f"]));
    let (before, after) = (files(&directory.path().join("ubuntu.iso")), files(&image));
    let expected: Vec<&str> = before.lines().filter(|path| !path.contains(".squashfs")).collect();
    assert_eq!(after.lines().collect::<Vec<_>>(), expected);
    assert_eq!(before.lines().count(), expected.len() + 2);
    let menu = fs::read_to_string(extracted(&image, "/boot/grub/grub.cfg", directory.path())).unwrap();
    let linux: Vec<&str> = menu.lines().filter(|line| line.contains("linux\t")).collect();
    assert!(linux.len() >= 2 && linux.iter().all(|line| line.contains(&format!(" url={URL} "))), "{menu}");
}

#[test]
fn an_installer_fetches_the_iso_over_the_same_network() {
    let directory = TempDir::new().unwrap();
    let alone = added(directory.path());
    let answers = directory.path().join("autoinstall.yaml");
    fs::write(&answers, "version: 1\n").unwrap();
    let extra = ["--answers", "autoinstall", answers.to_str().unwrap()];
    assert_eq!(added_with(directory.path(), &extra), alone);
}

#[test]
fn what_casper_cannot_fetch_is_refused() {
    let directory = TempDir::new().unwrap();
    let base = ubuntu_iso(directory.path());
    for (url, reason) in [
        ("http://198.51.100.7/ubuntu.squashfs", "casper fetches a file only if its URL ends with .iso"),
        (
            "http://mirror.example/ubuntu.iso",
            "names its server \"mirror.example\", and casper's initramfs has neither name servers",
        ),
        ("https://198.51.100.7/ubuntu.iso", "give an http URL"),
    ] {
        let built = build(directory.path(), &base, url);
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        assert!(!built.status.success() && said.contains(reason), "{said}");
    }
}

/// The stage as `init` runs it: it reads `ORDER`, to which the file in `conf.d` has added a line.
fn ran(shell: &[&str], files: &BTreeMap<String, String>, programs: &str, nics: &[Nic]) -> String {
    let machine = Machine::new(nics, "ens4");
    let root = machine.0.path();
    fs::create_dir_all(root.join("dayone")).unwrap();
    fs::create_dir_all(root.join("scripts/casper-premount")).unwrap();
    fs::write(root.join("scripts/casper-premount/ORDER"), "echo casper\n").unwrap();
    let hook = machine.script("zz-dayone-network", &files[HOOK]);
    machine.script("dayone/network", &files[NETWORK]);
    let order = |stage: &str| format!(". {}\n", root.join("scripts").join(stage).join("ORDER").display());
    let lines = format!("{programs}{hook}{}echo fetches\n{}", order("casper-premount"), order("init-bottom"));
    machine.run(shell, &lines)
}

#[test]
fn the_stage_of_casper_configures_the_nic_with_and_without_ping() {
    let directory = TempDir::new().unwrap();
    let files = added(directory.path());
    // Without ping, a connection asks for the address on the link.
    let without_ping = "command() { return 1; }\nping() { echo no ping; exit 1; }\n\
                        wget() { [ \"$*\" = '-q -O /dev/null http://192.0.2.1:9/' ] || echo \"wget $*\" >&3; }\nkill() { :; }\n";
    for shell in SHELLS {
        for programs in ["", without_ping] {
            let said = ran(shell, &files, &format!("exec 3>&1\n{programs}"), &[LOOPBACK, OTHER, FOUND]);
            assert_eq!(
                said,
                "casper\n\
                 mount -o remount,size=90% none /\n\
                 ip link set dev ens4 up\n\
                 dayone: ens4 gets 192.0.2.10/24\n\
                 ip addr add 192.0.2.10/24 dev ens4\n\
                 ip route add 198.51.100.7 via 192.0.2.1 dev ens4\n\
                 fetches\n\
                 ip addr flush dev ens4\n\
                 ip link set dev ens4 down\n\
                 ip link set dev ens4 down\n",
                "{shell:?} {programs}"
            );
        }
        let failed = ran(shell, &files, "", &[LOOPBACK, OTHER]);
        assert!(failed.ends_with("panic dayone: there is no NIC 52:54:00:12:34:01/ens4\n"), "{failed}");
    }
    let script = directory.path().join("network.sh");
    fs::write(&script, &files[NETWORK]).unwrap();
    // SC3043: dash and busybox have `local`. SC2148: read by another script. SC2317: a function takes the place of another.
    run(Command::new("shellcheck").args(["--shell=sh", "--exclude=SC3043,SC2148,SC2317"]).arg(&script));
}

/// The kernel limits the root of an initramfs, a tmpfs, to half of the memory.
#[test]
fn the_iso_may_take_more_than_half_of_the_memory() {
    const INIT: &str = "#!/bin/busybox sh
export PATH=/bin
mkdir /proc
mount -t proc proc /proc
. /network
cat /proc/mounts /proc/meminfo
poweroff -f
";
    let directory = TempDir::new().unwrap();
    let files = added(directory.path());
    // The machine has no NIC.
    let network = files[NETWORK].strip_suffix("\ndo_netsetup\n").unwrap().to_owned();
    let mut archive = Archive::new();
    archive.file("init".parse().unwrap(), 0o755, INIT).unwrap();
    archive.file("network".parse().unwrap(), 0o644, network).unwrap();
    archive.file("bin/busybox".parse().unwrap(), 0o755, fs::read("/bin/busybox").unwrap()).unwrap();
    for applet in ["cat", "grep", "mkdir", "mount", "poweroff", "sh"] {
        archive.symlink(format!("bin/{applet}").parse().unwrap(), "busybox").unwrap();
    }
    archive.add_parents(0o755).unwrap();
    let initramfs = directory.path().join("initramfs.img");
    fs::write(&initramfs, archive.to_bytes()).unwrap();
    let console = boot_initramfs(&initramfs);
    let kibibytes = |before: &str| -> u64 {
        let (_, rest) = console.split_once(before).unwrap_or_else(|| panic!("{before}: {console}"));
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    assert!(kibibytes("rootfs / rootfs rw,size=") > kibibytes("MemTotal:") * 8 / 10, "{console}");
}
