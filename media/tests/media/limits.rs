//! Images whose access is limited.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use media::access::{AccessLimits, Clock, ImageAccess};
use media::served::{Lookup, ServedFile};
use tokio::net::{TcpSocket, TcpStream};

use super::client::{Answer, Client};
use super::server::{SIZE, Server, start};

const LIMITED: &str = "/i/abcdefghijklmnopqrstuvwxyz/limited.iso";
const WHOLE: u64 = SIZE as u64;

/// Publishes `boot.iso` once more, with these limits.
fn limit(server: &Server, limits: &str) -> Arc<ImageAccess> {
    let limits: AccessLimits = serde_json::from_str(limits).unwrap();
    let access = Arc::new(ImageAccess::new(limits, SystemTime::now(), BTreeMap::new(), Clock::default()));
    let file = ServedFile { access: Some(Box::new(access.file("limited.iso", WHOLE))), ..server.iso.clone() };
    server.files.publish("limited.iso", Lookup::Found(file));
    access
}

/// A client with an address of its own.
async fn connect_from(server: &Server, last: u8) -> Client<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, last], 0).into()).unwrap();
    Client::new(socket.connect(server.address).await.unwrap())
}

/// That the answer refuses the request, and tells nothing of the image.
fn is_refused(answer: &Answer, why: &str) {
    assert_eq!(answer.status, 403, "{answer:?}");
    for header in ["etag", "last-modified", "content-range", "accept-ranges"] {
        assert_eq!(answer.header(header), "", "{header}");
    }
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(answer.body.is_empty() || String::from_utf8_lossy(&answer.body).contains(why), "{answer:?}");
}

#[tokio::test]
async fn only_clients_in_the_networks_get_anything() {
    let server = start().await;
    limit(&server, r#"{"only_from": ["127.0.0.8/30", "2001:db8::/32"]}"#);
    for (last, admitted) in [(1, false), (7, false), (8, true), (11, true), (12, false)] {
        let mut client = connect_from(&server, last).await;
        for (method, lines) in [
            ("HEAD", &[][..]),
            ("GET", &["Range: bytes=0-99"]),
            ("GET", &["Range: bytes=0-9,20-29"]),
            ("GET", &["If-None-Match: *"]),
            ("GET", &["X-Forwarded-For: 127.0.0.8", "Forwarded: for=127.0.0.8", "Range: bytes=-5"]),
        ] {
            let answer = client.ask(method, LIMITED, lines).await;
            if admitted {
                assert!([200, 206, 304].contains(&answer.status), "{answer:?}");
            } else {
                is_refused(&answer, "address");
            }
        }
        let other = client.ask("GET", LIMITED.replace("limited", "boot").as_str(), &["Range: bytes=0-9"]).await;
        assert_eq!(other.status, 206, "other files of the server have no limits");
    }
    server.metric_becomes(r#"media_refused_requests_total{reason="address"}"#, "15").await;
    assert_eq!(server.metric(r#"media_requests_total{code="403"}"#), "15");
}

#[tokio::test]
async fn a_file_is_read_as_often_as_it_may_be() {
    let server = start().await;
    let access = limit(&server, r#"{"max_reads": 2}"#);
    let mut client = server.connect().await;
    // What has no bytes of the file does not count.
    for (method, lines) in [("HEAD", &[][..]), ("GET", &["If-None-Match: *"]), ("GET", &["Range: bytes=99999999-"])] {
        client.ask(method, LIMITED, lines).await;
    }
    assert_eq!(access.delivered().values().sum::<u64>(), 0);
    for reads in 1..=2 {
        let answer = client.ask("GET", LIMITED, &[]).await;
        assert!(answer.status == 200 && answer.body == server.image, "{reads}");
        assert_eq!(access.reads("limited.iso", WHOLE), Some(reads));
    }
    for (method, lines) in
        [("GET", &[][..]), ("HEAD", &[]), ("GET", &["Range: bytes=0-0"]), ("GET", &["If-None-Match: *"])]
    {
        is_refused(&client.ask(method, LIMITED, lines).await, "often");
    }
    assert_eq!(server.metric(r#"media_refused_requests_total{reason="reads"}"#), "4");
}

/// Requests as a BMC sends them, against the same rules in three lines.
#[tokio::test]
async fn ranges_count_as_the_model_counts_them() {
    for seed in 1_u64..=4 {
        let server = start().await;
        let max = 1 + seed % 2;
        let access = limit(&server, &format!(r#"{{"max_reads": {max}}}"#));
        let mut client = server.connect().await;
        let mut number = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = |below: u64| {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            number % below
        };
        let (mut delivered, mut refused) = (0, 0);
        while refused < 10 {
            let first = random(WHOLE);
            let longest = [2048, 1 << 20, WHOLE][usize::try_from(random(3)).unwrap()];
            let last = (first + random(longest)).min(WHOLE - 1);
            let method = if random(4) == 0 { "HEAD" } else { "GET" };
            let answer = client.ask(method, LIMITED, &[&format!("Range: bytes={first}-{last}")]).await;
            if delivered >= max * WHOLE {
                is_refused(&answer, "often");
                refused += 1;
            } else if method == "GET" {
                assert_eq!(answer.status, 206, "{delivered} bytes were delivered");
                assert_eq!(answer.body.len() as u64, last - first + 1);
                delivered += last - first + 1;
            } else {
                assert_eq!(answer.status, 200);
            }
            assert_eq!(access.delivered().values().sum::<u64>(), delivered);
        }
        assert!((max * WHOLE..(max + 1) * WHOLE).contains(&delivered));
    }
}

#[tokio::test]
async fn a_running_reading_is_completed_although_the_limit_is_reached_beside_it() {
    let server = start().await;
    limit(&server, r#"{"max_reads": 1}"#);
    let (mut slow, mut other) = (server.connect().await, server.connect().await);
    slow.send(&format!("GET {LIMITED} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    slow.head().await.unwrap();
    let mut read = slow.body(SIZE / 4).await.unwrap();
    let rest = format!("Range: bytes=0-{}", SIZE - SIZE / 4 - 1);
    assert_eq!(other.ask("GET", LIMITED, &[&rest]).await.status, 206);
    is_refused(&other.ask("GET", LIMITED, &["Range: bytes=0-9"]).await, "often");
    read.extend(slow.body(SIZE - SIZE / 4).await.unwrap());
    assert!(read == server.image);
}

#[tokio::test]
async fn many_clients_at_once_get_at_most_one_reading_more() {
    const CLIENTS: usize = 3;
    let server = start().await;
    let access = limit(&server, r#"{"max_reads": 1}"#);
    let mut readers = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = server.connect().await;
        client.send(&format!("GET {LIMITED} HTTP/1.1\r\nHost: bmc\r\nConnection: close\r\n\r\n")).await;
        assert_eq!(client.head().await.unwrap().status, 200, "all began before anything was read");
        readers.push(tokio::spawn(client.rest()));
    }
    let mut received = 0;
    for reader in readers {
        received += reader.await.unwrap().len() as u64;
    }
    assert!(received <= 2 * WHOLE, "{received} bytes of {WHOLE}");
    assert!(access.delivered().values().sum::<u64>() <= 2 * WHOLE);
    is_refused(&server.connect().await.ask("GET", LIMITED, &[]).await, "often");
}
