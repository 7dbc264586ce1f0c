//! What the bound on bytes queued for a client costs a client that reads fast: the same program with the bound, with the
//! short bound for everybody, and without any, in turns. Prints a part of `docs/benchmarks.md`.
//!
//! The other two are made of the same program by a library that is loaded before it and swallows `setsockopt` for
//! `TCP_NOTSENT_LOWAT`.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::server::{Server, free_address};
use acceptance::usage;

const SIZE_MIB: usize = 1024;
const RUNS: usize = 9;
/// Programs that keep the processors busy besides.
const BUSY: usize = 4;

const KEPT: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
int setsockopt(int socket, int level, int name, const void *value, socklen_t length) {
    int (*real)(int, int, int, const void *, socklen_t) = dlsym(RTLD_NEXT, "setsockopt");
    const char *kept = getenv("QUEUES_KEPT");
    if (kept && level == IPPROTO_TCP && name == TCP_NOTSENT_LOWAT
        && (!strcmp(kept, "no") || *(const unsigned *)value == ~0u))
        return 0;
    return real(socket, level, name, value, length);
}
"#;

/// What is told apart: its name, and what `QUEUES_KEPT` says.
const VARIANTS: [(&str, &str); 3] =
    [("dayone: 128 KiB, no limit for fast readers", "yes"), ("128 KiB for every client", "short"), ("no limit", "no")];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Of one run: MB each second alone, processor time of the server for it, and MB each second on a busy machine.
#[derive(Clone, Copy)]
struct Run {
    alone: f64,
    processor: f64,
    busy: f64,
}

fn main() -> Outcome<()> {
    if let Some(base) = std::env::var_os("QUEUES_BASE") {
        return one(base.as_ref());
    }
    let load = fs::read_to_string("/proc/loadavg")?.split(' ').next().ok_or("a number")?.to_owned();
    let work = tempfile::tempdir()?;
    let library = library(work.path())?;
    let base = coreos_iso(&["--size-mib", &SIZE_MIB.to_string()]);
    // What is still to be written to the disk would be measured, too.
    rustix::fs::sync();
    let mut runs = VARIANTS.map(|_| Vec::new());
    for round in 0..RUNS {
        // None is always the one behind another.
        for turn in 0..VARIANTS.len() {
            let variant = (round + turn) % VARIANTS.len();
            runs[variant].push(child(&library, &base, VARIANTS[variant].1)?);
        }
    }
    println!("## What the limit on queued bytes costs a fast reader\n");
    println!(
        "One client reads an ISO of {SIZE_MIB} MiB over HTTP on loopback, alone and beside {BUSY} programs that keep the"
    );
    println!(
        "processors busy. Medians of {RUNS} alternating runs. Numbers in brackets are the ratio to the row without a limit.\n"
    );
    println!("| bytes queued for a client (`TCP_NOTSENT_LOWAT`) | alone | dayone's processor time | busy machine |");
    println!("| --- | --- | --- | --- |");
    let medians = runs.map(|runs| Run {
        alone: median(&runs, |run| run.alone),
        processor: median(&runs, |run| run.processor),
        busy: median(&runs, |run| run.busy),
    });
    let free = medians[2];
    for ((name, _), run) in VARIANTS.iter().zip(&medians) {
        println!(
            "| {name} | {:.0} MB/s ({:.2}) | {:.2} s ({:.2}) | {:.0} MB/s ({:.2}) |",
            run.alone,
            run.alone / free.alone,
            run.processor,
            run.processor / free.processor,
            run.busy,
            run.busy / free.busy
        );
    }
    println!("\n{} processors; load average before: {load}.", thread::available_parallelism()?);
    Ok(())
}

fn median(runs: &[Run], field: impl Fn(&Run) -> f64) -> f64 {
    let mut all: Vec<_> = runs.iter().map(field).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// The library that swallows the bound.
fn library(work: &Path) -> Outcome<String> {
    let (source, library) = (work.join("kept.c"), work.join("kept.so"));
    fs::write(&source, KEPT)?;
    let status = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).args([&library, &source]).status()?;
    assert!(status.success(), "cc: {status}");
    Ok(library.display().to_string())
}

/// Runs this program once more, with the library before it and the server that it starts.
fn child(library: &str, base: &Path, kept: &str) -> Outcome<Run> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env("LD_PRELOAD", library).env("QUEUES_KEPT", kept).env("QUEUES_BASE", base).env("DAYONE_BIN", dayone()?);
    let output = command.stderr(Stdio::inherit()).output()?;
    assert!(output.status.success(), "{}", output.status);
    let numbers = String::from_utf8(output.stdout)?;
    let [alone, processor, busy] = numbers.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(format!("no numbers: {numbers}").into());
    };
    Ok(Run { alone: alone.parse()?, processor: processor.parse()?, busy: busy.parse()? })
}

fn dayone() -> Outcome<std::path::PathBuf> {
    if let Some(binary) = std::env::var_os("DAYONE_BIN") {
        return Ok(binary.into());
    }
    Ok(std::env::current_exe()?.ancestors().nth(2).ok_or("a bench lies in target/release/deps")?.join("dayone"))
}

fn one(base: &Path) -> Outcome<()> {
    let media = free_address();
    let server = Server::start_at(&free_address(), &media, "coreos", base, &["--log", "warn"]);
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let path = image["url"].as_str().and_then(|url| url.strip_prefix(&format!("http://{media}"))).ok_or("a URL")?;
    // The first fills the page cache.
    read(&media, path)?;
    let before = usage::processor_time(server.process_id());
    let alone = read(&media, path)?;
    let processor = usage::processor_time(server.process_id()).saturating_sub(before);
    let busy = {
        let _busy = Busy::start()?;
        read(&media, path)?
    };
    println!("{alone} {} {busy}", processor.as_secs_f64());
    Ok(())
}

/// Programs that do nothing but run, ended when dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Outcome<Self> {
        let children = (0..BUSY).map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn());
        let busy = Self(children.collect::<Result<_, _>>()?);
        thread::sleep(Duration::from_millis(200));
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Reads the whole image once, and says how many MB came in a second.
fn read(media: &str, path: &str) -> Outcome<f64> {
    let mut stream = TcpStream::connect(media)?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {media}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let begun = Instant::now();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let (mut piece, mut read) = (vec![0; 1 << 20], 0);
    loop {
        match reader.read(&mut piece)? {
            0 => break,
            count => read += count,
        }
    }
    // The base is a little smaller than what it was asked to be.
    assert!(read > (SIZE_MIB - 2) << 20, "{read} bytes");
    Ok(read as f64 / 1e6 / begun.elapsed().as_secs_f64())
}
