//! The client of the API server that counts what it asks.

use std::time::Duration;

use kube::Client;
use kube::client::Body;

use super::metrics::KubernetesMetrics;

/// How long the head of an answer may take. A watch's comes at once.
const HEAD: Duration = Duration::from_secs(30);

/// This client, with its requests counted and none waited for without end.
pub fn counted(client: Client, metrics: KubernetesMetrics) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, metrics) = (client.clone(), metrics.clone());
        async move {
            let method = request.method().clone();
            let answer = tokio::time::timeout(HEAD, client.send(request)).await;
            let status = answer.as_ref().ok().and_then(|answer| answer.as_ref().ok()).map(http::Response::status);
            metrics.request(&method, status);
            match answer {
                Ok(answer) => answer.map_err(tower::BoxError::from),
                Err(_) => Err(format!("the API server does not answer within {} s", HEAD.as_secs()).into()),
            }
        }
    });
    Client::new(service, namespace)
}
