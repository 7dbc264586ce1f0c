//! The client of the API server, which counts its requests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use kube::Client;
use kube::client::Body;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use serde_json::json;

use super::metrics::KubernetesMetrics;

/// How long to wait for the head of a response. A watch's head comes at once.
const HEAD: Duration = Duration::from_secs(30);

/// How long the API server keeps a watch open. dayone then continues it. The watch is the only thing that shows a connection
/// on which nothing arrives any more, for example after a firewall has lost its state.
pub(super) const WATCH_SECONDS: u32 = 30;

/// How long nothing may arrive of a response. On a watch, nothing arrives for up to [`WATCH_SECONDS`].
const SILENCE: Duration = Duration::from_secs(45);

/// Why dayone does not know how to reach the API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// There is no kubeconfig, and dayone does not run in a Pod.
    #[error(transparent)]
    Infer(#[from] InferConfigError),
    /// The configuration is not valid for a client.
    #[error(transparent)]
    Client(#[from] kube::Error),
}

/// The files that a setting for the kubeconfig names. As in kubectl, `KUBECONFIG` may be a list; files in it that do not exist are left
/// out.
pub fn kubeconfig_files(setting: &Path) -> Vec<PathBuf> {
    let listed: Vec<PathBuf> = std::env::split_paths(setting).filter(|file| file.exists()).collect();
    if setting.exists() || listed.is_empty() { vec![setting.to_owned()] } else { listed }
}

/// Reads the files of a kubeconfig, which complement one another.
fn read(setting: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let mut files = kubeconfig_files(setting).into_iter();
    files.try_fold(Kubeconfig::default(), |all, file| all.merge(Kubeconfig::read_from(file)?))
}

/// Makes a client from this kubeconfig. Without one, it uses the user's kubeconfig, or the service account of the Pod.
/// Sends no request yet.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let file = match kubeconfig {
        Some(path) => Some(read(path)?),
        None => Kubeconfig::read().ok(),
    };
    let mut config = match file {
        Some(file) => {
            // The environment's proxies are for the hosts. The library would use them for the API server too, and would
            // match NO_PROXY with the proxy's address instead of the API server's.
            let proxy_url = proxy(&file);
            let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
            config.proxy_url = proxy_url;
            config
        }
        None => kube::Config::infer().await?,
    };
    config.read_timeout = Some(SILENCE);
    // The time counts from the request, not from when its connection went idle.
    config.reset_reader_on_write = true;
    // If the library repeated requests itself, the metrics and the log would miss answers of the API server.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

/// The proxy that the kubeconfig itself sets for its current cluster.
fn proxy(file: &Kubeconfig) -> Option<http::Uri> {
    let context = file.contexts.iter().find(|context| Some(&context.name) == file.current_context.as_ref())?;
    let name = &context.context.as_ref()?.cluster;
    let cluster = file.clusters.iter().find(|cluster| cluster.name == *name)?;
    cluster.cluster.as_ref()?.proxy_url.as_deref()?.parse().ok()
}

/// Wraps a client: the new one counts its requests, and does not wait longer than 30 s for a response.
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

    #[test]
    fn a_kubeconfig_may_be_in_several_files() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let clusters = "apiVersion: v1\nkind: Config\nclusters:\n- {name: one, cluster: {server: 'https://a'}}\n";
        std::fs::write(file("clusters"), clusters).unwrap();
        let contexts =
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- {name: a, context: {cluster: one}}\n";
        std::fs::write(file("contexts"), contexts).unwrap();
        let list = std::env::join_paths([file("clusters"), file("none"), file("contexts"), PathBuf::new()]).unwrap();
        let read = read(Path::new(&list)).unwrap();
        assert_eq!((read.clusters.len(), read.current_context.as_deref()), (1, Some("a")));
        assert_eq!(kubeconfig_files(&file("none")), [file("none")], "the error names it");
    }

    #[test]
    fn the_proxy_is_that_of_the_current_contexts_cluster() {
        let file = |current: &str| {
            let text = format!(
                "current-context: {current}\ncontexts:\n- {{name: a, context: {{cluster: one, user: u}}}}\n\
                 - {{name: b, context: {{cluster: two, user: u}}}}\nclusters:\n- name: one\n  cluster: {{server: 'https://a'}}\n\
                 - name: two\n  cluster: {{server: 'https://b', proxy-url: 'http://proxy:3128'}}\n"
            );
            proxy(&Kubeconfig::from_yaml(&text).unwrap()).map(|url| url.to_string())
        };
        assert_eq!(file("b").as_deref(), Some("http://proxy:3128/"));
        assert_eq!(file("a"), None);
        assert_eq!(file("none"), None);
    }
}
