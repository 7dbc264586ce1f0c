//! Machines that boot over a network: from a URL by UEFI HTTP boot, or by PXE. This machine is 10.0.2.2 to them, and a DHCP server offers
//! 10.0.2.15.

use std::fs;
use std::path::Path;

use super::{Machine, secure_firmware};
use crate::peers;

/// Where [`Machine::by_http`] and [`Machine::nic_to_here`] record packets.
const PACKETS: &str = "packets.pcap";

/// The Ethernet frames that a machine in this directory sent and received.
pub fn packets(directory: &Path) -> Vec<Vec<u8>> {
    let recorded = fs::read(directory.join(PACKETS)).expect("a record");
    let mut rest = recorded.get(24..).expect("its header");
    let mut frames = Vec::new();
    while let Some((head, behind)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        let Some((frame, behind)) = behind.split_at_checked(length as usize) else { break };
        frames.push(frame.to_vec());
        rest = behind;
    }
    frames
}

/// Whether an Ethernet frame is a request to a DHCP server for IPv4.
pub fn asks_dhcp(frame: &[u8]) -> bool {
    let udp = 14 + usize::from(frame.get(14).copied().unwrap_or(0) & 15) * 4;
    let (is_ipv4, is_udp) = (frame.get(12..14) == Some(&[0x08, 0x00]), frame.get(23) == Some(&17));
    is_ipv4 && is_udp && frame.get(udp..udp + 4) == Some(&[0, 68, 0, 67])
}

impl Machine {
    /// One whose firmware boots from a URL once. The firmware's own address is from DHCP, which OVMF always asks. Everything that
    /// the machine sends and receives is recorded ([`packets`]); this machine is 10.0.2.2 to it.
    pub fn by_http(url: &str, mac: &str, memory: u32, directory: &Path) -> Self {
        let variables = directory.join("variables.fd");
        with_boot_uri(Path::new("/usr/share/OVMF/OVMF_VARS_4M.fd"), &[], url, &variables);
        Self::over_network("http", firmware(&variables), mac, memory, directory)
    }

    /// The same with Secure Boot, and the keys in these variables.
    pub fn by_http_with_secure_boot(url: &str, mac: &str, memory: u32, keys: &Path, directory: &Path) -> Self {
        let variables = directory.join("variables-with-uri.fd");
        with_boot_uri(keys, &[], url, &variables);
        Self::over_network("http-secure", secure_firmware(&variables).into(), mac, memory, directory)
    }

    /// One whose firmware boots by PXE: UEFI loads `file` of the directory `tftp`. With Secure Boot if there are keys.
    pub fn by_pxe(tftp: &Path, file: &str, mac: &str, memory: u32, keys: Option<&Path>, directory: &Path) -> Self {
        let variables = directory.join("variables.fd");
        fs::copy(keys.unwrap_or(Path::new("/usr/share/OVMF/OVMF_VARS_4M.fd")), &variables).expect("variables");
        let firmware = if keys.is_some() { secure_firmware(&variables).into() } else { firmware(&variables) };
        let machine = Self::over_network("pxe", firmware, mac, memory, directory);
        machine.with_boot_file(&format!("tftp={},bootfile={file}", tftp.display()))
    }

    /// One with a BIOS that starts iPXE, which runs the script at a URL.
    pub fn by_ipxe(url: &str, mac: &str, memory: u32, directory: &Path) -> Self {
        let script = directory.join("chain.ipxe");
        fs::write(&script, format!("#!ipxe\ndhcp\nchain {url}\n")).expect("a script");
        let mut machine = Self::over_network("ipxe", Vec::new(), mac, memory, directory);
        let script = script.display().to_string();
        machine.arguments.extend(["-kernel", "/usr/lib/ipxe/ipxe.lkrn", "-initrd", &script].map(str::to_owned));
        machine
    }

    /// Adds a NIC with this MAC address, from which the machine reaches this one as 10.0.2.2. What it sends and receives is recorded
    /// ([`packets`]).
    #[must_use]
    pub fn nic_to_here(mut self, mac: &str, directory: &Path) -> Self {
        let device = format!("virtio-net-pci,netdev=here,mac={mac},romfile=");
        let dump = format!("filter-dump,id=dump,netdev=here,file={}", directory.join(PACKETS).display());
        let arguments = ["-netdev", "user,id=here", "-device", &device, "-object", &dump];
        self.arguments.extend(arguments.map(str::to_owned));
        self
    }

    pub(super) fn over_network(name: &str, firmware: Vec<String>, mac: &str, memory: u32, directory: &Path) -> Self {
        let mut arguments = firmware;
        arguments.extend([
            // The last of these options counts.
            "-m".to_owned(),
            memory.to_string(),
            "-netdev".to_owned(),
            "user,id=nic".to_owned(),
            "-device".to_owned(),
            format!("virtio-net-pci,netdev=nic,mac={mac},romfile="),
            "-object".to_owned(),
            format!("filter-dump,id=dump,netdev=nic,file={}", directory.join(PACKETS).display()),
        ]);
        Self::new(name.to_owned(), arguments)
    }

    pub(super) fn with_boot_file(mut self, options: &str) -> Self {
        for argument in self.arguments.iter_mut().filter(|argument| *argument == "user,id=nic") {
            *argument = format!("user,id=nic,{options}");
        }
        self
    }

    /// Lets the firmware of [`by_http`](Self::by_http) trust a certificate (DER), as an operator enrols one in its setup.
    #[must_use]
    pub fn trusting(mut self, certificate: &[u8], directory: &Path) -> Self {
        // EFI_SIGNATURE_LIST (UEFI 2.10, 32.4.1): the type EFI_CERT_X509_GUID, sizes, and one signature with its owner.
        const X509: [u8; 16] =
            [0xa1, 0x59, 0xc0, 0xa5, 0xe4, 0x94, 0xa7, 0x4a, 0x87, 0xb5, 0xab, 0x15, 0x5c, 0x2b, 0xf0, 0x72];
        let signature = 16 + u32::try_from(certificate.len()).expect("a certificate");
        let sizes = [28 + signature, 0, signature].map(u32::to_le_bytes).concat();
        let list = directory.join("authorities.esl");
        fs::write(&list, [&X509[..], &sizes, &[0; 16], certificate].concat()).expect("a list");
        let list = format!("name=etc/edk2/https/cacerts,file={}", list.display());
        // TLS needs random numbers, which the usual processor does not have.
        self.arguments.extend(["-cpu", "max", "-fw_cfg", &list].map(str::to_owned));
        self
    }
}

/// Copies variables with these changes, and adds a URL from which the next boot is.
pub(super) fn with_boot_uri(variables: &Path, changes: &[&str], url: &str, to: &Path) {
    let mut write = peers::peer("virt-fw-vars");
    write.arg("--input").arg(variables).args(changes).args(["--set-boot-uri", url, "--output"]).arg(to);
    peers::run(&mut write);
}

fn firmware(variables: &Path) -> Vec<String> {
    let flash = "if=pflash,format=raw,unit";
    vec![
        "-drive".to_owned(),
        format!("{flash}=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd"),
        "-drive".to_owned(),
        format!("{flash}=1,file={}", variables.display()),
    ]
}
