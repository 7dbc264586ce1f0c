//! Machines with arm64 processors. Their firmware is AAVMF, the same EDK2 as OVMF.

use std::fs;
use std::path::{Path, PathBuf};

use super::network_boot::with_boot_uri;
use super::{Boot, Machine, Platform};
use crate::peers;

/// What `scripts/setup-peers.sh matrix` unpacks.
pub fn unpacked() -> PathBuf {
    let root = peers::cache().join("arm64");
    assert!(root.exists(), "{} is missing; run scripts/setup-peers.sh matrix", root.display());
    root
}

impl Machine {
    /// One that boots an image from a CD or a USB stick. Its firmware's variables are kept in the directory.
    pub fn arm64(image: &Path, boot: Boot, directory: &Path) -> Self {
        Self::arm64_with_medium(image, boot, directory, "")
    }

    /// The same with Secure Boot and Microsoft's keys.
    pub fn arm64_with_secure_boot(image: &Path, boot: Boot, directory: &Path) -> Self {
        Self::arm64_with_medium(image, boot, directory, ".ms")
    }

    /// The same with Secure Boot and these variables, which it may change.
    pub fn arm64_with_variables(image: &Path, boot: Boot, variables: &Path) -> Self {
        Self::arm64_with_firmware(image, boot, firmware(".ms", variables), "-secure")
    }

    /// One that boots a kernel and an initramfs without firmware, as iPXE and GRUB start them from a network.
    pub fn arm64_with_kernel(kernel: &Path, initramfs: &Path, command_line: &str) -> Self {
        let mut machine = Self::with_kernel(kernel, initramfs, command_line);
        machine.platform = Platform::Arm64;
        machine.name += "-arm64";
        machine
    }

    /// One whose firmware boots from a URL once: [`by_http`](Self::by_http).
    pub fn arm64_by_http(url: &str, mac: &str, memory: u32, directory: &Path) -> Self {
        let with_uri = directory.join("variables-with-uri.fd");
        // The variables without keys are not formatted yet, so these are those with keys, without the one that makes them count.
        with_boot_uri(&variables(directory, ".ms"), &["--delete", "PK"], url, &with_uri);
        let machine = Self::over_network("http-arm64", firmware("", &with_uri), mac, memory, directory);
        Self { platform: Platform::Arm64, ..machine }
    }

    /// One whose firmware boots by PXE: [`by_pxe`](Self::by_pxe).
    pub fn arm64_by_pxe(tftp: &Path, file: &str, mac: &str, memory: u32, directory: &Path) -> Self {
        let firmware = firmware("", &variables(directory, ""));
        let machine = Self::over_network("pxe-arm64", firmware, mac, memory, directory);
        let machine = machine.with_boot_file(&format!("tftp={},bootfile={file}", tftp.display()));
        Self { platform: Platform::Arm64, ..machine }
    }

    fn arm64_with_medium(image: &Path, boot: Boot, directory: &Path, keys: &str) -> Self {
        Self::arm64_with_firmware(image, boot, firmware(keys, &variables(directory, keys)), keys)
    }

    fn arm64_with_firmware(image: &Path, boot: Boot, mut arguments: Vec<String>, kind: &str) -> Self {
        let (options, devices) = match boot {
            Boot::UefiCd => ("media=cdrom,readonly=on", ["virtio-scsi-pci", "scsi-cd,drive=medium"]),
            Boot::UefiUsb => ("snapshot=on", ["qemu-xhci", "usb-storage,drive=medium"]),
            Boot::BiosCd | Boot::BiosDisk => panic!("arm64 has no BIOS"),
        };
        let drive = format!("format=raw,file={},if=none,id=medium,{options}", image.display());
        arguments.extend(["-drive", &drive, "-device", devices[0], "-device", devices[1]].map(str::to_owned));
        let name = image.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self { platform: Platform::Arm64, ..Self::new(format!("{name}-{boot:?}-arm64{kind}"), arguments) }
    }
}

fn variables(directory: &Path, keys: &str) -> PathBuf {
    let variables = directory.join("variables.fd");
    fs::copy(unpacked().join(format!("usr/share/AAVMF/AAVMF_VARS{keys}.fd")), &variables).expect("variables");
    variables
}

fn firmware(keys: &str, variables: &Path) -> Vec<String> {
    let flash = "if=pflash,format=raw,unit";
    let code = unpacked().join(format!("usr/share/AAVMF/AAVMF_CODE{keys}.fd"));
    vec![
        "-drive".to_owned(),
        format!("{flash}=0,readonly=on,file={}", code.display()),
        "-drive".to_owned(),
        format!("{flash}=1,file={}", variables.display()),
    ]
}
