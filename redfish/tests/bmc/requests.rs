//! Single requests: bounds, repetition, and errors.

use std::time::{Duration, Instant};

use http::StatusCode;
use redfish::{AllowedNetworks, Client, ClientOptions, Credentials, RedfishError, Target, Verification};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

use crate::bmc::{Bmc, Canned};

const SYSTEM: &str = "/redfish/v1/Systems/1";
const LIMIT: Duration = Duration::from_secs(5);

fn system() -> Canned {
    Canned::new(200, &json!({"Id": "1", "@odata.etag": "W/\"body\""}))
}

#[tokio::test]
async fn a_resource_is_read_with_its_etag_and_changed_with_it() {
    let bmc = Bmc::start(false).await;
    bmc.on("GET", SYSTEM, system().header("ETag", "\"header\""));
    bmc.on("GET", SYSTEM, system());
    bmc.on("PATCH", SYSTEM, Canned::new(412, &Value::Null));
    bmc.on("PATCH", SYSTEM, Canned::new(428, &Value::Null));
    bmc.on("PATCH", SYSTEM, Canned::new(200, &json!({"Id": "1"})));
    let client = bmc.connect(true).await.unwrap();
    assert_eq!(client.root()["RedfishVersion"], "1.6.0");
    let resource = client.get(SYSTEM).await.unwrap();
    assert_eq!((resource.etag.as_deref(), &resource.body["Id"]), (Some("\"header\""), &json!("1")));
    assert_eq!(client.get(SYSTEM).await.unwrap().etag.as_deref(), Some("W/\"body\""));

    let body = json!({"Boot": {}});
    let patch = async |etag| client.patch(SYSTEM, &body, etag, LIMIT).await;
    for (etag, status) in [(Some("\"old\""), 412), (None, 428)] {
        let error = patch(etag).await.unwrap_err();
        assert!(
            error.failure().is_some_and(|failure| failure.is_precondition() && failure.status == status),
            "{error}"
        );
    }
    assert_eq!(patch(Some("\"new\"")).await.unwrap().status, StatusCode::OK);
    let sent = bmc.seen("PATCH", SYSTEM);
    let etags: Vec<_> = sent.iter().map(|seen| seen.header("if-match")).collect();
    assert_eq!(etags, [Some("\"old\""), None, Some("\"new\"")]);
    assert!(sent.iter().all(|seen| seen.body == body));
}

#[tokio::test]
async fn a_change_finds_the_etag_that_the_bmc_wants() {
    let bmc = Bmc::start(false).await;
    bmc.on("GET", SYSTEM, system().header("ETag", "W/\"later\""));
    bmc.on("PATCH", SYSTEM, Canned::new(412, &Value::Null));
    bmc.on("PATCH", SYSTEM, Canned::new(412, &Value::Null));
    bmc.on("PATCH", SYSTEM, Canned::new(428, &Value::Null));
    bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
    bmc.on("PATCH", SYSTEM, Canned::new(400, &Value::Null));
    let client = bmc.connect(true).await.unwrap();
    client.update(SYSTEM, &json!({"Boot": {}}), Some("\"early\""), LIMIT).await.unwrap();
    let sent = bmc.seen("PATCH", SYSTEM);
    let etags: Vec<_> = sent.iter().map(|seen| seen.header("if-match")).collect();
    assert_eq!(etags, [Some("\"early\""), Some("W/\"later\""), Some("W/\"body\""), Some("\"later\"")]);
    let error = client.update(SYSTEM, &json!({"Boot": {}}), Some("\"early\""), LIMIT).await.unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::BAD_REQUEST), "what is refused for another reason is not tried again");
}

#[tokio::test]
async fn an_etag_that_cannot_be_sent_is_left_out() {
    let bmc = Bmc::start(false).await;
    bmc.on("GET", SYSTEM, Canned::new(200, &json!({"@odata.etag": "\"1\"\r\n"})));
    bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
    let client = bmc.connect(true).await.unwrap();
    let etag = client.get(SYSTEM).await.unwrap().etag;
    client.update(SYSTEM, &json!({"Boot": {}}), etag.as_deref(), LIMIT).await.unwrap();
    assert_eq!(bmc.seen("PATCH", SYSTEM)[0].header("if-match"), None);
}

#[tokio::test]
async fn compressed_answers_are_read_if_the_bmc_sends_no_others() {
    let named = |plain: &[u8], coding: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, plain).unwrap();
        Canned::raw(200, &encoder.finish().unwrap()).header("Content-Encoding", coding)
    };
    let gzip = |plain: &[u8]| named(plain, "gzip");
    let bmc = Bmc::start(false).await;
    bmc.on("GET", SYSTEM, Canned::new(406, &Value::Null));
    bmc.on("GET", SYSTEM, gzip(br#"{"Id": "1"}"#));
    bmc.on("GET", "/bomb", gzip(&vec![b' '; 100 << 20]));
    bmc.on("GET", "/broken", Canned::raw(200, b"{}").header("Content-Encoding", "gzip"));
    let client = bmc.connect(false).await.unwrap();
    assert_eq!(client.get(SYSTEM).await.unwrap().body["Id"], "1");
    let seen = bmc.seen("GET", SYSTEM);
    let encodings: Vec<_> = seen.iter().map(|seen| seen.header("accept-encoding").unwrap()).collect();
    assert_eq!(encodings, ["identity", "gzip"]);
    for coding in ["GZIP", "x-gzip"] {
        bmc.only("GET", "/named", named(br#"{"Id": "1"}"#, coding));
        assert_eq!(client.get("/named").await.unwrap().body["Id"], "1", "{coding}");
    }
    assert!(matches!(client.get("/bomb").await, Err(RedfishError::TooLarge { .. })));
    assert!(matches!(client.get("/broken").await, Err(RedfishError::NotJson { .. })));
}

#[tokio::test]
async fn a_bmc_with_an_ipv6_address_is_reached_at_it() {
    let Ok(listener) = tokio::net::TcpListener::bind("[::1]:0").await else { return };
    let port = listener.local_addr().unwrap().port();
    let router = axum::Router::new()
        .fallback(async |headers: http::HeaderMap| axum::Json(json!({"host": headers["host"].to_str().unwrap()})));
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let address = format!("redfish-virtualmedia+http://[::1]:{port}/redfish/v1/Systems/1").parse().unwrap();
    let target = Target { address, credentials: None, verification: Verification::System };
    let client = Client::connect(&target, &ClientOptions::default()).await.unwrap();
    assert_eq!(client.root()["host"], format!("[::1]:{port}"));
    server.abort();
}

#[tokio::test]
async fn a_path_cannot_leave_the_bmc() {
    let bmc = Bmc::start(false).await;
    let client = bmc.connect(true).await.unwrap();
    for path in ["//127.0.0.1:1/x", "http://127.0.0.1:1/x", "https://user@127.0.0.1:1/x"] {
        // It is asked of this BMC, which does not have it.
        assert_eq!(client.get(path).await.unwrap_err().status(), Some(StatusCode::NOT_FOUND), "{path}");
    }
    assert!(matches!(client.get("x").await, Err(RedfishError::Reference(_))));
}

#[tokio::test]
async fn safe_requests_to_a_busy_bmc_are_repeated() {
    let bmc = Bmc::start(false).await;
    let busy = || {
        Canned::new(503, &json!({"error": {"code": "Base.1.8.ServiceTemporarilyUnavailable"}}))
            .header("Retry-After", "1")
    };
    bmc.on("GET", SYSTEM, busy());
    bmc.on("GET", SYSTEM, system());
    bmc.on("POST", "/action", busy());
    let client = bmc.connect(true).await.unwrap();
    let begin = Instant::now();
    client.get(SYSTEM).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1), "Retry-After");
    let error = client.post("/action", &json!({}), LIMIT).await.unwrap_err();
    assert!(error.is_transient());
    assert_eq!(error.failure().unwrap().retry_after, Some(Duration::from_secs(1)));
    assert_eq!(bmc.seen("POST", "/action").len(), 1, "an action must not be done twice");
}

#[tokio::test]
async fn null_is_no_body() {
    let bmc = Bmc::start(false).await;
    bmc.on("POST", "/eject", Canned::new(204, &Value::Null));
    let client = bmc.connect(true).await.unwrap();
    client.post("/eject", &Value::Null, LIMIT).await.unwrap();
    client.post("/eject", &json!({}), LIMIT).await.unwrap();
    let [without, with] = &bmc.seen("POST", "/eject")[..] else { panic!() };
    assert_eq!((without.header("content-length"), without.header("content-type")), (Some("0"), None));
    assert_eq!((with.header("content-length"), with.header("content-type")), (Some("2"), Some("application/json")));
}

#[tokio::test]
async fn requests_have_one_form_and_share_a_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap();
    let bmc = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut requests = Vec::new();
        for end in ["\r\n\r\n", "{\"a\":1}", "\r\n\r\n"] {
            let mut request = Vec::new();
            while !request.ends_with(end.as_bytes()) {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
            requests.push(String::from_utf8(request).unwrap());
        }
        requests
    });
    let credentials = Credentials::new("root".to_owned(), "hunter2".to_owned().into()).unwrap();
    let address = format!("http://{host}").parse().unwrap();
    let target = Target { address, credentials: Some(credentials), verification: Verification::System };
    let client = Client::connect(&target, &ClientOptions::default()).await.unwrap();
    client.patch("/x?y=1", &json!({"a": 1}), Some("\"1\""), LIMIT).await.unwrap();
    client.post("/x", &Value::Null, LIMIT).await.unwrap();

    let accepts = "accept: application/json\r\naccept-encoding: identity\r\nodata-version: 4.0\r\n";
    let password = "authorization: Basic cm9vdDpodW50ZXIy\r\n";
    let names = format!("user-agent: dayone/{}\r\nhost: {host}\r\n", env!("CARGO_PKG_VERSION"));
    let json = "content-type: application/json\r\n";
    assert_eq!(
        bmc.await.unwrap(),
        [
            format!("GET /redfish/v1/ HTTP/1.1\r\n{accepts}{names}\r\n"),
            format!(
                "PATCH /x?y=1 HTTP/1.1\r\n{accepts}{password}if-match: \"1\"\r\n{json}{names}content-length: 7\r\n\r\n{{\"a\":1}}"
            ),
            format!("POST /x HTTP/1.1\r\n{accepts}{password}content-length: 0\r\n{names}\r\n"),
        ]
    );
}

#[tokio::test]
async fn the_messages_of_an_error_are_kept() {
    let bmc = Bmc::start(false).await;
    bmc.on(
        "POST",
        "/insert",
        Canned::new(
            400,
            &json!({"error": {"code": "Base.1.8.GeneralError",
        "@Message.ExtendedInfo": [{"MessageId": "Base.1.8.ActionParameterUnknown", "Message": "no Inserted here"}]}}),
        ),
    );
    let client = bmc.connect(true).await.unwrap();
    let error = client.post("/insert", &json!({"Inserted": true}), LIMIT).await.unwrap_err();
    assert!(error.says("ActionParameterUnknown") && !error.says("PropertyUnknown") && !error.is_transient());
    assert_eq!(
        error.to_string(),
        "POST /insert: the BMC answers 400 Bad Request: no Inserted here (Base.1.8.ActionParameterUnknown)"
    );
}

#[tokio::test]
async fn a_bmc_that_is_not_ready_is_recognised_by_its_messages() {
    let bmc = Bmc::start(false).await;
    for (path, id, transient) in [
        ("/idrac", "IDRAC.2.8.SYS518", true),
        ("/ilo", "iLO.2.14.InvalidOperationForSystemState", true),
        ("/other", "Base.1.8.InvalidOperationForSystemState", false),
    ] {
        bmc.on("POST", path, Canned::new(400, &json!({"error": {"@Message.ExtendedInfo": [{"MessageId": id}]}})));
        let client = bmc.connect(false).await.unwrap();
        let error = client.post(path, &json!({}), LIMIT).await.unwrap_err();
        assert_eq!(error.is_transient(), transient, "{error}");
    }
}

#[tokio::test]
async fn answers_that_are_not_redfish_are_reported() {
    let bmc = Bmc::start(false).await;
    bmc.on("GET", "/html", Canned::raw(200, b"<html>"));
    bmc.on("GET", "/list", Canned::raw(200, b"[]"));
    bmc.on("GET", "/empty", Canned::raw(200, b""));
    bmc.on("GET", "/deep", Canned::raw(200, &b"[".repeat(90_000)));
    bmc.on("GET", "/many", Canned::raw(200, &b"[".repeat(200_000)));
    bmc.on("GET", "/large", Canned::raw(200, &b" ".repeat(3 << 20)));
    let options = ClientOptions { retries: 0, ..ClientOptions::default() };
    let client = Client::connect(&bmc.target(true), &options).await.unwrap();
    for path in ["/html", "/list", "/empty", "/deep"] {
        let error = client.get(path).await.unwrap_err();
        assert!(matches!(error, RedfishError::NotJson { .. }), "{path}: {error}");
    }
    let error = client.get("/large").await.unwrap_err();
    assert!(matches!(error, RedfishError::TooLarge { .. }), "{error}");
    let error = client.get("/many").await.unwrap_err();
    assert!(matches!(error, RedfishError::TooManyValues { .. }), "{error}");
}

#[tokio::test]
async fn a_page_in_place_of_a_service_that_answered_before_is_got_over() {
    let bmc = Bmc::start(false).await;
    bmc.on("GET", SYSTEM, Canned::raw(200, b"<html>Please wait</html>"));
    bmc.on("GET", SYSTEM, system());
    let client = bmc.connect(true).await.unwrap();
    assert_eq!(client.get(SYSTEM).await.unwrap().body["Id"], "1");
    bmc.on("GET", "/html", Canned::raw(200, b"<html>"));
    let error = client.get("/html").await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("may be starting"), "{error}");
    assert_eq!(bmc.seen("GET", "/html").len(), 3);

    let other = Bmc::start(false).await;
    other.only("GET", "/redfish/v1/", Canned::raw(200, b"<html>"));
    let error = other.connect(true).await.err().unwrap();
    assert!(!error.is_transient() && error.to_string().contains("the address of a Redfish service"), "{error}");
    assert_eq!(other.seen("GET", "/redfish/v1/").len(), 1);
}

#[tokio::test]
async fn addresses_and_names_are_checked_against_the_networks() {
    let bmc = Bmc::start(false).await;
    let networks: AllowedNetworks = ["192.0.2.0/24".parse().unwrap()].into_iter().collect();
    let options = ClientOptions { networks, ..ClientOptions::default() };
    let literal = bmc.target(true);
    let name = Target { address: bmc.url.replace("127.0.0.1", "localhost").parse().unwrap(), ..literal.clone() };
    for target in [&literal, &name] {
        let error = Client::connect(target, &options).await.err().unwrap();
        assert!(matches!(error, RedfishError::Refused { .. }), "{error}");
    }
    assert_eq!(bmc.seen("GET", "/redfish/v1/").len(), 0);

    let loopback = ["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()].into_iter().collect();
    let options = ClientOptions { networks: loopback, ..ClientOptions::default() };
    for target in [&literal, &name] {
        Client::connect(target, &options).await.unwrap();
    }
}

#[tokio::test]
async fn silence_ends_in_time() {
    // Connections are accepted by the kernel, and nobody answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let mut target = Target { address, credentials: None, verification: Verification::System };
    let options = ClientOptions { request_timeout: Duration::from_millis(200), ..ClientOptions::default() };
    let error = Client::connect(&target, &options).await.err().unwrap();
    assert!(matches!(error, RedfishError::Timeout { .. }) && error.is_transient(), "{error}");

    // A port that is bound without listening: the kernel refuses connections, and gives the port to no other test.
    let bound = tokio::net::TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    target.address = format!("http://{}", bound.local_addr().unwrap()).parse().unwrap();
    let error = Client::connect(&target, &options).await.err().unwrap();
    assert!(matches!(error, RedfishError::Unreachable { .. }) && error.is_transient(), "{error}");
    target.address = "http://no-such-host.invalid".parse().unwrap();
    let error = Client::connect(&target, &options).await.err().unwrap();
    assert!(matches!(error, RedfishError::Unresolved { .. }), "{error}");
}

/// A server that answers each request with these parts, and then closes the connection without having said so.
async fn parts(parts: &'static [&'static str], pause: Duration) -> Target {
    closing(parts, pause).await.0
}

/// The same, with the number of connections that it has closed.
async fn closing(parts: &'static [&'static str], pause: Duration) -> (Target, watch::Receiver<usize>) {
    let (closed, count) = watch::channel(0);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let closed = closed.clone();
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                for part in parts {
                    let _ = stream.write_all(part.as_bytes()).await;
                    tokio::time::sleep(pause).await;
                }
                drop(stream);
                closed.send_modify(|count| *count += 1);
            });
        }
    });
    (Target { address, credentials: None, verification: Verification::System }, count)
}

#[tokio::test]
async fn a_connection_that_the_bmc_has_closed_is_not_used_again() {
    let (target, mut closed) = closing(&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"], Duration::ZERO).await;
    // A request that crosses the end of its connection fails, because a POST that the BMC may have read is not sent again.
    let options = ClientOptions { retries: 0, pace: Duration::ZERO, ..ClientOptions::default() };
    let client = Client::connect(&target, &options).await.unwrap();
    for requests in 1..20 {
        closed.wait_for(|closed| *closed == requests).await.unwrap();
        // The client learns of it when the runtime next asks the kernel; after two waits, it has.
        tokio::time::sleep(Duration::from_millis(5)).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        client.post("/x", &json!({}), LIMIT).await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_that_trickles_or_breaks_off_is_given_up() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    let options = ClientOptions { retries: 0, request_timeout: Duration::from_millis(500), ..ClientOptions::default() };
    let slow = parts(&[HEAD, "{", " ", " ", " ", " ", " ", " ", " "], Duration::from_millis(100)).await;
    let error = Client::connect(&slow, &options).await.err().unwrap();
    assert!(matches!(error, RedfishError::Timeout { .. }), "{error}");
    for broken in [&[HEAD, "{"][..], &[], &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"]] {
        let broken = parts(broken, Duration::ZERO).await;
        let error = Client::connect(&broken, &options).await.err().unwrap();
        assert!(matches!(error, RedfishError::Broken { .. }) && error.is_transient(), "{error}");
    }
    let nonsense = parts(&["SSH-2.0-OpenSSH_9.9\r\n"], Duration::ZERO).await;
    let error = Client::connect(&nonsense, &options).await.err().unwrap();
    assert!(matches!(error, RedfishError::Broken { .. }), "{error}");
    // It has answered, and may still keep the connection open.
    assert!(error.to_string().contains("the connection to the BMC ended without a complete answer ("), "{error}");
}

#[tokio::test]
async fn requests_are_paced() {
    let bmc = Bmc::start(false).await;
    bmc.on("GET", SYSTEM, system());
    let options = ClientOptions { pace: Duration::from_millis(100), ..ClientOptions::default() };
    // The first request is that of connecting.
    let begin = Instant::now();
    let client = Client::connect(&bmc.target(false), &options).await.unwrap();
    let (one, two) = tokio::join!(client.get(SYSTEM), client.get(SYSTEM));
    assert!(one.is_ok() && two.is_ok());
    assert!(begin.elapsed() >= Duration::from_millis(200));
}
