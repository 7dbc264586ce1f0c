//! A system that is up in a moment: for boots that are to show what the kernel was given, and not what becomes of it.

use std::fmt::Write as _;
use std::fs;

use imagelib::cpio::Archive;

/// An initramfs with busybox alone. It says on the serial console with which arguments it was started and what is in these
/// files, and switches the machine off.
pub fn initramfs(files: &[&str]) -> Archive {
    let mut init = "#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
exec > /dev/ttyS0 2>&1
echo ARGUMENTS $(/bin/busybox cat /proc/cmdline) END
"
    .to_owned();
    for file in files {
        writeln!(init, "echo FILE {file} $(/bin/busybox stat -c '%a %u %g' {file}) $(/bin/busybox cat {file}) END")
            .expect("a string");
    }
    init += "/bin/busybox poweroff -f\n";
    let mut archive = Archive::new();
    archive.file("init".parse().expect("a path"), 0o755, init).expect("a file");
    let busybox = fs::read("/bin/busybox").expect("busybox-static; run scripts/setup-peers.sh");
    archive.file("bin/busybox".parse().expect("a path"), 0o755, busybox).expect("a file");
    for path in ["bin", "proc", "dev", "etc"] {
        archive.directory(path.parse().expect("a path"), 0o755).expect("a directory");
    }
    archive
}

/// What it said.
pub struct Said(String);

impl Said {
    /// Reads the console, on which the kernel breaks lines as it likes.
    pub fn on(console: &str) -> Self {
        Self(console.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The arguments that the kernel was started with.
    pub fn arguments(&self) -> &str {
        self.between("ARGUMENTS ")
    }

    /// A file: mode, owner and group, and its words.
    pub fn file(&self, path: &str) -> &str {
        self.between(&format!("FILE {path} "))
    }

    fn between(&self, begin: &str) -> &str {
        let behind = self.0.split_once(begin).and_then(|(_, behind)| behind.split_once(" END"));
        behind.unwrap_or_else(|| panic!("nothing is said of {begin}: {}", self.0)).0
    }
}
