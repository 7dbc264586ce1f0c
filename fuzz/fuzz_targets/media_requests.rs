//! Any bytes as what a client of the media plane sends, over real connections: no panic; the plane's own reader of requests and
//! hyper's give the same answers; and a third, simple reader finds those that it expects.
#![no_main]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use imagelib::digest::Digest;
use imagelib::overlay::Overlay;
use libfuzzer_sys::fuzz_target;
use media::listen::{Listener, Options};
use media::served::{ETag, Lookup, Published, ServedFile};
use media::{CallHomes, MediaMetrics};
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz";
const ONE: &[u8] = b"0123456789ABCDEF";
const OTHER: &[u8] = b"another host's secret file";

struct Files;

impl Published for Files {
    fn find(&self, token: &str, file: &str) -> Lookup {
        let content = match (token == TOKEN, file) {
            (true, "one.iso") => ONE,
            // Nobody has its token.
            (false, "other.iso") if token == "zyxwvutsrqponmlkjihgfedcba" => OTHER,
            _ => return Lookup::NotFound,
        };
        Lookup::Found(ServedFile {
            overlay: Arc::new(Overlay::literal(content.into())),
            base: Arc::default(),
            etag: ETag::new(&Digest::of(content)),
            last_modified: SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777),
            changes: false,
            host: None,
            media_type: "application/x-iso9660-image",
            reading: None,
            access: None,
            keeps: None,
        })
    }
}

/// A plane, and the calls home that it expects.
struct Plane {
    address: SocketAddr,
    calls: CallHomes,
}

/// One plane that reads simple requests by itself, and one that leaves all to hyper.
fn planes() -> &'static [Plane; 2] {
    static PLANES: OnceLock<[Plane; 2]> = OnceLock::new();
    PLANES.get_or_init(|| [plane(true), plane(false)])
}

fn plane(directly: bool) -> Plane {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = Listener::bind(([127, 0, 0, 1], 0).into(), Options::default()).await.expect("a port");
            let service = media::service(Arc::new(Files), MediaMetrics::default());
            let address = listener.local_addr().expect("a port");
            sender.send(Plane { address, calls: service.call_homes().clone() }).expect("the target waits");
            if directly {
                listener.serve_directly(service, CancellationToken::new()).await;
            } else {
                listener.serve(service, CancellationToken::new()).await;
            }
        });
    });
    receiver.recv().expect("the plane listens")
}

/// What the simple reader expects as the answer to a request.
#[derive(Debug)]
struct Expected {
    is_head: bool,
    /// The status and the body, if the request has nothing that could change them.
    exactly: Option<(u16, &'static [u8])>,
}

fuzz_target!(|data: &[u8]| {
    let [one, other] = planes();
    let (received, expected) = (send(one, data), requests(data));
    let (mut rest, mut by_hyper) = (received.as_slice(), &send(other, data)[..]);
    for Expected { is_head, exactly } in expected {
        // A connection that the plane closes with unread bytes may lose its last answers.
        let Some((status, head, body, behind)) = answer(rest, is_head) else { break };
        if let Some((wanted, content)) = exactly {
            assert!(status == wanted && (is_head || body == content), "{status}, and not {wanted}");
        }
        rest = behind;
        let Some((_, head_by_hyper, body_by_hyper, behind)) = answer(by_hyper, is_head) else { break };
        assert!((head.as_str(), body) == (head_by_hyper.as_str(), body_by_hyper), "{head}\n{head_by_hyper}");
        by_hyper = behind;
    }
});

/// Sends bytes, and returns all that comes back.
fn send(plane: &Plane, data: &[u8]) -> Vec<u8> {
    let token: media::MediaToken = TOKEN.parse().expect("a token");
    // The answer to a call that is to be recorded would wait for that.
    plane.calls.recorded(token);
    let mut stream = TcpStream::connect(plane.address).expect("the plane listens");
    stream.set_read_timeout(Some(Duration::from_secs(25))).expect("a socket");
    // The plane may close the connection before it has read everything.
    let _ = stream.write_all(data);
    let _ = stream.shutdown(Shutdown::Write);
    let mut received = Vec::new();
    if let Err(error) = stream.read_to_end(&mut received) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the plane neither answers nor closes the connection");
    }
    assert!(!received.windows(OTHER.len()).any(|window| window == OTHER), "bytes that nobody asked for");
    // Multipart answers with many ranges are longer than the file, but not by much per byte of the request.
    assert!(received.len() <= 512 * (data.len() + 16), "{} bytes for {}", received.len(), data.len());
    let is_answered = received.windows(9).any(|window| window == b" 204 No C");
    assert!(
        !is_answered || data.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes()),
        "a call is answered without the token"
    );
    plane.calls.forget(&token);
    received
}

/// The requests at the beginning of the bytes, as far as they are simple: one line, headers with nothing odd, no body.
fn requests(data: &[u8]) -> Vec<Expected> {
    let mut found = Vec::new();
    let mut rest = data;
    while let Some(end) = rest.windows(4).position(|window| window == b"\r\n\r\n") {
        let (head, behind) = (&rest[..end], &rest[end + 4..]);
        let Ok(head) = std::str::from_utf8(head) else { break };
        let mut lines = head.split("\r\n");
        let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method @ ("GET" | "HEAD"), target, "HTTP/1.1"] = line.as_slice() else { break };
        let is_plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/=,".contains(&byte))
        };
        if !is_plain(target) || !target.starts_with('/') || target.starts_with("//") {
            break;
        }
        let headers: Option<Vec<(&str, &str)>> = lines.map(|line| line.split_once(": ")).collect();
        let Some(headers) = headers.filter(|headers| {
            headers
                .iter()
                .all(|(name, value)| is_plain(name) && is_plain(value) && !name.contains(['.', '/', '=', ',']))
        }) else {
            break;
        };
        let is_host = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("host");
        let has_meaning = |(name, _): &(&str, &str)| {
            ["range", "user-agent", "accept"].iter().all(|known| !name.eq_ignore_ascii_case(known))
                && !is_host(&(*name, ""))
        };
        if headers.iter().filter(|header| is_host(header)).count() != 1 || headers.iter().any(has_meaning) {
            break;
        }
        let is_ranged = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("range"));
        let exactly = match *target {
            "/i/abcdefghijklmnopqrstuvwxyz/one.iso" => Some((200, ONE)),
            "/h/abcdefghijklmnopqrstuvwxyz" => Some((204, &b""[..])),
            _ => Some((404, &b"not found\n"[..])),
        };
        let exactly = exactly.filter(|_| !is_ranged && !target.contains("/probe/") && !target.contains("zyxwvu"));
        found.push(Expected { is_head: *method == "HEAD", exactly });
        rest = behind;
    }
    found
}

/// Reads one answer: its status, its head without the date, its body, and what comes behind it.
fn answer(bytes: &[u8], is_head: bool) -> Option<(u16, String, &[u8], &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, rest) = (std::str::from_utf8(&bytes[..end]).expect("a head is text"), &bytes[end + 4..]);
    let status = head.strip_prefix("HTTP/1.").and_then(|head| head.get(2..5)?.parse().ok()).expect("a status");
    let lengths: Vec<usize> = head
        .split("\r\n")
        .filter_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
        .collect();
    let length = match (lengths.as_slice(), status) {
        _ if is_head => 0,
        (_, 204 | 304) => 0,
        ([length], _) => *length,
        (lengths, _) => panic!("{} lengths: {head}", lengths.len()),
    };
    let undated = head.split("\r\n").filter(|line| !line.starts_with("Date: ")).collect::<Vec<_>>().join("\n");
    Some((status, undated, rest.get(..length)?, &rest[length..]))
}
