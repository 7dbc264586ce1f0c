//! Requests that a proxy in front could read differently are refused on both planes, over raw sockets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::server::{Server, free_address};

/// Everything that the server says to these bytes until it ends the connection, or until it says nothing for a while.
fn exchange(address: &str, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_and_ends_the_connection() {
    let (api, media) = (free_address(), free_address());
    let base = coreos_iso(&["--size-mib", "8"]);
    let server = Server::start_at(&api, &media, "coreos", &base, &[]);
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let url = image["url"].as_str().unwrap().split_once("://").unwrap().1;
    let image = &url[url.find('/').unwrap()..];
    for (address, path) in [(&api, "/healthz"), (&media, image)] {
        let head = |method: &str, lines: &str| format!("{method} {path} HTTP/1.1\r\n{lines}\r\n");
        // What is behind a refused request is not taken for another one.
        let next = head("HEAD", "Host: localhost\r\nConnection: close\r\n");
        let refused = [
            (head("GET", "Host: localhost\r\nHost: localhost\r\n"), "400"),
            (head("GET", "Host: localhost\r\nHost: elsewhere\r\n"), "400"),
            (head("GET", "Host: localhost\r\nTransfer-Encoding: chunked, chunked\r\n") + "0\r\n\r\n", "400"),
            (
                head("GET", "Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")
                    + "0\r\n\r\n",
                "400",
            ),
            (head("GET", "Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n") + "0\r\n\r\n", "501"),
        ];
        for (request, status) in refused {
            let answer = exchange(address, &(request.clone() + &next));
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {request:?}: {answer}");
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{path} {request:?}: {answer}");
        }
        let served = exchange(address, &head("HEAD", "Host: localhost\r\nConnection: close\r\n"));
        let served_too = exchange(
            address,
            &(head("HEAD", "Host: localhost\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n" + &next),
        );
        assert!(served.starts_with("HTTP/1.1 200 "), "{served}");
        assert_eq!(served_too.matches("HTTP/1.1 200 ").count(), 2, "{served_too}");
    }
}
