//! A base lies on a file system that hangs: FUSE, with the daemon of bindfs stopped. Other bases, the API and health answer
//! all the while, requests over the base get 503 within a bound, and threads do not pile up.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::file_system::Fuse;
use acceptance::server::{Server, free_address};
use reqwest::blocking::{Client, Response};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// What a request over the hung base may take: the bound is 5 s, the machine does other things too.
const BOUND: Duration = Duration::from_secs(9);

/// What everything else may take.
const PROMPT: Duration = Duration::from_secs(2);

/// Nothing is remembered for longer than a moment: each look asks the daemon.
const FORGETFUL: &str = "attr_timeout=0,entry_timeout=0";

/// Lets the daemon go on, whatever becomes of the test: a process that waits for it cannot even be killed.
struct Resume(Pid);

impl Drop for Resume {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// Making one takes a while, which is not to be measured.
static CLIENT: LazyLock<Client> =
    LazyLock::new(|| Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap());

fn range(url: &str) -> Response {
    CLIENT.get(url).header("Range", "bytes=100000-165535").send().unwrap()
}

fn document() -> PathBuf {
    fixtures("scenarios").join("static-ipv4-baremetalhost.yaml")
}

fn publish(server: &Server, base: &str) -> Response {
    let request = CLIENT.post(format!("{}/v1/images?base={base}&format=iso", server.api));
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
        assert!(within(PROMPT, "health", || CLIENT.get(&health).send().unwrap()).status().is_success());
        assert_eq!(within(PROMPT, "another base", || range(other)).status(), 206);
        assert!(within(PROMPT, "an image over another base", || publish(server, "other")).status().is_success());
        let bases = format!("{}/v1/bases", server.api);
        assert!(within(PROMPT, "the API", || CLIENT.get(&bases).send().unwrap()).status().is_success());
    }
}

#[test]
fn a_base_whose_file_system_hangs_stops_nothing_else_and_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let base = coreos_iso(&["--size-mib", "8"]);
    let shown = directory.path().join("shown");
    fs::create_dir(&shown).unwrap();
    fs::copy(coreos_iso(&["--size-mib", "9"]), shown.join("base.iso")).unwrap();
    // So old that it is not taken for one that is being written.
    thread::sleep(Duration::from_millis(2500));
    let fuse = Fuse::mount(&shown, directory.path().join("mounted"), FORGETFUL);
    let hung = format!("hung={}", fuse.path().join("base.iso").display());
    let mut server = Server::start_at(&free_address(), &free_address(), "other", &base, &["--base", &hung]);
    let _resume = Resume(fuse.daemon());
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

    fuse.signal(Signal::CONT);
    comes_back(&server, &hung);
    assert_eq!(range(&hung).bytes().unwrap(), bytes);

    // A server that starts while it hangs goes on without the base.
    server.stop();
    fuse.signal(Signal::STOP);
    within(Duration::from_secs(30), "a start", || server.start_again_unready());
    others_are_prompt(&server, &other);
    assert_eq!(within(PROMPT, "a range over a base that was never opened", || range(&hung)).status(), 503);
    fuse.signal(Signal::CONT);
    comes_back(&server, &hung);
    assert_eq!(range(&hung).bytes().unwrap(), bytes);
}

/// Digests are computed one at a time, and new bases are read whole: neither may wait for a base that hangs meanwhile.
#[test]
fn reading_that_hangs_in_the_middle_stops_no_other_digest_and_no_other_new_base() {
    let directory = tempfile::tempdir().unwrap();
    let shown = directory.path().join("shown");
    fs::create_dir(&shown).unwrap();
    // So large that reading it by way of FUSE takes a while.
    fs::copy(coreos_iso(&["--size-mib", "700"]), shown.join("base.iso")).unwrap();
    let base = directory.path().join("other.iso");
    fs::copy(coreos_iso(&["--size-mib", "8"]), &base).unwrap();
    thread::sleep(Duration::from_millis(2500));
    let fuse = Fuse::mount(&shown, directory.path().join("mounted"), &format!("{FORGETFUL},direct_io"));
    let hung = format!("hung={}", fuse.path().join("base.iso").display());
    let server = Server::start_at(&free_address(), &free_address(), "other", &base, &["--base", &hung]);
    let _resume = Resume(fuse.daemon());
    let id = |image: &Value| image["id"].as_str().unwrap().to_owned();
    let (hung, other) = (id(&server.image("hung", &document())), id(&server.image("other", &document())));
    let request = |id: &str| CLIENT.get(format!("{}/v1/images/{id}/sha256", server.api));
    let digest = |id: &str| request(id).send().unwrap().status();
    let later = |id: &str| request(id).header("prefer", "respond-async").send().unwrap();

    thread::scope(|scope| {
        let read = bytes_read(&server);
        let first = scope.spawn(|| digest(&hung));
        // It has begun, and is not done.
        let begun = Instant::now();
        while bytes_read(&server) < read + (64 << 20) {
            assert!(!first.is_finished() && begun.elapsed() < Duration::from_secs(20), "the digest is not computed");
            thread::sleep(Duration::from_millis(1));
        }
        fuse.signal(Signal::STOP);
        // A client that does not want to wait gets 202, and no second computation begins.
        let answer = within(BOUND, "an answer without the digest", || later(&hung));
        assert!(answer.status() == 202 && answer.headers()["retry-after"] == "5", "{answer:?}");
        assert!(within(2 * BOUND, "a digest over another base", || digest(&other)).is_success());
        assert_eq!(first.join().unwrap(), 503);
    });
    fuse.signal(Signal::CONT);
    until_state(&server, "hung", true);

    // Both bases are replaced, and the first one hangs while it is read.
    let read = bytes_read(&server);
    replace(&coreos_iso(&["--size-mib", "701"]), &shown.join("base.iso"));
    until_state(&server, "hung", false);
    let begun = Instant::now();
    while bytes_read(&server) < read + (64 << 20) {
        assert!(begun.elapsed() < Duration::from_secs(30), "it is not read:\n{}", server.log());
        thread::sleep(Duration::from_millis(1));
    }
    fuse.signal(Signal::STOP);
    replace(&coreos_iso(&["--size-mib", "9"]), &base);
    let begun = Instant::now();
    while publish(&server, "other").status() != 201 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the other base does not come back:\n{}", server.log());
        thread::sleep(Duration::from_millis(200));
    }
    fuse.signal(Signal::CONT);
    until_state(&server, "hung", true);
}

/// What the server has read altogether.
fn bytes_read(server: &Server) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{}/io", server.process_id())).unwrap();
    counts.lines().find_map(|line| line.strip_prefix("rchar:")).unwrap().trim().parse().unwrap()
}

/// Puts another file in its place, as those do that write images.
fn replace(new: &Path, path: &Path) {
    let part = path.with_extension("part");
    fs::copy(new, &part).unwrap();
    fs::rename(part, path).unwrap();
}

fn until_state(server: &Server, base: &str, available: bool) {
    let begun = Instant::now();
    loop {
        let answer: Value = CLIENT.get(format!("{}/v1/bases/{base}", server.api)).send().unwrap().json().unwrap();
        if (answer["state"] == "available") == available {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{answer:#}\n{}", server.log());
        thread::sleep(Duration::from_millis(50));
    }
}

fn comes_back(server: &Server, url: &str) {
    let begun = Instant::now();
    while range(url).status() != 206 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the base does not come back:\n{}", server.log());
        thread::sleep(Duration::from_millis(200));
    }
}

/// How many of the server's threads sleep in the kernel's FUSE code.
fn blocked_in_fuse(server: &Server) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.process_id())).unwrap();
    let waits = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("wchan")).ok());
    waits.filter(|wait| wait.contains("fuse") || wait.contains("request_wait_answer")).count()
}
