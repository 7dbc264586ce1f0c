//! File systems of Linux, made in a file and mounted from there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::getuid;
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

fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; see scripts/setup-peers.sh"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
