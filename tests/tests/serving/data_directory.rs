//! `dayone serve` and its data directory: full, read-only, gone, or with another one in its place.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::server::{dayone, free_address, wait_for};
use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

const DOCUMENT: &str = "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]";

/// Runs what it reads line by line, and says when it is done. `serve` starts the server again.
const SHELL: &str = r#"
mount -t tmpfs -o size=1m,mode=700 data "$1/data"
root=$1 binary=$2 base=$3 api=$4 media=$5
serve() {
    "$binary" serve --data-dir "$root/data" --base "coreos=$base" --api-listen "$api" --media-listen "$media" \
        --media-url "http://$media" < /dev/null >> "$root/log" 2>&1 &
    server=$!
}
serve
while read -r line; do eval "$line" > /dev/null 2>> "$1/log"; echo "$?"; done
"#;

/// A server in a mount namespace of its own, with a data directory on a small file system in memory.
struct Machine {
    process: Child,
    shell: ChildStdin,
    answers: BufReader<ChildStdout>,
    root: TempDir,
    api: String,
    media: String,
}

impl Machine {
    fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("data")).unwrap();
        let (api, media) = (free_address(), free_address());
        let binary = PathBuf::from(dayone().get_program());
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            SHELL,
            "sh",
        ]);
        command.arg(root.path()).arg(binary).arg(coreos_iso(&[])).args([&api, &media]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (shell, answers) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let machine =
            Self { process, shell, answers, root, api: format!("http://{api}"), media: format!("http://{media}") };
        wait_for(&format!("{}/readyz", machine.api), Duration::from_secs(60), || machine.log());
        machine
    }

    /// Runs a command where the server runs. The data directory is `data`.
    fn run(&mut self, line: &str) {
        let place = self.root.path().display();
        writeln!(self.shell, "cd {place}; {line}").unwrap();
        let mut status = String::new();
        self.answers.read_line(&mut status).unwrap();
        assert_eq!(status.trim(), "0", "{line}: {}", self.log());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.root.path().join("log")).unwrap_or_default()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.api)
    }

    fn order(&self, host: &str) -> Response {
        let request = Client::new().post(self.url(&format!("/v1/images?base=coreos&hostname={host}")));
        request.header("content-type", "application/yaml").body(DOCUMENT).send().unwrap()
    }

    /// What the order is refused with: the kind of the problem and its detail.
    fn refused(&self, host: &str, status: u16, kind: &str) -> String {
        problem(self.order(host), status, kind)
    }

    fn delete(&self, path: &str) -> Response {
        Client::new().delete(self.url(path)).send().unwrap()
    }

    fn images(&self) -> Vec<String> {
        let list: Value = reqwest::blocking::get(self.url("/v1/images")).unwrap().json().unwrap();
        list["images"].as_array().unwrap().iter().map(|image| image["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until readiness is as it should be, and says why it is not there.
    fn readiness(&self, ready: bool) -> String {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let answer = reqwest::blocking::get(self.url("/readyz")).unwrap();
            let status = answer.status();
            let body: Value = answer.json().unwrap();
            if body["ready"] == ready {
                assert_eq!(status, if ready { 200 } else { 503 });
                assert_eq!(body["data_directory"], if ready { "available" } else { "unavailable" });
                let text = body.to_string();
                assert!(
                    !text.contains(&self.root.path().display().to_string()),
                    "needs no token and names no file: {text}"
                );
                return body["problems"].to_string();
            }
            assert!(Instant::now() < deadline, "ready is not {ready}: {body}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// That the image is there for BMCs.
    fn serves(&self, image: &Value) {
        let url = image["url"].as_str().unwrap();
        assert!(url.starts_with(&self.media), "{url}");
        assert_eq!(Client::new().head(url).send().unwrap().status(), 200);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn problem(answer: Response, status: u16, kind: &str) -> String {
    let found = answer.status();
    let body: Value = answer.json().unwrap();
    assert_eq!(
        (found.as_u16(), body["type"].as_str()),
        (status, Some(format!("/v1/problems/{kind}").as_str())),
        "{body}"
    );
    body["detail"].as_str().unwrap().to_owned()
}

fn made(answer: Response, status: u16) -> Value {
    let found = answer.status();
    let body: Value = answer.json().unwrap();
    assert_eq!(found.as_u16(), status, "{body}");
    body
}

fn id(image: &Value) -> String {
    image["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_full_file_system_is_507_until_there_is_room() {
    let mut machine = Machine::start();
    let first = made(machine.order("worker-0"), 201);
    machine.run("dd if=/dev/zero of=data/fill bs=4k; true");
    let detail = machine.refused("worker-1", 507, "storage-full");
    assert!(detail.contains("no space is left") && detail.contains("make room"), "{detail}");
    let why = machine.readiness(false);
    assert!(why.contains("no space is left"), "{why}");
    // What is on the disk is there, and is served.
    assert_eq!(made(machine.order("worker-0"), 200)["id"], first["id"]);
    machine.serves(&first);
    assert_eq!(machine.images(), [id(&first)]);

    machine.run("rm data/fill");
    machine.readiness(true);
    made(machine.order("worker-1"), 201);
    assert!(machine.log().contains("can be written again"), "{}", machine.log());
}

#[test]
fn a_stop_on_a_full_file_system_does_not_lose_how_often_an_image_was_read() {
    let mut machine = Machine::start();
    let limited: Vec<String> = (0..3)
        .map(|host| {
            let query = format!("/v1/images?base=coreos&hostname=worker-{host}&max_reads=1");
            let request = Client::new().post(machine.url(&query)).header("content-type", "application/yaml");
            made(request.body(DOCUMENT).send().unwrap(), 201)["url"].as_str().unwrap().to_owned()
        })
        .collect();
    machine.run("dd if=/dev/zero of=data/fill bs=4k; true");
    for url in &limited {
        let answer = reqwest::blocking::get(url).unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes().unwrap();
        assert_eq!(Client::new().head(url).send().unwrap().status(), 403, "it is used up");
    }
    machine.run("kill -TERM $server && wait $server && serve");
    wait_for(&machine.url("/healthz"), Duration::from_secs(60), || machine.log());
    for url in &limited {
        assert_eq!(Client::new().head(url).send().unwrap().status(), 403, "{}", machine.log());
    }
}

#[test]
fn a_key_that_was_rotated_is_taken_over_on_a_full_file_system() {
    let mut machine = Machine::start();
    let first = made(machine.order("worker-0"), 201);
    // The command writes the key, and would then wait for a server.
    machine.run(
        "kill -TERM $server; wait $server; \"$binary\" key rotate --data-dir data & rotation=$!; \
         for _ in $(seq 600); do [ $(stat -c %s data/key) = 32 ] || break; sleep 0.05; done; kill $rotation; \
         dd if=/dev/zero of=data/fill bs=4k; serve",
    );
    wait_for(&machine.url("/healthz"), Duration::from_secs(60), || machine.log());
    assert!(machine.log().contains("cannot write into the file of the installation key"), "{}", machine.log());
    let second = made(machine.order("worker-0"), 200);
    assert_ne!(first["url"], second["url"]);
    machine.run("rm data/fill");
    machine.run(
        "for _ in $(seq 300); do grep -q taken_over data/key && break; sleep 0.1; done; grep -q taken_over data/key",
    );
    machine.serves(&first);
    machine.serves(&second);
}

#[test]
fn a_read_only_file_system_is_503_and_takes_nothing_back() {
    let mut machine = Machine::start();
    let first = made(machine.order("worker-0"), 201);
    machine.run("mount --bind data data && mount -o remount,bind,ro data");
    // Seen before anybody writes.
    let why = machine.readiness(false);
    assert!(why.contains("read-only"), "{why}");
    let detail = machine.refused("worker-1", 503, "storage-unavailable");
    assert!(detail.contains("read-only"), "{detail}");
    let path = format!("/v1/images/{}", id(&first));
    problem(machine.delete(&path), 503, "storage-unavailable");
    machine.serves(&first);
    assert_eq!(made(machine.order("worker-0"), 200)["id"], first["id"]);

    let boot = json!({"base": "coreos", "documents": DOCUMENT, "bmc": {"address": "redfish+http://127.0.0.1:1/redfish/v1/Systems/1"}});
    let answer = Client::new().post(machine.url("/v1/boots")).json(&boot).send().unwrap();
    problem(answer, 503, "storage-unavailable");
    assert_eq!(machine.images(), [id(&first)], "a boot that is refused leaves no image");

    machine.run("umount data");
    machine.readiness(true);
    assert_eq!(machine.delete(&path).status(), 204);
    made(machine.order("worker-0"), 201);
}

#[test]
fn a_directory_that_is_not_the_one_that_was_opened_is_not_written_to() {
    let mut machine = Machine::start();
    let first = made(machine.order("worker-0"), 201);
    let path = format!("/v1/images/{}", id(&first));
    // An empty file system, and one that looks like a data directory.
    for (mount, directories) in [(true, "true"), (true, "mkdir data/images data/boots"), (false, "true")] {
        if mount {
            machine.run(&format!("mount -t tmpfs other data && {directories}"));
        } else {
            machine.run("mkdir away && mount --move data away");
        }
        let why = machine.readiness(false);
        assert!(why.contains("removed") || why.contains("another directory"), "{why}");
        // Also what is there already is not on this disk.
        for host in ["worker-0", "worker-1"] {
            let detail = machine.refused(host, 503, "storage-unavailable");
            assert!(detail.contains("removed") || detail.contains("another directory"), "{detail}");
        }
        problem(machine.delete(&path), 503, "storage-unavailable");
        machine.serves(&first);
        machine.run("[ -z \"$(find data -type f)\" ]");
        machine.run(if mount { "umount data" } else { "mount --move away data && rmdir away" });
        machine.readiness(true);
        assert_eq!(made(machine.order("worker-0"), 200)["id"], first["id"]);
    }
}

#[test]
fn a_record_that_was_removed_is_written_again_before_the_image_is_acknowledged() {
    let mut machine = Machine::start();
    let first = made(machine.order("worker-0"), 201);
    let record = format!("data/images/{}.json", id(&first));
    machine.run(&format!("cp {record} kept"));
    for spoil in [format!("rm {record}"), format!("truncate -s 20 {record}")] {
        machine.run(&spoil);
        assert_eq!(made(machine.order("worker-0"), 200)["id"], first["id"]);
        machine.run(&format!("cmp {record} kept"));
    }
}

/// The same on the machine's own file system, without any namespace: the directory is renamed away.
#[test]
fn a_directory_that_was_renamed_is_missed_and_found_again() {
    let server = acceptance::server::Server::start("coreos", &coreos_iso(&[]));
    let order = |host: &str| {
        let request = Client::new().post(format!("{}/v1/images?base=coreos&hostname={host}", server.api));
        request.header("content-type", "application/yaml").body(DOCUMENT).send().unwrap()
    };
    let readiness = || reqwest::blocking::get(format!("{}/readyz", server.api)).unwrap();
    let first = made(order("worker-0"), 201);
    let (data, away): (PathBuf, PathBuf) = (server.directory().join("data"), server.directory().join("away"));
    fs::rename(&data, &away).unwrap();
    for host in ["worker-0", "worker-1"] {
        let detail = problem(order(host), 503, "storage-unavailable");
        assert!(detail.contains("removed or renamed"), "{detail}");
    }
    assert_eq!(readiness().status(), 503);
    assert!(!Path::new(&data).exists(), "nothing is made in its place");

    fs::rename(&away, &data).unwrap();
    assert_eq!(made(order("worker-0"), 200)["id"], first["id"]);
    wait_for(&format!("{}/readyz", server.api), Duration::from_secs(30), || server.log());
    made(order("worker-1"), 201);
}
