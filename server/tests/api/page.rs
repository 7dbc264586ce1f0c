//! What the page shows, without scripts and with them.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::support::{Answer, Dayone, NMSTATE, assert_validated};

async fn page(dayone: &Dayone, path: &str) -> String {
    let answer = Answer::of(dayone.get(path).header("accept", "text/html,*/*;q=0.8")).await;
    assert_eq!(answer.status, 200, "{path}");
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    String::from_utf8(answer.body).unwrap()
}

async fn image(dayone: &Dayone, query: &str) -> Value {
    Answer::of(dayone.post(&format!("/v1/images?base=coreos{query}"), NMSTATE)).await.ok()
}

#[tokio::test]
async fn only_browsers_get_html() {
    let dayone = Dayone::start().await;
    for path in ["/", "/images", "/bases", "/boots/x"] {
        for accept in [None, Some("*/*"), Some("application/json"), Some("application/json, text/html;q=0.5")] {
            let request = dayone.get(path);
            let request = if let Some(accept) = accept { request.header("accept", accept) } else { request };
            let answer = Answer::of(request).await;
            assert_eq!(answer.status, 404, "{path} {accept:?}");
            answer.problem("unknown-path");
        }
    }
    let missing = Answer::of(dayone.get("/boots/x").header("accept", "text/html")).await;
    assert_eq!((missing.status.as_u16(), missing.header("content-type")), (404, "text/html; charset=utf-8"));
    let unknown = Answer::of(dayone.get("/nothing").header("accept", "text/html")).await;
    unknown.problem("unknown-path");
}

#[tokio::test]
async fn all_answers_forbid_foreign_and_inline_content() {
    let dayone = Dayone::start().await;
    let made = image(&dayone, "").await;
    let of_image = format!("/images/{}", made["id"].as_str().unwrap());
    for path in
        ["/", "/images", "/bases", "/boots/x", &of_image, "/assets/page.css", "/assets/live.js", "/assets/boot.js"]
    {
        let answer = Answer::of(dayone.get(path).header("accept", "text/html")).await;
        assert_eq!(
            answer.header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            "{path}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        let expected = if path.starts_with("/assets/") { "no-cache" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), expected, "{path}");
        let text = String::from_utf8(answer.body).unwrap();
        if path.starts_with("/assets/") {
            continue;
        }
        assert!(
            !text.contains("style=\"") && !text.contains("<style") && !text.contains("javascript:"),
            "{path}: {text}"
        );
        assert!(!["onclick", "onload", "onerror", "onsubmit"].iter().any(|name| text.contains(name)), "{path}: {text}");
        for script in text.split("<script").skip(1) {
            assert!(script.starts_with(" src=\"/assets/"), "{script}");
        }
    }
    let style = Answer::of(dayone.get("/assets/page.css")).await;
    assert_validated(&dayone, "/assets/page.css", style.header("etag")).await;
}

#[tokio::test]
async fn images_and_bases_are_shown_without_scripts() {
    let dayone = Dayone::start().await;
    let made = image(&dayone, "&hostname=worker-0&karg_append=quiet").await;
    let (id, url) = (made["id"].as_str().unwrap(), made["url"].as_str().unwrap());
    let list = page(&dayone, "/images").await;
    assert!(list.contains("<h1>1 image</h1>") && list.contains(&format!("href=\"/images/{id}\"")), "{list}");
    assert!(!list.contains(url), "a list has no credentials");
    let one = page(&dayone, &format!("/images/{id}")).await;
    for expected in [
        &format!("curl -O '{url}'"),
        &format!("/v1/images/{id}/topology.svg"),
        "/etc/coreos-firstboot-network/eth0.nmconnection",
        "Changes to the base",
        "not requested yet",
        "quiet",
    ] {
        assert!(one.contains(expected), "{expected}\n{one}");
    }
    dayone.client.get(url).header("range", "bytes=0-65535").send().await.unwrap().bytes().await.unwrap();
    let read = page(&dayone, &format!("/images/{id}")).await;
    assert!(
        read.contains("<path d=\"M0 0H") && read.contains("127.0.0.1") && read.contains("<progress max=\"100\""),
        "{read}"
    );

    let bases = page(&dayone, "/bases").await;
    for expected in
        ["3 bases", "id=\"coreos\"", "coreos-iso", "kernel-initrd", "base=coreos&amp;format=iso", "makes no images"]
    {
        assert!(bases.contains(expected), "{expected}\n{bases}");
    }
    std::fs::remove_file(dayone.place.path("coreos.iso")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while !page(&dayone, "/bases").await.contains("unavailable") {
        assert!(Instant::now() < deadline, "{}", page(&dayone, "/bases").await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn foreign_text_is_text() {
    let dayone = Dayone::start().await;
    let hostile = "<img src=x onerror=alert(1)>";
    let encoded = "%3Cimg%20src=x%20onerror=alert(1)%3E";
    for path in [format!("/?search={encoded}&group={encoded}"), format!("/images?search={encoded}")] {
        let text = page(&dayone, &path).await;
        assert!(text.contains("onerror=alert(1)") && !text.contains(hostile), "{text}");
    }
    // Anybody who knows the URL of an image chooses what its page says about the client.
    let made = image(&dayone, "&hostname=worker-0").await;
    let request = dayone.client.get(made["url"].as_str().unwrap()).header("user-agent", hostile);
    request.send().await.unwrap().bytes().await.unwrap();
    let id = made["id"].as_str().unwrap();
    let text = page(&dayone, &format!("/images/{id}")).await;
    assert!(text.contains("onerror=alert(1)") && !text.contains(hostile), "{text}");
    let mut stream = dayone.get(&format!("/live?image={id}")).send().await.unwrap();
    let sent = event(&mut stream).await.to_string();
    assert!(sent.contains("onerror=alert(1)") && !sent.contains(hostile), "{sent}");
}

/// The next event of a stream, as JSON.
async fn event(stream: &mut reqwest::Response) -> Value {
    let mut text = String::new();
    loop {
        let chunk = tokio::time::timeout(Duration::from_secs(20), stream.chunk()).await.unwrap().unwrap().unwrap();
        text.push_str(&String::from_utf8_lossy(&chunk));
        if let Some(data) = text.lines().find_map(|line| line.strip_prefix("data: ")).filter(|_| text.ends_with("\n\n"))
        {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[tokio::test]
async fn a_view_is_followed_and_the_stream_ends_with_the_server() {
    let dayone = Dayone::start().await;
    let made = image(&dayone, "").await;
    let (id, url) = (made["id"].as_str().unwrap(), made["url"].as_str().unwrap());
    let mut stream = dayone.get(&format!("/live?image={id}")).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let first = event(&mut stream).await;
    assert_eq!(first["elements"][0][0], "reading");
    assert!(first["elements"][0][1].as_str().unwrap().contains("not requested yet"), "{first}");
    let client = reqwest::Client::new();
    client.get(url).header("range", "bytes=0-65535").send().await.unwrap().bytes().await.unwrap();
    let began = Instant::now();
    let read = event(&mut stream).await;
    assert!(read["elements"][0][1].as_str().unwrap().contains("<path d=\"M0 0H"), "{read}");
    assert!(began.elapsed() < Duration::from_millis(2500), "{:?}", began.elapsed());

    let mut boots = dayone.get("/live?group=failed").send().await.unwrap();
    let board = event(&mut boots).await;
    assert_eq!(board["rows"], serde_json::json!([]));
    assert_eq!(board["elements"][0][0], "headline");
    let gone = dayone.get(&format!("/live?image={}", "0".repeat(64))).send().await.unwrap();
    assert_eq!(gone.bytes().await.unwrap().len(), 0, "what does not exist ends at once");

    let stopped = Instant::now();
    dayone.server.stop().await;
    while stream.chunk().await.is_ok_and(|chunk| chunk.is_some()) {}
    while boots.chunk().await.is_ok_and(|chunk| chunk.is_some()) {}
    assert!(stopped.elapsed() < Duration::from_secs(4), "{:?}", stopped.elapsed());
}

#[tokio::test]
async fn as_many_browsers_follow_as_the_limit_allows() {
    let dayone = Dayone::start().await;
    let mut streams = Vec::new();
    for _ in 0..64 {
        let stream = dayone.get("/live").send().await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let refused = Answer::of(dayone.get("/live")).await;
    assert_eq!(refused.status, 503);
    refused.problem("too-many-browsers");
    drop(streams);
    let deadline = Instant::now() + Duration::from_secs(30);
    while dayone.get("/live").send().await.unwrap().status() != 200 {
        assert!(Instant::now() < deadline, "places do not become free");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
