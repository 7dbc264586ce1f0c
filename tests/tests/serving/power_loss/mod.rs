//! A power failure at any moment: what the server acknowledged survives it, and nothing half is ever served.
//!
//! The server runs under strace while clients do everything that changes its data directory. From the log of its system calls, a
//! model of a disk makes the states that a power failure could leave, and the real store opens each of them. This is how ALICE (OSDI
//! 2014) tests programs; as in CrashMonkey (OSDI 2018), the states come from a recording. That the test would see a missing `fsync`,
//! the test itself shows: without the synchronisations of files or of directories in the log, it must find a loss.
//!
//! It looks at `STATES_AT_LEAST` states, and at more for `POWER_LOSS_SECONDS`. `POWER_LOSS_SEED` repeats the random ones.

mod check;
mod disk;
mod history;
mod life;
mod trace;
mod workload;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use dayone::store::DataKeys;
use disk::{Disk, Luck, Syncs};
use imagelib::digest::Digest;
use tempfile::TempDir;
use workload::{Encryption, Recording};

use crate::soak::random::Random;

/// A busy machine opens few states in a second, and must look at as many as an idle one.
const STATES_AT_LEAST: usize = 250;

/// How many states were looked at, and the first in which something was wrong.
struct Outcome {
    moments: usize,
    states: usize,
    wrong: Option<String>,
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

#[test]
fn what_is_acknowledged_survives_a_power_failure() {
    let (recording, seed, length) = recorded(Encryption::Never);
    assert_nothing_is_lost(&recording, seed, length);

    for without in [Syncs::OfFiles, Syncs::OfDirectories] {
        let outcome = look(&recording, without, seed, length);
        let wrong = outcome.wrong.unwrap_or_else(|| panic!("with synchronisations only {without:?}, nothing is lost"));
        eprintln!("with synchronisations only {without:?}, state {}: {wrong}", outcome.states);
    }
}

/// The server encrypts what it wrote before, encrypts it with another key, and decrypts it: the power fails in the middle of each.
#[test]
fn what_is_acknowledged_survives_a_power_failure_while_the_records_are_encrypted() {
    let (recording, seed, length) = recorded(Encryption::Changes);
    assert_nothing_is_lost(&recording, seed, length);
    let outcome = look(&recording, Syncs::OfFiles, seed, length);
    assert!(outcome.wrong.is_some(), "with synchronisations of files only, nothing is lost");
}

fn assert_nothing_is_lost(recording: &Recording, seed: u64, length: Duration) {
    let outcome = look(recording, Syncs::All, seed, length);
    eprintln!("{} states of {} moments were opened", outcome.states, outcome.moments);
    assert_eq!(outcome.wrong, None);
    assert!(outcome.states >= STATES_AT_LEAST, "only {} states", outcome.states);
}

/// What a server did, the seed, and how long to look at states.
fn recorded(encryption: Encryption) -> (Recording, u64, Duration) {
    let recording = workload::record(encryption);
    let seed = setting("POWER_LOSS_SEED", 1);
    let length = Duration::from_secs(setting("POWER_LOSS_SECONDS", 30));
    let events: usize = recording.trace.lives.iter().map(Vec::len).sum();
    eprintln!("POWER_LOSS_SEED={seed}: {events} system calls on the data directory");

    let disk = played(&recording, Syncs::All);
    // Otherwise the model would prove nothing.
    assert_eq!(disk.differences_from_reality(), Vec::<String>::new());
    (recording, seed, length)
}

/// The disk after everything that was recorded.
fn played(recording: &Recording, syncs: Syncs) -> Disk {
    let mut disk = Disk::new(&recording.root);
    // A process that is killed leaves what the system has in memory, for the next one.
    recording.trace.lives.iter().for_each(|events| disk.play(events, syncs));
    disk
}

/// Opens states until the time is over and there were enough, or one is wrong.
fn look(recording: &Recording, syncs: Syncs, seed: u64, length: Duration) -> Outcome {
    let begun = Instant::now();
    let (disk, trace) = (played(recording, syncs), &recording.trace);
    let base = recording.base.parse().unwrap();
    let keys = recording.keys.as_deref().map(|path| DataKeys::from_file(path).unwrap()).unwrap_or_default();
    let mut moments: Vec<usize> = trace.lives.iter().flatten().flat_map(|event| [event.begin, event.end]).collect();
    moments.sort_unstable();
    moments.dedup();
    Random::new(seed, "moments").shuffle(&mut moments);
    let (mut outcome, mut seen) = (Outcome { moments: moments.len(), states: 0, wrong: None }, HashSet::new());
    let random = (0..200).map(|number| Luck::Some(seed + number));
    for luck in [Luck::Nothing, Luck::Names, Luck::Everything].into_iter().chain(random) {
        for &moment in &moments {
            if begun.elapsed() > length && outcome.states >= STATES_AT_LEAST {
                return outcome;
            }
            // Until the next line of the log, the disk stays as it is.
            let Some(time) = trace.times.get(moment + 1).or(trace.times.last()) else { continue };
            let content = disk.after_failure(moment, luck);
            let digest = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| Digest::of(bytes));
            let digests: Vec<_> = content.iter().map(|(path, bytes)| (path.clone(), digest(bytes))).collect();
            if !seen.insert((digests, recording.history.count(*time))) {
                continue;
            }
            outcome.states += 1;
            let expected = recording.history.at(*time);
            let place = in_memory();
            Disk::write(&content, place.path());
            let checked = check::check(&place.path().join("data"), &keys, &base, &recording.media_url, &expected);
            if let Err(wrong) = checked {
                outcome.wrong = Some(format!("line {moment} of the log, {luck:?}: {wrong}"));
                return outcome;
            }
        }
    }
    outcome
}

/// A directory in memory, where the store need not wait for a disk.
fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}
