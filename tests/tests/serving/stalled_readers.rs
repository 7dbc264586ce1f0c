//! A thousand clients ask for a whole image and read nothing of it: the kernel queues little for each, and others' ranges
//! are as fast as alone.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::server::{Server, free_address};
use reqwest::blocking::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const READERS: usize = 1000;

/// What a stalled reader may take of the kernel's memory on both sides, in KiB: 1465 without a bound, 254 with it.
const MAX_KIB: usize = 512;

/// The memory of all TCP sockets here, in KiB.
fn tcp_memory() -> usize {
    let sockstat = fs::read_to_string("/proc/net/sockstat").unwrap();
    let pages = sockstat.lines().find(|line| line.starts_with("TCP:")).unwrap().rsplit(' ').next().unwrap();
    pages.parse::<usize>().unwrap() * 4
}

/// How long 64 KiB take at the slowest hundredth of a thousand ranges.
fn p99(url: &str) -> Duration {
    let client = Client::builder().no_proxy().build().unwrap();
    let mut times: Vec<_> = (0..1000)
        .map(|number| {
            let (begun, start) = (Instant::now(), number * 4096);
            let answer = client.get(url).header("Range", format!("bytes={start}-{}", start + 65_535)).send().unwrap();
            assert_eq!(answer.bytes().unwrap().len(), 65_536);
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[990]
}

#[test]
fn readers_that_do_not_read_take_little_of_the_kernels_memory_and_of_nobodys_time() {
    let hard = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard }).unwrap();
    let media = free_address();
    let base = coreos_iso(&["--size-mib", "64"]);
    let server = Server::start_at(&free_address(), &media, "coreos", &base, &[]);
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let url = image["url"].as_str().unwrap();
    let path = url.strip_prefix(&format!("http://{media}")).unwrap();
    let (alone, before) = (p99(url), tcp_memory());

    let mut readers: Vec<_> = (0..READERS)
        .map(|_| {
            let mut reader = TcpStream::connect(&media).unwrap();
            reader.write_all(format!("GET {path} HTTP/1.1\r\nHost: b\r\n\r\n").as_bytes()).unwrap();
            reader
        })
        .collect();
    // Each has the head of its answer, and then the server has had time to fill what there is to fill.
    let mut head = [0; 12];
    for reader in &mut readers {
        reader.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
    }
    thread::sleep(Duration::from_secs(3));
    let each = tcp_memory().saturating_sub(before) / READERS;
    assert!(each < MAX_KIB, "{each} KiB for each reader");
    let beside = p99(url);
    println!("{each} KiB for each reader; p99 of 64 KiB: {alone:?} alone, {beside:?} beside them");
    // Twice, and what a busy machine adds.
    assert!(beside < 2 * alone + Duration::from_millis(50), "p99: {alone:?} alone, {beside:?} beside stalled readers");
}
