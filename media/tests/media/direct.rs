//! Answers that are made without hyper have the bytes that hyper's have.

use std::net::SocketAddr;

use media::listen::{DirectAnswers as _, DirectRequest, Options, Peer, Sender};

use super::client::Answer;
use super::server::{ISO, SIZE, Server, start, start_with};

/// What makes a request one for hyper, without another meaning.
const OTHER: &str = "X-Other: yes";

/// The answer on a new connection, with the head but for its date.
async fn ask(server: &Server, method: &str, path: &str, lines: &[&str]) -> Answer {
    undated(server.connect().await.ask(method, path, lines).await)
}

fn undated(mut answer: Answer) -> Answer {
    let (before, date) = answer.head.split_once("Date: ").unwrap();
    let after = date.split_once("\r\n").unwrap().1;
    answer.head = format!("{before}{after}");
    answer
}

#[tokio::test]
async fn both_ways_give_the_same_bytes() {
    let server = start().await;
    let (last, beyond) = (format!("Range: bytes={}-", SIZE - 1), format!("Range: bytes={SIZE}-"));
    let across = format!("Range: bytes={}-{}", SIZE / 2 - 100_000, SIZE / 2 + 300_000);
    let ranges = [
        "",
        "Range: bytes=0-0",
        "Range: bytes=0-65535",
        "Range: bytes=1-70000",
        "Range: bytes=-1",
        "Range: bytes=-99999999999",
        "Range: bytes=5-4",
        "Range: bytes=0-1,5-6",
        "Range: bytes= 0-1",
        "Range: bytes=0-99999999999999999999999",
        "Range: BYTES=0-1",
        "Range: lines=0-1",
        &last,
        &beyond,
        &across,
    ];
    for path in [ISO, &ISO.replace(".iso", ".ipxe"), &ISO.replace("boot", "broken"), "/i/abc/boot.iso", "/"] {
        for method in ["GET", "HEAD"] {
            for range in ranges {
                let lines: Vec<&str> = [range].into_iter().filter(|line| !line.is_empty()).collect();
                let direct = ask(&server, method, path, &lines).await;
                let other = ask(&server, method, path, &[&lines[..], &[OTHER]].concat()).await;
                assert_eq!(direct.head, other.head, "{method} {path} {range}");
                assert!(direct.body == other.body, "{method} {path} {range}");
            }
        }
    }
    // Half of the requests, and of the answers, were counted on each way.
    let requests = 2 * 2 * ranges.len() as u64;
    let reading = server.reading();
    assert_eq!(reading.clients[0].gets + reading.clients[0].heads, requests);
    assert_eq!(reading.clients[0].range_requests, requests - 4);
}

#[tokio::test]
async fn firmware_that_sends_no_host_or_a_wrong_one_gets_the_same_bytes() {
    let server = start().await;
    let expected = ask(&server, "GET", ISO, &["Range: bytes=0-9"]).await;
    assert_eq!(expected.status, 206);
    for host in ["", "Host:\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: bmc, other\r\n", "Host: bmc:abc\r\n"] {
        for other in ["", "X-Other: yes\r\n"] {
            let mut client = server.connect().await;
            client.send(&format!("GET {ISO} HTTP/1.1\r\n{host}{other}Range: bytes=0-9\r\n\r\n")).await;
            let answer = undated(client.answer(false).await.unwrap());
            assert_eq!(answer.head, expected.head, "{host:?} {other:?}");
            assert!(answer.body == expected.body, "{host:?} {other:?}");
        }
    }
}

#[tokio::test]
async fn whole_files_and_single_ranges_need_no_hyper() {
    let server = start().await;
    let peer = Peer { address: SocketAddr::from(([192, 0, 2, 1], 1024)), tls: None };
    let mut memory = None;
    let mut is_direct = |path, range, is_head| {
        let request = DirectRequest { is_head, path, range, user_agent: None };
        server.service.answer(&request, Sender::new(peer), &mut memory, &mut Vec::new()).is_some()
    };
    let broken = ISO.replace("boot", "broken");
    for is_head in [false, true] {
        for range in [None, Some("bytes=0-0"), Some("bytes=-5"), Some("bytes=0-1,1-2"), Some("nonsense")] {
            assert!(is_direct(ISO, range, is_head), "{range:?}");
        }
        for range in ["bytes=0-0,5-5", "bytes=99999999999-"] {
            assert_eq!(is_direct(ISO, Some(range), is_head), is_head, "{range}");
        }
        for path in [&broken[..], "/i/abc/boot.iso", "/", "/h/abcdefghijklmnopqrstuvwxyz"] {
            assert!(!is_direct(path, None, is_head), "{path}");
        }
    }
    server.change_base();
    assert!(!is_direct(ISO, None, false) && !is_direct(ISO, None, true));
}

#[tokio::test]
async fn direct_requests_and_others_follow_each_other_on_a_connection() {
    let server = start().await;
    let mut client = server.connect().await;
    let request =
        |range: &str, line: &str| format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\nRange: bytes={range}\r\n{line}\r\n");
    // All in one write, the last one in two parts.
    let text: String =
        [request("0-9", ""), request("100000-399999", ""), request("10-19", "X-Other: yes\r\n"), request("20-29", "")]
            .concat();
    let (first, rest) = text.split_at(text.len() - 30);
    client.send(first).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    client.send(rest).await;
    for range in [0..10, 100_000..400_000, 10..20, 20..30] {
        let answer = client.answer(false).await.unwrap();
        assert_eq!((answer.status, answer.body.len()), (206, range.len()));
        assert!(answer.body == server.image[range]);
    }
}

#[tokio::test]
async fn heads_that_are_longer_than_one_read_are_read_in_pieces() {
    let server = start().await;
    let mut client = server.connect().await;
    let agent = "a".repeat(3000);
    let request = |from: usize| {
        format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\nUser-Agent: {agent}\r\nRange: bytes={from}-{}\r\n\r\n", from + 9)
    };
    // Two requests and the beginning of the third in one write, and its rest in pieces.
    let (text, third) = ([request(10), request(20), request(30)].concat(), request(30).len());
    let (first, rest) = text.split_at(text.len() - third + 500);
    client.send(first).await;
    for piece in rest.as_bytes().chunks(700) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        client.send(std::str::from_utf8(piece).unwrap()).await;
    }
    for from in [10, 20, 30] {
        let answer = client.answer(false).await.unwrap();
        assert_eq!(answer.status, 206);
        assert!(answer.body == server.image[from..from + 10]);
    }
}

#[tokio::test]
async fn a_client_that_closes_its_sending_side_gets_its_answer() {
    use tokio::io::AsyncWriteExt as _;

    let server = start().await;
    let mut client = server.connect().await;
    client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    client.stream.shutdown().await.unwrap();
    assert!(client.answer(false).await.unwrap().body == server.image);
    assert!(client.ended().await);
}

#[tokio::test]
async fn a_stopping_listener_ends_waiting_connections_and_lets_answers_end() {
    let server = start_with(Options::default()).await;
    let (mut waiting, mut reading) = (server.connect().await, server.connect().await);
    assert_eq!(waiting.ask("HEAD", ISO, &[]).await.status, 200);
    reading.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    reading.head().await.unwrap();
    server.shutdown.cancel();
    assert!(waiting.ended().await);
    assert!(reading.body(SIZE).await.unwrap() == server.image);
    assert!(reading.ended().await);
}
