//! One document in every way in which a machine starts: each test is a way to the image (CD, USB stick, UEFI HTTP boot, network boot) and a
//! chain of boot loaders. The system is a ramdisk with NetworkManager. It says what its network is, which is compared with the document,
//! and it calls home with the script that dayone gives to hosts that it boots. With a data drive, the system is started unchanged from a
//! CD, and cloud-init reads the network and the user's script from the drive.
//!
//! These are all ways but two kinds. A BIOS does not boot from URLs. Network boot of a unified kernel image has no place for the
//! host's addon, so dayone refuses it, which is tested below.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use acceptance::bases::{arm64_cloud_ramdisk_iso, arm64_iso, cloud_ramdisk_iso, extracted, ramdisk_iso};
use acceptance::machine_hosts::{MAC, assert_network};
use acceptance::qemu::{Boot, Machine, arm64};
use acceptance::secure_boot::{GRUB, SHIM, SiteKey, esp, live_iso_of_bytes};
use acceptance::server::{Server, free_address};
use acceptance::uki::{arm64_stub, iso, trixie, unified_of_files, variables, variables_over};
use base64::prelude::*;
use dayone::boots::call_home;
use reqwest::blocking::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

const MEMORY: u32 = 2048;
const MICROSOFT: &str = "/usr/share/OVMF/OVMF_VARS_4M.ms.fd";

/// Addresses of QEMU's network, whose DHCP would offer 10.0.2.15.
const HOST: &str = "
interfaces:
- name: provisioning
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: 52:54:00:12:34:01
  mtu: 1400
  ipv4: {enabled: true, address: [{ip: 10.0.2.77, prefix-length: 24}]}
  ipv6: {enabled: false}
- name: tagged
  type: vlan
  state: up
  vlan: {base-iface: provisioning, id: 100}
  ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: '2001:db8::7', prefix-length: 64}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: provisioning}]}
dns-resolver: {config: {server: [10.0.2.3]}}
";

/// How a machine meets the image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Cd,
    Usb,
    Http,
    Netboot,
    /// Beside a CD that dayone has not changed.
    DataDrive,
}

/// What starts the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    Bios,
    Uefi,
    SecureBoot,
    UnifiedKernelImage,
    SecureUnifiedKernelImage,
    Arm64,
    Arm64UnifiedKernelImage,
    Arm64SecureUnifiedKernelImage,
}

impl Chain {
    fn is_arm64(self) -> bool {
        matches!(self, Self::Arm64 | Self::Arm64UnifiedKernelImage | Self::Arm64SecureUnifiedKernelImage)
    }

    fn needs_the_sites_key(self) -> bool {
        matches!(self, Self::SecureUnifiedKernelImage | Self::Arm64SecureUnifiedKernelImage)
    }
}

macro_rules! boots {
    ($($name:ident: $chain:ident, $carrier:ident;)*) => {$(
        #[test]
        #[ignore = "make matrix runs it"]
        fn $name() {
            boots(Chain::$chain, Carrier::$carrier);
        }
    )*};
}

boots! {
    bios_from_a_cd: Bios, Cd;
    bios_from_a_disk: Bios, Usb;
    bios_by_ipxe: Bios, Netboot;
    bios_with_a_data_drive: Bios, DataDrive;
    uefi_from_a_cd: Uefi, Cd;
    uefi_from_a_usb_stick: Uefi, Usb;
    uefi_from_a_url: Uefi, Http;
    uefi_by_pxe: Uefi, Netboot;
    uefi_with_a_data_drive: Uefi, DataDrive;
    secure_boot_from_a_cd: SecureBoot, Cd;
    secure_boot_from_a_usb_stick: SecureBoot, Usb;
    secure_boot_from_a_url: SecureBoot, Http;
    secure_boot_by_pxe: SecureBoot, Netboot;
    secure_boot_with_a_data_drive: SecureBoot, DataDrive;
    unified_kernel_image_from_a_cd: UnifiedKernelImage, Cd;
    unified_kernel_image_from_a_usb_stick: UnifiedKernelImage, Usb;
    unified_kernel_image_from_a_url: UnifiedKernelImage, Http;
    unified_kernel_image_with_a_data_drive: UnifiedKernelImage, DataDrive;
    unified_kernel_image_with_secure_boot_from_a_cd: SecureUnifiedKernelImage, Cd;
    unified_kernel_image_with_secure_boot_from_a_usb_stick: SecureUnifiedKernelImage, Usb;
    unified_kernel_image_with_secure_boot_from_a_url: SecureUnifiedKernelImage, Http;
    unified_kernel_image_with_secure_boot_and_a_data_drive: SecureUnifiedKernelImage, DataDrive;
    arm64_from_a_cd: Arm64, Cd;
    arm64_from_a_usb_stick: Arm64, Usb;
    arm64_from_a_url: Arm64, Http;
    arm64_by_pxe: Arm64, Netboot;
    arm64_with_a_data_drive: Arm64, DataDrive;
    arm64_unified_kernel_image_from_a_cd: Arm64UnifiedKernelImage, Cd;
    arm64_unified_kernel_image_from_a_usb_stick: Arm64UnifiedKernelImage, Usb;
    arm64_unified_kernel_image_from_a_url: Arm64UnifiedKernelImage, Http;
    arm64_unified_kernel_image_with_secure_boot_from_a_cd: Arm64SecureUnifiedKernelImage, Cd;
}

/// A system, and the server that makes its image.
struct Site {
    directory: TempDir,
    chain: Chain,
    carrier: Carrier,
    key: SiteKey,
}

impl Site {
    fn new(chain: Chain, carrier: Carrier) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let key = SiteKey::new(directory.path());
        Self { directory, chain, carrier, key }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The kernel's argument for the console that the tests read. The system stays on when it has said its network.
    fn arguments(&self) -> String {
        let console = if self.chain.is_arm64() { "ttyAMA0" } else { "ttyS0" };
        format!("console={console},115200 panic=1 boot-report=120")
    }

    /// The arguments that the system has before dayone adds any.
    fn own_arguments(&self) -> String {
        if self.carrier == Carrier::DataDrive { self.arguments() } else { "panic=1".to_owned() }
    }

    /// An ISO that starts the system in this way.
    fn ramdisk(&self) -> PathBuf {
        match (self.chain, self.carrier) {
            (chain, Carrier::DataDrive) if chain.is_arm64() => arm64_cloud_ramdisk_iso(),
            (_, Carrier::DataDrive) => cloud_ramdisk_iso(),
            (chain, _) if chain.is_arm64() => arm64_iso("ramdisk"),
            // A BIOS needs boot code in the first sector of a disk.
            (Chain::Bios, Carrier::Usb) => ramdisk_iso(&["--hybrid"]),
            _ => ramdisk_iso(&[]),
        }
    }

    /// Its kernel and its initramfs.
    fn parts(&self) -> [PathBuf; 2] {
        ["/vmlinuz", "/initrd"].map(|file| extracted(&self.ramdisk(), file, self.directory.path()))
    }

    fn base(&self) -> String {
        let iso = match self.chain {
            _ if self.carrier == Carrier::Netboot => {
                let [kernel, initrd] = self.parts();
                return format!("kernel:{},initrd:{}", kernel.display(), initrd.display());
            }
            Chain::Bios | Chain::Uefi | Chain::Arm64 => self.ramdisk(),
            Chain::SecureBoot => {
                let [kernel, initrd] = self.parts();
                let files = [("EFI/BOOT/BOOTX64.EFI", Path::new(SHIM)), ("EFI/BOOT/grubx64.efi", Path::new(GRUB))];
                let (esp, initrd) = (esp(self.directory.path(), &files), fs::read(initrd).unwrap());
                live_iso_of_bytes(self.directory.path(), &esp, &kernel, &initrd, &self.own_arguments())
            }
            Chain::UnifiedKernelImage
            | Chain::SecureUnifiedKernelImage
            | Chain::Arm64UnifiedKernelImage
            | Chain::Arm64SecureUnifiedKernelImage => self.unified_kernel_image(),
        };
        iso.display().to_string()
    }

    fn unified_kernel_image(&self) -> PathBuf {
        let [kernel, initrd] = self.parts();
        let (plain, signed) = (self.path("uki.efi"), self.path("signed.efi"));
        let (stub, loader) = if self.chain.is_arm64() {
            (arm64_stub(), "EFI/BOOT/BOOTAA64.EFI")
        } else {
            (trixie("linuxx64.efi.stub"), "EFI/BOOT/BOOTX64.EFI")
        };
        unified_of_files(&stub, &kernel, &initrd, &self.own_arguments(), &plain);
        self.key.sign(&plain, &signed);
        iso(self.directory.path(), &[(loader, &signed)])
    }

    /// Serves the base at an address that machines reach at 10.0.2.2.
    fn serve(&self, base: &str) -> Server {
        let media = free_address();
        let url = format!("http://10.0.2.2:{}", media.rsplit(':').next().unwrap());
        let [key, certificate] = [&self.key.key, &self.key.certificate].map(|path| path.display().to_string());
        let mut options = vec!["--media-url", &url];
        if self.chain.needs_the_sites_key() {
            options.extend(["--site-key", &key, "--site-certificate", &certificate]);
        }
        Server::start_at(&free_address(), &media, "system", Path::new(base), &options)
    }

    /// Orders the image, with a script that calls home at this URL.
    fn order(&self, server: &Server, call_home: &str) -> Value {
        let mut order = json!({"documents": HOST, "hostname": "node-7"});
        let format = match self.carrier {
            Carrier::Usb => "usb",
            Carrier::Netboot => "initrd",
            Carrier::Cd | Carrier::Http => "iso",
            Carrier::DataDrive => "data",
        };
        order["format"] = format.into();
        if self.carrier == Carrier::DataDrive {
            let script = format!("#!/bin/sh\ncurl --silent --retry 30 --retry-all-errors {call_home}\n");
            order["data"] = json!({"kind": "cidata", "user_data": BASE64_STANDARD.encode(script)});
        } else {
            let script = call_home::script(call_home).unwrap();
            order["base"] = "system".into();
            order["kernel_arguments"] = json!({"append": self.arguments().split(' ').collect::<Vec<_>>()});
            order["files"] = json!([{
                "path": script.path.as_str(), "mode": "0755", "contents": BASE64_STANDARD.encode(&script.contents),
            }]);
        }
        let answer = Client::new().post(format!("{}/v1/images", server.api)).json(&order).send().unwrap();
        let status = answer.status();
        let answer: Value = answer.json().unwrap();
        assert!(status.is_success(), "{answer:#}");
        answer
    }

    /// A machine that meets the image in this way.
    fn machine(&self, base: &str, image: &Value) -> Machine {
        let directory = self.directory.path();
        let url = image["url"].as_str().unwrap();
        // The site's key alone, or Microsoft's.
        let enrolled = self.path("enrolled.fd");
        match self.chain {
            Chain::SecureUnifiedKernelImage => variables(&self.key, &enrolled),
            // AAVMF's variables without keys have no format yet, so these also have Microsoft's keys.
            Chain::Arm64SecureUnifiedKernelImage => {
                variables_over(&arm64::unpacked().join("usr/share/AAVMF/AAVMF_VARS.ms.fd"), &self.key, &enrolled);
            }
            _ => {}
        }
        match (self.carrier, self.chain) {
            (Carrier::Http, chain) if chain.is_arm64() => Machine::arm64_by_http(url, MAC, MEMORY, directory),
            (Carrier::Http, Chain::SecureBoot) => {
                Machine::by_http_with_secure_boot(url, MAC, MEMORY, Path::new(MICROSOFT), directory)
            }
            (Carrier::Http, Chain::SecureUnifiedKernelImage) => {
                Machine::by_http_with_secure_boot(url, MAC, MEMORY, &enrolled, directory)
            }
            (Carrier::Http, _) => Machine::by_http(url, MAC, MEMORY, directory),
            (Carrier::Netboot, Chain::Bios) => {
                Machine::by_ipxe(image["ipxe"].as_str().unwrap(), MAC, MEMORY, directory)
            }
            (Carrier::Netboot, chain) => {
                let tftp = self.tftp(image);
                match chain {
                    Chain::Arm64 => Machine::arm64_by_pxe(&tftp, "shim.efi", MAC, MEMORY, directory),
                    Chain::SecureBoot => {
                        Machine::by_pxe(&tftp, "shim.efi", MAC, MEMORY, Some(Path::new(MICROSOFT)), directory)
                    }
                    _ => Machine::by_pxe(&tftp, "shim.efi", MAC, MEMORY, None, directory),
                }
            }
            (Carrier::Cd | Carrier::Usb | Carrier::DataDrive, chain) => {
                let file = self.path("image");
                fs::write(&file, downloaded(url)).unwrap();
                let is_data = self.carrier == Carrier::DataDrive;
                let medium = if is_data { Path::new(base) } else { &file };
                let boot = match (self.carrier, chain) {
                    (Carrier::Usb, Chain::Bios) => Boot::BiosDisk,
                    (Carrier::Usb, _) => Boot::UefiUsb,
                    (_, Chain::Bios) => Boot::BiosCd,
                    _ => Boot::UefiCd,
                };
                let machine = match chain {
                    Chain::SecureBoot => Machine::with_secure_boot(medium, boot, directory),
                    Chain::SecureUnifiedKernelImage => Machine::with_variables(medium, boot, &enrolled),
                    Chain::Arm64 | Chain::Arm64UnifiedKernelImage => Machine::arm64(medium, boot, directory),
                    Chain::Arm64SecureUnifiedKernelImage => Machine::arm64_with_variables(medium, boot, &enrolled),
                    Chain::Bios | Chain::Uefi | Chain::UnifiedKernelImage => Machine::with_image(medium, boot),
                };
                let machine = machine.memory(MEMORY).nic_to_here(MAC, directory);
                if is_data { machine.disk(&file) } else { machine }
            }
        }
    }

    /// What a network boot server has: shim and Debian's GRUB, which reads by TFTP alone, the image's files as dayone serves them,
    /// and a menu that loads them.
    fn tftp(&self, image: &Value) -> PathBuf {
        let tftp = self.path("tftp");
        fs::create_dir_all(tftp.join("grub")).unwrap();
        let (root, name) = if self.chain == Chain::Arm64 {
            (
                arm64::unpacked(),
                ["usr/lib/shim/shimaa64.efi.signed", "usr/lib/grub/arm64-efi-signed/grubnetaa64.efi.signed"],
            )
        } else {
            ("/".into(), ["usr/lib/shim/shimx64.efi.signed", "usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed"])
        };
        fs::copy(root.join(name[0]), tftp.join("shim.efi")).unwrap();
        let second = if self.chain == Chain::Arm64 { "grubaa64.efi" } else { "grubx64.efi" };
        fs::copy(root.join(name[1]), tftp.join(second)).unwrap();
        for name in ["vmlinuz", "initrd.img"] {
            fs::write(tftp.join(name), downloaded(image["files"][name]["url"].as_str().unwrap())).unwrap();
        }
        let menu = format!("linux /vmlinuz {}\ninitrd /initrd.img\nboot\n", self.arguments());
        fs::write(tftp.join("grub/grub.cfg"), menu).unwrap();
        tftp
    }
}

/// What dayone serves at a URL for machines.
fn downloaded(url: &str) -> bytes::Bytes {
    let here = url.replace("http://10.0.2.2:", "http://127.0.0.1:");
    reqwest::blocking::get(here).unwrap().error_for_status().unwrap().bytes().unwrap()
}

/// Hears calls of machines: any request is one.
fn listener() -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&heard);
    // Ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1024];
            let count = stream.read(&mut request).unwrap_or(0);
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap_or_default();
            if request[..count].starts_with(b"GET /h/matrix ") {
                hears.store(true, Ordering::Relaxed);
            }
        }
    });
    (format!("http://10.0.2.2:{port}/h/matrix"), heard)
}

fn boots(chain: Chain, carrier: Carrier) {
    let site = Site::new(chain, carrier);
    let base = site.base();
    let server = site.serve(&base);
    let (call_home, heard) = listener();
    let image = site.order(&server, &call_home);
    let machine = site.machine(&base, &image);
    let report = machine.report_and("that it is up, by its call home", &|| heard.load(Ordering::Relaxed));
    assert!(heard.load(Ordering::Relaxed), "the system has not called home");
    assert_network(HOST, &report);
    assert_eq!(report.host_name(), "node-7");
}

#[test]
#[ignore = "make matrix runs it"]
fn a_unified_kernel_image_is_not_for_network_boot() {
    for chain in [Chain::UnifiedKernelImage, Chain::Arm64UnifiedKernelImage] {
        let site = Site::new(chain, Carrier::Cd);
        let base = site.base();
        let (document, image) = (site.path("host.yaml"), site.path("image"));
        fs::write(&document, HOST).unwrap();
        let mut build = acceptance::server::dayone();
        build.args(["build", "--format", "initrd", "--base", &base, "--output"]).arg(&image).arg(&document);
        let refused = build.output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && said.contains("format 'initrd'"), "{said}");
        assert!(!image.exists());
    }
}
