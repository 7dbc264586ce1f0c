//! The server itself: its description, its metrics, its end.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::{Answer, Dayone, NMSTATE};

#[tokio::test]
async fn the_api_describes_itself() {
    let dayone = Dayone::start().await;
    let answer = Answer::of(dayone.get("/v1/openapi.json")).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(String::from_utf8(answer.body).unwrap(), dayone::api::document());
}

#[tokio::test]
async fn requests_have_ids() {
    let dayone = Dayone::start().await;
    let given = Answer::of(dayone.get("/healthz").header("x-request-id", "my-id.1")).await;
    assert_eq!(given.header("x-request-id"), "my-id.1");
    let first = Answer::of(dayone.get("/healthz")).await;
    let second = Answer::of(dayone.get("/healthz")).await;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos&hostname=secret-host", NMSTATE)).await.ok();
    Answer::of(dayone.post("/v1/images?base=coreos", "")).await.problem("documents-refused");
    Answer::of(dayone.get("/v1/images/secret-id")).await.problem("not-found");
    Answer::of(dayone.client.request("BREW".parse().unwrap(), dayone.url("/coffee"))).await;
    let size = Answer::of(dayone.client.get(image["url"].as_str().unwrap())).await.body.len();
    let answer = Answer::of(dayone.get("/metrics")).await;
    assert!(answer.header("content-type").starts_with("application/openmetrics-text; version=1.0.0"));
    let text = String::from_utf8(answer.body).unwrap();
    for line in [
        "dayone_api_requests_total{method=\"POST\",route=\"/v1/images\",status=\"2xx\"} 1",
        "dayone_api_requests_total{method=\"POST\",route=\"/v1/images\",status=\"4xx\"} 1",
        "dayone_api_requests_total{method=\"GET\",route=\"/v1/images/{id}\",status=\"4xx\"} 1",
        "dayone_api_requests_total{method=\"other\",route=\"unknown\",status=\"4xx\"} 1",
        "dayone_build_duration_seconds_count 1",
        "dayone_build_errors_total{reason=\"documents-refused\"} 1",
        "dayone_images 1",
        "dayone_base_available{base=\"coreos\"} 1",
        "dayone_base_changes_total{base=\"coreos\"} 0",
        "dayone_base_orphaned_images{base=\"coreos\"} 0",
        "dayone_media_requests_total{code=\"200\"} 1",
        &format!("dayone_media_sent_bytes_total {size}"),
    ] {
        assert!(text.lines().any(|there| there == line), "{line}\n{text}");
    }
    assert!(text.contains("process_start_time_seconds ") && text.ends_with("# EOF\n"));
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn stopping_lets_a_running_request_end() {
    let dayone = Dayone::start().await;
    let address = dayone.server.api_address();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/keyfiles HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml\r\nContent-Length: {}\r\n\r\n",
        NMSTATE.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let Dayone { server, place, .. } = dayone;
    let stopping = tokio::spawn(server.stop());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!stopping.is_finished());
    TcpStream::connect(address).await.unwrap_err();
    stream.write_all(NMSTATE.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stopping.await.unwrap();
    drop(place);
}
