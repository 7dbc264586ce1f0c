//! What a process uses of the machine.

use std::fs;
use std::io;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// What a program took from its start to its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// By the clock.
    pub time: Duration,
    /// Of all its threads, in themselves and in the system.
    pub processor: Duration,
    /// The most memory that it ever had, in KiB; what it gets in its last milliseconds is not seen.
    pub memory: u64,
}

/// Runs a program and watches it until it has ended, which it must have done well.
pub fn run(command: &mut Command) -> io::Result<Usage> {
    let begin = Instant::now();
    let mut child = command.spawn()?;
    let mut usage = Usage::default();
    // The kernel keeps the times of a process that has ended until somebody waits for it, but not its memory.
    while !has_ended(child.id()) {
        usage.memory = usage.memory.max(field(child.id(), "VmHWM:").unwrap_or_default());
        thread::sleep(Duration::from_millis(2));
    }
    usage.time = begin.elapsed();
    usage.processor = processor_time(child.id());
    let status = child.wait()?;
    assert!(status.success(), "{command:?}: {status}");
    Ok(usage)
}

fn has_ended(process: u32) -> bool {
    stat(process).starts_with('Z')
}

/// The most memory that it ever had (`VmHWM`), in KiB.
pub fn peak_memory(process: u32) -> u64 {
    status(process, "VmHWM:")
}

/// The memory that it has now (`VmRSS`), in KiB.
pub fn memory(process: u32) -> u64 {
    status(process, "VmRSS:")
}

/// The time that it has run, in itself and in the system.
pub fn processor_time(process: u32) -> Duration {
    let stat = stat(process);
    // Behind the name of the program utime and stime are the 12th and the 13th (proc(5)).
    let ticks = |field: usize| stat.split(' ').nth(field).expect("a field").parse::<u64>().expect("a number");
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// `/proc/PID/stat` from behind the name of the program, which may hold anything.
fn stat(process: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    stat.rsplit_once(") ").expect("a name").1.to_owned()
}

fn status(process: u32, name: &str) -> u64 {
    field(process, name).unwrap_or_else(|| panic!("no {name}"))
}

/// A line of `/proc/PID/status`; none, where the process has no memory any more.
fn field(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().trim_end_matches(" kB").parse().expect("a number"))
}
