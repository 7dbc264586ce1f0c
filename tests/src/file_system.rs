//! File systems of Linux: made in a file and mounted from there, or of a process (FUSE).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process};
use tempfile::TempDir;

/// A mounted file system, unmounted when dropped.
pub struct FileSystem {
    path: PathBuf,
    /// Second places of directories, read-only.
    bound: Vec<PathBuf>,
    directory: TempDir,
}

impl FileSystem {
    /// Makes one of this many MiB by `mkfs.KIND`. `None` if it cannot be mounted here, which is printed with the reason: only root may
    /// mount, and some machines have no loop devices, or a kernel without this file system.
    pub fn make(kind: &str, mebibytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let image = directory.path().join("image");
        File::create(&image).and_then(|file| file.set_len(mebibytes << 20)).expect("a sparse file");
        succeed(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image));
        let path = directory.path().join("mounted");
        std::fs::create_dir(&path).expect("a directory");
        let output = Command::new("mount").args(["-o", "loop"]).arg(image).arg(&path).output().expect("mount");
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            let has_device = Command::new("losetup").arg("--find").output().is_ok_and(|found| found.status.success());
            let is_here = has_device && getuid().is_root() && !error.contains("unknown filesystem type");
            assert!(!is_here, "{kind} cannot be mounted: {error}");
            println!("not run: {kind} cannot be mounted: {error}");
            return None;
        }
        Some(Self { path, bound: Vec::new(), directory })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Mounts a directory of the file system at a second place, read-only.
    pub fn read_only(&mut self, inside: &str) -> PathBuf {
        let place = self.directory.path().join(format!("bound-{}", self.bound.len()));
        std::fs::create_dir(&place).expect("a directory");
        succeed(Command::new("mount").args(["-o", "bind,ro"]).arg(self.path.join(inside)).arg(&place));
        self.bound.push(place.clone());
        place
    }
}

impl Drop for FileSystem {
    fn drop(&mut self) {
        for place in self.bound.iter().chain([&self.path]) {
            // Nothing else could be done about it here.
            let _ = Command::new("umount").arg("-l").arg(place).status();
        }
    }
}

/// A directory that shows the files of another one, by way of a process that can be stopped.
pub struct Fuse {
    daemon: Child,
    path: PathBuf,
}

impl Fuse {
    /// Shows the files of `directory` at `path`, with these options of bindfs and FUSE.
    pub fn mount(directory: &Path, path: PathBuf, options: &str) -> Self {
        std::fs::create_dir(&path).expect("a directory");
        let mut daemon = Command::new("bindfs");
        // One thread.
        daemon.args(["-f", "-s", "-o", options]).arg(directory).arg(&path).stdin(Stdio::null());
        let fuse = Self { daemon: daemon.spawn().expect("bindfs; see scripts/setup-peers.sh"), path };
        let begun = Instant::now();
        while std::fs::read_dir(&fuse.path).expect("the directory").next().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the directory is not mounted: is /dev/fuse there?");
            thread::sleep(Duration::from_millis(50));
        }
        fuse
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process.
    pub fn daemon(&self) -> Pid {
        Pid::from_child(&self.daemon)
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.daemon(), signal).expect("the process of the file system");
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        // Without this, a mount would stay behind a killed daemon.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; see scripts/setup-peers.sh"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
