//! A libvirtd of the test's own. It needs neither systemd nor D-Bus, keeps everything in one directory, and runs as a
//! user without any rights: then it is a session's, of which there may be several on one machine.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::peers::run;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// Files stay where they are, and nobody has to be told of their owners.
const QEMU_CONFIGURATION: &str = "security_driver = \"none\"
remember_owner = 0
stdio_handler = \"file\"
";

/// A libvirtd with a storage pool `default`, ended when dropped; with it ends what runs in it.
pub(super) struct Libvirt {
    process: Child,
    directory: PathBuf,
}

impl Libvirt {
    /// Starts one in `directory`, which must not exist yet and whose parents anybody may enter.
    pub(super) fn start(directory: &Path) -> Self {
        for name in ["", "runtime", "config", "config/libvirt", "cache", "data", "pool"] {
            let path = directory.join(name);
            fs::create_dir(&path).expect("a directory for libvirtd");
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("root gives it away");
        }
        let log = directory.join("log");
        fs::write(directory.join("config/libvirt/qemu.conf"), QEMU_CONFIGURATION).expect("its configuration");
        let output = File::create(&log).expect("a log");
        let process = Command::new("libvirtd")
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", directory)
            .env("TMPDIR", directory)
            .env("XDG_RUNTIME_DIR", directory.join("runtime"))
            .env("XDG_CONFIG_HOME", directory.join("config"))
            .env("XDG_CACHE_HOME", directory.join("cache"))
            .env("XDG_DATA_HOME", directory.join("data"))
            .uid(NOBODY)
            .gid(NOBODY)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a log"))
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("libvirtd: {error}; run scripts/setup-peers.sh"));
        let libvirt = Self { process, directory: directory.to_owned() };
        let deadline = Instant::now() + Duration::from_secs(120);
        // It first asks QEMU what it can.
        while !libvirt.virsh(&["version"]).output().expect("virsh").status.success() {
            let said = fs::read_to_string(&log).unwrap_or_default();
            assert!(Instant::now() < deadline, "libvirtd does not answer:\n{said}");
            std::thread::sleep(Duration::from_millis(100));
        }
        let pool = directory.join("pool").display().to_string();
        run(&mut libvirt.virsh(&["pool-create-as", "default", "dir", "--target", &pool]));
        libvirt
    }

    /// Where others find it.
    pub(super) fn uri(&self) -> String {
        let socket = self.directory.join("runtime/libvirt/libvirt-sock");
        format!("qemu+unix:///session?socket={}", socket.display())
    }

    /// A file that machines can be given and that they may write to, with nothing in it.
    pub(super) fn empty_file(&self, name: &str, size: u64) -> PathBuf {
        let path = self.directory.join(name);
        let file = File::create(&path).expect("a file");
        file.set_len(size).expect("a file");
        file.set_permissions(fs::Permissions::from_mode(0o666)).expect("our file");
        path
    }

    /// Makes a machine known.
    pub(super) fn define(&self, domain: &str) {
        let path = self.directory.join("domain.xml");
        fs::write(&path, domain).expect("a file");
        run(self.virsh(&["define"]).arg(&path));
    }

    /// Ends it, and the machine that it was told of.
    fn stop(&mut self) {
        // It may be off.
        let _ = self.virsh(&["destroy", "machine"]).output();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn virsh(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("virsh");
        command.args(["--quiet", "--connect", &self.uri()]).args(arguments);
        command
    }
}

impl Drop for Libvirt {
    fn drop(&mut self) {
        self.stop();
    }
}
