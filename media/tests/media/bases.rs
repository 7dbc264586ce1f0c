//! Bases that change under a server: an end, never other bytes.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::server::{ISO, SIZE, start};

type Act = fn(&Path);

/// What happens to a file that others may write to.
const WRITES: [(&str, Act); 2] = [
    ("truncated", |path| File::options().write(true).open(path).unwrap().set_len(1000).unwrap()),
    ("overwritten", |path| {
        let mut file = File::options().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(SIZE as u64 - (1 << 20))).unwrap();
        file.write_all(&vec![0xEE; 1 << 20]).unwrap();
    }),
];

/// What happens to any file. A change of its attributes alone looks like a write whose mtime was set back.
const MOVES: [(&str, Act); 5] = [
    ("replaced", |path| {
        let new = path.with_extension("new");
        fs::write(&new, vec![0xEE; SIZE]).unwrap();
        fs::rename(new, path).unwrap();
    }),
    ("deleted", |path| fs::remove_file(path).unwrap()),
    ("moved away", |path| fs::rename(path, path.with_extension("aside")).unwrap()),
    ("given other permissions", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap()),
    ("given a second link", |path| fs::hard_link(path, path.with_extension("link")).unwrap()),
];

#[tokio::test]
async fn a_base_that_changes_in_mid_transfer_aborts_it() {
    // With sendfile, a write changes bytes that are already queued. That is why dayone uses it for private copies only.
    let writes = if crate::PRIVATE { &[] } else { &WRITES[..] };
    for (name, act) in writes.iter().chain(&MOVES) {
        let server = start().await;
        let mut client = server.connect().await;
        client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
        let head = client.head().await.unwrap();
        assert_eq!(head.header("content-length"), SIZE.to_string());
        act(&server.base);
        let body = timeout(Duration::from_secs(20), client.rest()).await.unwrap();
        assert!(body.len() < SIZE, "{name}: {} bytes", body.len());
        assert!(body == server.image[..body.len()], "{name}: wrong bytes");
        server.metric_becomes("media_aborted_transfers_total", "1").await;
    }
}

#[tokio::test]
async fn a_base_that_changed_between_requests_is_unavailable_for_good() {
    for (name, act) in WRITES.iter().chain(&MOVES) {
        let server = start().await;
        let mut client = server.connect().await;
        assert_eq!(client.ask("GET", ISO, &["Range: bytes=0-9"]).await.status, 206);
        let before = fs::read(&server.base).unwrap();
        act(&server.base);
        for method in ["GET", "HEAD"] {
            let answer = client.ask(method, ISO, &["Range: bytes=0-9"]).await;
            assert_eq!((answer.status, answer.header("retry-after")), (503, "30"), "{name}");
        }
        fs::write(&server.base, before).unwrap();
        assert_eq!(client.ask("GET", ISO, &[]).await.status, 503, "{name}, and put back");
    }
}
