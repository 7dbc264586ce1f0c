//! `dayone controller`

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use media::UrlForm;
use media::listen::{Tls, TlsError};
use tracing::{error, info, warn};

use super::service::{self, FAILED, Service, wrong_use};
use crate::arguments::{Compatibility, ControllerArguments, ImagesArguments, MetricsAddress};
use crate::host_images::Environment;
use crate::logging;
use crate::services::{ControllerConfig, ControllerServer, ImagesConfig};

/// Where Kubernetes says which namespace a Pod is in.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The namespace where nothing says another.
const NAMESPACE: &str = "default";

/// Serves until a signal comes.
pub(super) fn run(arguments: ControllerArguments) -> ExitCode {
    if let Err(error) = logging::start(arguments.images.log_format, &arguments.images.log) {
        return wrong_use(&error);
    }
    let environment = match Environment::read(variable, arguments.strict_environment) {
        Ok(environment) => environment,
        Err(error) => {
            error!(%error, "environment not provided");
            return ExitCode::from(FAILED);
        }
    };
    let config = match config(arguments, environment) {
        Ok(config) => config,
        Err(error) => return wrong_use(&error),
    };
    service::run(ControllerServer::start(config), |_| FAILED)
}

impl Service for ControllerServer {
    fn reload(&self) {
        info!("SIGHUP is ignored: the controller reads its bases, settings and certificates again when they change");
    }

    async fn stop(self) {
        Self::stop(self).await;
    }
}

/// An environment variable that is text.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn config(arguments: ControllerArguments, environment: Environment) -> Result<ControllerConfig, TlsError> {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let namespace = given(arguments.namespace);
    let own_namespace = given(variable("POD_NAMESPACE"))
        .or_else(|| given(std::fs::read_to_string(NAMESPACE_FILE).ok().map(|text| text.trim().to_owned())))
        .or_else(|| namespace.clone())
        .unwrap_or_else(|| NAMESPACE.to_owned());
    let identity = given(variable("POD_NAME")).or_else(|| given(variable("HOSTNAME"))).unwrap_or_else(host_name);
    let key = arguments.key_secret;
    Ok(ControllerConfig {
        environment,
        urls: match arguments.compatibility {
            Compatibility::Default => UrlForm::Capability,
            Compatibility::Strict => UrlForm::Uuid,
        },
        metrics_listen: match arguments.metrics_addr {
            MetricsAddress::Off => None,
            MetricsAddress::At(address) => Some(address.0),
        },
        kubeconfig: given_path(arguments.kubeconfig),
        namespace,
        key_secret: (key.namespace.unwrap_or_else(|| own_namespace.clone()), key.name),
        own_namespace,
        identity,
        lease: arguments.lease,
        concurrency: arguments.concurrency,
        shutdown_delay: Duration::from_secs(arguments.shutdown_delay_seconds),
        images: images(arguments.images)?,
    })
}

/// A path that is not empty.
pub(super) fn given_path(path: Option<PathBuf>) -> Option<PathBuf> {
    path.filter(|path| !path.as_os_str().is_empty())
}

/// Where images are served.
pub(super) fn images(arguments: ImagesArguments) -> Result<ImagesConfig, TlsError> {
    let tls = match (given_path(arguments.images_tls_cert_file), given_path(arguments.images_tls_key_file)) {
        (Some(certificate), Some(key)) => Some(Tls::from_files(&certificate, &key)?),
        _ => None,
    };
    let (url, path) = arguments.images_publish_addr.without_path();
    if let Some(path) = path {
        warn!(
            path,
            "--images-publish-addr has a path, which the images' URLs leave out, as image-customization-controller's do"
        );
    }
    Ok(ImagesConfig {
        listen: arguments.images_bind_addr.0,
        url,
        tls,
        per_address: arguments.images_connections_per_address.map(NonZeroU32::get),
        cache_dir: given_path(arguments.cache_dir),
        drain: Duration::from_secs(arguments.drain_seconds),
    })
}

fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
