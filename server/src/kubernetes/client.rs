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

/// If there are too many requests, the API server answers with a text, and with the time to wait in a header. The library does not read
/// the header. In a `Status`, text and time reach the code that sent the request.
fn with_retry_after(answer: http::Response<Body>) -> http::Response<Body> {
    let headers = answer.headers();
    let is_status = headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let seconds = headers.get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse::<u32>().ok());
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
    use k8s_openapi::api::core::v1::Secret;
    use kube::Api;
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
}
