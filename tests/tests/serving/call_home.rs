//! The script by which a host calls home, run by real shells and against a real media plane: with curl, with nothing
//! but bash, and with neither.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acceptance::peers::run;
use dayone::boots::call_home;
use media::listen::{Listener, Options, Tls};
use media::served::{Lookup, Published};
use media::{Call, ExpectedCall, MediaMetrics, MediaService};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz";

struct Nothing;

impl Published for Nothing {
    fn find(&self, _token: &str, _file: &str) -> Lookup {
        Lookup::NotFound
    }
}

/// A media plane, and a host with the programs that it is given.
struct Scene {
    service: MediaService,
    directory: TempDir,
    runtime: Runtime,
}

impl Scene {
    fn new() -> Self {
        let service = media::service(Arc::new(Nothing), MediaMetrics::default());
        Self { service, directory: TempDir::new().unwrap(), runtime: Runtime::new().unwrap() }
    }

    fn listen(&self, address: &str, tls: Option<Tls>) -> SocketAddr {
        let options = Options { tls, ..Options::default() };
        let bound = self.runtime.block_on(Listener::bind(address.parse().unwrap(), options)).unwrap();
        let address = bound.local_addr().unwrap();
        self.runtime.spawn(bound.serve(self.service.clone(), CancellationToken::new()));
        address
    }

    fn tls(&self) -> Tls {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = (self.path("tls.crt"), self.path("tls.key"));
        fs::write(&certificate, issued.cert.pem()).unwrap();
        fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
        Tls::from_files(&certificate, &key).unwrap()
    }

    fn expect(&self) -> ExpectedCall {
        self.service.call_homes().expect(TOKEN.parse().unwrap()).unwrap()
    }

    /// Waits for a call, and notes that it is recorded.
    fn record(&self) -> JoinHandle<Call> {
        let mut waiting = self.expect();
        self.runtime.spawn(async move {
            waiting.arrives().await;
            let call = waiting.call().unwrap();
            waiting.recorded();
            call
        })
    }

    /// What was recorded.
    fn call(&self, recorded: JoinHandle<Call>) -> Call {
        let call = async { tokio::time::timeout(Duration::from_secs(30), recorded).await };
        self.runtime.block_on(call).expect("a call").unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A system with these programs and no others. What it logs is in the file `log`, and it does not sleep for long.
    fn host(&self, url: &str, programs: &[&str]) -> Host {
        let bin = self.path("bin");
        // It may have been another host before.
        let _ = fs::remove_dir_all(&bin);
        fs::create_dir(&bin).unwrap();
        for name in ["mkdir", "rmdir"].iter().chain(programs) {
            let mut found = ["/usr/bin", "/bin"].map(|directory| Path::new(directory).join(name)).into_iter();
            let program = found.find(|path| path.exists()).unwrap_or_else(|| panic!("no {name}"));
            symlink(program, bin.join(name)).unwrap();
        }
        let log = self.path("log");
        program(&bin.join("logger"), &format!("echo \"$*\" >> {}", log.display()));
        program(&bin.join("sleep"), "/bin/sleep 0.05");
        let (script, state) = (self.path("90-dayone-call-home"), self.path("state"));
        let text = String::from_utf8(call_home::script(url).unwrap().contents.to_vec()).unwrap();
        let (own, here) = ("state=/run/dayone-call-home", format!("state={}", state.display()));
        assert!(text.contains(own));
        fs::write(&script, text.replace(own, &here)).unwrap();
        Host { script, state, log, bin }
    }
}

struct Host {
    script: PathBuf,
    state: PathBuf,
    log: PathBuf,
    bin: PathBuf,
}

impl Host {
    /// What NetworkManager's dispatcher does, with a shell of choice. It must not be kept waiting.
    fn event(&self, shell: &[&str], interface: &str, action: &str) {
        let start = Instant::now();
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(&self.script).args([interface, action]);
        // Without a proxy of ours, which the host has not either.
        run(command.env_clear().env("PATH", &self.bin).env("http_proxy", "http://127.0.0.1:9"));
        assert!(start.elapsed() < Duration::from_secs(3), "the dispatcher was kept waiting");
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn wait_for_log(&self, part: &str) {
        let start = Instant::now();
        while !self.log().contains(part) {
            assert!(start.elapsed() < Duration::from_secs(30), "{part:?} is not in the log: {:?}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn program(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const SHELLS: [&[&str]; 2] = [&["/bin/dash"], &["/bin/bash", "--posix"]];
const BASH: [&str; 3] = ["bash", "timeout", "printf"];

#[test]
fn a_host_calls_home_by_curl_or_by_bash_over_both_families_and_once() {
    let scene = Scene::new();
    let addresses = [scene.listen("127.0.0.1:0", None), scene.listen("[::1]:0", None)];
    let secure = scene.listen("127.0.0.1:0", Some(scene.tls()));
    let by_http = addresses.map(|address| format!("http://{address}/h/{TOKEN}"));
    let by_https = format!("https://{secure}/h/{TOKEN}");
    let mut ways: Vec<(&str, &[&str])> = vec![(&by_https, &["curl"])];
    for url in &by_http {
        ways.extend([(url.as_str(), &["curl"][..]), (url, &BASH)]);
    }
    for ((url, programs), shell) in ways.into_iter().zip(SHELLS.iter().cycle()) {
        let host = scene.host(url, programs);
        let recorded = scene.record();
        for (interface, action) in [("eth0", "down"), ("none", "hostname"), ("lo", "up"), ("eth0", "pre-up")] {
            host.event(shell, interface, action);
        }
        assert!(!host.state.exists(), "none of these says that there is an address");
        host.event(shell, "eth0", "up");
        host.wait_for_log("called home");
        let call = scene.call(recorded);
        assert_eq!(call.user_agent.as_deref(), Some("dayone-call-home"));
        assert_eq!(call.tls.is_some(), url.starts_with("https"));

        let again = scene.expect();
        host.event(shell, "eth1", "up");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(again.call(), None, "it calls once for each boot");
        assert_eq!(host.log().lines().count(), 1, "{}", host.log());
        assert!(host.log().contains("(try 1, eth0 up)") && !host.log().contains(TOKEN), "{}", host.log());
        fs::remove_dir(&host.state).unwrap();
        fs::remove_file(&host.log).unwrap();
    }
}

#[test]
fn the_shell_of_busybox_runs_it_too() {
    let scene = Scene::new();
    let address = scene.listen("127.0.0.1:0", None);
    let host = scene.host(&format!("http://{address}/h/{TOKEN}"), &["curl"]);
    let recorded = scene.record();
    // It has a logger of its own, which logs elsewhere.
    host.event(&["/bin/busybox", "sh"], "eth0", "up");
    scene.call(recorded);
}

#[test]
fn a_host_goes_on_calling_until_it_is_heard() {
    let scene = Scene::new();
    let address = scene.listen("127.0.0.1:0", None);
    for programs in [&["curl"][..], &BASH] {
        // The way through the network is there, and what answers is not (yet) who is called.
        scene.service.call_homes().forget(&TOKEN.parse().unwrap());
        let host = scene.host(&format!("http://{address}/h/{TOKEN}"), programs);
        host.event(SHELLS[0], "eth0", "dhcp4-change");
        std::thread::sleep(Duration::from_millis(200));
        host.event(SHELLS[0], "eth0", "connectivity-change");
        let recorded = scene.record();
        host.wait_for_log("called home");
        scene.call(recorded);
        assert!(!host.log().contains("(try 1,"), "{}", host.log());
        fs::remove_dir(&host.state).unwrap();
        fs::remove_file(&host.log).unwrap();
    }
    // Nobody listens on a port that has just been free. The next event is another chance.
    let host = scene.host(&format!("http://{}/h/{TOKEN}", acceptance::server::free_address()), &["curl"]);
    host.event(SHELLS[0], "eth0", "up");
    host.wait_for_log("could not call home");
    assert!(!host.state.exists());
}

#[test]
fn a_host_calls_again_until_its_call_is_recorded() {
    let scene = Scene::new();
    let address = scene.listen("127.0.0.1:0", None);
    for programs in [&["curl"][..], &BASH] {
        let host = scene.host(&format!("http://{address}/h/{TOKEN}"), programs);
        let mut waiting = scene.expect();
        host.event(SHELLS[0], "eth0", "up");
        scene.runtime.block_on(waiting.arrives());
        // Whoever waits for the call cannot record it.
        drop(waiting);
        let recorded = scene.record();
        host.wait_for_log("called home");
        scene.call(recorded);
        assert!(!host.log().contains("(try 1,"), "{}", host.log());
        fs::remove_dir(&host.state).unwrap();
        fs::remove_file(&host.log).unwrap();
    }
}

#[test]
fn a_host_that_has_nothing_to_call_with_says_so() {
    let scene = Scene::new();
    for (url, programs) in [("http", &[][..]), ("https", &BASH)] {
        let host = scene.host(&format!("{url}://192.0.2.1:8081/h/{TOKEN}"), programs);
        host.event(SHELLS[0], "eth0", "up");
        host.event(SHELLS[0], "eth1", "up");
        assert_eq!(
            host.log(),
            "-t dayone cannot call home to 192.0.2.1:8081: there is no curl here, and for http no bash either\n"
        );
        fs::remove_dir(&host.state).unwrap();
        fs::remove_file(&host.log).unwrap();
    }
}

#[test]
fn shellcheck_finds_nothing() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("script");
    fs::write(&path, call_home::script("http://192.0.2.1:8081/h/x").unwrap().contents).unwrap();
    run(Command::new("shellcheck").arg("--shell=sh").arg(&path));
}
