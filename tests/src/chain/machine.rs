//! The machine as libvirt is told of it.

use std::fmt::Write;
use std::path::Path;

use super::switch::Cable;

/// The firmware that a machine begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// OVMF.
    Uefi,
    /// SeaBIOS.
    Bios,
}

impl Firmware {
    /// What a BareMetalHost calls it.
    pub fn boot_mode(self) -> &'static str {
        match self {
            Self::Uefi => "UEFI",
            Self::Bios => "legacy",
        }
    }
}

/// Where a NIC is, and so what systemd calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the board, and the first there: `eno1`.
    Board,
    /// Alone behind a PCI bridge: `enp2s0`.
    Bus(u8),
    /// One function of several behind a PCI bridge: `enp3s0f1`.
    Function(u8, u8),
    /// One function of several in a slot that cards can be changed in: `ens7f1`. The machine then has the chipset of
    /// 1996, which has such slots.
    Slot(u8, u8),
}

/// A NIC.
#[derive(Debug, Clone, Copy)]
pub struct Nic {
    /// Its MAC address.
    pub mac: &'static str,
    /// Where it is.
    pub place: Place,
}

/// How many PCI bridges a machine has. They are numbered from 1, and those on the board are behind the last.
const BRIDGES: u8 = 7;

/// A virtual NIC has neither, and a bond aggregates none without.
const SPEED: &str = "<qemu:property name='speed' type='unsigned' value='10000'/>\
                     <qemu:property name='duplex' type='string' value='full'/>";

/// The domain of a machine that starts from its disk, on which there is nothing.
pub(super) fn domain(uuid: &str, firmware: Firmware, nics: &[(Nic, Cable)], disk: &Path, console: &Path) -> String {
    let slots = nics.iter().any(|(nic, _)| matches!(nic.place, Place::Slot(..)));
    let (chipset, disk_bus, disk_name) = if slots { ("pc", "ide", "hda") } else { ("q35", "sata", "sda") };
    let loader = match firmware {
        Firmware::Uefi => {
            "<loader readonly='yes' secure='no' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader>\
             <nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'/>"
        }
        Firmware::Bios => "",
    };
    let mut devices = String::new();
    if !slots {
        devices += "<controller type='pci' index='0' model='pcie-root'/>";
        for bridge in 1..=BRIDGES {
            write!(devices, "<controller type='pci' index='{bridge}' model='pcie-root-port'/>").expect("a string");
        }
    }
    let mut speeds = String::new();
    for (number, (nic, cable)) in nics.iter().enumerate() {
        devices += &interface(*nic, *cable);
        write!(speeds, "<qemu:device alias='net{number}'><qemu:frontend>{SPEED}</qemu:frontend></qemu:device>")
            .expect("a string");
    }
    // The console is a file; what is read there is what was on the wire.
    format!(
        "<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>machine</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>1024</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='{chipset}'>hvm</type>{loader}</os>
  <features><acpi/></features>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='{}'/><target dev='{disk_name}' bus='{disk_bus}'/><boot order='1'/>
    </disk>
    <controller type='usb' model='none'/>
    {devices}
    <serial type='file'><source path='{}'/></serial>
    <video><model type='vga'/></video>
    <memballoon model='none'/>
  </devices>
  <qemu:override>{speeds}</qemu:override>
</domain>
",
        disk.display(),
        console.display()
    )
}

fn interface(nic: Nic, cable: Cable) -> String {
    let place = match nic.place {
        Place::Board => format!("<acpi index='1'/><address type='pci' bus='{BRIDGES}' slot='0'/>"),
        Place::Bus(bus) => format!("<address type='pci' bus='{bus}' slot='0'/>"),
        Place::Function(bus, function) => {
            format!("<address type='pci' bus='{bus}' slot='0' function='{function}' multifunction='on'/>")
        }
        Place::Slot(slot, function) => {
            format!("<address type='pci' bus='0' slot='{slot}' function='{function}' multifunction='on'/>")
        }
    };
    format!(
        "<interface type='udp'><mac address='{}'/><model type='virtio'/><rom enabled='no'/>
      <source address='127.0.0.1' port='{}'><local address='127.0.0.1' port='{}'/></source>{place}</interface>
    ",
        nic.mac, cable.switch, cable.nic
    )
}
