//! Machines with Secure Boot, as they come from their vendors: what dayone says about an image is what they do.

use std::fs;
use std::path::{Path, PathBuf};

use acceptance::peers::{run, run_text};
use acceptance::qemu::{Boot, Machine};
use acceptance::secure_boot::{changed_kernel, debian_iso, kernel, unsigned};
use acceptance::server::dayone;
use acceptance::small_system::{Said, initramfs};
use serde_json::Value;

const KEYFILE: &str = "/etc/NetworkManager/system-connections/eth0.nmconnection";
/// The kernel says at level 6 whether it was started with Secure Boot.
const ARGUMENTS: &str = "console=ttyS0 panic=-1 loglevel=7";

const HOST: &str = "
interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
";

/// A live ISO with Debian's shim and GRUB, and this kernel.
fn base(directory: &Path, kernel: &Path) -> PathBuf {
    debian_iso(directory, kernel, &initramfs(&[KEYFILE]), ARGUMENTS)
}

/// The image of a host, and what dayone says about it.
fn image(directory: &Path, base: &Path, format: &str) -> (PathBuf, Value) {
    let (host, image) = (directory.join("host.yaml"), directory.join(format!("image.{format}")));
    fs::write(&host, HOST).unwrap();
    let mut build = dayone();
    build.args(["build", "--format", format]).arg("--base").arg(base);
    run(build.arg("--host").arg(&host).arg("--output").arg(&image));
    let inspected = run_text(dayone().args(["inspect", "--format", "json"]).arg(&image));
    let inspected: Value = serde_json::from_str(&inspected).unwrap();
    (image, inspected["secure_boot"].clone())
}

fn boots(format: &str, boot: Boot) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = base(directory, &kernel());
    let (image, secure_boot) = image(directory, &base, format);
    assert_eq!(secure_boot["verdict"], "kept", "{secure_boot:#}");
    let console = Machine::with_secure_boot(&image, boot, directory).console();
    assert!(console.contains("Secure boot enabled"), "{console}");
    let keyfile = Said::on(&console).file(KEYFILE).to_owned();
    assert!(keyfile.starts_with("600 0 0 ") && keyfile.contains("192.0.2.7/24"), "{keyfile}");
}

#[test]
fn an_image_boots_from_a_cd() {
    boots("iso", Boot::UefiCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn an_image_boots_from_a_usb_stick() {
    boots("usb", Boot::UefiUsb);
}

fn refused(kernel: &Path, directory: &Path) {
    let base = base(directory, kernel);
    let (image, secure_boot) = image(directory, &base, "iso");
    assert_eq!(secure_boot["verdict"], "impossible", "{secure_boot:#}");
    Machine::with_secure_boot(&image, Boot::UefiCd, directory).console_until("bad shim signature");
}

#[test]
fn one_bit_of_the_kernel_is_enough_for_a_refusal() {
    let directory = tempfile::tempdir().unwrap();
    let changed = directory.path().join("changed");
    changed_kernel(&kernel(), &changed);
    refused(&changed, directory.path());
}

#[test]
#[ignore = "make matrix runs it"]
fn the_same_kernel_boots_without_secure_boot() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let changed = directory.join("changed");
    changed_kernel(&kernel(), &changed);
    let base = base(directory, &changed);
    let (image, _) = image(directory, &base, "iso");
    let said = Said::on(&Machine::with_image(&image, Boot::UefiCd).console());
    assert!(said.file(KEYFILE).contains("192.0.2.7/24"));
}

#[test]
#[ignore = "make matrix runs it"]
fn a_kernel_that_nobody_signed_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let kernel_without = directory.path().join("unsigned");
    unsigned(&kernel(), &kernel_without);
    refused(&kernel_without, directory.path());
}
