//! What a process uses of the machine.

use std::fs;
use std::time::Duration;

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
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // Behind the name of the program, which may hold anything (proc(5)), utime and stime are the 12th and the 13th.
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    let ticks = |field: usize| fields.split(' ').nth(field).expect("a field").parse::<u64>().expect("a number");
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

fn status(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name}"));
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
