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
