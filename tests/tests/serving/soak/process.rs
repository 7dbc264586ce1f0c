//! `dayone serve` on a small file system of its own, under a clock that the test sets. It can be killed and started again: a process
//! that does nothing keeps the file system.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::server::dayone;
use acceptance::test_clock::TestClock;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

/// Mounts the file system, and waits until the test ends.
const HOLDER: &str = r#"mount -t tmpfs -o size=80m,mode=700 data "$1" && echo mounted && exec cat"#;

pub(crate) struct Process {
    holder: Child,
    server: Mutex<Child>,
    /// The server's, also while it is dead.
    id: AtomicU32,
    arguments: Vec<String>,
    clock: TestClock,
    log: PathBuf,
    data: PathBuf,
}

impl Process {
    /// Prepares everything and starts the server. `directory` has `data`, over which the small file system is mounted.
    pub(crate) fn start(directory: &Path, arguments: Vec<String>) -> Self {
        let data = directory.join("data");
        let mut holder = Command::new("unshare");
        holder.args(["--user", "--map-root-user", "--mount", "sh", "-c", HOLDER, "sh"]).arg(&data);
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare");
        let mut mounted = [0; 8];
        std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut mounted)
            .expect("a mount namespace: this machine must allow user namespaces");
        let clock = TestClock::new(directory);
        let data = PathBuf::from(format!("/proc/{}/root{}", holder.id(), data.display()));
        let log = directory.join("log");
        let child = spawn(holder.id(), &arguments, &clock, &log);
        let id = AtomicU32::new(child.id());
        Self { holder, server: Mutex::new(child), id, arguments, clock, log, data }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id.load(Ordering::SeqCst)
    }

    pub(crate) fn kill(&self) {
        let mut server = self.server.lock().unwrap();
        let _ = server.kill();
        let _ = server.wait();
    }

    pub(crate) fn start_again(&self) {
        let child = spawn(self.holder.id(), &self.arguments, &self.clock, &self.log);
        self.id.store(child.id(), Ordering::SeqCst);
        *self.server.lock().unwrap() = child;
    }

    /// How it has ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.server.lock().unwrap().try_wait().unwrap().map(|status| status.to_string())
    }

    /// Makes it read its settings again.
    pub(crate) fn reload(&self) {
        kill_process(Pid::from_child(&self.server.lock().unwrap()), Signal::HUP).unwrap();
    }

    /// Sets its clock so many seconds before or after that of the machine.
    pub(crate) fn set_clock(&self, seconds: i64) {
        self.clock.set(seconds);
    }

    /// Takes all space on its file system.
    pub(crate) fn fill_disk(&self) {
        let mut file = File::create(self.data.join("fill")).unwrap();
        let mut length = 1 << 20;
        while length > 0 {
            // A smaller piece may fit where this one does not.
            if file.write_all(&vec![0xF1; length]).is_err() {
                length /= 16;
            }
        }
    }

    pub(crate) fn empty_disk(&self) {
        fs::remove_file(self.data.join("fill")).unwrap();
    }

    /// Allows it so few more open files, or as many as before. Returns the limit that it had.
    pub(crate) fn limit_files(&self, limit: Option<u64>) -> Option<u64> {
        let process = Pid::from_child(&self.server.lock().unwrap());
        let now = prlimit(Some(process), Resource::Nofile, Rlimit { current: limit, maximum: self.hard_limit() });
        now.unwrap().current
    }

    fn hard_limit(&self) -> Option<u64> {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.id())).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        line.split_whitespace().nth(4).unwrap().parse().ok()
    }

    pub(crate) fn open_files(&self) -> u64 {
        fs::read_dir(format!("/proc/{}/fd", self.id())).map_or(0, |files| files.count() as u64)
    }

    /// A number of `/proc/PID/status`; none if the process is dead.
    pub(crate) fn status(&self, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// The end of what it has logged.
    pub(crate) fn log(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn spawn(holder: u32, arguments: &[String], clock: &TestClock, log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let mut command = Command::new("nsenter");
    // It becomes the server: the same process.
    command.args(["--user", "--preserve-credentials", "--mount", "--target", &holder.to_string()]);
    command.args(clock.launcher());
    command.arg(dayone().get_program()).args(arguments).env("NO_COLOR", "1").stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log).spawn().expect("nsenter")
}

/// Waits until something is so.
pub(crate) fn until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_millis(50));
    }
    true
}
