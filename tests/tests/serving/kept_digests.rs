//! The digest of a base is kept only when the disk has the base: somebody may have written it a moment before a power failure.

use std::fs;
use std::thread;
use std::time::Duration;

use acceptance::bases::coreos_iso;
use acceptance::server::{Server, free_address};

#[test]
fn the_digest_of_a_base_is_kept_after_the_disk_has_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (base, data, log) = (path("base.iso"), path("data"), path("calls"));
    fs::copy(coreos_iso(&[]), &base).unwrap();
    // Only a base that has settled has its digest kept.
    thread::sleep(Duration::from_millis(2500));
    let digests = format!("{data}/base-digests.json");
    let calls = "trace=fsync,rename,renameat,renameat2";
    // The server is the process that was started, and the tracer ends with it.
    let strace = ["strace", "-D", "-f", "-qq", "-y", "-e", calls, "-P", &base, "-P", &digests, "-o", &log];
    let (api, media) = (free_address(), free_address());
    let server = Server::start_under(&strace, &api, &media, "coreos", base.as_ref(), &["--data-dir", &data]);
    assert!(fs::exists(&digests).unwrap(), "{}", server.log());
    let calls = fs::read_to_string(&log).unwrap();
    let first = |name: &str, path: &str| calls.lines().position(|line| line.contains(name) && line.contains(path));
    let (synced, kept) = (first("fsync(", &base), first("rename", &digests));
    assert!(synced.is_some() && kept.is_some() && synced < kept, "{calls}");
}
