//! How dayone reaches the API server.

use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError, NoProxyError};

use super::kubeconfig;
use super::problem::unquoted;

/// How long the API server keeps a watch open. dayone then continues it. The watch is the only thing that shows a connection
/// on which nothing arrives any more, for example after a firewall has lost its state.
pub(super) const WATCH_SECONDS: u32 = 30;

/// How long nothing may arrive of a response. On a watch, nothing arrives for up to [`WATCH_SECONDS`].
const SILENCE: Duration = Duration::from_secs(45);

/// Why dayone does not know how to reach the API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("{}", unquoted(.0))]
    Kubeconfig(#[from] KubeconfigError),
    /// The library that reads a kubeconfig also reads this variable, which is not valid.
    #[error(
        "the variable {name} is not valid: {reason}; dayone does not need it here, but cannot read a kubeconfig with it: correct or unset it"
    )]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no kubeconfig, and dayone does not run in a Pod.
    #[error("{}; run in a cluster, or give --kubeconfig FILE", unquoted(.0))]
    Infer(#[from] InferConfigError),
    /// The configuration is not valid for a client.
    #[error("{}", unquoted(.0))]
    Client(#[from] kube::Error),
    /// The kubeconfig has changed, and is now for another API server.
    #[error("it names another API server, {0}, which dayone uses only after a restart")]
    OtherServer(http::Uri),
}

/// The configuration of a client of the current context.
pub(super) async fn of(file: Kubeconfig) -> Result<kube::Config, ConnectError> {
    // The environment's proxies are for the hosts. The library would use them for the API server too, and would
    // match NO_PROXY with the proxy's address instead of the API server's.
    let (proxy_url, names_proxy) = (kubeconfig::proxy(&file), kubeconfig::names_proxy(&file));
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| match error {
        // The library means the URL of the proxy, too, and quotes it. It may have a password.
        KubeconfigError::ParseNoProxy(NoProxyError::NoHost { .. }) => ConnectError::Variable {
            name: "HTTPS_PROXY or NO_PROXY (also in lower case), or the proxy-url of the kubeconfig,",
            reason: "it has no host".to_owned(),
        },
        KubeconfigError::ParseNoProxy(reason) => {
            ConnectError::Variable { name: "NO_PROXY (or no_proxy)", reason: reason.to_string() }
        }
        KubeconfigError::ParseProxyUrl(reason) if !names_proxy => {
            ConnectError::Variable { name: "HTTPS_PROXY (or https_proxy)", reason: reason.to_string() }
        }
        error => error.into(),
    })?;
    config.proxy_url = proxy_url;
    Ok(common(config))
}

/// Sets what all clients have in common.
pub(super) fn common(mut config: kube::Config) -> kube::Config {
    config.read_timeout = Some(SILENCE);
    // The time counts from the request, not from when its connection went idle.
    config.reset_reader_on_write = true;
    // If the library repeated requests itself, the metrics and the log would miss answers of the API server.
    config.default_retry = false;
    // The API server also names the manager of fields after it.
    let agent = HeaderValue::from_static(concat!("dayone/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, agent));
    config
}
