//! `dayone controller`

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use media::UrlForm;
use media::listen::{Tls, TlsError};
use tracing::{error, info, warn};

use super::service::{self, FAILED, wrong_use};
use crate::arguments::{Compatibility, ControllerArguments, ImagesArguments, MetricsAddress};
use crate::host_images::Environment;
use crate::logging;
use crate::services::{ControllerConfig, ControllerServer, ImagesConfig};

/// The file with the namespace of the Pod.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The default namespace.
const NAMESPACE: &str = "default";

/// Serves until a signal stops the controller.
pub(super) fn run(arguments: ControllerArguments) -> ExitCode {
    let config = match start_logging(&arguments.images, arguments.strict_environment) {
        Ok(environment) => config(arguments, environment),
        Err(code) => return code,
    };
    match config {
        Ok(config) => {
            let reload = |_: &_| {
                info!(
                    "ignoring SIGHUP: the controller reads its bases, settings and certificates again when they change"
                );
            };
            let start = ControllerServer::start(config);
            service::run(start, reload, ControllerServer::stop, |_| FAILED)
        }
        Err(error) => wrong_use(&error),
    }
}

/// Starts the log, and reads the environment. The exit code is that of a failure.
pub(super) fn start_logging(images: &ImagesArguments, strict_environment: bool) -> Result<Environment, ExitCode> {
    logging::start(images.log_format, &images.log).map_err(|error| wrong_use(&error))?;
    Environment::read(variable, strict_environment).map_err(|error| {
        error!(%error, "environment not provided");
        ExitCode::from(FAILED)
    })
}

/// Returns an environment variable that is text.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn config(arguments: ControllerArguments, environment: Environment) -> Result<ControllerConfig, TlsError> {
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let namespace = non_empty(arguments.namespace);
    let own_namespace = non_empty(variable("POD_NAMESPACE"))
        .or_else(|| non_empty(std::fs::read_to_string(NAMESPACE_FILE).ok().map(|text| text.trim().to_owned())))
        .or_else(|| namespace.clone())
        .unwrap_or_else(|| NAMESPACE.to_owned());
    let identity =
        non_empty(variable("POD_NAME")).or_else(|| non_empty(variable("HOSTNAME"))).unwrap_or_else(host_name);
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
        kubeconfig: non_empty_path(arguments.kubeconfig),
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

/// Removes an empty path.
pub(super) fn non_empty_path(path: Option<PathBuf>) -> Option<PathBuf> {
    path.filter(|path| !path.as_os_str().is_empty())
}

/// Returns how to serve images.
pub(super) fn images(arguments: ImagesArguments) -> Result<ImagesConfig, TlsError> {
    let tls = match (non_empty_path(arguments.images_tls_cert_file), non_empty_path(arguments.images_tls_key_file)) {
        (Some(certificate), Some(key)) => Some(Tls::from_files(&certificate, &key)?),
        _ => None,
    };
    let (url, path) = arguments.images_publish_addr.without_path();
    if let Some(path) = path {
        warn!(
            path,
            "--images-publish-addr has a path; images' URLs leave it out, as in image-customization-controller"
        );
    }
    Ok(ImagesConfig {
        listen: arguments.images_bind_addr.0,
        url,
        tls,
        per_address: arguments.images_connections_per_address.map(NonZeroU32::get),
        cache_dir: non_empty_path(arguments.cache_dir),
        drain: Duration::from_secs(arguments.drain_seconds),
    })
}

fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
