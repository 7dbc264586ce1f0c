//! A fetched base is there only when its bytes are on the disk. strace stands for the disk: a call fails with EIO, or the process ends in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use acceptance::nginx::Nginx;
use acceptance::server::dayone;
use imagelib::digest::Digest;
use tempfile::TempDir;

/// A web server with a file, and a directory for what is fetched.
struct Site {
    nginx: Nginx,
    directory: TempDir,
    bytes: Vec<u8>,
}

impl Site {
    fn new() -> Self {
        let nginx = Nginx::start(None);
        let bytes: Vec<u8> = (0..(3_usize << 20)).map(|at| (at.wrapping_mul(40_503) >> 9).to_le_bytes()[0]).collect();
        fs::write(nginx.root().join("base"), &bytes).unwrap();
        Self { nginx, directory: tempfile::tempdir().unwrap(), bytes }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Fetches the file, and returns how many times the file was synchronised. `inject` is what the first time leads to.
    fn fetch(&self, inject: Option<&str>) -> (Output, usize) {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-P"]).arg(self.path("fetched.iso.partial"));
        if let Some(inject) = inject {
            strace.args(["-e", &format!("inject=fsync,fdatasync:{inject}:when=1")]);
        }
        strace.arg("-o").arg(log.path()).arg(dayone().get_program());
        let sum = Digest::of(&self.bytes).to_string();
        strace.args(["base", "fetch", &self.nginx.url("base"), "--sha256", &sum, "-o"]).arg(self.path("fetched.iso"));
        let output = strace.output().expect("strace; see scripts/setup-peers.sh");
        let calls = fs::read_to_string(log.path()).unwrap();
        (output, calls.lines().filter(|line| line.contains("sync") && line.contains(" = 0")).count())
    }

    fn is_there(&self) -> bool {
        fs::read(self.path("fetched.iso")).is_ok_and(|bytes| bytes == self.bytes)
    }
}

#[test]
fn what_the_disk_did_not_take_is_fetched_again() {
    let site = Site::new();
    let (output, _) = site.fetch(Some("error=EIO"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("Input/output error"), "{said}");
    assert!(!site.path("fetched.iso").exists());
    // The kernel shows the bytes, and the disk does not have them: nothing that was written may count.
    let (output, syncs) = site.fetch(None);
    assert!(output.status.success() && site.is_there() && syncs > 0, "{syncs}: {output:?}");
    let requests = site.nginx.requests("base");
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(requests.iter().all(|request| request.starts_with("200 ")), "{requests:?}");
}

#[test]
fn a_process_that_ended_while_it_waited_for_the_disk_is_not_trusted() {
    let site = Site::new();
    let (output, _) = site.fetch(Some("signal=KILL"));
    assert!(!output.status.success() && !site.path("fetched.iso").exists(), "{output:?}");
    let (output, syncs) = site.fetch(None);
    assert!(output.status.success() && site.is_there(), "{output:?}");
    assert!(syncs > 0, "nobody waited for the disk");
    assert_eq!(site.nginx.requests("base").len(), 1, "all of it had arrived");
}
