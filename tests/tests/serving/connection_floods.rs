//! One process on the BMCs' network opens more connections than the server may have files open, and sends no request on
//! them: health, the API and other clients' ranges go on as if it were not there.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::server::{Server, free_address};
use reqwest::blocking::Client;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

/// The soft limit is what systemd gives a service, less half: it is to be raised.
const LAUNCHER: [&str; 2] = ["prlimit", "--nofile=512:1024"];

/// More than the process may have open, by far.
const FLOOD: usize = 1500;

/// How long an answer may take while it lasts, on a machine that does other things too.
const PROMPT: Duration = Duration::from_secs(2);

const FLOODER: Ipv4Addr = Ipv4Addr::LOCALHOST;
const BMC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

struct Site {
    server: Server,
    media: SocketAddr,
    image: Value,
}

impl Site {
    fn start(more: &[&str]) -> Self {
        let hard = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard }).unwrap();
        let media = free_address();
        let base = coreos_iso(&["--size-mib", "8"]);
        let server = Server::start_under(&LAUNCHER, &free_address(), &media, "coreos", &base, more);
        let image = server.image("coreos", &document());
        Self { server, media: media.parse().unwrap(), image }
    }

    fn api(&self) -> SocketAddr {
        self.server.api.strip_prefix("http://").unwrap().parse().unwrap()
    }

    fn url(&self) -> &str {
        self.image["url"].as_str().unwrap()
    }

    fn path(&self) -> &str {
        let url = self.url().split_once("://").unwrap().1;
        &url[url.find('/').unwrap()..]
    }

    /// Health, a new image and a BMC's ranges, each over connections of its own, some times over.
    fn is_prompt(&self) {
        for turn in 0..10 {
            let begun = Instant::now();
            let health = client(FLOODER).get(format!("{}/healthz", self.server.api)).send().unwrap();
            assert!(health.status().is_success());
            assert!(begun.elapsed() < PROMPT, "health took {:?} in turn {turn}", begun.elapsed());

            let begun = Instant::now();
            assert_eq!(self.server.image("coreos", &document())["id"], self.image["id"]);
            assert!(begun.elapsed() < PROMPT, "the API took {:?} in turn {turn}", begun.elapsed());

            let bmc = client(BMC);
            for range in ["bytes=0-2047", "bytes=100000-165535"] {
                let begun = Instant::now();
                let answer = bmc.get(self.url()).header("Range", range).send().unwrap();
                assert_eq!(answer.status(), 206);
                assert!(!answer.bytes().unwrap().is_empty());
                assert!(begun.elapsed() < PROMPT, "a range took {:?} in turn {turn}", begun.elapsed());
            }
        }
    }
}

fn document() -> std::path::PathBuf {
    fixtures("scenarios").join("static-ipv4-baremetalhost.yaml")
}

/// A client with no connection yet, from one address. The certificate is the server's own.
fn client(from: Ipv4Addr) -> Client {
    let client = Client::builder().no_proxy().local_address(IpAddr::V4(from)).timeout(Duration::from_secs(20));
    client.danger_accept_invalid_certs(true).build().unwrap()
}

/// A connection from an address.
fn connect_from(from: Ipv4Addr, to: SocketAddr) -> Option<TcpStream> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(socket.as_fd(), &SocketAddr::from((from, 0))).unwrap();
    connect(socket.as_fd(), &to).ok()?;
    Some(TcpStream::from(socket))
}

/// Connections that have sent these bytes and nothing more.
fn flood(from: impl Fn(usize) -> Ipv4Addr, to: SocketAddr, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let connections = (0..count).filter_map(|number| {
        let mut stream = connect_from(from(number), to)?;
        // The server may have closed it already.
        let _ = stream.write_all(bytes);
        Some(stream)
    });
    connections.collect()
}

#[test]
fn unfinished_requests_from_one_address_stop_nothing() {
    let site = Site::start(&[]);
    assert!(site.server.log().contains("raised the soft limit on open files"), "{}", site.server.log());
    let half = b"GET /i/abcdefghijklmnopqrstuvwxyz/boot.iso HTTP/1.1\r\nHost: b";
    // Of a BMC that reads already, nothing is taken away.
    let reading = client(BMC);
    assert_eq!(reading.get(site.url()).header("Range", "bytes=0-0").send().unwrap().status(), 206);
    let mut held = flood(|_| FLOODER, site.media, FLOOD, half);
    site.is_prompt();
    held.extend(flood(|_| FLOODER, site.api(), 400, b"GET /healthz HTTP/1.1\r\nHost: b"));
    site.is_prompt();
    held.extend(flood(|_| FLOODER, site.media, 500, b""));
    site.is_prompt();
    assert_eq!(reading.get(site.url()).header("Range", "bytes=1-1").send().unwrap().status(), 206);
    let metrics = client(BMC).get(format!("{}/metrics", site.server.api)).send().unwrap().text().unwrap();
    let closed: f64 = ["evicted", "address-limit"]
        .iter()
        .filter_map(|reason| {
            let name = format!("dayone_media_connections_closed_total{{reason=\"{reason}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<f64>().ok())
        })
        .sum();
    assert!(closed > 1000.0, "{closed} connections gave way");
    drop(held);
    site.is_prompt();
}

#[test]
fn unfinished_requests_from_many_addresses_stop_nothing() {
    let site = Site::start(&[]);
    let from =
        |number: usize| Ipv4Addr::from_bits(Ipv4Addr::new(127, 1, 0, 1).to_bits() + u32::try_from(number).unwrap());
    let _held = flood(from, site.media, FLOOD, b"GET /i/abc");
    site.is_prompt();
}

#[test]
fn handshakes_that_do_not_come_to_an_end_stop_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
    fs::write(&certificate, issued.cert.pem()).unwrap();
    fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let site = Site::start(&["--media-tls-cert", &text(&certificate), "--media-tls-key", &text(&key)]);
    // The beginning of a ClientHello.
    let _held = flood(|_| FLOODER, site.media, FLOOD, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
    site.is_prompt();
}

/// BMCs behind a router that translates addresses have one address.
#[test]
fn many_bmcs_behind_one_address_are_served() {
    for (limit, readers) in [(&[][..], 280), (&["--media-connections-per-address", "560"], 520)] {
        let site = Site::start(limit);
        let request = format!("GET {} HTTP/1.1\r\nHost: b\r\nRange: bytes=0-99\r\n\r\n", site.path());
        let mut readers = flood(|_| BMC, site.media, readers, request.as_bytes());
        let mut head = [0; 12];
        for reader in &mut readers {
            reader.read_exact(&mut head).unwrap();
            assert_eq!(&head, b"HTTP/1.1 206");
        }
        // All of them go on.
        for reader in &mut readers {
            reader.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            reader.write_all(request.as_bytes()).unwrap();
            let mut answers = vec![];
            while answers.windows(12).filter(|window| window == b"HTTP/1.1 206").count() < 1 {
                let mut buffer = [0; 4096];
                let count = reader.read(&mut buffer).unwrap();
                assert!(count > 0, "a connection that was answered has ended");
                answers.extend_from_slice(&buffer[..count]);
            }
        }
    }
}

#[test]
fn an_address_gets_no_more_connections_than_it_may() {
    let site = Site::start(&["--media-connections-per-address", "4"]);
    let request = format!("GET {} HTTP/1.1\r\nHost: b\r\nRange: bytes=0-99\r\n\r\n", site.path());
    let mut readers = flood(|_| FLOODER, site.media, 40, request.as_bytes());
    let mut head = [0; 12];
    let answered = readers.iter_mut().filter_map(|reader| reader.read_exact(&mut head).ok()).count();
    assert!((4..=5).contains(&answered), "{answered}");
    site.is_prompt();
    assert!(site.server.log().contains("connection refused: too many from its address"), "{}", site.server.log());
}
