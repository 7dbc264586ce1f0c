//! Machines under software emulation: slower than others, and the same everywhere.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::peers;

/// Boots Debian's cloud kernel directly with an initramfs, and returns what came over the serial console until the
/// machine was powered off.
pub fn boot_initramfs(initramfs: &Path, limit: Duration) -> String {
    let kernel = peers::cache().join("kernel/vmlinuz");
    assert!(kernel.exists(), "{} is missing; run scripts/setup-peers.sh", kernel.display());
    let mut command = Command::new("qemu-system-x86_64");
    command.args(["-accel", "tcg,thread=multi", "-m", "512", "-nographic", "-nodefaults", "-no-reboot"]);
    command.args(["-serial", "stdio", "-append", "console=ttyS0 panic=-1 loglevel=5"]);
    command.arg("-kernel").arg(kernel).arg("-initrd").arg(initramfs);
    console(command, limit)
}

/// How a machine meets an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// BIOS, from a CD: El Torito.
    BiosCd,
    /// BIOS, from a disk: the code in the MBR.
    BiosDisk,
    /// UEFI, from a CD: El Torito.
    UefiCd,
    /// UEFI, from a USB stick: the EFI system partition.
    UefiUsb,
}

/// Boots an image, and returns what came over the serial console until the machine was powered off.
pub fn boot_image(image: &Path, boot: Boot, limit: Duration) -> String {
    let mut command = Command::new("qemu-system-x86_64");
    command.args(["-accel", "tcg,thread=multi", "-m", "512", "-nographic", "-nodefaults", "-no-reboot"]);
    command.args(["-serial", "stdio"]);
    if matches!(boot, Boot::UefiCd | Boot::UefiUsb) {
        command.args(["-bios", "/usr/share/ovmf/OVMF.fd"]);
    }
    let drive = match boot {
        Boot::BiosCd | Boot::UefiCd => "media=cdrom,readonly=on",
        Boot::BiosDisk => "snapshot=on",
        Boot::UefiUsb => "snapshot=on,if=none,id=stick",
    };
    command.arg("-drive").arg(format!("format=raw,file={},{drive}", image.display()));
    if boot == Boot::UefiUsb {
        command.args(["-device", "usb-ehci", "-device", "usb-storage,drive=stick"]);
    }
    console(command, limit)
}

/// Runs a machine whose serial console is its standard output, for `limit` at most.
pub fn console(mut command: Command, limit: Duration) -> String {
    let mut machine = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut output = machine.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut console = Vec::new();
        output.read_to_end(&mut console).unwrap();
        String::from_utf8_lossy(&console).replace('\r', "")
    });
    let start = Instant::now();
    let ended = loop {
        if machine.try_wait().unwrap().is_some() {
            break true;
        }
        if start.elapsed() > limit {
            machine.kill().unwrap();
            machine.wait().unwrap();
            break false;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let console = reader.join().unwrap();
    assert!(ended, "the machine was not off after {limit:?}; its console:\n{console}");
    console
}
