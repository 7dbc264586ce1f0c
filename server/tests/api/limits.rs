//! Sizes, types and methods that are refused, always as problems.

use std::net::Ipv4Addr;
use std::time::Duration;

use imagelib::compression::Compression;
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::support::{Answer, Dayone, NMSTATE, Place, TOKEN};

const ORDER: &str = "/v1/images?base=coreos";

#[tokio::test]
async fn a_body_of_four_mebibytes_is_the_largest() {
    let dayone = Dayone::start().await;
    let padded = |size: usize| format!("{NMSTATE}{}", "#".repeat(size - NMSTATE.len()));
    assert_eq!(Answer::of(dayone.post(ORDER, padded(4 << 20))).await.status, 201);
    for path in [ORDER, "/v1/keyfiles"] {
        let answer = Answer::of(dayone.post(path, padded((4 << 20) + 1))).await;
        assert_eq!(answer.status, 413);
        answer.problem("too-large");
    }
}

/// Sends the text as it is and reads the answer until the server closes.
async fn raw(dayone: &Dayone, request: &str) -> String {
    let mut stream = TcpStream::connect(dayone.server.api_address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// Reads the head of an answer.
async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn a_claimed_length_is_not_waited_for() {
    let dayone = Dayone::start().await;
    let lines = "POST /v1/images?base=coreos HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml\r\n";
    // Without a length, what comes is counted.
    let chunk = format!("100000\r\n{}\r\n", "#".repeat(1 << 20));
    let chunked = format!("Transfer-Encoding: chunked\r\n\r\n{}", chunk.repeat(5));
    for rest in ["Content-Length: 99999999999\r\n\r\n", chunked.as_str()] {
        let mut stream = TcpStream::connect(dayone.server.api_address()).await.unwrap();
        stream.write_all(format!("{lines}{rest}").as_bytes()).await.unwrap();
        let answer = timeout(Duration::from_secs(4), head(&mut stream)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
}

/// Clients and proxies may look for the answer only when they have sent the body.
#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let place = Place::new();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let (wrong, expect) = ("not-a-token-of-this-server", "Expect: 100-continue\r\n");
    for (token, size, more, status) in
        [(wrong, 300_000, "", 401), (TOKEN, (4 << 20) + 1, "", 413), (wrong, 300_000, expect, 401)]
    {
        let mut stream = TcpStream::connect(dayone.server.api_address()).await.unwrap();
        let lines = format!(
            "POST {ORDER} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: text/yaml\r\n\
             Content-Length: {size}\r\n{more}\r\n"
        );
        stream.write_all(lines.as_bytes()).await.unwrap();
        let answer = head(&mut stream).await.to_ascii_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{answer}");
        for piece in vec![b'#'; size].chunks(64 << 10) {
            let sent = stream.write_all(piece).await;
            assert!(sent.is_ok(), "{sent:?} after {answer}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let length = answer.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut problem = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut problem).await.unwrap();
        // A client that expects `100 Continue` may have sent no body, so the connection cannot be used again.
        assert_eq!(answer.contains("connection: close"), !more.is_empty(), "{answer}");
        if more.is_empty() {
            stream.write_all(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
            let next = head(&mut stream).await;
            assert!(next.starts_with("HTTP/1.1 200 "), "{next}");
        } else {
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        }
    }
}

#[tokio::test]
async fn wrong_chunks_are_malformed_and_a_body_that_breaks_off_is_incomplete() {
    let dayone = Dayone::start().await;
    let head = "POST /v1/images?base=coreos HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    for body in ["zz\r\n", "3\r\nabcd\r\n0\r\n\r\n", "fffffffffffffffff\r\n"] {
        let answer = raw(&dayone, &format!("{head}{body}")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{body:?}: {answer}");
        assert!(answer.contains("/v1/problems/malformed-request") && answer.contains("chunks"), "{body:?}: {answer}");
    }
    let mut stream = TcpStream::connect(dayone.server.api_address()).await.unwrap();
    stream.write_all(format!("{head}5\r\nab").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("/v1/problems/incomplete-request"), "{answer}");
}

/// A proxy could read such a request differently.
#[tokio::test]
async fn an_ambiguous_request_is_a_problem_and_the_last_one_of_its_connection() {
    let dayone = Dayone::start().await;
    for (lines, status, kind) in [
        ("Host: localhost\r\nHost: elsewhere\r\n", 400, "malformed-request"),
        ("Host: localhost\r\nTransfer-Encoding: chunked, chunked\r\n", 400, "malformed-request"),
        ("Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n", 501, "unsupported-transfer-coding"),
    ] {
        for path in ["/v1/bases", "/healthz", "/nothing"] {
            let answer = raw(&dayone, &format!("GET {path} HTTP/1.1\r\n{lines}\r\n")).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {lines:?}: {answer}");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let head = head.to_ascii_lowercase();
            for header in ["content-type: application/problem+json", "cache-control: no-store", "x-request-id: "] {
                assert!(head.contains(header), "{path} {lines:?}: no {header} in {head}");
            }
            assert!(head.contains("connection: close"), "{path} {lines:?}: {head}");
            assert!(body.contains(&format!("/v1/problems/{kind}")), "{path} {lines:?}: {body}");
        }
    }
}

#[tokio::test]
async fn one_address_does_not_get_all_connections_and_answers_without_a_token_keep_none() {
    let place = Place::new();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let ask = async |path: &str, token: &str| {
        let mut stream = TcpStream::connect(dayone.server.api_address()).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).await;
        let mut first = [0; 12];
        let count = stream.read(&mut first).await.unwrap_or(0);
        (stream, first[..count] == *b"HTTP/1.1 200")
    };
    let mut open = Vec::new();
    for _ in 0..300 {
        let (stream, is_answered) = ask("/healthz", TOKEN).await;
        assert!(is_answered, "connection {} makes room", open.len());
        open.push(stream);
    }
    drop(open);
    let mut open = Vec::new();
    for _ in 0..300 {
        open.push(ask("/v1/bases", TOKEN).await);
    }
    let answered = open.iter().filter(|(_, is_answered)| *is_answered).count();
    // Connections of the first loop may still be closing, and an address may be a sixteenth above its limit.
    assert!((180..=238).contains(&answered), "{answered}");
}

/// Two addresses together may have all connections.
#[tokio::test]
async fn logins_whose_forms_do_not_arrive_keep_no_connection() {
    let place = Place::new();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let mut open = Vec::new();
    for number in 0..300 {
        let socket = TcpSocket::new_v4().unwrap();
        let from = Ipv4Addr::new(127, 0, 0, if number % 2 == 0 { 2 } else { 3 });
        socket.bind((from, 0).into()).unwrap();
        let mut stream = socket.connect(dayone.server.api_address()).await.unwrap();
        let login = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\ntoken=";
        let _ = stream.write_all(login).await;
        open.push(stream);
    }
    let answer = timeout(Duration::from_secs(5), Answer::of(dayone.get("/v1/bases").bearer_auth(TOKEN))).await;
    assert_eq!(answer.unwrap().status, 200);
    // A client that sends its form gets the answer.
    let form = format!("token={TOKEN}");
    let head = "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ";
    let login = format!("{head}{}\r\n\r\n{form}", form.len());
    let answer = timeout(Duration::from_secs(5), raw(&dayone, &login)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    drop(open);
}

#[tokio::test]
async fn content_types_are_known_ones() {
    let dayone = Dayone::start().await;
    for media_type in ["multipart/form-data; boundary=x", "application/octet-stream", "application/xml"] {
        for path in [ORDER, "/v1/keyfiles"] {
            let request = dayone.client.post(dayone.url(path)).header("content-type", media_type).body(NMSTATE);
            let answer = Answer::of(request).await;
            assert_eq!(answer.status, 415, "{media_type}");
            answer.problem("unsupported-media-type");
        }
    }
}

#[tokio::test]
async fn encodings_of_a_body_are_known_ones() {
    let dayone = Dayone::start().await;
    let post = |path: &str, media_type: &str, encoding: &str, body: Vec<u8>| {
        let request = dayone.client.post(dayone.url(path)).header("content-type", media_type);
        Answer::of(request.header("content-encoding", encoding).body(body))
    };
    let packed = Compression::Gzip.compress(NMSTATE.as_bytes()).unwrap();
    for encoding in ["gzip", "X-GZIP"] {
        let answer = post(ORDER, "application/yaml", encoding, packed.clone()).await;
        assert!(answer.status.is_success(), "{encoding}: {answer:?}");
    }
    let answer = post(ORDER, "application/yaml", "identity", NMSTATE.into()).await;
    assert!(answer.status.is_success(), "{answer:?}");
    let request = serde_json::json!({"base": "coreos", "documents": NMSTATE}).to_string();
    // Some Windows programs write a byte order mark.
    for (path, media_type, body) in
        [("/v1/images", "application/json", &*request), (ORDER, "application/yaml", NMSTATE)]
    {
        let answer = post(path, media_type, "identity", format!("\u{feff}{body}").into()).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
    }
    for (path, media_type, encoding) in [
        (ORDER, "application/yaml", "br"),
        ("/v1/keyfiles", "application/yaml", "gzip, br"),
        ("/v1/images", "application/json", "gzip"),
        ("/v1/check", "application/json", "deflate"),
        ("/v1/bases", "application/json", "gzip"),
    ] {
        let answer = post(path, media_type, encoding, request.clone().into()).await;
        assert_eq!(answer.status, 415, "{path} {encoding}");
        let problem = answer.problem("unsupported-media-type");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("{encoding:?}")), "{problem}");
    }
}

#[tokio::test]
async fn wrong_paths_and_methods_are_problems_too() {
    let dayone = Dayone::start().await;
    for path in ["/", "/v1", "/v1/", "/v2/images", "/v1/images/", "/v1/images/a/b", "//", "/v1/v1/images"] {
        Answer::of(dayone.get(path)).await.problem("unknown-path");
    }
    Answer::of(dayone.get("/v1/problems/nope")).await.problem("not-found");
    for (method, path, allow) in [
        (Method::PUT, "/v1/images", "GET,HEAD,POST"),
        (Method::PUT, "/v1/bases/coreos", "GET,HEAD,DELETE"),
        (Method::GET, "/v1/keyfiles", "POST"),
        (Method::POST, "/healthz", "GET,HEAD"),
        (Method::PATCH, "/v1/images/x", "GET,HEAD,DELETE"),
    ] {
        let answer = Answer::of(dayone.client.request(method, dayone.url(path))).await;
        assert_eq!(answer.status, 405);
        answer.problem("method-not-allowed");
        let methods = |text: &str| text.split(',').map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(methods(answer.header("allow")), methods(allow), "{path}");
    }
    let answer = raw(&dayone, "GET /v1/bases/%FF HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("application/problem+json"), "{answer}");
}

#[tokio::test]
async fn a_request_names_its_host() {
    let dayone = Dayone::start().await;
    let ask = async |path: &str, version: &str, host: &str| {
        raw(&dayone, &format!("GET {path} HTTP/{version}\r\n{host}Connection: close\r\n\r\n")).await
    };
    for path in ["/v1/bases", "/healthz", "/assets/page.css", "/nothing"] {
        for host in ["", "Host: localhost:abc\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: localhost, evil\r\n"] {
            let answer = ask(path, "1.1", host).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{path} {host:?}: {answer}");
            assert!(answer.contains("/v1/problems/malformed-request") && answer.contains("Host header"), "{answer}");
        }
    }
    for (version, host) in [("1.0", ""), ("1.0", "Host: localhost\r\n"), ("1.1", "Host: [::1]:8080\r\n")] {
        let answer = ask("/v1/bases", version, host).await;
        assert!(answer.split(' ').nth(1) == Some("200"), "{version} {host:?}: {answer}");
    }
}

#[tokio::test]
async fn every_kind_of_problem_is_explained_at_its_type() {
    let dayone = Dayone::start().await;
    for kind in dayone::api::problem::ProblemKind::ALL {
        let explained = Answer::of(dayone.get(&kind.uri())).await.ok();
        assert_eq!(explained["type"], kind.uri());
        assert_eq!(explained["status"], kind.status().as_u16());
        assert!(explained["meaning"].as_str().unwrap().ends_with('.'), "{explained}");
    }
}

/// A client must know whether the server has made a change, and whether it helps to wait.
#[test]
fn the_page_has_every_reason_for_the_status_503() {
    let page = include_str!("../../../docs/api.md");
    for kind in dayone::api::problem::ProblemKind::ALL.iter().filter(|kind| kind.status() == 503) {
        assert!(page.contains(&format!("`{}`", kind.slug())), "{}", kind.slug());
    }
    let (_, audit) = page.split_once("- 503 (`audit-unavailable`)").unwrap();
    assert!(audit.split("\n\n").next().unwrap().contains("the change may be made"));
}
