//! Proxies between clients and the server.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::time::Duration;

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

#[test]
fn images_pass_a_proxy_that_removes_the_path_of_the_media_url() {
    let mut nginx = Nginx::start(None);
    let media = free_address();
    let url = nginx.url("media");
    let more = ["--media-url", &url];
    let server = Server::start_at(&free_address(), &media, "coreos", &coreos_iso(&[]), &more);
    nginx.kill();
    nginx.start_again(&format!("location /media/ {{ proxy_pass http://{media}/; }}"));
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
