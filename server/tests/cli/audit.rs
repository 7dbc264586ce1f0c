//! `dayone audit verify` and `dayone audit show` over files that were rotated, compressed, cut off and recovered.

use std::fs;

use dayone::fuzzing::{open_audit_log, seal_audit_entries};
use imagelib::compression::Compression;

use super::images::Place;
use super::{ended, run, run_with_input};

/// A log of five entries.
fn lines() -> Vec<String> {
    let deleted = |host: usize| format!(",\"event\":\"image-deleted\",\"image\":\"9f86\",\"host\":\"worker-{host}\"");
    let contents: Vec<String> = (0..5).map(deleted).collect();
    seal_audit_entries(contents.iter().map(String::as_str))
}

#[test]
fn files_that_logrotate_has_compressed_are_read() {
    let (place, lines) = (Place::new(), lines());
    let newest = place.write("audit.jsonl", lines[4..].concat());
    let plain = place.write("audit.jsonl.1", lines[2..4].concat());
    for (compression, end) in [(Compression::Gzip, "gz"), (Compression::Xz, "xz"), (Compression::Zstd, "zst")] {
        let packed = compression.compress(lines[..2].concat().as_bytes()).unwrap();
        let old = place.write(&format!("audit.jsonl.2.{end}"), &packed);
        let verified = run(&["audit", "verify", &newest, &plain, &old]);
        assert_eq!((verified.code, verified.err.as_str()), (0, ""), "{}", verified.out);
        assert!(verified.out.starts_with("5 entries, from 1 to 5: the log is intact\n"), "{}", verified.out);
        let shown = run(&["audit", "show", &newest, &plain, &old, "--host", "worker-1"]);
        assert_eq!((shown.code, shown.out.lines().count()), (0, 2), "{}{}", shown.out, shown.err);

        let cut = place.write("cut", &packed[..packed.len() - 5]);
        for command in ["verify", "show"] {
            let damaged = run(&["audit", command, &newest, &plain, &cut]);
            let reason =
                format!("cut is compressed with {compression}, and the compressed file is damaged or incomplete");
            assert_eq!((damaged.code, damaged.out.as_str()), (2, ""), "{}", damaged.err);
            assert!(damaged.err.contains(&reason), "{}", damaged.err);
        }
    }
    let bzip2 = place.write("audit.jsonl.2.bz2", b"BZh91AY&SY\x12\x34");
    for command in ["verify", "show"] {
        let refused = run(&["audit", command, &newest, &bzip2]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""));
        assert!(refused.err.contains("is compressed with bzip2, which dayone does not read; decompress it first"));
    }
    // A pipe can be read only once.
    let piped = run_with_input(&["audit", "verify", "/dev/stdin"], lines.concat().as_bytes());
    assert_eq!(piped.code, 0, "{}", piped.err);
    let missing = run(&["audit", "show", &place.argument("missing")]);
    assert!(missing.code == 2 && missing.err.contains("cannot read"), "{}", missing.err);
}

#[test]
fn a_log_without_the_known_hash_is_not_called_intact() {
    let (place, lines) = (Place::new(), lines());
    let whole = place.write("audit.jsonl", lines.concat());
    let verified = run(&["audit", "verify", &whole]);
    let hash = verified.out.trim_end().rsplit_once("last hash: ").unwrap().1;
    let known = run(&["audit", "verify", &whole, "--known", hash]);
    assert!(known.code == 0 && known.out.contains("the log is intact"), "{}", known.out);
    let cut = place.write("cut.jsonl", lines[..4].concat());
    let cut = run(&["audit", "verify", &cut, "--known", hash]);
    assert_eq!(cut.code, 1, "{}", cut.out);
    assert!(cut.out.contains("4 entries, from 1 to 4: the log is not intact\n"), "{}", cut.out);
}

#[test]
fn a_small_file_that_unpacks_to_much_needs_little_memory() {
    let place = Place::new();
    // 1 GiB in a line, and a million lines.
    let one = Compression::Gzip.compress(&vec![b'x'; 64 << 20]).unwrap();
    let lines = Compression::Gzip.compress(&b"x\n".repeat(1 << 20)).unwrap();
    let bomb = place.write("audit.jsonl.2.gz", [one.repeat(16), lines].concat());
    for command in ["verify", "show"] {
        let limited = format!("ulimit -v 900000; exec {} audit {command} {bomb}", env!("CARGO_BIN_EXE_dayone"));
        let output = std::process::Command::new("sh").args(["-c", &limited]).output().unwrap();
        assert_eq!(ended(output).code, 1, "{command}");
    }
}

#[test]
fn what_the_server_has_recovered_is_no_reason_to_fail() {
    let (place, lines) = (Place::new(), lines());
    let log = place.write("audit.jsonl", &lines.concat().as_bytes()[..lines.concat().len() - 9]);
    assert_eq!(run(&["audit", "show", &log]).code, 1, "nobody has recorded it yet");
    open_audit_log(log.as_ref()).unwrap();
    let verified = run(&["audit", "verify", &log]);
    assert_eq!(verified.code, 0, "{}", verified.out);
    let shown = run(&["audit", "show", &log]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert!(shown.out.contains("worker-3") && shown.out.contains("that are no entry at the end of the log"));
    assert!(!shown.out.contains("worker-4"), "{}", shown.out);

    // The entry explains neither a line that somebody has changed, nor one more.
    let recovered = fs::read_to_string(&log).unwrap();
    for wrong in
        [recovered.replacen("worker-4", "worker-5", 1), recovered.replacen("{\"sequence\":5", "x\n{\"sequence\":5", 1)]
    {
        assert_ne!(wrong, recovered);
        let log = place.write("wrong.jsonl", wrong);
        let shown = run(&["audit", "show", &log]);
        assert_eq!(shown.code, 1);
        assert!(shown.err.contains("wrong.jsonl:5 is not an entry; run: dayone audit verify"), "{}", shown.err);
        assert_eq!(run(&["audit", "verify", &log]).code, 1);
    }
}

#[test]
fn what_the_server_has_recovered_after_a_rotation_is_no_reason_to_fail() {
    let (place, lines) = (Place::new(), lines());
    let old = place.write("audit.jsonl.1", &lines.concat().as_bytes()[..lines.concat().len() - 9]);
    assert_eq!(run(&["audit", "verify", &old]).code, 1, "nobody has recorded it yet");
    let new = place.argument("audit.jsonl");
    open_audit_log(new.as_ref()).unwrap();
    let verified = run(&["audit", "verify", &new, &old]);
    assert_eq!(verified.code, 0, "{}", verified.out);
    assert!(verified.out.contains("audit.jsonl:2: the server found "), "{}", verified.out);
    let shown = run(&["audit", "show", &new, &old]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert!(shown.out.contains("that are no entry at the end of audit.jsonl.1"), "{}", shown.out);
    for command in ["verify", "show"] {
        assert_eq!(run(&["audit", command, &old]).code, 1, "the entry that says so is in the other file");
    }
}
