use proptest::prelude::*;

use super::*;

fn direct<'a>(path: &'a str, range: Option<&'a str>, user_agent: Option<&'a str>) -> DirectRequest<'a> {
    DirectRequest { is_head: false, path, range, user_agent }
}

#[test]
fn what_firmware_sends_is_direct() {
    let cases = [
        ("GET /i/abc/boot.iso HTTP/1.1\r\nHost: a\r\n\r\n", direct("/i/abc/boot.iso", None, None)),
        (
            "GET /i/abc/boot.iso HTTP/1.1\r\nuser-agent: curl/8.1\r\nrange: bytes=0-1\r\nHOST: [2001:db8::1]:8080\r\n\
             Accept: */*\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip\r\nAuthorization: Basic eDp5\r\n\r\n",
            direct("/i/abc/boot.iso", Some("bytes=0-1"), Some("curl/8.1")),
        ),
        (
            "HEAD / HTTP/1.1\r\nHost: a\r\nRange: \r\n\r\n",
            DirectRequest { is_head: true, ..direct("/", Some(""), None) },
        ),
    ];
    for (text, expected) in cases {
        let next = format!("{text}GET");
        assert_eq!(DirectRequest::parse(next.as_bytes()), Parsed::Direct(expected, text.len()), "{text}");
        for length in 0..text.len() {
            assert_eq!(
                DirectRequest::parse(&text.as_bytes()[..length]),
                Parsed::Incomplete,
                "{length} bytes of {text}"
            );
        }
    }
}

#[test]
fn everything_else_is_for_hyper() {
    let first_lines = [
        "POST /a HTTP/1.1",
        "get /a HTTP/1.1",
        "GET /a HTTP/1.0",
        "GET /a HTTP/2.0",
        "GET /a?b HTTP/1.1",
        "GET /a%62 HTTP/1.1",
        "GET /a;b HTTP/1.1",
        "GET http://a/b HTTP/1.1",
        "GET * HTTP/1.1",
        "GET /a#b HTTP/1.1",
        "OPTIONS * HTTP/1.1",
    ];
    for line in first_lines {
        let text = format!("{line}\r\nHost: a\r\n\r\n");
        assert_eq!(DirectRequest::parse(text.as_bytes()), Parsed::Other, "{line}");
    }
    let headers = [
        "Host: b",
        "Range: bytes=0-1\r\nRange: bytes=0-1",
        "User-Agent: a\r\nUser-Agent: b",
        "Content-Length: 0",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
        "Connection: close",
        "Connection: keep-alive, TE",
        "Upgrade: h2c",
        "If-Range: \"a\"",
        "If-None-Match: *",
        "If-Match: *",
        "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
        "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
        "TE: trailers",
        "X-Forwarded-For: 192.0.2.1",
        "Forwarded: for=192.0.2.1",
        "Range: bytes=0-\u{e9}",
        "Range : bytes=0-1",
        "A b: c",
    ];
    for header in headers {
        let text = format!("GET /a HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n");
        assert_eq!(DirectRequest::parse(text.as_bytes()), Parsed::Other, "{header}");
    }
    for text in ["GET /a HTTP/1.1\r\n\r\n", "\0", "GET /a HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "\u{16}\u{3}\u{1}"] {
        assert_eq!(DirectRequest::parse(text.as_bytes()), Parsed::Other, "{text:?}");
    }
    let many = format!("GET /a HTTP/1.1\r\nHost: a\r\n{}\r\n", "Accept: a\r\n".repeat(HEADERS));
    assert_eq!(DirectRequest::parse(many.as_bytes()), Parsed::Other);
}

proptest! {
    /// A request is direct only if a second parser reads the same from it.
    #[test]
    fn direct_requests_have_only_the_headers_that_were_seen(
        lines in prop::collection::vec(
            prop_oneof![
                Just("Host: a"), Just("Range: bytes=0-1"), Just("User-Agent: b"), Just("Connection: close"),
                Just("Connection: keep-alive"), Just("Accept: */*"), Just("Content-Length: 1"), Just(" folded"), Just("X: y"),
                Just("\r"), Just(""),
            ],
            0..6,
        ),
        end in prop_oneof![Just("\r\n"), Just("\n")],
    ) {
        let text = format!("GET /a HTTP/1.1{end}{}{end}", lines.iter().flat_map(|line| [*line, end]).collect::<String>());
        if let Parsed::Direct(request, length) = DirectRequest::parse(text.as_bytes()) {
            let head = &text[..length];
            let count = |name: &str| head.lines().filter(|line| line.starts_with(name)).count();
            prop_assert_eq!(count("Host:"), 1);
            prop_assert_eq!(count("Range:"), usize::from(request.range.is_some()));
            prop_assert_eq!(count("Content-Length:") + count("X:") + count(" "), 0);
            prop_assert!(!head.contains("close"));
            prop_assert!(head.ends_with("\n\r\n") || head.ends_with("\n\n"));
        }
    }
}
