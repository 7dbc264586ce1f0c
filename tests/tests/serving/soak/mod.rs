//! A day without a wrong byte: real clients read images of every format and compare each byte, while images and bases come and go, and
//! while everything that happens to a server happens to this one. Two servers run beside each other, one of which speaks HTTPS.
//!
//! `make soak` runs it for a day, and `SOAK_SECONDS=600 make soak` for ten minutes. Without this variable, it runs for half a minute.
//! `SOAK_SEED` repeats the bytes of the bases, the order of the faults and the choices of each client; how these meet in time is
//! never the same. `SOAK_VERBOSE=1` prints each fault.

mod api;
mod authority;
mod client;
mod faults;
mod oracle;
mod orders;
mod process;
mod programs;
mod publishers;
pub(crate) mod random;
mod readers;
mod restart;
mod samples;
mod site;
mod windows;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use process::until;
use readers::Habit;
use world::World;

const HABITS: [Habit; 8] =
    [Habit::Ranges, Habit::Ranges, Habit::Ranges, Habit::Ranges, Habit::Whole, Habit::Head, Habit::Slow, Habit::Abort];

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value} is not a number")))
}

#[test]
fn no_wrong_byte() {
    let length = Duration::from_secs(setting("SOAK_SECONDS").unwrap_or(30));
    let seed = setting("SOAK_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_secs() ^ u64::from(std::process::id())
    });
    eprintln!("SOAK_SEED={seed} SOAK_SECONDS={}", length.as_secs());
    thread::scope(|scope| {
        let runs =
            [("HTTP", false), ("HTTPS", true)].map(|(name, tls)| scope.spawn(move || soak(name, seed, tls, length)));
        for run in runs {
            if let Err(failure) = run.join().unwrap() {
                panic!("{failure}");
            }
        }
    });
}

/// Runs one server. Returns what it did wrong.
fn soak(name: &'static str, seed: u64, tls: bool, length: Duration) -> Result<(), String> {
    let world = World::start(name, seed, tls, length);
    let world = &world;
    assert!(until(Duration::from_secs(60), || api::is_ready(world)), "it does not start:\n{}", world.process.log());
    publishers::add_base(world, 0, &mut world.random("first base"));
    publishers::publish_all(world);
    let samples = thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || guarded(world, || publishers::publish_and_delete(world, number)));
        }
        scope.spawn(move || guarded(world, || publishers::change_base(world)));
        scope.spawn(move || guarded(world, || faults::run(world)));
        for (number, habit) in HABITS.into_iter().enumerate() {
            scope.spawn(move || guarded(world, || readers::read(world, number, habit)));
        }
        scope.spawn(move || guarded(world, || programs::read(world)));
        let samples = scope.spawn(move || samples::take(world));
        let (mut reported, hour) = (Instant::now(), Duration::from_mins(60));
        while !world.is_over() && world.begun.elapsed() < length {
            thread::sleep(Duration::from_millis(200));
            if reported.elapsed() > hour {
                reported = Instant::now();
                eprintln!("{}", summary(world));
            }
        }
        world.end();
        samples.join().unwrap_or_default()
    });
    let (life, growth) = samples::judge(&samples);
    eprintln!("{}\n  {life}", summary(world));
    match world.failure().or(growth) {
        None => Ok(()),
        Some(failure) => {
            let kept = std::env::temp_dir().join(format!("dayone-soak-{name}-{seed}.log"));
            let log = std::fs::copy(world.site.path("log"), &kept);
            Err(format!("{failure}\nthe server's log: {} ({log:?})", kept.display()))
        }
    }
}

/// A thread that panics ends the run of the others.
fn guarded(world: &World, work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        world.fail("a thread of the test has panicked; the reason is above");
    }
}

fn summary(world: &World) -> String {
    let counts = &world.counts;
    let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    let faults = world.faults.lock().unwrap();
    let faults: Vec<String> = faults.iter().map(|(name, times)| format!("{name} {times}")).collect();
    format!(
        "{} server: {} s, seed {}: {} requests, {} bytes compared, wrong bytes {}\n  {} answers excused by a fault; images: {} \
         published, {} deleted, {} refused; bases: {} added, {} removed\n  restarts {}; peak memory {} KiB; faults: {}",
        world.name,
        world.begun.elapsed().as_secs(),
        world.seed,
        count(&counts.requests),
        count(&counts.bytes),
        if world.failure().is_some() { "or another failure: see above" } else { "0" },
        count(&counts.excused),
        count(&counts.published),
        count(&counts.deleted),
        count(&counts.refused),
        count(&counts.bases_added),
        count(&counts.bases_removed),
        count(&counts.restarts),
        count(&counts.peak_memory),
        faults.join(", "),
    )
}
