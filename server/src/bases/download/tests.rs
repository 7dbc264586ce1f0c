use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use super::super::fetch::{Fetcher, Order};
use super::super::openpgp::Keyring;
use super::super::progress::FetchProgress;
use super::*;
use crate::store::BaseSource;

/// A server that sends the file as these answers, one for each connection.
fn serve(answers: Vec<String>) -> Url {
    serve_counted(answers).1
}

/// The same, and how many answers it has sent.
fn serve_counted(answers: Vec<String>) -> (Arc<AtomicUsize>, Url) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || {
        for (stream, answer) in listener.incoming().flatten().zip(answers) {
            let mut stream = BufReader::new(stream);
            let lines = stream.by_ref().lines().map_while(Result::ok);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            count.fetch_add(1, Ordering::Relaxed);
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    (asked, url)
}

/// An answer with headers, and a body that is as long as announced, or shorter.
fn answer(head: &str, length: usize, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nETag: \"1\"\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn downloader() -> Downloader {
    let patience = Patience { attempts: 3, longest_wait: Duration::from_millis(10) };
    Downloader::new(AllowedSources::any(), &Verification::System, patience, 2 << 20).unwrap()
}

fn downloaded(answers: Vec<String>) -> (Downloaded, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("a");
    let downloader = downloader();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (url, progress) = (serve(answers), FileProgress::default());
    let how = runtime.block_on(downloader.download(&url, &target, &progress, &|_| ())).unwrap();
    let bytes = std::fs::read(super::super::partial_file::path(&target)).unwrap();
    assert_eq!((progress.done(), progress.total()), (bytes.len() as u64, Some(bytes.len() as u64)));
    (how, bytes)
}

#[test]
fn a_server_may_send_fewer_bytes_than_dayone_asks_for() {
    let (how, bytes) = downloaded(vec![
        answer("200 OK", 12, "one "),
        answer("206 Partial Content\r\nContent-Range: bytes 4-7/12", 4, "two "),
        answer("206 Partial Content\r\nContent-Range: bytes 8-9/12", 2, "th"),
        answer("206 Partial Content\r\nContent-Range: bytes 10-11/12", 2, "r."),
    ]);
    assert_eq!((how.resumed, bytes.as_slice()), (false, &b"one two thr."[..]));
}

/// Fetches the file of which the SHA-256 is that of `expected`, and of which these bytes are there already. Returns how often the server was
/// asked, too.
fn fetched(there: &[u8], expected: &[u8], answers: Vec<String>) -> (Result<Vec<u8>, FetchError>, usize) {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("a");
    let downloader = downloader();
    let (asked, url) = serve_counted(answers);
    if !there.is_empty() {
        let mut partial = PartialFile::open(&target, &url, Readers::Owner).unwrap();
        partial.begin(Some("\"1\"".to_owned()), None, Some(8)).unwrap();
        partial.file.write_all(there).unwrap();
    }
    let sha256 = Some(imagelib::digest::Digest::of(expected));
    let source = BaseSource { location: Location::Url(url), sha256, signature: None };
    let (progress, cancelled) = (FetchProgress::new(std::iter::empty()), CancellationToken::new());
    let order =
        Order { source: &source, target: &target, file: Arc::default(), progress: &progress, cancelled: &cancelled };
    let fetcher = Fetcher { downloader, keys: Keyring::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(fetcher.fetch(&order)).map(|()| std::fs::read(&target).unwrap());
    (result, asked.load(Ordering::Relaxed))
}

#[test]
fn a_wrong_digest_ends_a_download_however_the_server_sends_the_file() {
    let part = |range: &str, body: &str| {
        answer(&format!("206 Partial Content\r\nContent-Range: bytes {range}/8"), body.len(), body)
    };
    let cut = || vec![answer("200 OK", 8, "one "), part("4-7", "two.")];
    let shorter = || vec![answer("200 OK", 8, "one "), part("4-5", "tw"), part("6-7", "o.")];
    // The server has more answers than dayone may ask for.
    let twice = |answers: Vec<String>| [answers.clone(), answers].concat();
    for (answers, expected) in [(cut(), 2), (shorter(), 3)] {
        let (result, asked) = fetched(b"", b"other", twice(answers));
        assert!(matches!(result, Err(FetchError::Digest { .. })), "{result:?}");
        assert_eq!(asked, expected);
    }

    // What was there before the call may be what is wrong.
    let (result, asked) = fetched(b"bad ", b"one two.", [vec![part("4-7", "two.")], cut()].concat());
    assert_eq!((result.unwrap().as_slice(), asked), (&b"one two."[..], 3));
    let (result, asked) = fetched(b"bad ", b"other", [vec![part("4-7", "two.")], twice(shorter())].concat());
    assert!(matches!(result, Err(FetchError::Digest { .. })), "{result:?}");
    assert_eq!(asked, 4);
}

#[test]
fn a_web_page_in_place_of_the_file_takes_nothing_away() {
    let rest = answer("206 Partial Content\r\nContent-Range: bytes 4-7/8", 4, "two.");
    let page = answer("200 OK\r\nContent-Type: text/html; charset=utf-8", 6, "<html>");
    let (result, asked) = fetched(b"one ", b"one two.", vec![page.clone(), rest]);
    assert_eq!((result.unwrap().as_slice(), asked), (&b"one two."[..], 2));
    // Without a length, another validator shows it.
    let endless = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>";
    for page in [page.clone(), endless.to_owned()] {
        let (result, asked) = fetched(b"one ", b"one two.", vec![page; 20]);
        assert_eq!((result.unwrap_err().to_string().contains("a web page (text/html)"), asked), (true, 3));
    }

    // Nothing had arrived before: the error says what came.
    let error = fetched(b"", b"one two.", vec![page; 20]).0.unwrap_err().to_string();
    assert!(error.ends_with("it has 6 bytes; the server sent it as text/html (Content-Type)"), "{error}");
}

#[test]
fn a_new_version_that_is_served_as_a_web_page_is_known_by_its_size() {
    let html = "200 OK\r\nContent-Type: text/html";
    let rest = answer("206 Partial Content\r\nContent-Range: bytes 4-7/8", 4, "two.");
    let (result, asked) = fetched(b"one ", b"one two.", vec![answer(html, 1 << 20, "<html>"), rest]);
    assert_eq!((result.unwrap().as_slice(), asked), (&b"one two."[..], 2));

    let new = "x".repeat((1 << 20) + 1);
    let (result, asked) = fetched(b"one ", new.as_bytes(), vec![answer(html, new.len(), &new)]);
    assert!(result.unwrap() == new.as_bytes());
    assert_eq!(asked, 1);
}

#[test]
fn another_file_in_place_of_a_part_is_fetched_once_more() {
    let (cut, other) = (answer("200 OK", 8, "one "), answer("200 OK", 4, "page"));
    let answers = vec![cut.clone(), other.clone(), answer("200 OK", 8, "one two.")];
    let (result, asked) = fetched(b"", b"one two.", answers);
    assert_eq!((result.unwrap().as_slice(), asked), (&b"one two."[..], 3));
    let always = [cut, other].into_iter().cycle().take(20).collect();
    let (result, asked) = fetched(b"", b"one two.", always);
    assert!(matches!(result, Err(FetchError::Digest { length: 4, .. })), "{result:?}");
    assert_eq!(asked, 4);
}

#[test]
fn bytes_that_arrive_again_are_no_progress() {
    let cut = |body| answer("200 OK", 8, body);
    let refused = answer("416 Range Not Satisfiable", 0, "");
    let wrong = answer("206 Partial Content\r\nContent-Range: bytes 0-3/8", 4, "one ");
    for answers in [
        vec![cut("one "), refused],
        vec![cut("one "), wrong],
        // Without ranges.
        vec![cut("one t"), cut("on"), cut("one"), cut("o")],
    ] {
        let (result, asked) = fetched(b"", b"one two.", answers.into_iter().cycle().take(20).collect());
        assert!(matches!(result, Err(FetchError::Unreachable(_))), "{result:?}");
        assert_eq!(asked, 4);
    }
}

#[test]
fn a_file_that_a_smaller_one_replaces_still_arrives_in_parts() {
    let rest = |from: usize, body: &str| {
        answer(&format!("206 Partial Content\r\nContent-Range: bytes {from}-5/6"), 6 - from, body)
    };
    let (_, bytes) = downloaded(vec![
        answer("200 OK", 12, "one two t"),
        answer("200 OK", 6, "o"),
        rest(1, "n"),
        rest(2, "e "),
        rest(4, "t."),
    ]);
    assert_eq!(bytes, b"one t.");
}

#[test]
fn the_server_that_a_redirect_leads_to_does_not_learn_the_query() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = std::thread::spawn(move || {
        let found = format!("302 Found\r\nLocation: http://127.0.0.1:{port}/b");
        [answer(&found, 0, ""), answer("200 OK", 1, "x")].map(|answer| {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let lines = stream.by_ref().lines().map_while(Result::ok);
            let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            request.join("\n").to_lowercase()
        })
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = format!("http://localhost:{port}/a?key=hunter2").parse().unwrap();
    assert_eq!(runtime.block_on(downloader().read_small(&url)).unwrap(), b"x");
    let [first, second] = requests.join().unwrap();
    assert!(first.contains("hunter2"), "{first}");
    assert!(!second.contains("hunter2") && !second.contains("referer"), "{second}");
}

#[test]
fn an_encoding_is_remembered_and_another_one_is_another_file() {
    let rest = "206 Partial Content\r\nContent-Range: bytes 4-7/8";
    let encoded = |head: &str, encoding: &str| format!("{head}\r\nContent-Encoding: {encoding}");
    let first = || answer(&encoded("200 OK", "x-gzip"), 8, "one ");
    for again in [rest.to_owned(), encoded(rest, "x-gzip")] {
        let (how, bytes) = downloaded(vec![first(), answer(&again, 4, "two.")]);
        assert_eq!((how.encoding.as_deref(), bytes.as_slice()), (Some("x-gzip"), &b"one two."[..]));
    }
    let other = answer(&encoded(rest, "br"), 4, "xxxx");
    let (how, bytes) = downloaded(vec![first(), other, answer("200 OK", 8, "one two.")]);
    assert_eq!((how.encoding, bytes.as_slice()), (None, &b"one two."[..]));
}

#[test]
fn waits_grow_up_to_a_limit() {
    let waits: Vec<u64> = (1..9).map(|attempt| Patience::default().wait(attempt).as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 32, 32]);
    let Patience { attempts, .. } = Patience::default();
    let all: Duration = (1..attempts).map(|attempt| Patience::default().wait(attempt)).sum();
    assert_eq!(
        (all.as_secs(), (all + MAX_SILENCE * attempts).as_secs()),
        (223, 943),
        "docs/bases.md tells both in minutes"
    );
}
