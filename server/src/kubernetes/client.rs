//! The client of the API server that counts what it asks.

use std::path::Path;
use std::time::Duration;

use kube::Client;
use kube::client::Body;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::metrics::KubernetesMetrics;

/// How long the head of an answer may take. A watch's comes at once.
const HEAD: Duration = Duration::from_secs(30);

/// Why it is not known how to reach the API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The file cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// No file is given, and this is no Pod.
    #[error(transparent)]
    Infer(#[from] InferConfigError),
    /// What they say makes no client.
    #[error(transparent)]
    Client(#[from] kube::Error),
}

/// A client as this file says, or as clients usually find their way: by the user's file, or by what a Pod is given. Asks
/// nothing yet.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)?;
            kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => kube::Config::infer().await?,
    };
    Ok(Client::try_from(config)?)
}

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
