//! Any bytes as an audit log, and a good log with any change: no panic, and every change is found.
#![no_main]

use std::fs;

use dayone::audit::{LogText, sentence, verify};
use dayone::fuzzing::{open_audit_log, seal_audit_entries};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn log(bytes: &[u8]) -> LogText {
    LogText::of_bytes("audit.jsonl", bytes.to_vec())
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 4 {
        0 => any(rest),
        1 => changed(rest),
        2 => continued(rest),
        _ => failed(rest),
    }
});

/// Any bytes, in two files.
fn any(bytes: &[u8]) {
    let (one, two) = bytes.split_at(bytes.len() / 2);
    let lines = bytes.split(|byte| *byte == b'\n').count();
    // What begins like a compressed file may not be one.
    let Ok(verified) = verify(vec![log(one), log(two)], None) else { return };
    assert!(verified.faults.len() <= 2 * lines + 2, "{} faults in {lines} lines", verified.faults.len());
    assert!(verified.entries <= lines as u64 + 1);
    for fault in &verified.faults {
        assert!(!fault.to_string().contains(char::is_control));
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(entry) = serde_json::from_slice::<Value>(line) else { continue };
        let shown = sentence(&entry);
        assert!(shown.what.len() + shown.who.len() <= 4 * line.len() + 512, "{shown:?}");
    }
}

/// A log of three entries, in which some bytes are replaced.
fn changed(data: &[u8]) {
    let good = seal_audit_entries([
        ",\"event\":\"server-started\",\"version\":\"1\"",
        ",\"event\":\"image-read\"",
        ",\"event\":\"x\",\"y\":[1,2]",
    ])
    .concat()
    .into_bytes();
    let verified = verify(vec![log(&good)], None).expect("it is not compressed");
    assert!(verified.faults.is_empty() && verified.entries == 3, "{verified:?}");
    let last = verified.last.map(|(_, hash)| hash);
    let [position, removed, inserted @ ..] = data else { return };
    let start = usize::from(*position) * 4 % good.len();
    let end = (start + usize::from(*removed)).min(good.len());
    let bad = [&good[..start], inserted, &good[end..]].concat();
    // Empty lines say nothing, and the first files of a log may be gone.
    let lines: Vec<&[u8]> = bad.split_inclusive(|byte| *byte == b'\n').filter(|line| line != b"\n").collect();
    let gone = good.strip_suffix(lines.concat().as_slice());
    if gone.is_some_and(|gone| gone.is_empty() || gone.ends_with(b"\n")) {
        return;
    }
    let Ok(verified) = verify(vec![log(&bad)], last) else { return };
    assert!(!verified.faults.is_empty() || !verified.has_known, "{}", String::from_utf8_lossy(&bad));
}

/// A log that the server finds at its start: it refuses the file, or it completes it, and opens it again without a change.
fn continued(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("audit.jsonl");
    let good = seal_audit_entries([",\"event\":\"x\""]).concat();
    let before = [good.as_bytes(), bytes].concat();
    fs::write(&path, &before).expect("a file");
    open_audit_log(&path).expect("the file begins with an entry of ours");
    let after = fs::read(&path).expect("a file");
    assert!(after.starts_with(&before), "the server changes nothing that is there");
    assert!(after.ends_with(b"\n") && after.len() <= before.len() + 1024);
    open_audit_log(&path).expect("the file is ours");
    assert!(fs::read(&path).expect("a file") == after, "there is nothing left to repair");
    // A server that fails leaves the beginning of the next entry, and maybe zeros behind it.
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let part = &first[..first.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)];
    if !part.starts_with(BEGIN) && !BEGIN.starts_with(part) {
        let verified = verify(vec![log(&after)], None).expect("it is not compressed");
        assert!(!verified.faults.is_empty(), "{verified:?}");
    }
}

/// How the second entry of a log begins.
const BEGIN: &[u8] = b"{\"sequence\":2,\"time\":\"";

/// A log whose server fails again and again while it records what it found.
fn failed(data: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("audit.jsonl");
    let good = seal_audit_entries([",\"event\":\"x\"", ",\"event\":\"y\""]).concat().into_bytes();
    let Some((torn, fails)) = data.split_first() else { return };
    let mut left = good[..good.len() - usize::from(*torn) % 200].to_vec();
    for kept in fails.iter().take(60).chain([&0]) {
        fs::write(&path, &left).expect("a file");
        open_audit_log(&path).expect("the file is ours");
        let after = fs::read(&path).expect("a file");
        let verified = verify(vec![log(&after)], None).expect("it is not compressed");
        assert!(verified.faults.is_empty(), "{verified:?}");
        let recorded = after.len() - left.len();
        if recorded == 0 {
            break;
        }
        left = after[..left.len() + 2 * usize::from(*kept) % recorded].to_vec();
    }
}
