//! What the server uses of the machine, every second, and whether it only grows.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::world::World;

/// How much more a process may have at the end of its life than at the beginning: memory in KiB, open files, threads. The compared
/// values are the medians of the first and of the last third, after a start of 10 s. The differences that real runs showed are about
/// a third of these bounds.
const MEMORY: f64 = 24.0 * 1024.0;
const FILES: f64 = 24.0;
const THREADS: f64 = 24.0;

/// Shorter lives say nothing.
const SHORTEST: usize = 30;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    process: u32,
    pub(crate) memory: u64,
    pub(crate) files: u64,
    pub(crate) threads: u64,
}

/// Takes samples until the run ends.
pub(crate) fn take(world: &World) -> Vec<Sample> {
    let (mut samples, mut process, mut since) = (Vec::new(), 0, Instant::now());
    while !world.is_over() {
        world.pause(Duration::from_secs(1));
        if process != world.process.id() {
            (process, since) = (world.process.id(), Instant::now());
        }
        let (memory, threads) = (world.process.status("VmRSS:"), world.process.status("Threads:"));
        let (Some(memory), Some(threads)) = (memory, threads) else { continue };
        world.counts.peak_memory.fetch_max(world.process.status("VmHWM:").unwrap_or(memory), Ordering::Relaxed);
        if since.elapsed() > Duration::from_secs(10) {
            samples.push(Sample { process, memory, files: world.process.open_files(), threads });
        }
    }
    samples
}

type Value = fn(&Sample) -> u64;

/// How the longest life went, and what is wrong about it.
pub(crate) fn judge(samples: &[Sample]) -> (String, Option<String>) {
    let Some(life) = samples.chunk_by(|one, other| one.process == other.process).max_by_key(|life| life.len()) else {
        return ("no process lived for 10 s".to_owned(), None);
    };
    let third = life.len() / 3;
    let (Some(first), Some(last)) = (life.get(..third), life.get(life.len() - third..)) else {
        return Default::default();
    };
    let growth = |value: Value| (median(first, value), median(last, value));
    let kinds: [(&str, Value, f64); 3] = [
        ("KiB of memory", |sample| sample.memory, MEMORY),
        ("open files", |sample| sample.files, FILES),
        ("threads", |sample| sample.threads, THREADS),
    ];
    let (mut text, mut wrong) = (format!("longest life {} s:", life.len()), None);
    for (kind, value, bound) in kinds {
        let (before, after) = growth(value);
        text += &format!(" {before} → {after} {kind} (at most {bound} more);");
        if after > before + bound && life.len() >= SHORTEST {
            wrong = Some(format!("{kind}: {before} at first, {after} at the end, more than {bound} more"));
        }
    }
    (text, wrong)
}

#[expect(clippy::cast_precision_loss, reason = "they are small")]
fn median(samples: &[Sample], value: impl Fn(&Sample) -> u64) -> f64 {
    let mut values: Vec<u64> = samples.iter().map(value).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default() as f64
}

#[test]
fn growth_is_seen() {
    let life = |growth: u64| {
        let sample = |second| Sample { process: 1, memory: 50_000 + second * growth, files: 30, threads: 8 };
        judge(&(0..300).map(sample).collect::<Vec<_>>()).1
    };
    assert_eq!(life(0), None);
    assert!(life(1000).unwrap().contains("memory"));
}
