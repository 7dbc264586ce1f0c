use super::super::log_text::LogText;
use super::super::verify::{FaultKind, NoteKind, Verified, verify};
use super::*;

fn append(log: &mut LogFile, entries: usize) {
    for _ in 0..entries {
        log.append(&Entry::of_server(Event::ServerStopped)).unwrap();
    }
}

/// Checks files in a directory.
fn check(directory: &Path, names: &[&str]) -> Verified {
    let files = names.iter().map(|name| LogText::open(&directory.join(name)).unwrap()).collect();
    verify(files, None).unwrap()
}

fn notes(verified: &Verified) -> Vec<NoteKind> {
    verified.notes.iter().map(|note| note.kind).collect()
}

fn faults(verified: &Verified) -> Vec<FaultKind> {
    verified.faults.iter().map(|fault| fault.kind).collect()
}

/// What logrotate does with `copytruncate`.
#[test]
fn a_file_that_somebody_cuts_stays_as_short_and_the_chain_tells_what_it_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let mut log = LogFile::open(&path, Link::START).unwrap();
    append(&mut log, 2);
    fs::copy(&path, directory.path().join("audit.jsonl.1")).unwrap();
    let cut = OpenOptions::new().write(true).open(&path).unwrap();
    cut.set_len(0).unwrap();
    assert_eq!(log.file_state().unwrap(), FileState::Shortened);
    assert!(log.append(&Entry::of_server(Event::ServerStopped)).is_err());
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "the file may end within a line, and is never lengthened");
    let known = log.link();
    drop(log);
    let mut log = LogFile::open(&path, known).unwrap();
    append(&mut log, 1);
    assert_eq!(log.size(), fs::metadata(&path).unwrap().len(), "the size from which on the file is renamed");
    assert_eq!(log.file_state().unwrap(), FileState::InPlace);
    let verified = check(directory.path(), &["audit.jsonl", "audit.jsonl.1"]);
    assert_eq!((faults(&verified), verified.entries), (vec![], 5));

    // Within an entry, and before somebody has copied the last two.
    cut.set_len(fs::metadata(&path).unwrap().len() - 30).unwrap();
    let known = log.link();
    drop(log);
    drop(LogFile::open(&path, known).unwrap());
    let verified = check(directory.path(), &["audit.jsonl", "audit.jsonl.1"]);
    assert_eq!(faults(&verified), [FaultKind::Missing { first: 5, last: 5 }]);
}

#[test]
fn a_lock_that_the_file_server_gave_to_another_is_missed_and_the_chain_goes_on_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let mut log = LogFile { held: HeldLock::on_nfs(), ..LogFile::open(&path, Link::START).unwrap() };
    append(&mut log, 2);
    assert_eq!(log.file_state().unwrap(), FileState::InPlace);
    // As NFS does after the lease time.
    rustix::fs::flock(&log.file, rustix::fs::FlockOperation::Unlock).unwrap();
    let mut other = LogFile::open(&path, Link::START).unwrap();
    append(&mut other, 2);
    let error = log.file_state().unwrap_err();
    assert!(error.to_string().contains("taken over its lock"), "{error}");
    let known = log.link();
    assert!(matches!(LogFile::open(&path, known), Err(AuditError::InUse(_))));
    drop(other);
    assert!(log.file_state().is_err(), "the other one has written, and has ended");
    drop(log);
    append(&mut LogFile::open(&path, known).unwrap(), 1);
    let verified = check(directory.path(), &["audit.jsonl"]);
    assert_eq!((faults(&verified), verified.entries), (vec![], 6));
}

#[test]
fn a_part_of_an_entry_in_a_file_that_was_renamed_is_recorded_in_the_next_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let name = |name: &str| directory.path().join(name);
    let torn = "{\"sequence\":4,\"time\":\"2026-";
    append(&mut LogFile::open(&path, Link::START).unwrap(), 2);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(name("audit.jsonl.1"), whole.clone() + torn).unwrap();
    fs::remove_file(&path).unwrap();
    append(&mut LogFile::open(&path, Link::START).unwrap(), 1);
    let files = ["audit.jsonl", "audit.jsonl.1"];
    let verified = check(directory.path(), &files);
    assert_eq!((faults(&verified), verified.entries), (vec![], 6));
    let bytes = u64::try_from(torn.len()).unwrap();
    assert_eq!(notes(&verified), [NoteKind::UnfinishedEarlier(bytes)]);

    // Nobody may change that part afterwards, or insert another line.
    for end in [torn.replace("2026", "2025"), format!("x\n{torn}"), format!("{torn}\n"), format!("{torn}\nx")] {
        fs::write(name("audit.jsonl.1"), whole.clone() + &end).unwrap();
        assert!(!check(directory.path(), &files).faults.is_empty(), "{end}");
    }
    fs::write(name("audit.jsonl.1"), whole.clone() + torn).unwrap();

    // Of a whole entry, only the line end is missing.
    let next = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(name("audit.jsonl.1"), whole.trim_end()).unwrap();
    assert_eq!(faults(&check(directory.path(), &["audit.jsonl.1"])), []);
    append(&mut LogFile::open(&path, Link::START).unwrap(), 1);
    assert_eq!(faults(&check(directory.path(), &files)), []);
    fs::write(name("audit.jsonl.1"), whole.trim_end().replace("server", "sorver")).unwrap();
    assert!(!check(directory.path(), &files).faults.is_empty());
    fs::write(&path, next).unwrap();
    fs::write(name("audit.jsonl.1"), whole.clone() + torn).unwrap();

    // The server failed before that, after the line end with which it begins to record that part.
    let new = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(name("audit.jsonl.1"), format!("{whole}{torn}\n")).unwrap();
    append(&mut LogFile::open(&path, Link::START).unwrap(), 1);
    let verified = check(directory.path(), &files);
    assert_eq!((faults(&verified), notes(&verified)), (vec![], vec![NoteKind::UnfinishedEarlier(bytes + 1)]));
    fs::write(name("audit.jsonl.1"), whole.clone() + torn).unwrap();
    assert!(!check(directory.path(), &files).faults.is_empty(), "the line end is gone");

    // The server fails again while it begins the file, within an entry or after it.
    let lines: Vec<_> = new.split_inclusive(|byte| *byte == b'\n').collect();
    let ends = [20, lines[0].len(), lines[0].len() + 20, lines[0].len() + lines[1].len()];
    for end in ends {
        fs::write(&path, &new[..end]).unwrap();
        append(&mut LogFile::open(&path, Link::START).unwrap(), 1);
        assert!(check(directory.path(), &files).faults.is_empty(), "{end}");
    }
}

#[test]
fn what_is_no_file_is_refused_and_the_standard_output_has_a_name() {
    let error = LogFile::open(Path::new("/dev/null"), Link::START).unwrap_err().to_string();
    assert_eq!(error, "/dev/null is not a regular file; name a file, or `-` for the standard output (--audit-log)");
    // A check must not wait until somebody opens the other end of a pipe.
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    for path in [Path::new("/dev/null"), Path::new("/dev/full"), pipe.as_path(), directory.path()] {
        assert!(matches!(LogFile::check(path), Err(AuditError::NotAFile(_))), "{}", path.display());
    }
    assert!(LogFile::check(&directory.path().join("audit.jsonl")).is_ok());
}
