//! Where a load's time goes: `perf record` and `strace -c` look at dayone while it runs. Both slow it down, so nothing is timed.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use acceptance::peers::run_text;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;
use crate::servers::Peer;
use crate::{Load, Outcome};

/// How many programs and libraries are shown, the kernel among them.
const PROGRAMS: usize = 5;

/// How many functions are shown.
const FUNCTIONS: usize = 25;

/// How long a program takes until it watches a process.
const ATTACHED: Duration = Duration::from_millis(1500);

/// Prints what dayone does during a load.
pub(crate) fn show(load: &Load, peer: &Peer, size: u64) -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let [record, calls] = ["perf", "strace"].map(|name| directory.path().join(name));
    let process = peer.process.to_string();
    let client = Client::new(peer, size)?;
    let watched = |command: &mut Command| -> Outcome<()> {
        let mut watcher = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        sleep(ATTACHED);
        client.run(load.connections, load.requests)?;
        interrupt(&mut watcher)
    };
    watched(Command::new("perf").args(["record", "-q", "-F", "4000", "-o"]).arg(&record).args(["-p", &process]))?;
    watched(Command::new("strace").args(["-f", "-c", "-S", "calls", "-o"]).arg(&calls).args(["-p", &process]))?;

    let (bytes, requests) = load.requests.amount(load.connections, size);
    println!("## {}\n\n{requests} requests, {} MiB.\n\n```text", load.name, bytes >> 20);
    for (fields, count) in [("overhead,dso", PROGRAMS), ("overhead,dso,sym", FUNCTIONS)] {
        let report = ["report", "--stdio", "-q", "--no-children", "-w", "8,18,80", "--fields", fields, "-i"];
        let report = run_text(Command::new("perf").args(report).arg(&record).stderr(Stdio::null()));
        for line in report.lines().filter(|line| !line.trim().is_empty()).take(count) {
            println!("{}", line.trim_end());
        }
        println!();
    }
    println!("```\n\n| system call | calls a request |\n| --- | --- |");
    for line in fs::read_to_string(&calls)?.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let counted = columns.get(3).and_then(|calls| calls.parse::<f64>().ok());
        if let (Some(count), Some(name)) = (counted, columns.last().filter(|name| **name != "total")) {
            println!("| `{name}` | {:.2} |", count / requests as f64);
        }
    }
    println!();
    Ok(())
}

/// Ends a program as Ctrl-C does, so that it writes what it has seen.
fn interrupt(program: &mut Child) -> Outcome<()> {
    let process = i32::try_from(program.id()).ok().and_then(Pid::from_raw).ok_or("a process")?;
    kill_process(process, Signal::INT)?;
    program.wait()?;
    Ok(())
}
