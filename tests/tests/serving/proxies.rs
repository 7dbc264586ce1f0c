//! Proxies between clients and the server.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::boots;
use acceptance::nginx::Nginx;
use acceptance::server::{Server, free_address};
use reqwest::Method;
use reqwest::blocking::Client;

#[test]
fn events_pass_nginx_at_once() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    // A BMC that does not answer: the boot does not change, so that only one event comes, of less than nginx's buffer.
    let bmc = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", bmc.local_addr().unwrap());
    let documents = boots::documents("host-0", &origin, "/redfish/v1/Systems/1", "hunter2-hunter2");
    let id = boots::begin(&server, "?base=coreos", &documents);
    boots::until_state(&server, &id, "running");
    let mut nginx = Nginx::start(None);
    nginx.kill();
    nginx.start_again(&format!("location /v1/ {{ proxy_pass {}; }}", server.api));
    let client = Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
    for (path, event) in [("v1/boots/events".to_owned(), "boots"), (format!("v1/boots/{id}/events"), "boot")] {
        let stream = client.get(nginx.url(&path)).send().unwrap();
        // A comment may come first. Without an event, the time of the client ends.
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let first = lines.find(|line| line.starts_with("event: "));
        assert_eq!(first, Some(format!("event: {event}")), "{path}");
    }
}

/// nginx's configuration for the images' address from docs/commands.md, with `media` as that address.
fn documented(media: &str) -> String {
    let (_, rest) = include_str!("../../../docs/commands.md").split_once("\n    location /media/").unwrap();
    let (block, _) = rest.split_once("\n    }\n").unwrap();
    assert!(block.contains("http://127.0.0.1:8081/;"), "{block}");
    format!("location /media/{}\n}}\n", block.replace("127.0.0.1:8081", media))
}

#[test]
fn images_pass_a_proxy_that_removes_the_path_of_the_media_url() {
    let mut nginx = Nginx::start(None);
    let media = free_address();
    let url = nginx.url("media");
    let more = ["--media-url", &url];
    let server = Server::start_at(&free_address(), &media, "coreos", &coreos_iso(&[]), &more);
    nginx.kill();
    nginx.start_again(&documented(&media));
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let image = image["url"].as_str().unwrap();
    assert!(image.starts_with(&format!("{url}/i/")), "{image}");
    let client = Client::new();
    let part = client.get(image).header("Range", "bytes=32769-32773").send().unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.bytes().unwrap(), &b"CD001"[..]);

    // What docs/commands.md gives for health checks, and what it says does not work.
    let probe = format!("http://{media}/i/probe/probe.img");
    assert_eq!(client.head(probe).send().unwrap().status(), 200);
    assert_eq!(client.get(format!("http://{media}/healthz")).send().unwrap().status(), 404);
    assert_eq!(client.request(Method::OPTIONS, format!("http://{media}/")).send().unwrap().status(), 405);
}

#[test]
fn a_slow_reader_behind_a_proxy_gets_the_whole_image() {
    /// Bytes per second.
    const RATE: usize = 3 << 20;
    /// How much is read at this rate: twice what nginx may keep. The rest is read at once.
    const SLOWLY: usize = 32 << 20;
    let mut nginx = Nginx::start(None);
    let media = free_address();
    let url = nginx.url("media");
    // Shorter than it takes to read what nginx may keep.
    let more = ["--media-url", &url, "--media-idle-seconds", "3"];
    let server = Server::start_at(&free_address(), &media, "coreos", &coreos_iso(&["--size-mib", "64"]), &more);
    nginx.kill();
    // nginx's default is 1 GiB, and images are larger.
    nginx.start_again(&format!("proxy_max_temp_file_size 16m; {}", documented(&media)));
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().unwrap();
    let mut answer = client.get(image["url"].as_str().unwrap()).send().unwrap();
    let (mut piece, mut read, begun) = (vec![0; 256 << 10], 0_usize, Instant::now());
    loop {
        let count = answer.read(&mut piece).unwrap_or_else(|error| panic!("{error} after {read} bytes"));
        if count == 0 {
            break;
        }
        read += count;
        if read < SLOWLY {
            let due = Duration::from_secs_f64(read as f64 / RATE as f64);
            thread::sleep(due.saturating_sub(begun.elapsed()));
        }
    }
    assert_eq!(image["size"], read);
}
