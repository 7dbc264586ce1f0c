use std::fs;

use imagelib::compression::Compression;
use proptest::prelude::*;

use super::super::chain::seal;
use super::super::event::{Event, Who};
use super::super::log_file::{Entry, LogFile};
use super::*;

/// A log of so many entries, as the server writes it.
fn log(entries: usize) -> Vec<u8> {
    log_of("worker", entries)
}

/// The same about other hosts.
fn log_of(name: &str, entries: usize) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let mut log = LogFile::open(&path, Link::START).unwrap();
    for host in 1..entries {
        let event = Event::ImageDeleted { image: "9f86".to_owned(), host: Some(format!("{name}-\"{host}\"")) };
        log.append(&Entry { time: std::time::SystemTime::now(), who: Who::token("ci", None), event }).unwrap();
    }
    drop(log);
    fs::read(&path).unwrap()
}

fn check(bytes: Vec<u8>) -> Verified {
    verify(vec![LogText::of_bytes("audit.jsonl", bytes)], None).unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

const ENTRIES: usize = 6;

#[test]
fn an_untouched_log_is_intact_also_in_parts() {
    let bytes = log(ENTRIES);
    let verified = check(bytes.clone());
    assert!(verified.faults.is_empty() && verified.notes.is_empty(), "{verified:?}");
    assert_eq!((verified.entries, verified.first, verified.last.unwrap().0), (6, Some(1), 6));
    let lines = lines(&bytes);
    for split in 1..ENTRIES {
        let part = |name: &str, lines: &[Vec<u8>]| LogText::of_bytes(name, lines.concat());
        let files = vec![part("new", &lines[split..]), part("old", &lines[..split])];
        assert!(verify(files, None).unwrap().faults.is_empty(), "the order of the files does not matter");
        let newer = check(lines[split..].concat());
        assert!(newer.faults.is_empty(), "earlier files may be gone");
        let earlier = NoteKind::Earlier(u64::try_from(split).unwrap());
        assert_eq!(newer.notes.iter().map(|note| note.kind).collect::<Vec<_>>(), [earlier]);
    }
}

#[test]
fn a_cut_end_is_found_by_a_hash_that_was_kept() {
    let bytes = log(ENTRIES);
    let known = check(bytes.clone()).last.map(|(_, hash)| hash);
    let file = |lines: &[Vec<u8>]| vec![LogText::of_bytes("audit.jsonl", lines.concat())];
    let lines = lines(&bytes);
    assert!(verify(file(&lines), known).unwrap().has_known);
    assert!(!verify(file(&lines[..ENTRIES - 1]), known).unwrap().has_known);
}

#[test]
fn an_unfinished_line_is_a_note_only_once_the_server_has_recorded_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let whole = log(ENTRIES);
    fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    let faults = check(fs::read(&path).unwrap()).faults;
    assert_eq!(faults.iter().map(|fault| (fault.line, fault.kind)).collect::<Vec<_>>(), [(6, FaultKind::Unfinished)]);
    drop(LogFile::open(&path, Link::START).unwrap());
    let recovered = fs::read(&path).unwrap();
    let verified = check(recovered.clone());
    assert!(verified.faults.is_empty(), "{verified:?}");
    assert_eq!((verified.notes.len(), verified.notes[0].line), (1, 7));
    // Nobody may change the damaged line afterwards.
    let at = whole.len() - 20;
    let mut changed = recovered;
    changed[at] ^= 1;
    assert_eq!(check(changed).faults[0].kind, FaultKind::Changed);
}

#[test]
fn several_failures_in_a_row_are_notes_and_an_edit_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let whole = log(ENTRIES);
    let recovered = |end: &[u8]| {
        fs::write(&path, [&whole[..], end].concat()).unwrap();
        drop(LogFile::open(&path, Link::START).unwrap());
        fs::read(&path).unwrap()
    };
    let mut torn = b"{\"sequence\":7,\"ti".to_vec();
    for _ in 0..3 {
        let after = recovered(&torn);
        let verified = check(after.clone());
        assert!(verified.faults.is_empty(), "{verified:?}");
        let bytes = u64::try_from(torn.len()).unwrap();
        assert_eq!(verified.notes.iter().map(|note| note.kind).collect::<Vec<_>>(), [NoteKind::Unfinished(bytes)]);
        // Nobody may insert a line afterwards, or remove one.
        let at = whole.len() + torn.len() + 1;
        let inserted = [&after[..at], b"x\n", &after[at..]].concat();
        assert_eq!(check(inserted).faults.last().map(|fault| fault.kind), Some(FaultKind::Changed));
        let removed = [&whole[..], &after[at..]].concat();
        assert!(check(removed).faults.is_empty(), "an unfinished entry says nothing");
        // The next server fails while it records what it found.
        torn = after[whole.len()..after.len() - 9].to_vec();
    }

    // Zeros are in the place of what the disk did not get before a power failure.
    for torn in ["\0\0", "{\"sequence\":7,\"ti\0\0", "{\"sequence\":7,\"time\":\"2026-02-28T\0\n"] {
        assert!(check(recovered(torn.as_bytes())).faults.is_empty(), "{torn:?}");
    }

    // An entry that somebody has changed, also without its line end, and lines that somebody has appended.
    let changed = String::from_utf8(lines(&whole)[ENTRIES - 1].clone()).unwrap().replace("worker", "walker");
    for edit in [changed.trim_end(), &format!("x\n{}", changed.trim_end()), &format!("{changed}x"), "x\n", "x\ny\n"] {
        assert!(!check(recovered(edit.as_bytes())).faults.is_empty(), "{edit}");
    }
    // Lines that end within a text, and parts of other entries.
    let torn = "{\"sequence\":7,\"ti";
    for edit in [
        "x\ny",
        "hello\n{\"a\":1}\nx",
        "{\"sequence\":8,\"ti",
        "{\"sequence\":7,\"who\":",
        "{\"sequence\":7,\"time\":\"x",
        "{\"sequence\":7,\"time\":\"2026-02-28T12:00:00Z\",\"previous\":\"x",
    ] {
        assert!(!check(recovered(edit.as_bytes())).faults.is_empty(), "{edit}");
        let behind = format!("{torn}\n{edit}");
        assert!(!check(recovered(behind.as_bytes())).faults.is_empty(), "{behind}");
    }
}

#[test]
fn the_server_may_fail_after_each_byte_of_what_it_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let whole = log(ENTRIES);
    let recovered = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        drop(LogFile::open(&path, Link::START).unwrap());
        fs::read(&path).unwrap()
    };
    for torn in [&whole[..whole.len() - 7], &whole[..whole.len() - 100]] {
        let first = recovered(torn);
        for end in torn.len()..=first.len() {
            let verified = check(recovered(&first[..end]));
            assert!(verified.faults.is_empty(), "{end}: {verified:?}");
            assert_eq!(verified.notes.len(), 1, "{end}");
        }
        // What the next server records after the line end that this one has left.
        let second = recovered(&first[..=torn.len()]);
        for end in [1, 2, 250] {
            let verified = check(recovered(&second[..torn.len() + end]));
            assert!(verified.faults.is_empty(), "{end}: {verified:?}");
        }
        // The same entry again is nothing that it records.
        let part = torn.rsplit(|byte| *byte == b'\n').next().unwrap();
        assert!(!check(recovered(&[torn, b"\n", part].concat())).faults.is_empty());
    }
}

/// Somebody takes the last bytes off several entries, so that they look like what a server leaves, while the server does not run.
#[test]
fn of_entries_that_somebody_cuts_only_the_last_one_can_be_hidden() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let text = String::from_utf8(log(ENTRIES)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (who, cut) in [("\"ci\"", 1), ("\"ci\"", 2), ("\"mallory\"", 1), ("\"mallory\"", 3)] {
        let ends: Vec<String> =
            lines[ENTRIES - cut..].iter().map(|line| line[..line.len() - 1].replace("\"ci\"", who)).collect();
        let begin = lines[..ENTRIES - cut].join("\n");
        for (file, is_renamed) in [("audit.jsonl", false), ("audit.jsonl.1", true)] {
            let _ = fs::remove_file(&path);
            let changed = directory.path().join(file);
            fs::write(&changed, format!("{begin}\n{}", ends.join("\n"))).unwrap();
            drop(LogFile::open(&path, Link::START).unwrap());
            let files = if is_renamed { vec![&path, &changed] } else { vec![&path] };
            let files = files.into_iter().map(|file| LogText::open(file).unwrap()).collect();
            let verified = verify(files, None).unwrap();
            let faults: Vec<_> = verified.faults.iter().map(|fault| fault.line).collect();
            // The beginning of one entry says nothing, whatever is in it.
            let expected: Vec<_> = (ENTRIES - cut + 1..=ENTRIES).filter(|_| cut > 1).collect();
            assert_eq!(faults, expected, "{who} {cut} {file}");
            fs::remove_file(&changed).unwrap();
        }
    }
}

#[test]
fn a_line_that_was_changed_while_the_server_did_not_run_stays_a_fault() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let mut bytes = log(ENTRIES);
    let at = bytes.len() - 100;
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    drop(LogFile::open(&path, Link::START).unwrap());
    let faults = check(fs::read(&path).unwrap()).faults;
    assert_eq!((faults[0].line, faults[0].kind), (6, FaultKind::Changed));
}

#[test]
fn a_start_without_a_stop_before_it_is_a_note() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let started = || Event::ServerStarted { version: "1".to_owned() };
    let deleted = || Event::ImageDeleted { image: "9f86".to_owned(), host: None };
    let runs = [vec![started(), deleted(), Event::ServerStopped], vec![started()], vec![started(), deleted()]];
    for events in runs.into_iter().chain([vec![started(), Event::ServerStopped], vec![started()]]) {
        let mut log = LogFile::open(&path, Link::START).unwrap();
        for event in events {
            log.append(&Entry::of_server(event)).unwrap();
        }
    }
    let bytes = fs::read(&path).unwrap();
    let notes = |bytes: Vec<u8>| check(bytes).notes.iter().map(|note| (note.line, note.kind)).collect::<Vec<_>>();
    assert_eq!(notes(bytes.clone()), [(6, NoteKind::NotStopped), (8, NoteKind::NotStopped)]);
    // It is not known what the server did before a file whose beginning is missing.
    let newer = lines(&bytes)[5..].concat();
    assert_eq!(notes(newer), [(1, NoteKind::Earlier(5)), (3, NoteKind::NotStopped)]);
}

/// The line of the entry that is damaged if this byte is there instead.
fn line_of_damage(bytes: &[u8], position: usize, byte: u8) -> usize {
    let line = bytes[..position].split(|byte| *byte == b'\n').count();
    let begins_line = position == 0 || bytes[position - 1] == b'\n';
    // The rest of the entry is after the end of an empty line then.
    line + usize::from(begins_line && byte == b'\n')
}

#[test]
fn every_end_of_a_line_in_an_entry_is_found() {
    let bytes = log(ENTRIES);
    for position in (0..bytes.len()).filter(|position| bytes[*position] != b'\n') {
        let mut changed = bytes.clone();
        changed[position] = b'\n';
        let faults = check(changed).faults;
        assert_eq!(faults.first().map(|fault| fault.line), Some(line_of_damage(&bytes, position, b'\n')), "{position}");
    }
}

#[test]
fn a_compressed_part_is_read_like_a_plain_one() {
    let lines = lines(&log(ENTRIES));
    let old = Compression::Gzip.compress(&lines[..3].concat()).unwrap();
    let check = |old: &[u8]| {
        let files = vec![LogText::of_bytes("new", lines[3..].concat()), LogText::of_bytes("old.gz", old.to_owned())];
        verify(files, None)
    };
    let verified = check(&old).unwrap();
    assert_eq!((verified.faults.len(), verified.entries, verified.first), (0, 6, Some(1)));
    assert!(matches!(check(&old[..old.len() - 1]), Err(LogTextError::Damaged { .. })));
    let changed = Compression::Gzip.compress(&[&lines[0][..], b"{}\n", &lines[2]].concat()).unwrap();
    let faults = check(&changed).unwrap().faults;
    assert_eq!((faults[0].line, faults[0].kind, faults[0].path.to_str()), (2, FaultKind::Changed, Some("old.gz")));
}

#[test]
fn a_file_without_any_entry_has_as_many_faults_as_somebody_reads() {
    let faults = check(b"x\n".repeat(2 * MAX_FAULTS)).faults;
    assert_eq!((faults.len(), faults[MAX_FAULTS].kind), (MAX_FAULTS + 1, FaultKind::TooMany));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]

    #[test]
    fn a_changed_byte_is_found_in_its_line(position in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = log(ENTRIES);
        let position = position.index(bytes.len());
        prop_assume!(bytes[position] != byte);
        let line = line_of_damage(&bytes, position, byte);
        bytes[position] = byte;
        let faults = check(bytes).faults;
        prop_assert!(!faults.is_empty());
        prop_assert_eq!(faults[0].line, line);
    }

    #[test]
    fn a_removed_line_is_found(line in 0..ENTRIES - 1) {
        let mut lines = lines(&log(ENTRIES));
        lines.remove(line);
        let faults = check(lines.concat()).faults;
        // The first entries may be in an earlier file: that they are missing is not a fault of this one.
        prop_assert_eq!(faults.is_empty(), line == 0);
        if line > 0 {
            let number = line as u64 + 1;
            prop_assert_eq!((faults[0].line, faults[0].kind), (line + 1, FaultKind::Missing { first: number, last: number }));
        }
    }

    #[test]
    fn moved_and_inserted_lines_are_found(one in 0..ENTRIES, other in 0..ENTRIES, moves in any::<bool>()) {
        prop_assume!(one != other);
        let mut lines = lines(&log(ENTRIES));
        if moves {
            lines.swap(one, other);
        } else {
            let copy = lines[one].clone();
            lines.insert(other, copy);
        }
        prop_assert!(!check(lines.concat()).faults.is_empty());
    }
}

#[test]
fn a_line_of_another_log_is_found() {
    let (lines, others) = (lines(&log(ENTRIES)), lines(&log_of("another", ENTRIES)));
    // The first entry is about no host.
    for line in 1..ENTRIES {
        let mut mixed = lines.clone();
        mixed[line] = others[line].clone();
        let faults = check(mixed.concat()).faults;
        assert!(!faults.is_empty(), "{line}");
        // If the other log began in the same second, its second entry continues ours.
        assert!((line + 1..=line + 2).contains(&faults[0].line), "{line}: {faults:?}");
    }
}

#[test]
fn an_entry_with_the_last_number_does_not_stop_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let previous = Link::START.hash;
    let (line, _) = seal(&format!("{{\"sequence\":{},\"previous\":\"{previous}\"}}", u64::MAX), &previous);
    fs::write(&path, line + "torn").unwrap();
    let log = LogFile::open(&path, Link::START).unwrap();
    assert_eq!(log.link().sequence, u64::MAX);
    assert!(fs::read_to_string(&path).unwrap().contains("log-recovered"));
}
