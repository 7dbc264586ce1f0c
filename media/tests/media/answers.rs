//! What is answered, rule by rule.

use super::client::Answer;
use super::server::{DATE, INSTANCE, ISO, SIZE, Server, TOKEN, start};

async fn get(server: &Server, lines: &[&str]) -> Answer {
    server.connect().await.ask("GET", ISO, lines).await
}

#[tokio::test]
async fn get_gives_the_image_with_all_that_firmware_looks_for() {
    let server = start().await;
    let answer = get(&server, &[]).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body == server.image);
    assert_eq!(answer.header("content-length"), SIZE.to_string());
    assert_eq!(answer.header("accept-ranges"), "bytes");
    assert_eq!(answer.header("content-type"), "application/x-iso9660-image");
    assert_eq!(answer.header("etag"), server.etag);
    assert_eq!(answer.header("last-modified"), DATE);
    assert!(!answer.header("cache-control").contains("no-store"), "Ironic would not cache it");
    for absent in ["content-encoding", "content-disposition", "set-cookie", "location", "transfer-encoding", "vary"] {
        assert_eq!(answer.header(absent), "", "{absent}");
    }
    assert!(answer.head.contains("\r\nContent-Length: "), "some firmware compares names by case");
}

#[tokio::test]
async fn head_is_get_without_the_body_and_knows_no_ranges() {
    let server = start().await;
    let mut client = server.connect().await;
    for lines in [&[][..], &["Range: bytes=0-1"], &["Range: bytes=99999999999-"]] {
        let head = client.ask("HEAD", ISO, lines).await;
        assert_eq!((head.status, head.header("content-length")), (200, &*SIZE.to_string()), "{lines:?}");
        for name in ["accept-ranges", "content-type", "etag", "last-modified", "cache-control"] {
            assert_ne!(head.header(name), "", "{name}");
        }
        assert_eq!(head.header("content-range"), "");
    }
    // Nothing of a body came before this answer.
    assert_eq!(client.ask("GET", ISO, &["Range: bytes=0-3"]).await.body, server.image[..4]);
}

#[tokio::test]
async fn firmware_that_boots_by_http_reads_the_whole_file() {
    // As EDK2 sends it, and with a header that is not for the direct way.
    for other in [&[][..], &["X-Other: yes"]] {
        let server = start().await;
        let mut client = server.connect().await;
        let lines = [&["Accept: */*", "User-Agent: UefiHttpBoot/1.0"], other].concat().join("\r\n");
        for method in ["HEAD", "GET"] {
            client.send(&format!("{method} {ISO} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n\r\n")).await;
            let answer = client.answer(method == "HEAD").await.unwrap();
            assert_eq!((answer.status, answer.header("content-length")), (200, &*SIZE.to_string()), "{method}");
            assert_eq!(answer.header("location"), "");
            assert!(answer.body == if method == "HEAD" { &[] } else { server.image.as_slice() });
        }
    }
}

#[tokio::test]
async fn a_range_is_exactly_that_range() {
    let server = start().await;
    let mut client = server.connect().await;
    let last = SIZE - 1;
    for (header, from, to) in [
        ("bytes=0-0".to_owned(), 0, 0),
        ("bytes=99990-100010".to_owned(), 99_990, 100_010),
        ("bytes=399999-1000000".to_owned(), 399_999, 1_000_000),
        ("bytes=1199999-1200001".to_owned(), 1_199_999, 1_200_001),
        (format!("bytes={last}-"), last, last),
        (format!("bytes={}-{}", last - 9, last + 999), last - 9, last),
        ("bytes=-70000".to_owned(), SIZE - 70_000, last),
        ("bytes=-99999999999".to_owned(), 0, last),
    ] {
        let answer = client.ask("GET", ISO, &[&format!("Range: {header}")]).await;
        assert_eq!(answer.status, 206, "{header}");
        assert_eq!(answer.header("content-range"), format!("bytes {from}-{to}/{SIZE}"));
        assert_eq!(answer.header("content-length"), (to - from + 1).to_string());
        assert_eq!((answer.header("etag"), answer.header("last-modified")), (&*server.etag, DATE));
        assert!(answer.body == server.image[from..=to], "{header}");
    }
}

#[tokio::test]
async fn ranges_outside_the_file_and_malformed_ranges() {
    let server = start().await;
    let mut client = server.connect().await;
    for header in [format!("bytes={SIZE}-"), "bytes=-0".to_owned()] {
        let answer = client.ask("GET", ISO, &[&format!("Range: {header}")]).await;
        assert_eq!((answer.status, answer.header("content-range")), (416, &*format!("bytes */{SIZE}")), "{header}");
    }
    for lines in [&["Range: bytes=5-4"][..], &["Range: lines=0-1"], &["Range: bytes=0-1", "Range: bytes=2-3"]] {
        let answer = client.ask("GET", ISO, lines).await;
        assert_eq!((answer.status, answer.body.len()), (200, SIZE), "{lines:?}");
    }
}

#[tokio::test]
async fn several_ranges_are_a_multipart_body() {
    let server = start().await;
    let answer = get(&server, &["Range: bytes=1199990-1200009,0-9,-5"]).await;
    let boundary = answer.header("content-type").strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut expected = vec![];
    for (from, to) in [(0, 9), (1_199_990, 1_200_009), (SIZE - 5, SIZE - 1)] {
        let head = format!(
            "\r\n--{boundary}\r\nContent-Type: application/x-iso9660-image\r\nContent-Range: bytes {from}-{to}/{SIZE}\r\n\r\n"
        );
        expected.extend_from_slice(head.as_bytes());
        expected.extend_from_slice(&server.image[from..=to]);
    }
    expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert_eq!((answer.status, answer.header("content-range")), (206, ""));
    assert_eq!(answer.body, expected);

    let one_left = get(&server, &["Range: bytes=0-9,5-19,20-29"]).await;
    assert_eq!((one_left.status, one_left.header("content-range")), (206, &*format!("bytes 0-29/{SIZE}")));
    let many: Vec<_> = (0..17).map(|i| format!("{}-{}", i * 9, i * 9)).collect();
    let abuse = format!("Range: bytes={}", many.join(","));
    assert_eq!(get(&server, &[&abuse]).await.status, 200);
}

#[tokio::test]
async fn conditions_and_if_range() {
    let server = start().await;
    let mut client = server.connect().await;
    let etag = &server.etag;
    let before = "Sun, 06 Nov 1994 08:49:36 GMT";
    for (lines, status) in [
        (vec![format!("If-None-Match: {etag}")], 304),
        (vec![format!("If-Modified-Since: {DATE}")], 304),
        (vec![format!("If-Modified-Since: {before}"), "Range: bytes=0-1".to_owned()], 206),
        (vec!["If-Match: \"other\"".to_owned()], 412),
        (vec![format!("If-Match: {etag}"), "Range: bytes=0-1".to_owned()], 206),
        (vec![format!("If-Unmodified-Since: {before}"), "Range: bytes=0-1".to_owned()], 412),
        (vec![format!("If-Range: {etag}"), "Range: bytes=0-1".to_owned()], 206),
        (vec![format!("If-Range: {DATE}"), "Range: bytes=0-1".to_owned()], 206),
        (vec!["If-Range: \"other\"".to_owned(), "Range: bytes=0-1".to_owned()], 200),
        (vec![format!("If-Range: W/{etag}"), "Range: bytes=0-1".to_owned()], 200),
        (vec!["If-Range: \"other\"".to_owned(), "Range: bytes=99999999999-".to_owned()], 200),
    ] {
        let lines: Vec<&str> = lines.iter().map(|line| &**line).collect();
        let answer = client.ask("GET", ISO, &lines).await;
        assert_eq!(answer.status, status, "{lines:?}");
        if status != 412 {
            assert_eq!(answer.header("etag"), etag, "{lines:?}");
        }
        let head = client.ask("HEAD", ISO, &lines).await;
        assert_eq!(head.status, if [304, 412].contains(&status) { status } else { 200 }, "HEAD {lines:?}");
    }
}

#[tokio::test]
async fn all_other_paths_get_the_same_404() {
    let server = start().await;
    let mut client = server.connect().await;
    let mut bodies = vec![];
    for path in [
        "/",
        "/i/",
        "/i/abcdefghijklmnopqrstuvwxyz/",
        "/i/abcdefghijklmnopqrstuvwxyz",
        "/i/abcdefghijklmnopqrstuvwxya/boot.iso",
        "/i/abcdefghijklmnopqrstuvwxyz/boot2.iso",
        "//i/abcdefghijklmnopqrstuvwxyz/boot.iso",
        "/i/x/../abcdefghijklmnopqrstuvwxyz/boot.iso",
        "/i/%61bcdefghijklmnopqrstuvwxyz/boot.iso",
        "/i/ABCDEFGHIJKLMNOPQRSTUVWXYZ/boot.iso",
        "/v1/bases",
        "/metrics",
    ] {
        let answer = client.ask("GET", path, &[]).await;
        assert_eq!((answer.status, answer.header("location")), (404, ""), "{path}");
        bodies.push((answer.header("content-type").to_owned(), answer.body));
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(client.ask("HEAD", "/i/none/boot.iso", &[]).await.status, 404);
}

#[tokio::test]
async fn only_get_and_head() {
    let server = start().await;
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "CONNECT"] {
        let path = if method == "CONNECT" { "bmc:80" } else { ISO };
        let answer = server.connect().await.ask(method, path, &["Content-Length: 0"]).await;
        assert_eq!((answer.status, answer.header("allow")), (405, "GET, HEAD"), "{method}");
    }
}

#[tokio::test]
async fn credentials_queries_and_codings_change_nothing() {
    let server = start().await;
    let mut client = server.connect().await;
    for lines in [
        &["Authorization: Basic ZHVtbXk6ZHVtbXk="][..],
        &["Authorization: nonsense", "Cookie: a=b"],
        &["Accept-Encoding: gzip, br", "Accept: text/html"],
        &["Expect: nothing"],
    ] {
        let answer = client.ask("GET", ISO, &[lines, &["Range: bytes=0-99"]].concat()).await;
        assert_eq!((answer.status, answer.body == server.image[..100]), (206, true), "{lines:?}");
    }
    let answer = client.ask("GET", &format!("{ISO}?filename=x.iso"), &["Range: bytes=0-99"]).await;
    assert_eq!((answer.status, answer.body == server.image[..100]), (206, true));
    let absolute = client.ask("GET", &format!("http://bmc{ISO}"), &["Range: bytes=0-99"]).await;
    assert_eq!(absolute.status, 206);
}

#[tokio::test]
async fn files_without_a_base_and_files_that_are_not_ready() {
    let server = start().await;
    let mut client = server.connect().await;
    let script = client.ask("GET", &format!("/i/{TOKEN}/boot.ipxe"), &[]).await;
    assert_eq!((script.status, &script.body[..]), (200, &b"#!ipxe\n"[..]));
    let broken = client.ask("GET", &format!("/i/{TOKEN}/broken.iso"), &[]).await;
    assert_eq!((broken.status, broken.header("retry-after")), (503, "30"));
    assert!(!String::from_utf8(broken.body).unwrap().contains("imported"), "the reason is for the log");
}

#[tokio::test]
async fn requests_and_transfers_are_counted() {
    let server = start().await;
    let mut client = server.connect().await;
    client.ask("GET", ISO, &["Range: bytes=0-999"]).await;
    client.ask("GET", ISO, &[]).await;
    client.ask("GET", "/", &[]).await;
    for code in ["200", "206", "404"] {
        assert_eq!(server.metric(&format!("media_requests_total{{code=\"{code}\"}}")), "1");
    }
    assert_eq!(server.metric("media_sent_bytes_total"), (SIZE + 1000).to_string());
    server.metric_becomes("media_active_transfers", "0").await;
    assert_eq!(server.metric("media_aborted_transfers_total"), "0");
    client.send(&format!("GET {ISO} HTTP/1.1\r\nHost: bmc\r\n\r\n")).await;
    client.head().await.unwrap();
    drop(client);
    server.metric_becomes("media_aborted_transfers_total", "1").await;
}

#[tokio::test]
async fn the_probe_is_served_like_a_file_of_an_image() {
    let server = start().await;
    let content = media::probe_content(INSTANCE);
    let whole = server.connect().await.ask("GET", "/i/probe/probe.img", &[]).await;
    assert!(whole.status == 200 && whole.body == content && whole.header("accept-ranges") == "bytes");
    let part = server.connect().await.ask("GET", "/i/probe/probe.img", &["Range: bytes=1000-1999"]).await;
    assert_eq!((part.status, part.body.as_slice()), (206, &content[1000..2000]));
    for other in ["/i/probe/boot.iso", "/i/probe", "/h/probes"] {
        assert_eq!(server.connect().await.ask("GET", other, &[]).await.status, 404, "{other}");
    }
    for (method, status) in [("GET", 204), ("HEAD", 204), ("POST", 405)] {
        assert_eq!(server.connect().await.ask(method, "/h/probe", &[]).await.status, status, "{method}");
    }
}
