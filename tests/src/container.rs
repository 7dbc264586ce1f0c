//! What a program finds in a container: a file system of its own that it cannot write to, an environment of its own, and
//! nothing else of this machine but its network and the libraries that the binary needs.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::dayone;

/// The names that deployments of image-customization-controller call, as dayone's image has them.
const NAMES: [&str; 4] = [
    "image-customization-controller",
    "image-customization-server",
    "machine-image-customization-controller",
    "machine-image-customization-server",
];

/// Mounts what is to be in the container (`FROM TO …`, up to `--`), makes the root read-only, and becomes the program.
const ENTER: &str = r#"set -e
root=$1; shift
mount --bind "$root" "$root"
for directory in usr proc dev; do mount --rbind "/$directory" "$root/$directory"; done
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
exec chroot "$root" "$@""#;

/// The file system. Programs in it are ended when they are dropped, and it is gone when it is.
pub struct Container {
    root: TempDir,
    outside: TempDir,
    mounts: Vec<(PathBuf, String)>,
}

impl Container {
    /// One with dayone in it, under all of its names.
    pub fn new() -> Self {
        let (root, outside) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let mut container = Self { root, outside, mounts: Vec::new() };
        for directory in ["usr", "proc", "dev"] {
            fs::create_dir(container.path(directory)).expect("a directory");
        }
        for directory in ["lib", "lib64"].iter().filter(|name| Path::new("/").join(name).is_symlink()) {
            symlink(format!("usr/{directory}"), container.path(directory)).expect("a link");
        }
        container.mount(Path::new(dayone().get_program()), "/dayone");
        for name in NAMES {
            container.link(&format!("/{name}"), "dayone");
        }
        container
    }

    /// Where a path of the container is outside of it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    /// A file that only its owner can read, in place of what is there: at once, as Kubernetes does it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.place(path);
        let new = file.with_file_name(".new");
        fs::write(&new, content).expect("a file");
        fs::set_permissions(&new, Permissions::from_mode(0o400)).expect("our file");
        fs::rename(new, file).expect("our directory");
    }

    /// A symbolic link.
    pub fn link(&self, path: &str, target: &str) {
        symlink(target, self.place(path)).expect("a link");
    }

    /// A file, a directory or a device of this machine: what changes here changes there.
    pub fn mount(&mut self, file: &Path, path: &str) {
        let place = self.place(path);
        let made = if file.is_dir() { fs::create_dir(place) } else { File::create(place).map(drop) };
        made.expect("a place to mount it at");
        self.mounts.push((file.to_owned(), path.to_owned()));
    }

    /// Starts a program by its path, with these arguments and with this environment and nothing else in it.
    pub fn start(&self, line: &[&str], environment: &[(&str, &str)]) -> Program {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", ENTER, "sh"]).arg(self.root.path());
        for (file, path) in &self.mounts {
            command.arg(file).arg(path);
        }
        // The shell finds its commands by it; dayone has no use for it.
        let path = ("PATH", "/usr/bin:/usr/sbin:/bin:/sbin");
        command.arg("--").args(line).env_clear().envs([path]).envs(environment.iter().copied());
        let log = tempfile::Builder::new().tempfile_in(&self.outside).expect("a log").keep().expect("it is kept").1;
        Program::start(command, &log)
    }

    fn place(&self, path: &str) -> PathBuf {
        let file = self.path(path);
        fs::create_dir_all(file.parent().expect("a file is in a directory")).expect("a directory");
        file
    }
}

impl Default for Container {
    fn default() -> Self {
        Self::new()
    }
}

/// A program that is killed when it is dropped.
pub struct Program {
    process: Child,
    log: PathBuf,
}

impl Program {
    /// Starts it; what it writes goes to the end of `log`.
    pub fn start(mut command: Command, log: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(log).expect("a log");
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a log")).stderr(file);
        let process = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Self { process, log: log.to_owned() }
    }

    /// What it has written so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it has ended by itself, and returns its status and what it has written.
    pub fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.process.try_wait().expect("its state") {
                return (status.code(), self.log());
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}
