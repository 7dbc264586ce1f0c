//! Machines that start a unified kernel image: the host's keyfiles and kernel arguments come in a signed addon, and a machine with
//! Secure Boot takes that addon alone.

use std::fs;
use std::path::{Path, PathBuf};

use acceptance::peers::run;
use acceptance::qemu::{Boot, Machine};
use acceptance::secure_boot::{SHIM, SiteKey, kernel};
use acceptance::server::dayone;
use acceptance::small_system::{Said, initramfs};
use acceptance::uki::{EspIn, disk_of, esp, full_iso, iso, trixie, unified, variables, variables_with_mok};

const KEYFILE: &str = "/etc/NetworkManager/system-connections/eth0.nmconnection";
/// The kernel says at level 6 whether it was started with Secure Boot.
const ARGUMENTS: &str = "console=ttyS0 panic=-1 loglevel=7";

const HOST: &str = "
interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
";

/// An ISO that starts a unified kernel image, signed with the key of the site.
fn base(directory: &Path, key: &SiteKey) -> PathBuf {
    let (plain, signed) = (directory.join("uki.efi"), directory.join("signed.efi"));
    unified(&trixie("linuxx64.efi.stub"), &kernel(), &initramfs(&[KEYFILE]), ARGUMENTS, &plain);
    key.sign(&plain, &signed);
    iso(directory, &[("EFI/BOOT/BOOTX64.EFI", &signed)])
}

/// The image of a host, with an addon that is signed if there is a key.
fn image(directory: &Path, base: &Path, format: &str, key: Option<&SiteKey>) -> PathBuf {
    let (host, image) = (directory.join("host.yaml"), directory.join(format!("image.{format}")));
    fs::write(&host, HOST).unwrap();
    let mut build = dayone();
    build
        .arg("build")
        .arg(&host)
        .args(["--format", format, "--force", "--karg-append", "dayone.test=1", "--base"])
        .arg(base);
    if let Some(key) = key {
        build.arg("--site-key").arg(&key.key).arg("--site-certificate").arg(&key.certificate);
    }
    run(build.arg("--output").arg(&image));
    image
}

fn arrived(console: &str) {
    let said = Said::on(console);
    let keyfile = said.file(KEYFILE);
    assert!(keyfile.starts_with("600 0 0 ") && keyfile.contains("192.0.2.7/24"), "{keyfile}");
    assert_eq!(said.arguments(), format!("{ARGUMENTS} dayone.test=1"));
}

fn boots(format: &str, boot: Boot) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let image = image(directory, &base(directory, &key), format, None);
    arrived(&Machine::with_image(&image, boot).console());
}

#[test]
#[ignore = "make matrix runs it"]
fn an_addon_that_nobody_signed_is_taken_from_a_cd_without_secure_boot() {
    boots("iso", Boot::UefiCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn an_addon_that_nobody_signed_is_taken_from_a_usb_stick_without_secure_boot() {
    boots("usb", Boot::UefiUsb);
}

/// A machine that trusts the key of the site, and the console of the image on it.
fn secure(directory: &Path, image: &Path, boot: Boot, key: &SiteKey) -> String {
    let enrolled = directory.join("enrolled.fd");
    variables(key, &enrolled);
    let console = Machine::with_variables(image, boot, &enrolled).console();
    assert!(console.contains("Secure boot enabled"), "{console}");
    console
}

fn boots_securely(format: &str, boot: Boot) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let image = image(directory, &base(directory, &key), format, Some(&key));
    arrived(&secure(directory, &image, boot, &key));
}

#[test]
fn a_signed_addon_is_taken_from_a_cd_with_secure_boot() {
    boots_securely("iso", Boot::UefiCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_signed_addon_is_taken_from_a_usb_stick_with_secure_boot() {
    boots_securely("usb", Boot::UefiUsb);
}

/// What the machine says of an addon that it refuses: it boots, without what is in it.
fn refused(console: &str) {
    refused_as(console, "Access denied");
}

fn refused_as(console: &str, reason: &str) {
    assert!(console.contains("host.addon.efi") && console.contains(reason), "{console}");
    assert_eq!(Said::on(console).arguments(), ARGUMENTS);
    let words = console.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("FILE {KEYFILE} END")), "{console}");
}

#[test]
#[ignore = "make matrix runs it"]
fn one_bit_of_the_addon_is_enough_for_a_refusal() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let image = image(directory, &base(directory, &key), "iso", Some(&key));
    let mut bytes = fs::read(&image).unwrap();
    let address = b"192.0.2.7/24";
    let found: Vec<usize> = (0..bytes.len() - address.len()).filter(|at| bytes[*at..].starts_with(address)).collect();
    assert_eq!(found.len(), 1, "the address is in the addon alone");
    // Another address, as an attacker would have it.
    bytes[found[0] + 8] ^= 1;
    fs::write(&image, bytes).unwrap();
    refused(&secure(directory, &image, Boot::UefiCd, &key));
}

#[test]
#[ignore = "make matrix runs it"]
fn an_addon_that_nobody_signed_is_refused_with_secure_boot() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let image = image(directory, &base(directory, &key), "iso", None);
    refused(&secure(directory, &image, Boot::UefiCd, &key));
}

#[test]
#[ignore = "make matrix runs it"]
fn an_image_that_systemd_boot_starts_finds_its_addon() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let (plain, signed, loader) =
        (directory.join("uki.efi"), directory.join("signed.efi"), directory.join("loader.efi"));
    unified(&trixie("linuxx64.efi.stub"), &kernel(), &initramfs(&[KEYFILE]), ARGUMENTS, &plain);
    key.sign(&plain, &signed);
    key.sign(&trixie("systemd-bootx64.efi"), &loader);
    let base = iso(directory, &[("EFI/BOOT/BOOTX64.EFI", &loader), ("EFI/Linux/live.efi", &signed)]);
    let image = image(directory, &base, "iso", Some(&key));
    arrived(&secure(directory, &image, Boot::UefiCd, &key));
}

/// A machine as it comes from its vendor: its firmware trusts the shim, and its shim the key of the site. systemd-boot and the stub
/// ask the shim. Without systemd-boot, the shim starts the image itself.
fn a_shim_passes_the_addon_on(with_systemd_boot: bool) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (key, stranger) = (SiteKey::new(directory), directory.join("stranger"));
    fs::create_dir(&stranger).unwrap();
    let stranger = SiteKey::new(&stranger);
    let (plain, signed, loader) =
        (directory.join("uki.efi"), directory.join("signed.efi"), directory.join("loader.efi"));
    unified(&trixie("linuxx64.efi.stub"), &kernel(), &initramfs(&[KEYFILE]), ARGUMENTS, &plain);
    key.sign(&plain, &signed);
    key.sign(&trixie("systemd-bootx64.efi"), &loader);
    let second: &[(&str, &Path)] = if with_systemd_boot {
        &[("EFI/BOOT/grubx64.efi", &loader), ("EFI/Linux/live.efi", &signed)]
    } else {
        &[("EFI/BOOT/grubx64.efi", &signed)]
    };
    let base = iso(directory, &[&[("EFI/BOOT/BOOTX64.EFI", Path::new(SHIM))], second].concat());
    let enrolled = directory.join("enrolled.fd");
    variables_with_mok(&key, &enrolled);
    let console = |signer: &SiteKey| {
        let image = image(directory, &base, "iso", Some(signer));
        let console = Machine::with_variables(&image, Boot::UefiCd, &enrolled).console();
        assert!(console.contains("Secure boot enabled"), "{console}");
        console
    };
    arrived(&console(&key));
    // This is the shim's word, not the firmware's.
    refused_as(&console(&stranger), "Security violation");
}

#[test]
#[ignore = "make matrix runs it"]
fn a_signed_addon_is_taken_by_a_machine_whose_shim_trusts_the_site() {
    a_shim_passes_the_addon_on(true);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_signed_addon_is_taken_by_an_image_that_shim_starts_itself() {
    a_shim_passes_the_addon_on(false);
}

fn a_grown_partition_boots(place: EspIn, format: &str, boot: Boot) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let (plain, signed) = (directory.join("uki.efi"), directory.join("signed.efi"));
    unified(&trixie("linuxx64.efi.stub"), &kernel(), &initramfs(&[KEYFILE]), ARGUMENTS, &plain);
    key.sign(&plain, &signed);
    let base = full_iso(directory, &[("EFI/BOOT/BOOTX64.EFI", &signed)], place, "-F 32 -s 1 49152");
    let image = image(directory, &base, format, Some(&key));
    arrived(&secure(directory, &image, boot, &key));
}

#[test]
#[ignore = "make matrix runs it"]
fn a_partition_that_has_grown_boots_from_a_cd() {
    a_grown_partition_boots(EspIn::File, "iso", Boot::UefiCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_partition_that_has_grown_boots_from_a_usb_stick_with_a_new_table() {
    a_grown_partition_boots(EspIn::File, "usb", Boot::UefiUsb);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_partition_that_has_grown_and_moved_boots_from_a_cd() {
    a_grown_partition_boots(EspIn::Partition, "iso", Boot::UefiCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_partition_that_has_grown_and_moved_boots_from_a_usb_stick() {
    a_grown_partition_boots(EspIn::Partition, "iso", Boot::UefiUsb);
}

/// The image of a disk, as `mkosi` and others publish them.
#[test]
#[ignore = "make matrix runs it"]
fn the_image_of_a_disk_boots_with_secure_boot() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = SiteKey::new(directory);
    let iso = base(directory, &key);
    let base = directory.join("disk.raw");
    disk_of(&esp(&iso, directory), &base);
    let image = image(directory, &base, "usb", Some(&key));
    arrived(&secure(directory, &image, Boot::UefiUsb, &key));
}
