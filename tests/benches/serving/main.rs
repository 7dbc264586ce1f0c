//! The media plane beside nginx with sendfile: processor time and throughput for each load. Each server has one processor, and
//! this client another. Prints a part of `docs/benchmarks.md`.
//!
//! nginx has `tcp_nopush off`: with Debian's `on`, it waits for 40 ms in most small answers on loopback. Its log is off, and its
//! cache of open files on.
//!
//! `SERVING_LOADS=full,range` runs some loads only, by the beginnings of their names. `SERVING_ROUNDS` is how often each runs.
//! `SERVING_PROFILE=yes` prints instead where dayone's time goes (docs/profiles.md); it needs `perf` and `strace`.

mod client;
mod profile;
mod servers;

use std::error::Error;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use acceptance::goals::Goals;
use acceptance::server::dayone;
use acceptance::usage;
use rustix::thread::{CpuSet, sched_setaffinity};

use client::{Client, Requests};
use servers::{Over, Peer, Servers, pinned};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const MIB: u64 = 1 << 20;

/// The size of the ISO in MiB, about.
const SIZE: u64 = 1024;

/// The processors of the server and of the client.
const SERVER: usize = 0;
const CLIENT: usize = 1;

/// What clients ask for.
struct Load {
    name: &'static str,
    connections: usize,
    requests: Requests,
    over: Over,
    /// Whether the page cache is empty at first.
    cold: bool,
    /// The goal: the most processor time, in that of nginx.
    most: f64,
}

const fn load(name: &'static str, connections: usize, requests: Requests) -> Load {
    Load { name, connections, requests, over: Over::Base, cold: false, most: 1.0 }
}

const fn sharing(name: &'static str, connections: usize, requests: Requests) -> Load {
    Load { over: Over::SharedBlocks, ..load(name, connections, requests) }
}

const fn own(name: &'static str, connections: usize, requests: Requests) -> Load {
    Load { over: Over::OwnCopy, ..load(name, connections, requests) }
}

const fn tls(name: &'static str, connections: usize, requests: Requests) -> Load {
    Load { over: Over::Tls, most: 0.5, ..load(name, connections, requests) }
}

const LOADS: [Load; 21] = [
    load("full ×1", 1, Requests::Whole { each: 2 }),
    load("full ×4", 4, Requests::Whole { each: 1 }),
    load("full ×50", 50, Requests::Ranges { length: 80 * MIB, each: 1 }),
    load("full ×1000", 1000, Requests::Ranges { length: 4 * MIB, each: 1 }),
    load("range 64 KiB", 8, Requests::Ranges { length: 64 << 10, each: 4000 }),
    Load { most: 0.8, ..load("range 2 KiB", 8, Requests::Ranges { length: 2 << 10, each: 8000 }) },
    load("head", 8, Requests::Heads { each: 8000 }),
    sharing("XFS, full ×1", 1, Requests::Whole { each: 2 }),
    sharing("XFS, full ×4", 4, Requests::Whole { each: 1 }),
    sharing("XFS, full ×50", 50, Requests::Ranges { length: 80 * MIB, each: 1 }),
    sharing("XFS, range 64 KiB", 8, Requests::Ranges { length: 64 << 10, each: 4000 }),
    Load { most: 0.8, ..sharing("XFS, range 2 KiB", 8, Requests::Ranges { length: 2 << 10, each: 8000 }) },
    own("own copy, full ×1", 1, Requests::Whole { each: 2 }),
    own("own copy, full ×4", 4, Requests::Whole { each: 1 }),
    own("own copy, full ×50", 50, Requests::Ranges { length: 80 * MIB, each: 1 }),
    own("own copy, range 64 KiB", 8, Requests::Ranges { length: 64 << 10, each: 4000 }),
    Load { most: 0.8, ..own("own copy, range 2 KiB", 8, Requests::Ranges { length: 2 << 10, each: 8000 }) },
    Load { cold: true, ..load("full ×1, cold", 1, Requests::Whole { each: 1 }) },
    tls("TLS full ×1", 1, Requests::Whole { each: 1 }),
    tls("TLS range 64 KiB", 8, Requests::Ranges { length: 64 << 10, each: 2000 }),
    tls("TLS range 2 KiB", 8, Requests::Ranges { length: 2 << 10, each: 4000 }),
];

/// Why the rows are as they are.
const EXPLANATION: &str = "
A base in its place on ext4 is copied twice, because others may write to it ([ADR 14](adr/0014-sendfile-for-private-copies.md),
[ADR 18](adr/0018-direct-answers.md)), where nginx copies nothing with sendfile. On XFS and Btrfs, dayone reads a copy that shares the blocks
of the base ([ADR 31](adr/0031-bases-in-their-places-share-blocks.md)), and sends it as nginx does. So does it with bases that were added with `dayone base add`,
on every file system.
";

/// What one run took.
#[derive(Clone, Copy)]
struct Run {
    processor: Duration,
    time: Duration,
}

/// Runs this program again, with a `dayone` that has one processor.
fn main() -> Outcome<()> {
    if std::env::var_os("SERVING_PINNED").is_some() {
        return measure();
    }
    let directory = tempfile::tempdir()?;
    let program = pinned(directory.path(), dayone().get_program().as_ref(), SERVER)?;
    let mut again = Command::new(std::env::current_exe()?);
    let status = again.env("SERVING_PINNED", "yes").env("DAYONE_BIN", program).status()?;
    if status.success() { Ok(()) } else { Err(format!("{status}").into()) }
}

fn measure() -> Outcome<()> {
    let rounds: usize = std::env::var("SERVING_ROUNDS").ok().map_or(Ok(5), |rounds| rounds.parse())?;
    let wanted = std::env::var("SERVING_LOADS").unwrap_or_default();
    let chosen = |name: &str| wanted.is_empty() || wanted.split(',').any(|part| name.starts_with(part));
    let average = fs::read_to_string("/proc/loadavg")?.split(' ').next().ok_or("a number")?.to_owned();
    let servers = Servers::start(SIZE, SERVER)?;
    let mut own = CpuSet::new();
    own.set(CLIENT);
    sched_setaffinity(None, &own)?;
    if std::env::var_os("SERVING_PROFILE").is_some() {
        let mut loads = LOADS.iter().filter(|load| chosen(load.name) && !load.cold);
        return loads.try_for_each(|load| match servers.pair(load.over) {
            Some([dayone, _]) => profile::show(load, dayone, servers.size),
            None => Ok(()),
        });
    }

    println!("## The media plane beside nginx\n");
    println!(
        "An ISO of {} MiB with a host's files, by dayone (`dayone serve`) and as a file by nginx with sendfile. Each server has one",
        servers.size / MIB
    );
    println!(
        "processor, the client another; loopback. Medians of {rounds} alternating pairs; dayone's value, and its ratio to nginx's.\n"
    );
    println!("| load | processor time | ratio | throughput | ratio |");
    println!("| --- | --- | --- | --- | --- |");
    let mut goals = Goals::default();
    for load in LOADS.iter().filter(|load| chosen(load.name)) {
        let Some(peers) = servers.pair(load.over) else {
            println!("| {} | not measured: XFS cannot be mounted here | | | |", load.name);
            continue;
        };
        let mut pairs = Vec::new();
        for round in 0..=rounds {
            let mut runs = peers.map(|peer| (peer.is_dayone, peer));
            if round % 2 == 1 {
                runs.reverse();
            }
            let mut pair = [None, None];
            for (is_dayone, peer) in runs {
                if load.cold {
                    servers.forget_pages()?;
                }
                pair[usize::from(!is_dayone)] = Some(run(load, peer, servers.size)?);
            }
            // The first pair fills caches.
            if let ([Some(dayone), Some(nginx)], true) = (pair, round > 0) {
                pairs.push((dayone, nginx));
            }
        }
        show(load, &pairs, servers.size, &mut goals);
    }
    if chosen("HEAD beside 8 downloads") {
        heads_beside_downloads(&servers, rounds, &mut goals)?;
    }
    println!("\nLoad average before: {average}.");
    goals.print();
    print!("{EXPLANATION}");
    Ok(())
}

fn run(load: &Load, peer: &Peer, size: u64) -> Outcome<Run> {
    let client = Client::new(peer, size)?;
    let before = usage::processor_time(peer.process);
    let begun = Instant::now();
    client.run(load.connections, load.requests)?;
    let time = begun.elapsed();
    Ok(Run { processor: usage::processor_time(peer.process).saturating_sub(before), time })
}

fn show(load: &Load, pairs: &[(Run, Run)], size: u64, goals: &mut Goals) {
    let (bytes, requests) = load.requests.amount(load.connections, size);
    let of = |value: &dyn Fn(&(Run, Run)) -> f64| median(pairs.iter().map(value));
    let processor = of(&|(dayone, _)| dayone.processor.as_secs_f64());
    let time = of(&|(dayone, _)| dayone.time.as_secs_f64());
    let gibibytes = bytes as f64 / (1 << 30) as f64;
    let (cost, speed) = if requests > 5000 {
        (
            format!("{:.1} µs a request", processor * 1e6 / requests as f64),
            format!("{:.0} requests/s", requests as f64 / time),
        )
    } else {
        (format!("{:.2} s a GiB", processor / gibibytes), format!("{:.0} MB/s", bytes as f64 / 1e6 / time))
    };
    let cost_ratio = of(&|(dayone, nginx)| dayone.processor.as_secs_f64() / nginx.processor.as_secs_f64());
    let speed_ratio = of(&|(dayone, nginx)| nginx.time.as_secs_f64() / dayone.time.as_secs_f64());
    println!("| {} | {cost} | {cost_ratio:.2} | {speed} | {speed_ratio:.2} |", load.name);
    goals.at_most(&format!("{}, processor time", load.name), cost_ratio, load.most, " of nginx's");
    goals.at_least(&format!("{}, throughput", load.name), speed_ratio, 1.0, " of nginx's");
}

/// How long a HEAD takes while eight clients download.
fn heads_beside_downloads(servers: &Servers, rounds: usize, goals: &mut Goals) -> Outcome<()> {
    let mut pairs = Vec::new();
    for round in 0..rounds {
        let mut peers = servers.pair(Over::Base).ok_or("every user has these")?;
        if round % 2 == 1 {
            peers.reverse();
        }
        let mut pair = [0.0; 2];
        for peer in peers {
            pair[usize::from(!peer.is_dayone)] =
                Client::new(peer, servers.size)?.head_beside_downloads(8)?.as_secs_f64() * 1e3;
        }
        pairs.push(pair);
    }
    let own = median(pairs.iter().map(|[dayone, _]| *dayone));
    let ratio = median(pairs.iter().map(|[dayone, nginx]| dayone / nginx));
    println!("| HEAD beside 8 downloads, 99th percentile | {own:.1} ms by the clock | {ratio:.2} | | |");
    goals.at_most("HEAD beside 8 downloads, 99th percentile", ratio, 0.33, " of nginx's");
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<_> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}
