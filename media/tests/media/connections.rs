//! Connections: many, slow, silent, old, and ending.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use media::listen::{ListenMetrics, Listener, Options};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::server::{ISO, SIZE, Server, start, start_with};

const SOON: Duration = Duration::from_secs(20);

/// A client that has asked for the whole image and reads no more than the head of the answer.
async fn stalled(server: &Server) -> Client<TcpStream> {
    let mut client = server.connect().await;
    client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_readers_get_the_same_bytes() {
    let server = std::sync::Arc::new(start().await);
    let readers = (0..8).map(|reader| {
        let server = std::sync::Arc::clone(&server);
        tokio::spawn(async move {
            let mut client = server.connect().await;
            if reader % 2 == 0 {
                return client.ask("GET", ISO, &[]).await.body == server.image;
            }
            let step = 300_001 + reader * 65_536;
            let mut image = vec![];
            while image.len() < SIZE {
                let range = format!("Range: bytes={}-{}", image.len(), image.len() + step - 1);
                image.extend(client.ask("GET", ISO, &[&range]).await.body);
            }
            image == server.image
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        assert!(reader.await.unwrap());
    }
}

/// On one thread, so that a transfer which does not give way is seen.
#[tokio::test]
async fn downloads_do_not_delay_a_head() {
    let server = start().await;
    let mut slow = vec![];
    for _ in 0..8 {
        slow.push(stalled(&server).await);
    }
    let address = server.address;
    let fast = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let request = format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_to_end(&mut vec![]).unwrap()
    });
    let mut client = server.connect().await;
    for _ in 0..50 {
        let asked = Instant::now();
        assert_eq!(client.ask("HEAD", ISO, &[]).await.status, 200);
        assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
    }
    let fast = tokio::task::spawn_blocking(|| fast.join().unwrap());
    assert!(fast.await.unwrap() > SIZE);
    // The slow ones get there as well, in the end.
    let mut one = slow.pop().unwrap();
    assert!(one.body(SIZE).await.unwrap() == server.image);
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_slow_one_is_not() {
    let options = Options { idle_timeout: Duration::from_millis(600), ..Options::default() };
    let server = start_with(options).await;
    let stuck = stalled(&server).await;
    let mut silent = server.connect().await;
    assert!(timeout(SOON, silent.ended()).await.unwrap());
    server.metric_becomes("media_aborted_transfers_total", "1").await;
    assert!(timeout(SOON, stuck.rest()).await.unwrap().len() < SIZE);

    // Small buffers, so that what the client takes is what moves.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 << 10).unwrap();
    let mut slow = Client::new(socket.connect(server.address).await.unwrap());
    slow.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    slow.head().await.unwrap();
    let begun = Instant::now();
    let mut image = vec![];
    while begun.elapsed() < Duration::from_secs(3) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        image.extend(slow.body(SIZE / 32).await.unwrap());
        if image.len() + SIZE / 32 > SIZE {
            break;
        }
    }
    image.extend(slow.body(SIZE - image.len()).await.unwrap());
    assert!(image == server.image);
    assert!(begun.elapsed() > Duration::from_secs(2), "slower than the timeout is long");
}

#[tokio::test]
async fn a_connection_is_idle_while_its_client_reads_nothing_but_not_while_the_service_makes_the_answer() {
    let idle_timeout = Duration::from_millis(300);
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), Options { idle_timeout, ..Options::default() });
    let listener = listener.await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = tower::service_fn(move |request: Request<Incoming>| async move {
        tokio::time::sleep(5 * idle_timeout).await;
        let length = if request.uri().path() == "/long" { SIZE } else { 4 };
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(vec![b'.'; length]))))
    });
    let serving = tokio::spawn(listener.serve(service, CancellationToken::new()));
    let (client, stuck) = tokio::join!(TcpStream::connect(address), TcpStream::connect(address));
    let (mut client, mut stuck) = (Client::new(client.unwrap()), Client::new(stuck.unwrap()));
    stuck.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(client.ask("GET", "/short", &[]).await.body, b"....");
    assert!(timeout(SOON, client.ended()).await.unwrap());

    assert_eq!(timeout(SOON, stuck.head()).await.unwrap().unwrap().status, 200);
    tokio::time::sleep(5 * idle_timeout).await;
    assert!(timeout(SOON, stuck.rest()).await.unwrap().len() < SIZE);
    serving.abort();
}

#[tokio::test]
async fn a_connection_without_a_request_is_counted_whichever_limit_ends_it() {
    let (metrics, mut registry) = (ListenMetrics::default(), Registry::default());
    metrics.register(&mut registry, "media");
    let server = start_with(Options { metrics, ..Options::default() }).await;
    let (short, long) = (Duration::from_millis(300), Duration::from_mins(5));
    let half = "GET /i/abc".to_owned();
    // A head so long that hyper reads it, with its own timer.
    let much = format!("GET {ISO} HTTP/1.1\r\nX: {}", "x".repeat(10_000));
    let cases = [
        ([short, long, long], &half),
        ([long, short, long], &half),
        ([long, long, short], &half),
        ([long, short, short], &half),
        ([long, short, long], &much),
    ];
    let is_counted = |count: usize| {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let line = format!("media_connections_closed_total{{reason=\"no-request\"}} {count}");
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
    };
    for (number, ([idle, header, first], sent)) in cases.into_iter().enumerate() {
        server.options.change(|options| {
            (options.idle_timeout, options.header_timeout, options.first_request_timeout) = (idle, header, first);
        });
        let mut client = server.connect().await;
        client.send(sent).await;
        assert!(timeout(SOON, client.ended()).await.unwrap());
        is_counted(number + 1);
    }
    let mut client = server.connect().await;
    assert_eq!(client.ask("HEAD", ISO, &[]).await.status, 200);
    assert!(timeout(SOON, client.ended()).await.unwrap());
    is_counted(cases.len());
}

#[tokio::test]
async fn a_connection_with_an_incomplete_head_is_closed() {
    let options = Options { header_timeout: Duration::from_millis(300), ..Options::default() };
    let server = start_with(options).await;
    let mut client = server.connect().await;
    client.send("GET /i/abc").await;
    let trickle = async {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _ = client.stream.write_all(b"d").await;
        }
    };
    let _ = timeout(Duration::from_millis(600), trickle).await;
    assert!(!timeout(SOON, client.rest()).await.unwrap().starts_with(b"HTTP/1.1 200"));
}

/// The requests of a connection do not poll its timers, which still have to be due in time.
#[tokio::test]
async fn a_client_that_stops_after_many_requests_is_closed() {
    let limit = Duration::from_millis(1500);
    let server = start_with(Options { header_timeout: limit, ..Options::default() }).await;
    let (mut silent, mut half) = (server.connect().await, server.connect().await);
    let begun = Instant::now();
    let mut last = begun;
    while begun.elapsed() < 2 * limit {
        last = Instant::now();
        for client in [&mut silent, &mut half] {
            assert_eq!(client.ask("HEAD", ISO, &[]).await.status, 200);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    half.send("GET /i/abc").await;
    assert!(timeout(SOON, silent.ended()).await.unwrap());
    // The record of a wait has whole milliseconds.
    assert!(last.elapsed() + Duration::from_millis(10) >= limit, "{:?}", last.elapsed());
    assert!(timeout(SOON, half.ended()).await.unwrap());
}

/// A host that waits at a boot menu asks for nothing for minutes, and yet nobody needs minutes to begin.
#[tokio::test]
async fn the_first_request_has_a_shorter_limit_than_the_next_ones() {
    let options = Options { first_request_timeout: Duration::from_millis(400), ..Options::default() };
    let server = start_with(options).await;
    let mut asked = server.connect().await;
    assert_eq!(asked.ask("HEAD", ISO, &[]).await.status, 200);
    let begun = Instant::now();
    let mut half = server.connect().await;
    half.send("GET /i/abc").await;
    let mut silent = server.connect().await;
    assert!(timeout(SOON, silent.ended()).await.unwrap() && timeout(SOON, half.ended()).await.unwrap());
    assert!((Duration::from_millis(350)..Duration::from_secs(10)).contains(&begun.elapsed()));
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(asked.ask("HEAD", ISO, &[]).await.status, 200);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = start().await;
    let mut client = server.connect().await;
    let large = format!("X: {}", "x".repeat(200_000));
    client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n{large}")).await;
    let answer = String::from_utf8_lossy(&timeout(SOON, client.rest()).await.unwrap()).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn requests_follow_each_other_on_one_connection_even_unasked() {
    let server = start().await;
    let mut client = server.connect().await;
    let request = |from| format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\nRange: bytes={from}-{}\r\n\r\n", from + 99);
    client.send(&(request(0) + &request(99_950) + &request(5))).await;
    for from in [0, 99_950, 5] {
        assert!(client.answer(false).await.unwrap().body == server.image[from..from + 100]);
    }
}

#[tokio::test]
async fn http_1_0_and_half_closed_connections_are_served() {
    let server = start().await;
    let mut client = server.connect().await;
    client.send(&format!("GET {ISO} HTTP/1.0\r\nRange: bytes=0-99999\r\n\r\n")).await;
    let answer = client.answer(false).await.unwrap();
    assert_eq!((answer.status, answer.header("transfer-encoding")), (206, ""));
    assert!(answer.body == server.image[..100_000]);
    assert!(timeout(SOON, client.ended()).await.unwrap(), "it was not to be kept alive");

    let mut client = server.connect().await;
    client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    client.stream.shutdown().await.unwrap();
    assert!(client.answer(false).await.unwrap().body == server.image);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let server = start_with(Options { max_connections: 2, ..Options::default() }).await;
    let (first, _second) = (stalled(&server).await, stalled(&server).await);
    let mut third = server.connect().await;
    third.send(&format!("HEAD {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    assert!(timeout(Duration::from_millis(300), third.head()).await.is_err());
    drop(first);
    assert_eq!(timeout(SOON, third.head()).await.unwrap().unwrap().status, 200);
}

/// On one thread, so that all of them are accepted before one of them can close.
#[tokio::test]
async fn a_client_behind_an_address_that_opens_many_connections_at_once_is_answered() {
    let server = start_with(Options { max_per_address: 16, ..Options::default() }).await;
    let many: Vec<_> = (0..100).map(|_| std::net::TcpStream::connect(server.address).unwrap()).collect();
    let mut client = server.connect().await;
    assert_eq!(timeout(SOON, client.ask("HEAD", ISO, &[])).await.unwrap().status, 200);
    drop(many);
}

#[tokio::test]
async fn the_probe_which_anybody_may_read_keeps_no_connection_open() {
    let server = start_with(Options { max_per_address: 1, ..Options::default() }).await;
    let mut first = server.connect().await;
    assert_eq!(first.ask("HEAD", "/i/probe/probe.img", &[]).await.status, 200);
    assert_eq!(first.ask("GET", "/i/probe/probe.img", &["Range: bytes=0-9"]).await.status, 206);
    assert_eq!(first.ask("GET", "/h/probe", &[]).await.status, 204);
    let mut second = server.connect().await;
    assert_eq!(timeout(SOON, second.ask("HEAD", ISO, &[])).await.unwrap().status, 200);
    assert!(timeout(SOON, first.ended()).await.unwrap(), "it made room");
    let mut third = server.connect().await;
    assert!(timeout(SOON, third.ended()).await.unwrap(), "who reads an image keeps its place");
}

#[tokio::test]
async fn changed_limits_apply_to_new_connections() {
    let server = start_with(Options { max_per_address: 1, drain: Duration::from_mins(5), ..Options::default() }).await;
    let first = stalled(&server).await;
    let mut second = server.connect().await;
    assert!(timeout(SOON, second.ended()).await.unwrap(), "one connection from an address");
    server.options.change(|options| {
        options.max_per_address = 2;
        options.drain = Duration::from_millis(200);
    });
    let mut second = server.connect().await;
    second.send(&format!("HEAD {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    assert_eq!(timeout(SOON, second.head()).await.unwrap().unwrap().status, 200);
    server.shutdown.cancel();
    timeout(SOON, server.serving).await.unwrap().unwrap();
    drop(first);
}

#[tokio::test]
async fn shutdown_lets_a_download_end() {
    let server = start().await;
    let mut running = stalled(&server).await;
    let mut idle = server.connect().await;
    idle.ask("HEAD", ISO, &[]).await;
    server.shutdown.cancel();
    assert!(timeout(SOON, idle.ended()).await.unwrap());
    assert!(!server.serving.is_finished());
    assert!(TcpStream::connect(server.address).await.is_err(), "nobody listens any more");
    assert!(running.body(SIZE).await.unwrap() == server.image);
    timeout(SOON, server.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_does_not_wait_longer_than_the_drain_limit() {
    let server = start_with(Options { drain: Duration::from_millis(200), ..Options::default() }).await;
    let stuck = stalled(&server).await;
    server.shutdown.cancel();
    timeout(SOON, server.serving).await.unwrap().unwrap();
    assert!(timeout(SOON, stuck.rest()).await.unwrap().len() < SIZE);
}
