//! Who may do what.

use dayone::services::{Server, StartError};
use media::listen::Tls;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::{Certificate, Client};

use super::support::{Answer, Dayone, NMSTATE, Place, TOKEN};

async fn with_token() -> Dayone {
    let place = Place::new();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    config.api_clients.add("another-token-of-some-length", "the test").unwrap();
    Dayone::start_with(place, config).await
}

#[tokio::test]
async fn only_health_answers_without_a_token() {
    let dayone = with_token().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(Answer::of(dayone.get(path)).await.status, 200);
    }
    for path in ["/v1/bases", "/v1/images", "/v1/images/x", "/v1/openapi.json", "/v1/problems/internal", "/metrics"] {
        for header in [None, Some("Bearer wrong"), Some("Basic YTpi"), Some(TOKEN)] {
            let mut request = dayone.get(path);
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let answer = Answer::of(request).await;
            assert_eq!(answer.status, 401, "{path} {header:?}");
            assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"dayone\"");
            let problem = answer.problem("unauthorized");
            assert!(!problem.to_string().contains("wrong\""));
        }
        let answer = Answer::of(dayone.get(path).bearer_auth(TOKEN)).await;
        assert_ne!(answer.status, 401, "{path}");
    }
    Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE)).await.problem("unauthorized");
    assert!(dayone.place.records().is_empty());
    for token in [TOKEN, "another-token-of-some-length"] {
        let answer = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE).bearer_auth(token)).await;
        let image = answer.ok();
        // What a BMC needs is the URL and nothing else, and what it sends besides does not matter.
        let bmc = dayone.client.get(image["url"].as_str().unwrap()).basic_auth("", Some(""));
        assert_eq!(Answer::of(bmc).await.status, 200);
    }
}

#[tokio::test]
async fn an_open_api_answers_no_browser() {
    let dayone = Dayone::start().await;
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("referer", "https://evil.example/"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("host", "evil.example"),
    ] {
        let answer = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE).header(name, value)).await;
        assert_eq!(answer.status, 403);
        answer.problem("foreign-origin");
    }
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn an_open_api_does_not_leave_the_machine() {
    let place = Place::new();
    let mut config = place.config();
    config.api_listen = "0.0.0.0:0".parse().unwrap();
    let error = Server::start(config).await.unwrap_err();
    assert!(matches!(error, StartError::Config(_)), "{error}");
    assert!(error.to_string().contains("--api-token-file"), "{error}");
}

#[tokio::test]
async fn the_planes_do_not_mix() {
    let dayone = Dayone::start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE)).await.ok();
    let url = image["url"].as_str().unwrap();
    let media = format!("http://{}", dayone.server.media_address());
    for path in ["/v1/images", "/healthz", "/metrics", "/"] {
        assert_eq!(Answer::of(dayone.client.get(format!("{media}{path}"))).await.status, 404);
    }
    Answer::of(dayone.get(url.strip_prefix(&media).unwrap())).await.problem("unknown-path");
}

#[tokio::test]
async fn both_planes_speak_tls() {
    let place = Place::new();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(place.path("tls.crt"), cert.pem()).unwrap();
    std::fs::write(place.path("tls.key"), signing_key.serialize_pem()).unwrap();
    let tls = Tls::from_files(&place.path("tls.crt"), &place.path("tls.key")).unwrap();
    let mut config = place.config();
    (config.api_tls, config.media_tls) = (Some(tls.clone()), Some(tls));
    let mut dayone = Dayone::start_with(place, config).await;
    let root = Certificate::from_pem(cert.pem().as_bytes()).unwrap();
    dayone.client = Client::builder().tls_certs_only([root]).https_only(true).build().unwrap();

    let url = format!("https://{}/v1/images?base=coreos", dayone.server.api_address());
    let image = Answer::of(dayone.client.post(url).header("content-type", "text/yaml").body(NMSTATE)).await.ok();
    let url = image["url"].as_str().unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    assert_eq!(Answer::of(dayone.client.get(url)).await.header("etag"), image["etag"]);
}
