//! A base lies on a file system that hangs: FUSE, with QEMU's storage daemon stopped. Other bases, the API and health answer
//! all the while, requests over the base get 503 within a bound, and threads do not pile up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::server::{Server, free_address};
use reqwest::blocking::{Client, Response};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// What a request over the hung base may take: the bound is 5 s, the machine does other things too.
const BOUND: Duration = Duration::from_secs(9);

/// What everything else may take.
const PROMPT: Duration = Duration::from_secs(2);

/// A file that shows another one, by way of a process that can be stopped.
struct Fuse {
    daemon: Child,
    path: PathBuf,
}

impl Fuse {
    fn mount(file: &Path, path: PathBuf) -> Self {
        fs::write(&path, "").unwrap();
        let blockdev = format!("driver=file,node-name=base,read-only=on,filename={}", file.display());
        let export = format!("type=fuse,id=export,node-name=base,mountpoint={}", path.display());
        let mut daemon = Command::new("qemu-storage-daemon");
        daemon.args(["--blockdev", &blockdev, "--export", &export]).stdin(Stdio::null());
        let fuse = Self { daemon: daemon.spawn().expect("qemu-storage-daemon; see scripts/setup-peers.sh"), path };
        let begun = Instant::now();
        while fs::metadata(&fuse.path).unwrap().len() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "the file is not mounted: is /dev/fuse there?");
            thread::sleep(Duration::from_millis(50));
        }
        fuse
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.daemon), signal).unwrap();
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

fn client() -> Client {
    Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap()
}

fn range(url: &str) -> Response {
    client().get(url).header("Range", "bytes=100000-165535").send().unwrap()
}

fn document() -> PathBuf {
    fixtures("scenarios").join("static-ipv4-baremetalhost.yaml")
}

fn publish(server: &Server, base: &str) -> Response {
    let request = client().post(format!("{}/v1/images?base={base}&format=iso", server.api));
    request.header("Content-Type", "application/yaml").body(fs::read(document()).unwrap()).send().unwrap()
}

fn threads(server: &Server) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
    threads.trim().parse().unwrap()
}

fn within<T>(bound: Duration, what: &str, act: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = act();
    assert!(begun.elapsed() < bound, "{what} took {:?}", begun.elapsed());
    done
}

fn others_are_prompt(server: &Server, other: &str) {
    for _ in 0..5 {
        let health = format!("{}/healthz", server.api);
        assert!(within(PROMPT, "health", || client().get(&health).send().unwrap()).status().is_success());
        assert_eq!(within(PROMPT, "another base", || range(other)).status(), 206);
        assert!(within(PROMPT, "an image over another base", || publish(server, "other")).status().is_success());
        let bases = format!("{}/v1/bases", server.api);
        assert!(within(PROMPT, "the API", || client().get(&bases).send().unwrap()).status().is_success());
    }
}

#[test]
fn a_base_whose_file_system_hangs_stops_nothing_else_and_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let base = coreos_iso(&["--size-mib", "8"]);
    let other_base = coreos_iso(&["--size-mib", "9"]);
    let fuse = Fuse::mount(&other_base, directory.path().join("hung.iso"));
    let hung = format!("hung={}", fuse.path.display());
    let mut server = Server::start_at(&free_address(), &free_address(), "other", &base, &["--base", &hung]);
    let url = |image: &Value| image["url"].as_str().unwrap().to_owned();
    let (hung, other) = (url(&server.image("hung", &document())), url(&server.image("other", &document())));
    assert_ne!(hung, other);
    let bytes = range(&hung).bytes().unwrap();
    let at_rest = threads(&server);

    fuse.signal(Signal::STOP);
    let requests: Vec<_> = (0..200)
        .map(|_| {
            let url = hung.clone();
            thread::spawn(move || within(BOUND, "a range over the hung base", || range(&url)).status())
        })
        .collect();
    others_are_prompt(&server, &other);
    for request in requests {
        assert_eq!(request.join().unwrap(), 503);
    }
    for _ in 0..100 {
        assert_eq!(within(PROMPT, "a later range", || range(&hung)).status(), 503);
    }
    for _ in 0..3 {
        assert_eq!(within(BOUND, "an image over the hung base", || publish(&server, "hung")).status(), 503);
    }
    others_are_prompt(&server, &other);
    // What blocks is bounded. Beside that, tokio keeps threads for work that blocks, for a while.
    let blocked = blocked_in_fuse(&server);
    assert!(blocked <= 24, "{blocked} threads wait for the file system");
    assert!(threads(&server) < at_rest + 100, "{} threads, {at_rest} at rest", threads(&server));
    let log = server.log();
    assert!(log.contains("file system does not answer") || log.contains("file system has not answered"), "{log}");

    // A server that starts while it hangs goes on without the base.
    within(Duration::from_secs(30), "a start", || server.kill_and_start_again_unready());
    others_are_prompt(&server, &other);
    assert_eq!(range(&hung).status(), 503);

    fuse.signal(Signal::CONT);
    let begun = Instant::now();
    while range(&hung).status() != 206 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the base does not come back:\n{}", server.log());
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(range(&hung).bytes().unwrap(), bytes);
}

/// How many of the server's threads sleep in the kernel's FUSE code.
fn blocked_in_fuse(server: &Server) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.process_id())).unwrap();
    let waits = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("wchan")).ok());
    waits.filter(|wait| wait.contains("fuse") || wait.contains("request_wait_answer")).count()
}
