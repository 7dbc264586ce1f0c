//! The configurations of proxies in `docs/commands.md`, in real proxies.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::boots;
use acceptance::one_host::nmstate_of;
use acceptance::proxies::Proxy;
use acceptance::server::{Server, free_address};
use reqwest::blocking::Client;
use sha2::{Digest as _, Sha256};

/// Longer than a proxy of the documentation lets an answer take by default, by more than what is in its buffers then.
const LONG: Duration = Duration::from_secs(24);

/// A request as a simple client writes it. The connection is as it is after the head of the answer.
fn request(proxy: &Proxy, head: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(&proxy.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.write_all(format!("{head}\r\nHost: {}\r\n\r\n", proxy.address).as_bytes()).unwrap();
    let (mut reader, mut answer, begun) = (BufReader::new(stream), String::new(), Instant::now());
    while !answer.ends_with("\r\n\r\n") {
        match reader.read_line(&mut answer) {
            Ok(0) => panic!("{}: no answer to {head}: {answer}", proxy.name),
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{}: {error}", proxy.name),
            _ => assert!(begun.elapsed() < Duration::from_secs(30), "{}: no answer to {head}: {answer}", proxy.name),
        }
    }
    (answer, reader)
}

/// Old clients of the BMCs' kind know a header only as RFC 9110 spells it.
fn headers_are_spelt_as_clients_expect(proxy: &Proxy, path: &str, size: usize) {
    for version in ["1.1", "1.0"] {
        let (answer, _) = request(proxy, &format!("HEAD {path} HTTP/{version}"));
        assert_eq!(answer.split(' ').nth(1), Some("200"), "{}, HTTP/{version}: {answer}", proxy.name);
        let has = |is: &dyn Fn(&str) -> bool| answer.lines().any(is);
        let length = format!("content-length: {size}");
        assert!(has(&|line| line == "Accept-Ranges: bytes"), "{}, HTTP/{version}: {answer}", proxy.name);
        assert!(has(&|line| line.eq_ignore_ascii_case(&length)), "{}, HTTP/{version}: {answer}", proxy.name);
    }
    let (answer, mut rest) = request(proxy, &format!("GET {path} HTTP/1.1\r\nRange: bytes=32769-32773"));
    assert_eq!(answer.split(' ').nth(1), Some("206"), "{}: {answer}", proxy.name);
    let mut part = [0; 5];
    rest.read_exact(&mut part).unwrap();
    assert_eq!(&part, b"CD001", "{}", proxy.name);
}

/// A client that takes its time gets all of an image.
fn a_slow_client_gets_the_whole_image(proxy: &Proxy, path: &str, size: usize, digest: &[u8]) {
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(120)).build().unwrap();
    let mut answer = client.get(format!("http://{}{path}", proxy.address)).send().unwrap();
    let (mut piece, mut read, mut hash, begun) = (vec![0; 64 << 10], 0_usize, Sha256::new(), Instant::now());
    loop {
        let count = answer.read(&mut piece).unwrap_or_else(|error| panic!("{}: {error} at {read}", proxy.name));
        if count == 0 {
            break;
        }
        read += count;
        hash.update(&piece[..count]);
        thread::sleep(LONG.mul_f64(read as f64 / size as f64).saturating_sub(begun.elapsed()));
    }
    assert_eq!((read, hash.finalize().as_slice()), (size, digest), "{}", proxy.name);
}

/// The page stays up to date for as long as somebody looks at it.
fn events_come_at_once_and_do_not_end(proxy: &Proxy) {
    let (answer, mut events) = request(proxy, "GET /v1/boots/events HTTP/1.1");
    assert_eq!(answer.split(' ').nth(1), Some("200"), "{}: {answer}", proxy.name);
    let (begun, mut text) = (Instant::now(), String::new());
    let has_event = |text: &str| text.lines().any(|line| line == "event: boots");
    while begun.elapsed() < LONG {
        match events.read_line(&mut text) {
            Ok(0) => panic!("{}: the events end after {:?}: {text}", proxy.name, begun.elapsed()),
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{}: {error}", proxy.name),
            _ => {}
        }
        assert!(has_event(&text) || begun.elapsed() < Duration::from_secs(8), "{}: no event: {text}", proxy.name);
    }
}

/// An order of the page: from the proxy's own origin, and with as large a body as the server takes.
fn a_large_order_passes(proxy: &Proxy) {
    let mut document = nmstate_of("host-1");
    while document.len() < 4_000_000 {
        document.push_str("# A line of a large document, which the server reads as a whole.\n");
    }
    let origin = format!("http://{}", proxy.address);
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(120)).build().unwrap();
    let order = client.post(format!("{origin}/v1/images?base=coreos")).header("origin", &origin);
    let answer = order.header("content-type", "application/yaml").body(document).send().unwrap();
    let (status, body) = (answer.status(), answer.text().unwrap());
    assert!(status.is_success(), "{}: {status}: {body}", proxy.name);
}

#[test]
fn documented_proxies_pass_what_clients_need() {
    let media = free_address();
    let iso = coreos_iso(&["--size-mib", "48"]);
    let server = Server::start_at(&free_address(), &media, "coreos", &iso, &[]);
    // A BMC that does not answer: there is one event at first, and then none.
    let bmc = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", bmc.local_addr().unwrap());
    let documents = boots::documents("host-0", &origin, "/redfish/v1/Systems/1", "hunter2-hunter2");
    let boot = boots::begin(&server, "?base=coreos", &documents);
    boots::until_state(&server, &boot, "running");

    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let url = image["url"].as_str().unwrap();
    let bytes = reqwest::blocking::get(url).unwrap().bytes().unwrap();
    let (size, digest) = (bytes.len(), Sha256::digest(&bytes));
    assert_eq!(image["size"], size);
    let path = format!("/media{}", url.strip_prefix(&format!("http://{media}")).unwrap());
    let proxies = Proxy::all(&server, &media);
    thread::scope(|scope| {
        for proxy in &proxies {
            scope.spawn(|| headers_are_spelt_as_clients_expect(proxy, &path, size));
            scope.spawn(|| a_slow_client_gets_the_whole_image(proxy, &path, size, &digest));
            scope.spawn(|| events_come_at_once_and_do_not_end(proxy));
            scope.spawn(|| a_large_order_passes(proxy));
        }
    });
}
