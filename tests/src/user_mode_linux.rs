//! A Linux that is a program, for tests that need a kernel with its networks and file systems, and no machine around it: no
//! firmware, no boot loader, no device. Processes in it run at the speed of the machine, so it costs a quarter of emulation.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::peers::cache;
use crate::qemu::{LIMIT, kept_console, run};

/// One to be booted once, from an initramfs whose console is `/dev/console`.
#[derive(Debug)]
pub struct UserModeLinux {
    name: String,
    arguments: Vec<OsString>,
    disks: u8,
}

impl UserModeLinux {
    /// With this much memory, of which it takes what it uses.
    pub fn new(initramfs: &Path, mebibytes: u32) -> Self {
        let name = initramfs.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let arguments = vec![
            format!("mem={mebibytes}M").into(),
            // Without it, each system call of its processes stops them twice for the tracer.
            "seccomp=auto".into(),
            "root=/dev/ram0".into(),
            "loglevel=4".into(),
            "con=null".into(),
            "con0=fd:0,fd:1".into(),
            option("initrd=", initramfs),
        ];
        Self { name, arguments, disks: 0 }
    }

    /// Adds a disk that cannot be written to: `/dev/ubda`, and so on.
    #[must_use]
    pub fn disk(self, image: &Path) -> Self {
        self.with_disk("r", image)
    }

    /// Adds a disk that it may write to.
    #[must_use]
    pub fn writable_disk(self, image: &Path) -> Self {
        self.with_disk("", image)
    }

    fn with_disk(mut self, flags: &str, image: &Path) -> Self {
        self.arguments.push(option(&format!("ubd{}{flags}=", self.disks), image));
        self.disks += 1;
        self
    }

    /// Boots it, and returns what came over the console until it was powered off. It takes no turn of a machine, as it mostly waits.
    pub fn console(&self) -> String {
        let program = cache().join("user-mode-linux/linux");
        assert!(program.exists(), "{} is missing; run scripts/setup-peers.sh", program.display());
        let mut command = Command::new(program);
        command.args(&self.arguments);
        let (console, ended) = run(command, LIMIT, None, &|| true);
        if !ended {
            let path = kept_console(&self.name, &console);
            panic!("{} was not off after {LIMIT:?}; {} has its console", self.name, path.display());
        }
        console
    }
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}
