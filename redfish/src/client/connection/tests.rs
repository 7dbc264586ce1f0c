//! A connection to a server on loopback that does what each test says.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Passes only if a test would fail otherwise.
const LONG: Duration = Duration::from_mins(1);
const LIMIT: usize = 1 << 20;
const EMPTY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

async fn listen() -> (TcpListener, Connection) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connection = connection(&format!("http://{}", listener.local_addr().unwrap()), None, LONG);
    (listener, connection)
}

fn connection(url: &str, tls: Option<ClientConfig>, connect_timeout: Duration) -> Connection {
    Connection::new(&url.parse().unwrap(), tls, AllowedNetworks::default(), connect_timeout, LONG).unwrap()
}

fn request(path: &str) -> Request<String> {
    Request::builder().method(Method::GET).uri(path).body(String::new()).unwrap()
}

async fn body(connection: &mut Connection, path: &str) -> String {
    let (_, body) = connection.send(request(path), LONG, LIMIT).await.unwrap();
    String::from_utf8(body).unwrap()
}

async fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().await.unwrap().0
}

/// Reads a request without a body.
async fn read(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Reads a request, and answers it with this text.
async fn answer(stream: &mut TcpStream, text: &str) -> String {
    let head = read(stream).await;
    stream.write_all(text.as_bytes()).await.unwrap();
    head
}

#[tokio::test]
async fn requests_share_a_connection_whatever_the_form_of_their_answers() {
    const ANSWERS: [(&str, &str); 5] = [
        (EMPTY, "{}"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{ \r\n1\r\n}\r\n0\r\nA: b\r\n\r\n", "{ }"),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "[]"),
    ];
    let (listener, mut connection) = listen().await;
    let host = listener.local_addr().unwrap();
    let bmc = async {
        let mut stream = accept(&listener).await;
        for (number, (text, _)) in ANSWERS.iter().enumerate() {
            let head = answer(&mut stream, text).await;
            assert_eq!(head, format!("GET /{number} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        }
        stream
    };
    let client = async {
        for (number, (_, expected)) in ANSWERS.iter().enumerate() {
            assert_eq!(body(&mut connection, &format!("/{number}")).await, *expected);
            assert!(connection.kept.is_some(), "{number}");
        }
    };
    tokio::join!(bmc, client);
}

#[tokio::test]
async fn a_large_answer_is_read_over_a_connection_that_is_then_kept() {
    let (listener, mut connection) = listen().await;
    let large = "x".repeat(1 << 20);
    let bmc = async {
        let mut stream = accept(&listener).await;
        answer(&mut stream, &format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{large}", large.len())).await;
        answer(&mut stream, EMPTY).await;
        stream
    };
    let client = async {
        assert!(body(&mut connection, "/").await == large);
        assert_eq!(body(&mut connection, "/").await, "{}");
    };
    tokio::join!(bmc, client);
}

#[tokio::test]
async fn a_bmc_that_speaks_http_1_0_is_asked_to_keep_its_connection() {
    const OLD: &str = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}";
    let (listener, mut connection) = listen().await;
    let host = listener.local_addr().unwrap();
    let bmc = async {
        let mut stream = accept(&listener).await;
        assert!(answer(&mut stream, OLD).await.starts_with("GET / HTTP/1.1\r\n"));
        let head = answer(&mut stream, "HTTP/1.0 200 OK\r\n\r\n{}").await;
        assert_eq!(head, format!("GET / HTTP/1.0\r\nhost: {host}\r\nconnection: keep-alive\r\n\r\n"));
        drop(stream);
        let head = answer(&mut accept(&listener).await, EMPTY).await;
        assert_eq!(head, format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    };
    let client = async {
        for _ in 0..3 {
            assert_eq!(body(&mut connection, "/").await, "{}");
        }
    };
    tokio::join!(bmc, client);
}

#[tokio::test]
async fn a_connection_that_an_answer_ends_is_not_used_again() {
    for text in [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    ] {
        let (listener, mut connection) = listen().await;
        let bmc = async {
            let mut first = accept(&listener).await;
            answer(&mut first, text).await;
            let mut second = accept(&listener).await;
            answer(&mut second, EMPTY).await;
            (first, second)
        };
        let client = async {
            for _ in 0..2 {
                assert_eq!(body(&mut connection, "/").await, "{}", "{text}");
            }
        };
        tokio::join!(bmc, client);
    }
}

#[tokio::test]
async fn a_connection_that_the_bmc_has_closed_is_replaced() {
    let (listener, mut connection) = listen().await;
    let (stream, bmc) = tokio::io::duplex(64);
    connection.kept = Some(Kept::new(Box::new(stream), Version::HTTP_11, LONG));
    drop(bmc);
    let bmc = async { answer(&mut accept(&listener).await, EMPTY).await };
    let (_, body) = tokio::join!(bmc, body(&mut connection, "/"));
    assert_eq!(body, "{}");
}

/// A connection that the BMC closes after the client has found it open, and before the client writes.
#[derive(Default)]
struct Closing {
    was_open: bool,
}

impl AsyncRead for Closing {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if std::mem::replace(&mut self.was_open, true) {
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncWrite for Closing {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        panic!("something is written")
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_request_of_which_nothing_was_written_is_given_back() {
    let mut open = Open::over(Box::new(Closing::default())).await.unwrap();
    let (_, unsent) = open.send(request("/unsent")).await.err().unwrap();
    assert_eq!(unsent.unwrap().uri().path(), "/unsent");
}

#[tokio::test]
async fn a_request_of_which_nothing_was_written_is_sent_over_a_new_connection() {
    let (listener, mut connection) = listen().await;
    connection.kept = Some(Kept::new(Box::new(Closing::default()), Version::HTTP_11, LONG));
    let bmc = async { answer(&mut accept(&listener).await, EMPTY).await };
    let (head, body) = tokio::join!(bmc, body(&mut connection, "/unsent"));
    assert!(head.starts_with("GET /unsent HTTP/1.1\r\n") && body == "{}", "{head}");
}

#[tokio::test]
async fn a_request_of_which_the_bmc_has_read_a_part_is_not_sent_again() {
    let (listener, mut connection) = listen().await;
    let bmc = async {
        let mut stream = accept(&listener).await;
        answer(&mut stream, EMPTY).await;
        stream.read_u8().await.unwrap();
        drop(stream);
    };
    let client = async {
        assert_eq!(body(&mut connection, "/").await, "{}");
        let error = connection.send(request("/"), LONG, LIMIT).await.err().unwrap();
        assert!(matches!(error, ConnectionError::Broken(_)), "{error}");
        assert!(!error.is_timeout() && connection.kept.is_none());
    };
    tokio::join!(bmc, client);
}

#[tokio::test]
async fn an_answer_that_is_too_long_ends_its_connection() {
    let (listener, mut connection) = listen().await;
    let bmc = async {
        let mut stream = accept(&listener).await;
        answer(&mut stream, EMPTY).await;
        stream
    };
    let (_, outcome) = tokio::join!(bmc, connection.send(request("/"), LONG, 1));
    assert!(matches!(outcome, Err(ConnectionError::TooLong)) && connection.kept.is_none());
}

#[tokio::test]
async fn a_connection_is_not_kept_if_the_answer_comes_before_the_whole_request_is_sent() {
    let (_listener, mut connection) = listen().await;
    let (stream, mut bmc) = tokio::io::duplex(1024);
    connection.kept = Some(Kept::new(Box::new(stream), Version::HTTP_11, LONG));
    // More than the pipe takes.
    let request = Request::post("/").body("x".repeat(64 << 10)).unwrap();
    let bmc = async {
        bmc.read_u8().await.unwrap();
        bmc.write_all(EMPTY.as_bytes()).await.unwrap();
        bmc
    };
    let (_bmc, answer) = tokio::join!(bmc, connection.send(request, LONG, LIMIT));
    assert_eq!(answer.unwrap().1, b"{}");
    assert!(connection.kept.is_none());
}

/// A BMC that begins each answer so, and does not go on. Counts the requests.
async fn silent(begin: &'static str) -> (Connection, Arc<AtomicUsize>) {
    let (listener, connection) = listen().await;
    let seen = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&seen);
    tokio::spawn(async move {
        let mut streams = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            // The client may have given up before it sent the request.
            if stream.read_u8().await.is_ok() {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(begin.as_bytes()).await;
            }
            streams.push(stream);
        }
    });
    (connection, seen)
}

#[tokio::test]
async fn an_answer_without_an_end_ends_in_time() {
    for begin in ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"] {
        let (mut connection, seen) = silent(begin).await;
        // On a busy machine, the time may be over before there is a connection.
        let mut within = Duration::from_millis(20);
        while seen.load(Ordering::Relaxed) == 0 {
            let outcome = connection.send(request("/"), within, LIMIT).await;
            assert!(matches!(outcome, Err(ConnectionError::Timeout)) && connection.kept.is_none(), "{begin}");
            within *= 2;
        }
    }
}

#[tokio::test]
async fn a_connection_without_tls_from_the_other_side_ends_in_time() {
    // The kernel accepts the connection, but no program answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let tls = crate::client_config(&crate::Verification::Disabled).unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let mut connection = connection(&url, Some(tls), Duration::from_millis(20));
    let error = connection.send(request("/"), LONG, LIMIT).await.err().unwrap();
    // On a busy machine, there may not even be a connection of TCP.
    assert!(error.is_timeout() && !matches!(error, ConnectionError::Timeout), "{error}");
}

#[test]
fn a_host_is_named_as_in_its_url() {
    for (url, host) in [
        ("https://bmc.example/", "bmc.example"),
        ("https://bmc.example:443/", "bmc.example"),
        ("http://bmc.example:443/", "bmc.example:443"),
        ("http://192.0.2.1:80/", "192.0.2.1"),
        ("https://[2001:db8::1]/", "[2001:db8::1]"),
        ("https://[2001:db8::1]:8443/", "[2001:db8::1]:8443"),
    ] {
        assert_eq!(connection(url, None, LONG).host, host);
    }
}
