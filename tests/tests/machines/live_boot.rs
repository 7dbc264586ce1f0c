//! What is added arrives: live systems of every kind are customised by `dayone build`, booted in every way, and say what
//! has become of their network.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use acceptance::bases::{debian_live_iso, dracut_live_iso, extracted, live_build_iso, ramdisk_iso};
use acceptance::machine_hosts::{BOND_AND_VLAN, MAC, OTHER_MAC, STATIC};
use acceptance::peers::run;
use acceptance::qemu::{Boot, Machine};
use acceptance::report::{Connection, Report};
use acceptance::server::dayone;

fn assert_static(report: &Report) {
    let nic = assert_static_addresses(report);
    assert_active(report, vec![active("provisioning", &nic)]);
}

/// Returns the NIC.
fn assert_static_addresses(report: &Report) -> String {
    let nic = report.interface(MAC);
    assert_eq!(report.addresses(&nic), ["192.0.2.10/24", "2001:db8::10/64"], "{report:#?}");
    assert_eq!(report.addresses(&report.interface(OTHER_MAC)), [""; 0], "{report:#?}");
    assert_eq!(report.default_routes(), [format!("192.0.2.1 {nic}")], "{report:#?}");
    assert_eq!(report.host_name(), "node-7");
    nic
}

fn assert_bond_and_vlan(report: &Report) {
    assert_eq!(report.addresses("bond0.100"), ["198.51.100.7/24"], "{report:#?}");
    assert_eq!(report.default_routes(), ["198.51.100.1 bond0.100"], "{report:#?}");
    assert_eq!(report.base("bond0.100").as_deref(), Some("bond0"), "{report:#?}");
    let ports = report.ports("bond0");
    let [port_a, port_b] = ports.as_slice() else { panic!("{report:#?}") };
    let ports = [active("uplink-a", port_a), active("uplink-b", port_b)];
    assert_active(
        report,
        [active("bond0", "bond0"), active("bond0.100", "bond0.100")].into_iter().chain(ports).collect(),
    );
}

/// An active connection as it must be.
fn active(name: &str, device: &str) -> Connection {
    Connection {
        name: name.to_owned(),
        device: device.to_owned(),
        state: "activated".to_owned(),
        file: format!("/etc/NetworkManager/system-connections/{name}.nmconnection"),
    }
}

/// That there are these connections and no others, and no other files of profiles.
fn assert_active(report: &Report, mut expected: Vec<Connection>) {
    expected.sort();
    let mut found = report.connections();
    found.sort();
    assert_eq!(found, expected, "{report:#?}");
    let expected: BTreeSet<_> = expected.iter().map(|connection| format!("600 0 0 {}", connection.file)).collect();
    let found = report.profiles().into_iter().filter(|file| !file.ends_with("/lo.nmconnection"));
    assert_eq!(found.map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{report:#?}");
    assert_eq!(report.host_name(), "node-7");
}

/// What `dayone build` makes of a host's network and a base.
fn build(nmstate: &str, base: &str, options: &[&str], image: &Path) {
    let host = image.with_extension("yaml");
    fs::write(&host, nmstate).unwrap();
    let mut build = dayone();
    build.args(["build", "--hostname", "node-7", "--base", base]).args(options);
    run(build.arg("--host").arg(host).arg("--output").arg(image));
}

/// What dayone makes of a base is booted as a CD with BIOS and with UEFI, and as a USB stick.
const BIOS_CD: (Boot, &str) = (Boot::BiosCd, "iso");
const UEFI_CD: (Boot, &str) = (Boot::UefiCd, "iso");
const UEFI_USB: (Boot, &str) = (Boot::UefiUsb, "usb");

fn boot_images(base: &Path, nmstate: &str, ways: &[(Boot, &str)], assert: impl Fn(&Report) + Sync) {
    let directory = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for (boot, format) in ways.iter().copied() {
            let name = base.file_stem().unwrap().to_str().unwrap();
            let image = directory.path().join(format!("{name}.{boot:?}"));
            let assert = &assert;
            scope.spawn(move || {
                build(nmstate, base.to_str().unwrap(), &["--format", format], &image);
                assert(&Machine::with_image(&image, boot).nic(MAC).nic(OTHER_MAC).report());
            });
        }
    });
}

/// ISOLINUX loads its initramfs by one name, and GRUB by another one of the same file.
#[test]
#[ignore = "make matrix runs it"]
fn images_of_live_build() {
    boot_images(&live_build_iso(), STATIC, &[BIOS_CD, UEFI_USB], assert_static);
}

/// With Debian's signed GRUB, which looks for its menu in other ways on a stick than on a CD.
#[test]
fn images_of_debian_live() {
    boot_images(&debian_live_iso(), STATIC, &[UEFI_USB], assert_static);
}

/// As a stick it reads its menu in the EFI system partition. As a CD, in the ISO, it is booted below.
#[test]
#[ignore = "make matrix runs it"]
fn images_of_a_dracut_live_system() {
    boot_images(&dracut_live_iso(), STATIC, &[UEFI_USB], assert_static_later);
}

fn assert_static_later(report: &Report) {
    assert_static(report);
    // Nothing needs a network in its initramfs, so there was none.
    assert!(!report.initramfs().iter().any(|line| line.contains("192.0.2.10")), "{report:#?}");
}

#[test]
fn images_of_a_ramdisk() {
    boot_images(&ramdisk_iso(&[]), BOND_AND_VLAN, &[UEFI_CD], assert_bond_and_vlan);
}

/// With the ways of the other tests, every base is booted in every way. Each of these shares its boot loader, its menu and its
/// initramfs with some of those.
#[test]
#[ignore = "make matrix runs it"]
fn the_other_ways() {
    boot_images(&live_build_iso(), STATIC, &[UEFI_CD], assert_static);
    boot_images(&debian_live_iso(), STATIC, &[BIOS_CD, UEFI_CD], assert_static);
    boot_images(&dracut_live_iso(), STATIC, &[BIOS_CD, UEFI_CD], assert_static_later);
    boot_images(&ramdisk_iso(&[]), BOND_AND_VLAN, &[BIOS_CD, UEFI_USB], assert_bond_and_vlan);
}

#[test]
fn a_dracut_live_system_that_needs_its_network_early() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("early.iso");
    let base = dracut_live_iso();
    build(BOND_AND_VLAN, base.to_str().unwrap(), &["--karg-append", "rd.neednet=1"], &image);
    let report = Machine::with_image(&image, Boot::BiosCd).nic(MAC).nic(OTHER_MAC).report();
    assert!(report.initramfs().iter().any(|line| line.contains("bond0.100    inet 198.51.100.7/24")), "{report:#?}");
    assert_bond_and_vlan(&report);
}

/// ISOLINUX starts it by a command line in place of a label, to which arguments must be added as well.
#[test]
fn a_ramdisk_with_systemd_networkd() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("networkd.iso");
    let base = ramdisk_iso(&["--networkd", "--command-line"]);
    build(STATIC, base.to_str().unwrap(), &["--karg-append", "test.added=1"], &image);
    let report = Machine::with_image(&image, Boot::BiosCd).nic(MAC).nic(OTHER_MAC).report();
    assert_static_addresses(&report);
    assert!(report.command_line().split(' ').any(|argument| argument == "test.added=1"), "{report:#?}");
    assert!(report.profiles().iter().all(|file| file.contains(" /etc/systemd/network/")), "{report:#?}");
}

#[test]
fn a_kernel_and_an_initramfs() {
    let directory = tempfile::tempdir().unwrap();
    let iso = ramdisk_iso(&["--gzip"]);
    let [kernel, initramfs] = ["/vmlinuz", "/initrd"].map(|file| extracted(&iso, file, directory.path()));
    let image = directory.path().join("changed.img");
    let base = format!("kernel:{},initrd:{}", kernel.display(), initramfs.display());
    build(STATIC, &base, &["--format", "initrd"], &image);
    let machine = Machine::with_kernel(&kernel, &image, "console=ttyS0 panic=1");
    assert_static(&machine.nic(MAC).nic(OTHER_MAC).report());
}

/// Otherwise the tests above would prove nothing. It says something new only where a base has changed.
#[test]
#[ignore = "make matrix runs it"]
fn bases_themselves_have_dynamic_addresses() {
    thread::scope(|scope| {
        for (base, boot) in
            [(debian_live_iso(), Boot::UefiUsb), (dracut_live_iso(), Boot::BiosCd), (ramdisk_iso(&[]), Boot::UefiCd)]
        {
            scope.spawn(move || {
                let report = Machine::with_image(&base, boot).nic(MAC).report();
                assert_eq!(report.addresses(&report.interface(MAC)), ["10.0.2.15/24"], "{report:#?}");
                assert_eq!(report.host_name(), "base");
            });
        }
    });
}
