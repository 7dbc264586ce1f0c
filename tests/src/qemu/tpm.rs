//! A TPM of a machine: swtpm.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Machine;

/// A TPM 2.0 for one machine, ended when dropped.
pub struct Tpm {
    process: Child,
    directory: TempDir,
}

impl Tpm {
    /// Starts it, empty.
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("socket");
        let mut command = Command::new("swtpm");
        command.args(["socket", "--tpm2", "--flags", "startup-clear", "--tpmstate"]);
        command.arg(format!("dir={}", directory.path().display()));
        command.args(["--ctrl", &format!("type=unixio,path={}", socket.display())]);
        let process = command.stdin(Stdio::null()).spawn().expect("swtpm; run scripts/setup-peers.sh matrix");
        let deadline = Instant::now() + Duration::from_secs(10);
        while !socket.exists() {
            assert!(Instant::now() < deadline, "swtpm does not start");
            thread::sleep(Duration::from_millis(20));
        }
        Self { process, directory }
    }
}

impl Drop for Tpm {
    fn drop(&mut self) {
        // It may have ended with the machine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Machine {
    /// Adds a TPM.
    #[must_use]
    pub fn tpm(mut self, tpm: &Tpm) -> Self {
        let socket = format!("socket,id=tpm-socket,path={}", tpm.directory.path().join("socket").display());
        let options =
            ["-chardev", &socket, "-tpmdev", "emulator,id=tpm,chardev=tpm-socket", "-device", "tpm-tis,tpmdev=tpm"];
        self.arguments.extend(options.map(str::to_owned));
        self
    }
}
