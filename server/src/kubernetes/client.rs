//! The client of the API server, which counts its requests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use kube::client::Body;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};

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
                Ok(answer) => answer.map_err(tower::BoxError::from),
                Err(_) => Err(format!("the API server does not answer within {} s", HEAD.as_secs()).into()),
            }
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

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
