//! s390x and ppc64le: the layout of CoreOS' live ISO from a CD, and a ramdisk with NetworkManager as a network boot starts it. There is no
//! UEFI: the boot code of s390x reads one file of kernel, arguments and initrd, and ppc64le has an Open Firmware and GRUB.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::{busybox_initramfs, fixtures, other_ramdisk};
use acceptance::machine_hosts::{BOND_AND_VLAN, MAC, OTHER_MAC, STATIC, assert_network};
use acceptance::peers::{run, run_text};
use acceptance::qemu::{Machine, OtherArchitecture};
use acceptance::server::dayone;

/// Says what came with the boot, and switches the machine off.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
exec > /dev/console 2>&1
for file in /proc/cmdline /etc/coreos-firstboot-network/*; do
  echo BEGIN $file
  /bin/busybox cat $file
  echo END
done
/bin/busybox poweroff -f
";

/// GRUB as an Open Firmware starts it from a CD.
fn grub_ieee1275(directory: &Path) -> PathBuf {
    let early = directory.join("early.cfg");
    fs::write(&early, "search --file /boot/grub/grub.cfg --set root\nset prefix=($root)/boot/grub\n").unwrap();
    let loader = directory.join("core.elf");
    let modules = OtherArchitecture::Ppc64le.unpacked("usr/lib/grub/powerpc-ieee1275");
    run(Command::new("grub-mkimage")
        .args(["-O", "powerpc-ieee1275", "-p", "/boot/grub", "-d"])
        .args([&modules, Path::new("-c"), &early, Path::new("-o"), &loader])
        .args("normal linux iso9660 search search_fs_file configfile part_msdos part_apple gzio boot test".split(' ')));
    loader
}

/// An ISO whose initrd has a length that is this much longer than a multiple of four bytes.
fn coreos_iso(other: OtherArchitecture, surplus: u64, directory: &Path) -> PathBuf {
    let initrd = busybox_initramfs(&other.unpacked("bin/busybox"), INIT, directory);
    let file = fs::File::options().write(true).open(&initrd).unwrap();
    file.set_len(file.metadata().unwrap().len().next_multiple_of(4) + surplus).unwrap();
    let base = directory.join("base.iso");
    let mut make = Command::new(fixtures("bases/make-coreos-iso.sh"));
    make.arg(&base).args(["--layout", &other.to_string(), "--kernel"]).arg(other.unpacked("kernel"));
    make.arg("--initrd").arg(initrd).args(["--kargs", "panic=-1 loglevel=3 ignition.firstboot"]);
    if other == OtherArchitecture::Ppc64le {
        make.arg("--ieee1275-loader").arg(grub_ieee1275(directory));
    }
    run(&mut make);
    base
}

/// The keyfiles and the arguments of a host reach a system whose ISO the machine boots from a CD.
fn boots_a_coreos_iso(other: OtherArchitecture, surplus: u64) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (host, image, keyfiles) =
        (directory.join("host.yaml"), directory.join("image.iso"), directory.join("keyfiles"));
    fs::write(&host, BOND_AND_VLAN).unwrap();
    let mut build = dayone();
    build.arg("build").arg(&host).arg("--base").arg(coreos_iso(other, surplus, directory)).arg("-o").arg(&image);
    run(build.args(["--karg-append", &format!("console={}", other.console()), "--karg-append", "odd=a,b#c"]));
    run(dayone().arg("convert").arg(&host).arg("-o").arg(&keyfiles));

    let console = Machine::other_with_cd(other, &image).console();
    let said = |file: &str| {
        let (_, rest) = console.split_once(&format!("BEGIN {file}\n")).unwrap_or_else(|| panic!("{file}: {console}"));
        rest.split_once("END\n").unwrap().0.to_owned()
    };
    let arguments = said("/proc/cmdline");
    assert!(arguments.trim_end().ends_with(&format!(" console={} odd=a,b#c", other.console())), "{arguments}");
    assert!(arguments.contains("ignition.firstboot"), "{arguments}");
    let mut compared = 0;
    for keyfile in fs::read_dir(&keyfiles).unwrap() {
        let keyfile = keyfile.unwrap();
        let file = format!("/etc/coreos-firstboot-network/{}", keyfile.file_name().into_string().unwrap());
        assert_eq!(said(&file), fs::read_to_string(keyfile.path()).unwrap(), "{file}");
        compared += 1;
    }
    assert_eq!(compared, 4, "a bond, its two ports and a VLAN");
}

/// The system in a ramdisk has the network of the host's document.
fn brings_up_a_network(other: OtherArchitecture) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let [kernel, initrd] = other_ramdisk(other, directory);
    let base = format!("kernel:{},initrd:{}", kernel.display(), initrd.display());
    let inspected = run_text(dayone().arg("inspect").arg(&initrd));
    assert!(inspected.contains("stays in the initramfs"), "{inspected}");
    for document in [STATIC, BOND_AND_VLAN] {
        let (host, image) = (directory.join("host.yaml"), directory.join("image"));
        fs::write(&host, document).unwrap();
        let mut build = dayone();
        build.args(["build", "--force", "--set-hostname", "node-7", "--format", "initrd", "--base", &base]).arg(&host);
        run(build.arg("-o").arg(&image));
        let arguments = format!("console={} panic=-1", other.console());
        let machine = Machine::other_with_kernel(other, &kernel, &image, &arguments).memory(2048);
        let report = machine.nic(MAC).nic(OTHER_MAC).report();
        assert_network(document, &report);
        assert_eq!(report.host_name(), "node-7");
    }
}

#[test]
#[ignore = "make matrix runs it"]
fn s390x_from_a_cd() {
    // dayone's archive is in the same file as the initrd, and the kernel finds it at multiples of four bytes only.
    for surplus in 0..4 {
        boots_a_coreos_iso(OtherArchitecture::S390x, surplus);
    }
}

#[test]
#[ignore = "make matrix runs it"]
fn s390x_with_networkmanager() {
    brings_up_a_network(OtherArchitecture::S390x);
}

#[test]
#[ignore = "make matrix runs it"]
fn ppc64le_from_a_cd() {
    boots_a_coreos_iso(OtherArchitecture::Ppc64le, 1);
}

#[test]
#[ignore = "make matrix runs it"]
fn ppc64le_with_networkmanager() {
    brings_up_a_network(OtherArchitecture::Ppc64le);
}
