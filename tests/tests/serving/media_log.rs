//! What the server says of requests that lead nowhere: all are counted, few are logged. And how its lines read.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::server::{Server, free_address};
use reqwest::blocking::Client;

const REQUESTS: usize = 10_000;

/// The value of a metric by its name with labels.
fn metric(server: &Server, name: &str) -> f64 {
    let client = Client::builder().no_proxy().build().unwrap();
    let text = client.get(format!("{}/metrics", server.api)).send().unwrap().text().unwrap();
    text.lines().find_map(|line| line.strip_prefix(name)).map_or(0.0, |value| value.trim().parse().unwrap())
}

fn start(media: &str, more: &[&str]) -> Server {
    Server::start_at(&free_address(), media, "coreos", &coreos_iso(&["--size-mib", "8"]), more)
}

#[test]
fn unknown_tokens_are_counted_and_few_are_logged() {
    let media = free_address();
    let server = start(&media, &[]);
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let before = server.log().len();
    let mut stream = TcpStream::connect(&media).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    for number in 0..REQUESTS {
        // Another token each time, and every second one none at all.
        let path = if number % 2 == 0 { format!("/i/{number:a>26}/boot.iso") } else { format!("/{number}") };
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: b\r\n\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 404"), "{line}");
        while line != "\r\n" {
            line.clear();
            answers.read_line(&mut line).unwrap();
        }
        answers.read_exact(&mut [0; "not found\n".len()]).unwrap();
    }
    let written = server.log().len() - before;
    assert!(written < 64 << 10, "{written} bytes of log");
    let half = REQUESTS as f64 / 2.0;
    assert_eq!(metric(&server, "dayone_media_unknown_requests_total{kind=\"image\"}"), half);
    assert_eq!(metric(&server, "dayone_media_unknown_requests_total{kind=\"path\"}"), half);

    // A line about an image is there all the same, it names the host, and reads as text.
    Client::new().get(image["url"].as_str().unwrap()).header("Range", "bytes=0-0").send().unwrap();
    let log = server.log();
    let line = log.lines().find(|line| line.contains("status=206")).expect(&log);
    assert!(line.contains("host=\"ostest-master-0\"") && line.contains("peer=127.0.0.1:"), "{line}");
    for debug in ["Some(", "None", "HTTP/1.1)", "version=HTTP"] {
        assert!(!log.contains(debug), "{debug} in {line}");
    }
}

#[test]
fn few_requests_of_unknown_clients_to_the_api_are_logged() {
    let server = start(&free_address(), &[]);
    let client = Client::builder().no_proxy().build().unwrap();
    let long = "a".repeat(4000);
    for number in 0..1000 {
        let answer = client.get(format!("{}/v1/nothing/{number}/{long}", server.api)).send().unwrap();
        assert_eq!(answer.status(), 404);
    }
    server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let log = server.log();
    let lines = log.matches("path=\"/v1/nothing/").count();
    assert!((1..=60).contains(&lines), "{lines} lines");
    assert!(log.len() < 64 << 10, "{} bytes", log.len());
    assert!(log.contains("path=\"/v1/images\""), "a client that may use the API has its line: {log}");
}

#[test]
fn a_server_whose_log_cannot_be_written_goes_on() {
    for log in ["2>/dev/full", "2> >(exit)"] {
        let launcher = ["bash".to_owned(), "-c".to_owned(), format!("exec \"$0\" \"$@\" {log}")];
        let base = coreos_iso(&["--size-mib", "8"]);
        let media = free_address();
        let server = Server::start_under(&launcher, &free_address(), &media, "coreos", &base, &["--log", "debug"]);
        let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
        for _ in 0..20 {
            let part = Client::new().get(image["url"].as_str().unwrap()).header("Range", "bytes=0-99").send().unwrap();
            assert_eq!(part.bytes().unwrap().len(), 100, "{log}");
        }
    }
}

#[test]
fn failed_handshakes_are_counted_and_few_are_logged() {
    let directory = tempfile::tempdir().unwrap();
    let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
    fs::write(&certificate, issued.cert.pem()).unwrap();
    fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let media = free_address();
    let server = start(&media, &["--media-tls-cert", &text(&certificate), "--media-tls-key", &text(&key)]);
    for _ in 0..1000 {
        let mut stream = TcpStream::connect(&media).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: b\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut vec![]);
    }
    let failed = || metric(&server, "dayone_media_connections_closed_total{reason=\"tls-handshake\"}");
    let begun = Instant::now();
    while failed() < 1000.0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", failed());
    }
    let lines = server.log().matches("TLS handshake failed").count();
    assert!((1..=60).contains(&lines), "{lines} lines");
}
