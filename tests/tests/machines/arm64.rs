//! arm64 machines: live systems, and Secure Boot. A ramdisk in every way that such a machine boots is in `matrix.rs`. Each system says on its
//! console what its network is, and that is compared with the host's document.

use std::fs;
use std::path::{Path, PathBuf};

use acceptance::bases::arm64_iso;
use acceptance::machine_hosts::{BOND_AND_VLAN, MAC, OTHER_MAC, STATIC, assert_network};
use acceptance::peers::{run, run_text};
use acceptance::qemu::{Boot, Machine};
use acceptance::report::Report;
use acceptance::server::dayone;
use serde_json::Value;

fn build(document: &str, base: &Path, format: &str, directory: &Path) -> PathBuf {
    let (host, image) = (directory.join("host.yaml"), directory.join(format!("image.{format}")));
    fs::write(&host, document).unwrap();
    let mut build = dayone();
    build.args(["build", "--hostname", "node-7", "--format", format, "--base"]).arg(base);
    run(build.arg("--output").arg(&image).arg(&host));
    image
}

/// Builds the image of a host over this layout, and boots it.
fn boots(layout: &str, document: &str, boot: Boot) {
    let directory = tempfile::tempdir().unwrap();
    let format = if boot == Boot::UefiCd { "iso" } else { "usb" };
    let image = build(document, &arm64_iso(layout), format, directory.path());
    let report = Machine::arm64(&image, boot, directory.path()).nic(MAC).nic(OTHER_MAC).report();
    assert_network(document, &report);
    assert_eq!(report.host_name(), "node-7");
}

#[test]
#[ignore = "make matrix runs it"]
fn debian_live_from_a_usb_stick() {
    boots("debian-live", STATIC, Boot::UefiUsb);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_dracut_live_system_from_a_cd() {
    boots("dracut-live", BOND_AND_VLAN, Boot::UefiCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_dracut_live_system_from_a_usb_stick() {
    boots("dracut-live", STATIC, Boot::UefiUsb);
}

/// What dayone says about Secure Boot of an image.
fn verdict(image: &Path) -> Value {
    let inspected = run_text(dayone().args(["inspect", "--format", "json"]).arg(image));
    let inspected: Value = serde_json::from_str(&inspected).unwrap();
    inspected["secure_boot"].clone()
}

#[test]
#[ignore = "make matrix runs it"]
fn with_secure_boot_debian_live_from_a_cd() {
    let directory = tempfile::tempdir().unwrap();
    let image = build(STATIC, &arm64_iso("debian-live"), "iso", directory.path());
    let said = verdict(&image);
    assert_eq!(said["verdict"], "kept", "{said:#}");
    let machine = Machine::arm64_with_secure_boot(&image, Boot::UefiCd, directory.path()).nic(MAC).nic(OTHER_MAC);
    let console = machine.console();
    assert!(console.contains("secureboot: Secure boot enabled"), "{console}");
    let report = Report::in_console(&console).unwrap_or_else(|| panic!("{console}"));
    assert_network(STATIC, &report);
}

#[test]
#[ignore = "make matrix runs it"]
fn with_secure_boot_one_bit_of_the_kernel_is_enough_for_a_refusal() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("changed.iso");
    let mut bytes = fs::read(arm64_iso("debian-live")).unwrap();
    // The magic number of the kernel's header (Documentation/arch/arm64/booting.rst) is at 56. What is reserved at 40 nobody
    // reads, and the signature covers it.
    let is_kernel = |sector: &[u8]| sector.starts_with(b"MZ") && sector.get(56..60) == Some(b"ARM\x64");
    let sector = bytes.chunks(2048).position(is_kernel).expect("the kernel");
    bytes[sector * 2048 + 40] ^= 1;
    fs::write(&base, bytes).unwrap();
    let image = build(STATIC, &base, "iso", directory.path());
    let said = verdict(&image);
    assert_eq!(said["verdict"], "impossible", "{said:#}");
    Machine::arm64_with_secure_boot(&image, Boot::UefiCd, directory.path()).console_until("bad shim signature");
}
