//! Live systems in unified kernel images whose stub takes no initrd from an addon (systemd 254): systemd writes the keyfiles of a
//! credential before NetworkManager starts, in dracut's initramfs and in the root file system.

use std::fs;
use std::path::{Path, PathBuf};

use acceptance::bases::{dracut_live_iso_with_systemd_of, extracted};
use acceptance::machine_hosts::{BOND_AND_VLAN, MAC, OTHER_MAC, STATIC, assert_network};
use acceptance::peers::run;
use acceptance::qemu::{Boot, Machine, Tpm};
use acceptance::report::Report;
use acceptance::secure_boot::SiteKey;
use acceptance::server::dayone;
use acceptance::uki::{live_iso, stub_without_initrd, unified_of_files, variables};

const ARGUMENTS: &str =
    "root=live:CDLABEL=UKI rd.live.image console=ttyS0,115200 panic=1 rd.shell=0 rd.emergency=poweroff";
const ARGUMENT: &str = "systemd.set_credential_binary=tmpfiles.extra:";

struct Site {
    directory: tempfile::TempDir,
    key: SiteKey,
    base: PathBuf,
}

impl Site {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let key = SiteKey::new(path);
        let medium = dracut_live_iso_with_systemd_of("bookworm-backports");
        let [kernel, initrd, root] = ["/images/pxeboot/vmlinuz", "/images/pxeboot/initrd.img", "/LiveOS/squashfs.img"]
            .map(|file| extracted(&medium, file, path));
        let (plain, signed) = (path.join("uki.efi"), path.join("signed.efi"));
        unified_of_files(&stub_without_initrd(), &kernel, &initrd, ARGUMENTS, &plain);
        key.sign(&plain, &signed);
        let base = live_iso(path, &[("EFI/BOOT/BOOTX64.EFI", &signed)], &root);
        Self { directory, key, base }
    }

    /// The image of a host, with an addon that is signed.
    fn image(&self, document: &str, more: &[&str]) -> PathBuf {
        let (host, image) = (self.directory.path().join("host.yaml"), self.directory.path().join("image.iso"));
        fs::write(&host, document).unwrap();
        let mut build = dayone();
        build.arg("build").arg(&host).args(["--format", "iso", "--force", "--karg-append", "dayone.test=1"]).args(more);
        build.arg("--site-key").arg(&self.key.key).arg("--site-certificate").arg(&self.key.certificate);
        run(build.arg("--base").arg(&self.base).arg("--output").arg(&image));
        image
    }

    /// A machine that trusts the key of the site.
    fn secure(&self, image: &Path) -> Machine {
        let enrolled = self.directory.path().join("enrolled.fd");
        variables(&self.key, &enrolled);
        Machine::with_variables(image, Boot::UefiCd, &enrolled).nic(MAC).nic(OTHER_MAC)
    }
}

/// The profiles came in the initramfs, and again in the root file system.
fn assert_written(report: &Report, profile: &str) {
    let profile = format!("/etc/NetworkManager/system-connections/{profile}.nmconnection");
    assert!(report.profiles().contains(&format!("600 0 0 {profile}").as_str()), "{report:#?}");
    let name = profile.rsplit('/').next().unwrap();
    assert!(report.initramfs().iter().any(|line| line.ends_with(name)), "{report:#?}");
}

#[test]
#[ignore = "make matrix runs it"]
fn a_signed_argument_brings_a_small_network_with_secure_boot_and_a_tpm() {
    let site = Site::new();
    let image = site.image(STATIC, &[]);
    let report = site.secure(&image).tpm(&Tpm::start()).report();
    assert_network(STATIC, &report);
    assert_written(&report, "provisioning");
    let arguments = report.command_line();
    assert!(arguments.starts_with(&format!("{ARGUMENTS} dayone.test=1 {ARGUMENT}")), "{arguments}");
}

#[test]
#[ignore = "make matrix runs it"]
fn a_credential_brings_a_larger_network_and_files_without_secure_boot() {
    let site = Site::new();
    let script = site.directory.path().join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    let file = format!("/etc/NetworkManager/a.nm-script={}:0755", script.display());
    let image = site.image(BOND_AND_VLAN, &["--hostname", "worker-7", "--file", &file]);
    let machine = Machine::with_image(&image, Boot::UefiCd).nic(MAC).nic(OTHER_MAC);
    let report = machine.tpm(&Tpm::start()).report();
    assert_network(BOND_AND_VLAN, &report);
    assert_written(&report, "bond0.100");
    assert_eq!(report.host_name(), "worker-7");
    // The report lists what is there with "nm" in its name.
    assert!(report.profiles().contains(&"755 0 0 /etc/NetworkManager/a.nm-script"), "{report:#?}");
    assert!(!report.command_line().contains("set_credential"), "{}", report.command_line());
}

/// Which is why the verdict on such an image is `impossible`.
#[test]
#[ignore = "make matrix runs it"]
fn a_credential_is_refused_with_secure_boot_and_a_tpm() {
    let site = Site::new();
    let image = site.image(BOND_AND_VLAN, &[]);
    let inspected = run(dayone().args(["inspect", "--format", "json"]).arg(&image));
    let inspected: serde_json::Value = serde_json::from_slice(&inspected).unwrap();
    assert_eq!(inspected["secure_boot"]["verdict"], "impossible", "{inspected:#}");
    let report = site.secure(&image).tpm(&Tpm::start()).report();
    assert_eq!(report.addresses("bond0.100"), [""; 0], "{report:#?}");
    assert!(report.command_line().ends_with(" dayone.test=1"), "the addon is taken: {}", report.command_line());
    // With Secure Boot alone, systemd takes it. dayone does not know whether a machine has a TPM.
    let report = site.secure(&image).report();
    assert_network(BOND_AND_VLAN, &report);
}
