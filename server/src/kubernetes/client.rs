//! The client of the API server, which counts its requests.

use std::path::Path;
use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{Method, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::configuration::{ConnectError, common};
use super::metrics::KubernetesMetrics;
use super::{kubeconfig, reloading};

/// How long to wait for the head of a response. A watch's head comes at once.
const HEAD: Duration = Duration::from_secs(30);

/// How often dayone requests a later page of a list before it begins the list anew.
const PAGE_ATTEMPTS: u32 = 6;

/// The first wait before it requests the page again, which doubles, and the longest that the API server can ask for.
const PAGE_WAIT: Duration = Duration::from_millis(500);
const MAX_PAGE_WAIT: Duration = Duration::from_secs(10);

/// How often dayone looks for changes of the kubeconfig at most.
const LOOK: Duration = Duration::from_secs(10);

/// Makes a client from this kubeconfig, which it follows. Without one, it uses the user's kubeconfig, or the service account of the Pod.
/// Sends no request yet.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let file = match kubeconfig {
        Some(_) => Some(kubeconfig::read(kubeconfig)?),
        None => kubeconfig::read(None).ok(),
    };
    match file {
        Some(file) => reloading::client(kubeconfig, file, LOOK).await,
        // The library rereads the files of the service account.
        None => Ok(Client::try_from(common(kube::Config::infer().await?))?),
    }
}

/// Counts a request when it ends, even if whoever sent it stops waiting for the answer.
struct Counting {
    metrics: KubernetesMetrics,
    method: Method,
    status: Option<StatusCode>,
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.metrics.request(&self.method, self.status);
    }
}

/// Wraps a client: the new one counts its requests, and does not wait longer than 30 s for a response.
pub fn counted(client: Client, metrics: KubernetesMetrics) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, metrics) = (client.clone(), metrics.clone());
        async move {
            let mut counting = Counting { metrics, method: request.method().clone(), status: None };
            let answer = tokio::time::timeout(HEAD, client.send(request)).await;
            counting.status = answer.as_ref().ok().and_then(|answer| answer.as_ref().ok()).map(http::Response::status);
            match answer {
                Ok(answer) => answer.map(with_retry_after).map_err(tower::BoxError::from),
                Err(_) => Err(format!("the API server does not answer within {} s", HEAD.as_secs()).into()),
            }
        }
    });
    Client::new(service, namespace)
}

/// Wraps a client for lists: the new one requests a page after the first one again if the API server is busy or fails. The library would
/// begin the list anew, and a list of hundreds of pages would not end while the API server refuses one request in ten.
pub(super) fn patient(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let client = client.clone();
        async move {
            let is_later_page = request.uri().query().is_some_and(|query| query.contains("&continue="));
            if request.method() != Method::GET || !is_later_page {
                return client.send(request).await;
            }
            let (parts, _) = request.into_parts();
            let mut wait = PAGE_WAIT;
            for _ in 1..PAGE_ATTEMPTS {
                let answer = client.send(http::Request::from_parts(parts.clone(), Body::empty())).await;
                let status = answer.as_ref().ok().map(http::Response::status);
                if status.is_some_and(|status| status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error()) {
                    return answer;
                }
                let requested = answer.as_ref().ok().and_then(retry_after_seconds);
                let requested = requested.map(|seconds| Duration::from_secs(seconds.into()));
                drop(answer);
                tokio::time::sleep(requested.unwrap_or(wait).min(MAX_PAGE_WAIT)).await;
                wait = wait.saturating_mul(2);
            }
            client.send(http::Request::from_parts(parts, Body::empty())).await
        }
    });
    Client::new(service, namespace)
}

/// The seconds in the header by which the API server asks to wait.
fn retry_after_seconds(answer: &http::Response<Body>) -> Option<u32> {
    answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// If there are too many requests, the API server answers with a text, and with the time to wait in a header. The library does not read
/// the header. In a `Status`, text and time reach the code that sent the request.
fn with_retry_after(answer: http::Response<Body>) -> http::Response<Body> {
    let headers = answer.headers();
    let is_status = headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let seconds = retry_after_seconds(&answer);
    let (StatusCode::TOO_MANY_REQUESTS, false, Some(seconds)) = (answer.status(), is_status, seconds) else {
        return answer;
    };
    let status = json!({
        "status": "Failure",
        "message": "the API server has too many requests",
        "reason": "TooManyRequests",
        "details": { "retryAfterSeconds": seconds },
        "code": 429,
    });
    answer.map(|_| Body::from(status.to_string().into_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use k8s_openapi::api::core::v1::Secret;
    use kube::Api;
    use kube::api::ListParams;
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::kubernetes::problem::{describe, retry_after};

    #[tokio::test]
    async fn a_request_too_many_fails_at_once_with_the_time_to_wait_and_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let _ = connection.read(&mut [0; 4096]).await.unwrap();
                let head = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-type: text/plain\r\n";
                let answer = format!("{head}content-length: 4\r\nconnection: close\r\n\r\nbusy");
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let directory = tempfile::tempdir().unwrap();
        let (file, authority) = (directory.path().join("kubeconfig"), directory.path().join("ca.crt"));
        // Without a certificate authority, the client would need those of the system, which may have none.
        let issued = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        std::fs::write(&authority, issued.cert.pem()).unwrap();
        let config = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\nusers:\n- {{name: a, user: {{token: t}}}}\ncontexts:\n\
             - {{name: a, context: {{cluster: a, user: a}}}}\nclusters:\n\
             - {{name: a, cluster: {{server: '{server}', certificate-authority: '{}'}}}}\n",
            authority.display()
        );
        std::fs::write(&file, config).unwrap();
        let mut registry = Registry::default();
        let client = counted(connect(Some(&file)).await.unwrap(), KubernetesMetrics::new(&mut registry));
        let secrets: Api<Secret> = Api::namespaced(client, "hosts");
        let answer = tokio::time::timeout(Duration::from_secs(5), secrets.get("a")).await;
        let error = answer.expect("no attempts that nobody sees").unwrap_err();
        assert_eq!(retry_after(&error), Some(Duration::from_secs(7)));
        assert_eq!(describe(&error), "the API server has too many requests (429)");
        let mut metrics = String::new();
        text::encode(&mut metrics, &registry).unwrap();
        let counted = metrics.lines().find(|line| line.starts_with("kubernetes_api_requests_total{"));
        assert_eq!(counted, Some("kubernetes_api_requests_total{method=\"GET\",status=\"4xx\"} 1"), "{metrics}");
    }

    #[tokio::test]
    async fn a_request_whose_sender_stops_waiting_is_counted() {
        let silent = tower::service_fn(|_: http::Request<Body>| {
            std::future::pending::<Result<http::Response<Body>, std::convert::Infallible>>()
        });
        let mut registry = Registry::default();
        let client = counted(Client::new(silent, "hosts"), KubernetesMetrics::new(&mut registry));
        let secrets: Api<Secret> = Api::namespaced(client, "hosts");
        assert!(tokio::time::timeout(Duration::from_millis(200), secrets.get("a")).await.is_err());
        let mut metrics = String::new();
        text::encode(&mut metrics, &registry).unwrap();
        let counted = "kubernetes_api_requests_total{method=\"GET\",status=\"none\"} 1";
        assert!(metrics.lines().any(|line| line == counted), "{metrics}");
    }

    #[tokio::test]
    async fn a_later_page_of_a_list_is_requested_again_while_the_api_server_is_busy() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let busy =
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "busy", "code": 429});
            let metadata = json!({"resourceVersion": "1"});
            let page = json!({"kind": "SecretList", "apiVersion": "v1", "metadata": metadata, "items": []});
            let is_busy = count.fetch_add(1, Ordering::Relaxed) < 2;
            let (status, body) = if is_busy { (429, busy) } else { (200, page) };
            let body = Body::from(body.to_string().into_bytes());
            std::future::ready(http::Response::builder().status(status).header(RETRY_AFTER, "0").body(body))
        });
        let secrets: Api<Secret> = Api::namespaced(patient(Client::new(service, "hosts")), "hosts");
        let first = ListParams { limit: Some(50), ..ListParams::default() };
        let error = secrets.list(&first).await.unwrap_err();
        assert_eq!((describe(&error).as_str(), asked.load(Ordering::Relaxed)), ("busy (429)", 1));
        let later = ListParams { continue_token: Some("a".to_owned()), ..first };
        asked.store(0, Ordering::Relaxed);
        assert!(secrets.list(&later).await.unwrap().items.is_empty());
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }
}
