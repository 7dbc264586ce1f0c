//! 13,500 hosts over three bases: how long their images take to order, list, delete and take up again, and what they cost in
//! memory. Prints a part of `docs/benchmarks.md`.

#[path = "common/client.rs"]
mod client;
#[path = "common/fleet.rs"]
mod fleet;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acceptance::goals::Goals;
use acceptance::hosts::bond_and_vlans;
use acceptance::server::{dayone, free_address, wait_for};
use acceptance::usage;
use client::Connection;
use serde_json::Value;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const BASES: [&str; 3] = ["base0", "base1", "base2"];
/// For each base.
const REQUESTS: usize = 9;
const HOSTS: usize = 500;

const CLIENTS: usize = 8;
const POSTS: usize = 250;

/// Of each kind, with a key and without.
const STARTS: usize = 5;

struct Server {
    process: Child,
    api: String,
}

impl Server {
    /// Starts it, and returns how long it took until it was ready.
    fn start(work: &Path, bases: &[PathBuf], keys: Option<&Path>) -> Outcome<(Self, Duration)> {
        let (api, media) = (free_address(), free_address());
        let mut command = dayone();
        command.args(["serve", "--log", "warn", "--api-listen", &api, "--media-listen", &media]);
        command.arg("--data-dir").arg(work.join("data")).args(["--media-url", &format!("http://{media}")]);
        for (name, path) in BASES.iter().zip(bases) {
            command.args(["--base", &format!("{name}={}", path.display())]);
        }
        if let Some(keys) = keys {
            command.arg("--data-key-file").arg(keys);
        }
        let begun = Instant::now();
        let server = Self { process: command.spawn()?, api };
        wait_for(&format!("http://{}/readyz", server.api), Duration::from_secs(120), String::new);
        Ok((server, begun.elapsed()))
    }

    /// In KiB.
    fn memory(&self) -> u64 {
        usage::memory(self.process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn main() -> Outcome<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("a parent")?;
    let work = tempfile::tempdir()?;
    let bases: Vec<PathBuf> = BASES.iter().map(|name| work.path().join(format!("{name}.iso"))).collect();
    for (number, base) in bases.iter().enumerate() {
        let size = (64 + number).to_string();
        let mut make = Command::new(root.join("fixtures/bases/make-coreos-iso.sh"));
        let made = make.arg(base).args(["--size-mib", &size]).stdout(Stdio::null()).status()?;
        if !made.success() {
            return Err("a base could not be made".into());
        }
    }
    let count = BASES.len() * REQUESTS * HOSTS;
    println!("## {count} hosts\n");
    println!(
        "{} requests with {HOSTS} hosts each (`HostFleet`: a bond and two VLANs), over {} CoreOS ISOs, one after the other. Every image is",
        BASES.len() * REQUESTS,
        BASES.len()
    );
    println!("planned, and its record is on disk (fsync), when its request is answered.\n");
    println!("| measure | value |\n| --- | --- |");

    let (server, _) = Server::start(work.path(), &bases, None)?;
    let before = server.memory();
    let begun = Instant::now();
    let mut connection = Connection::new(&server.api)?;
    let (mut first, mut last) = (String::new(), String::new());
    for request in 0..REQUESTS {
        for (number, base) in BASES.iter().enumerate() {
            let start = (number * REQUESTS + request) * HOSTS;
            let path = format!("/v1/images?base={base}&hosts=all");
            let (status, body) = connection.ask("POST", &path, &fleet::fleet(start..start + HOSTS))?;
            let answer: Value = serde_json::from_slice(&body)?;
            if status != 207 || answer["failed"] != 0 {
                return Err(format!("{status}: {answer:.300}").into());
            }
            last = text(&answer["hosts"][0]["image"]["id"]);
            if first.is_empty() {
                first.clone_from(&last);
            }
        }
    }
    let mut goals = Goals::default();
    let ordered = begun.elapsed().as_secs_f64();
    goals.at_most("all images ordered", ordered, 10.0, " s");
    println!("| all {count} images ordered | {ordered:.1} s |");
    let memory = server.memory();
    let for_each = memory.saturating_sub(before) as f64 / count as f64;
    goals.at_most("memory for each image", for_each, 8.0, " KiB");
    println!(
        "| memory for each image, while it serves (RSS; the whole process then has {:.0} MiB) | {for_each:.1} KiB |",
        mebibytes(memory)
    );
    let list = |connection: &mut Connection| timed(|| connection.ask("GET", "/v1/images?limit=100", ""));
    println!("| a list of 100 of them | {} |", ms(list(&mut connection)?));
    let delete =
        |connection: &mut Connection, id: &str| timed(|| connection.ask("DELETE", &format!("/v1/images/{id}"), ""));
    println!(
        "| deletion of the first, of the last | {}, {} |",
        ms(delete(&mut connection, &first)?),
        ms(delete(&mut connection, &last)?)
    );

    let before = usage::processor_time(server.process.id());
    let mut times = posts(&server.api)?;
    let processor = usage::processor_time(server.process.id()).saturating_sub(before);
    times.sort();
    let (middle, late) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("| one host in a request, {CLIENTS} clients at once: p50, p99 | {}, {} |", ms(middle), ms(late));
    println!("| … processor time of a request | {:.2} ms |", processor.as_secs_f64() * 1e3 / times.len() as f64);
    goals.at_most("one host in a request, p50", middle.as_secs_f64() * 1e3, 1.0, " ms");
    goals.at_most("one host in a request, p99", late.as_secs_f64() * 1e3, 5.0, " ms");
    drop(connection);
    drop(server);

    let records = fs::read_dir(work.path().join("data/images"))?.count();
    let (server, ready) = Server::start(work.path(), &bases, None)?;
    println!("| start until it is ready, with {records} records | {:.2} s |", ready.as_secs_f64());
    goals.at_most("start until it is ready", ready.as_secs_f64(), 1.0, " s");
    println!("| memory after that (RSS) | {:.0} MiB |", mebibytes(server.memory()));
    drop(server);
    starts_with_a_key(work.path(), &bases)?;
    goals.print();
    Ok(())
}

/// The first start with a key, which encrypts the records, and how much longer later ones take than those without.
fn starts_with_a_key(work: &Path, bases: &[PathBuf]) -> Outcome<()> {
    let (keys, none) = (work.join("data.key"), work.join("none.key"));
    let key = "1".repeat(64);
    for (path, text) in [(&keys, key.clone()), (&none, format!("none\n{key}"))] {
        fs::write(path, text)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    // One after the other, so that whatever else the machine does meets both.
    let (mut plain, mut encrypted) = (Vec::new(), Vec::new());
    let (mut first, mut last) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..STARTS {
        plain.push(Server::start(work, bases, None)?.1);
        first = Server::start(work, bases, Some(&keys))?.1;
        encrypted.push(Server::start(work, bases, Some(&keys))?.1);
        last = Server::start(work, bases, Some(&none))?.1;
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64()
    };
    let (plain, encrypted) = (median(&mut plain), median(&mut encrypted));
    println!(
        "| start with encrypted records, median of {STARTS}; times a start without | {encrypted:.2} s; {:.2} |",
        encrypted / plain
    );
    println!("| the first start with a key, which encrypts all records | {:.2} s |", first.as_secs_f64());
    println!("| the first start with `none`, which decrypts them | {:.2} s |", last.as_secs_f64());
    Ok(())
}

/// Times of requests with one host each.
fn posts(api: &str) -> Outcome<Vec<Duration>> {
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let api = api.to_owned();
            std::thread::spawn(move || -> Outcome<Vec<Duration>> {
                let mut connection = Connection::new(&api)?;
                (0..POSTS)
                    .map(|number| {
                        let document = bond_and_vlans(20_000 + client * POSTS + number);
                        timed(|| connection.ask("POST", "/v1/images?base=base0&format=iso", &document))
                    })
                    .collect()
            })
        })
        .collect();
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.join().map_err(|_| "a client has panicked")??);
    }
    Ok(times)
}

fn timed(ask: impl FnOnce() -> std::io::Result<(u16, Vec<u8>)>) -> Outcome<Duration> {
    let begun = Instant::now();
    let (status, body) = ask()?;
    if !(200..300).contains(&status) {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
    }
    Ok(begun.elapsed())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn mebibytes(kibibytes: u64) -> f64 {
    kibibytes as f64 / 1024.0
}
