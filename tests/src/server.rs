//! The real binary, serving, with everything that a test needs to talk to it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use reqwest::blocking::Client;
use serde_json::Value;
use tempfile::TempDir;

/// What `packaging/dayone.service` and the container image set.
pub const ENVIRONMENT: [(&str, &str); 1] = [("MALLOC_ARENA_MAX", "2")];

/// The binary `dayone`: that of `DAYONE_BIN`, or the one that was built beside the tests.
pub fn dayone() -> Command {
    let binary = std::env::var_os("DAYONE_BIN").map_or_else(beside_the_tests, PathBuf::from);
    assert!(binary.exists(), "{} is missing; run cargo build -p dayone", binary.display());
    let mut command = Command::new(binary);
    command.env("NO_COLOR", "1").envs(ENVIRONMENT);
    command
}

/// The binary in `target/debug`. Cargo builds it with the whole workspace, but not for the tests of this crate alone. These
/// would then test an old binary, so this panics if a source has changed between the builds of the binary and of the test.
fn beside_the_tests() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let binary = test.ancestors().nth(2).expect("target/debug/deps/test").join("dayone");
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let (built, tested) = (modified(&binary), modified(&test));
    // Cargo lists the binary's sources beside it.
    let sources = fs::read_to_string(binary.with_extension("d")).unwrap_or_default();
    for source in sources.split_whitespace().skip(1).map(Path::new) {
        let changed = modified(source);
        assert!(
            built.is_none() || changed <= built || changed > tested,
            "{} is older than {}; build the whole workspace (make unit, make peers or make vms do)",
            binary.display(),
            source.display()
        );
    }
    binary
}

/// An address on loopback for a server that is yet to start. No other test gets it while this process runs, and the kernel gives
/// it to no connection: its own choice ([`net.ipv4.ip_local_port_range`]) begins above these ports.
///
/// [`net.ipv4.ip_local_port_range`]: https://docs.kernel.org/networking/ip-sysctl.html
pub fn free_address() -> String {
    static RESERVED: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let locks = std::env::temp_dir().join("dayone-test-ports");
    fs::create_dir_all(&locks).expect("a directory for locks");
    let ports = 10_000..32_000;
    // Tests that begin together look at different ports first.
    let first = std::process::id() as usize * 97 % ports.len();
    for port in ports.clone().cycle().skip(first).take(ports.len()) {
        let lock = File::create(locks.join(port.to_string())).expect("a lock");
        if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            RESERVED.lock().expect("no thread has panicked").push(lock);
            return format!("127.0.0.1:{port}");
        }
    }
    panic!("no port is free");
}

/// `dayone serve`, ended when dropped.
pub struct Server {
    process: Child,
    /// Where the API is, such as `http://127.0.0.1:34567`.
    pub api: String,
    arguments: Vec<String>,
    /// The program that becomes the server, with its arguments, such as `prlimit` or `env`; nothing if it starts by itself.
    launcher: Vec<String>,
    directory: TempDir,
}

impl Server {
    /// Starts it over one base.
    pub fn start(base_name: &str, base: &Path) -> Self {
        Self::start_at(&free_address(), &free_address(), base_name, base, &[])
    }

    /// Starts it over one base, with the API and the media where they are wanted and with more arguments.
    pub fn start_at(api: &str, media: &str, base_name: &str, base: &Path, more: &[&str]) -> Self {
        Self::start_under(&[""; 0], api, media, base_name, base, more)
    }

    /// Starts it by a program that becomes the server, such as `prlimit --nofile=SOFT:HARD`.
    pub fn start_under(
        launcher: &[impl AsRef<str>],
        api: &str,
        media: &str,
        base_name: &str,
        base: &Path,
        more: &[&str],
    ) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data").display().to_string();
        let base = format!("{base_name}={}", base.display());
        let scheme = if more.contains(&"--media-tls-cert") { "https" } else { "http" };
        let url = format!("{scheme}://{media}");
        let media_url = ["--media-url", &url];
        // A test may know the server under another address.
        let media_url = if more.contains(&"--media-url") { &[][..] } else { &media_url };
        let data_dir = ["--data-dir", &data];
        let data_dir = if more.contains(&"--data-dir") { &[][..] } else { &data_dir };
        let arguments = ["serve", "--base", &base, "--api-listen", api, "--media-listen", media]
            .iter()
            .chain(data_dir)
            .chain(media_url)
            .chain(more)
            .map(|argument| (*argument).to_owned())
            .collect::<Vec<_>>();
        let log = directory.path().join("log");
        let launcher: Vec<String> = launcher.iter().map(|part| part.as_ref().to_owned()).collect();
        let process = spawn(&launcher, &arguments, &log);
        let server = Self { process, api: format!("http://{api}"), arguments, launcher, directory };
        server.wait_until_ready();
        server
    }

    /// Kills it without a warning and starts it again with the same arguments.
    pub fn kill_and_start_again(&mut self) {
        self.stop();
        self.process = spawn(&self.launcher, &self.arguments, &self.directory.path().join("log"));
        self.wait_until_ready();
    }

    /// Starts it again after [`stop`](Self::stop), and waits only until it lives: a base may be missing.
    pub fn start_again_unready(&mut self) {
        self.process = spawn(&self.launcher, &self.arguments, &self.directory.path().join("log"));
        wait_for(&format!("{}/healthz", self.api), Duration::from_secs(60), || self.log());
    }

    /// The options that it was started with.
    pub fn options(&self) -> &[String] {
        self.arguments.get(1..).unwrap_or_default()
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Publishes the ISO over `base` for the host that a document describes.
    pub fn image(&self, base: &str, document: &Path) -> Value {
        let answer = Client::new()
            .post(format!("{}/v1/images?base={base}&format=iso", self.api))
            .header("Content-Type", "application/yaml")
            .body(fs::read(document).expect("a document"))
            .send()
            .expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.text().expect("text"));
        answer.json().expect("JSON")
    }

    /// Releases an image: its URL ends.
    pub fn release(&self, id: &str) {
        let answer = Client::new().delete(format!("{}/v1/images/{id}", self.api)).send().expect("an answer");
        assert_eq!(answer.status(), 204);
    }

    /// A directory that is gone when the server is.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// What it has written so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn wait_until_ready(&self) {
        wait_for(&format!("{}/readyz", self.api), Duration::from_secs(60), || self.log());
    }

    /// Kills it without a warning.
    pub fn stop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(launcher: &[String], arguments: &[String], log: &Path) -> Child {
    let log = fs::OpenOptions::new().create(true).append(true).open(log).expect("a log");
    let mut command = dayone();
    if let Some((program, options)) = launcher.split_first() {
        let server = command.get_program().to_owned();
        command = Command::new(program);
        command.args(options).arg(server).env("NO_COLOR", "1");
    }
    command.args(arguments).stdin(Stdio::null());
    command.stdout(log.try_clone().expect("a log")).stderr(log).spawn().expect("dayone starts")
}

/// Waits until `url` answers with success; what `log` says is shown if it never does.
pub fn wait_for(url: &str, limit: Duration, log: impl Fn() -> String) {
    let deadline = Instant::now() + limit;
    while !reqwest::blocking::get(url).is_ok_and(|answer| answer.status().is_success()) {
        assert!(Instant::now() < deadline, "{url} does not answer:\n{}", log());
        std::thread::sleep(Duration::from_millis(50));
    }
}
