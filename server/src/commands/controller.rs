//! `dayone controller`

use std::error::Error;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use media::UrlForm;
use media::listen::{Tls, TlsError};
use tracing::warn;

use super::service::{self, FAILED, not_started, wrong_settings, wrong_use};
use crate::arguments::{
    Compatibility, ContentsArguments, ControllerArguments, ImagesArguments, MetricsAddress, Namespaces,
};
use crate::audit::AuditSettings;
use crate::host_images::Environment;
use crate::logging::{self, LogFilter, LogHandle};
use crate::services::{ControllerConfig, ControllerServer, ImagesConfig};
use crate::settings::{self, Running};
use crate::site_key::{SiteKeyError, SiteKeyPair};

/// The file with the namespace of the Pod.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The default namespace.
const NAMESPACE: &str = "default";

/// Why the settings for images cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImagesError {
    /// The certificate or its key is not usable.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Only one of them is given.
    #[error("--images-tls-cert-file and --images-tls-key-file go together: give both, or neither")]
    HalfTls,
    /// The key of the site cannot be used.
    #[error(transparent)]
    SiteKey(#[from] SiteKeyError),
}

/// Serves until a signal stops the controller.
pub(super) fn run(arguments: ControllerArguments) -> ExitCode {
    let ControllerArguments { line, strict_environment, .. } = arguments;
    let loaded = settings::load(&line).and_then(|loaded| Ok((loaded.controller()?, loaded)));
    let (arguments, loaded) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return wrong_settings(&error),
    };
    let (log, environment) = match start_logging(&arguments.images, &arguments.contents, strict_environment) {
        Ok(started) => started,
        Err(code) => return code,
    };
    let config = match config(arguments, environment) {
        Ok(config) => config,
        Err(error) => return wrong_use(&error),
    };
    let mut running = Running::new(loaded.effective());
    let reload = |controller: &ControllerServer| -> Result<_, Box<dyn Error>> {
        let loaded = settings::load(&line)?;
        let read = loaded.controller()?;
        let filter: LogFilter = read.images.log.parse()?;
        let delay = Duration::from_secs(read.shutdown_delay_seconds);
        let images = images(read.images)?;
        log.set(filter)?;
        controller.configure(&images, delay);
        Ok(running.take_over(loaded.effective()))
    };
    service::run(ControllerServer::start(config), reload, ControllerServer::stop, |_| FAILED)
}

/// Starts the log, and reads what the images contain. The exit code is that of a failure.
pub(super) fn start_logging(
    images: &ImagesArguments,
    contents: &ContentsArguments,
    strict_environment: bool,
) -> Result<(LogHandle, Environment), ExitCode> {
    let log = logging::start(images.log_format, &images.log).map_err(|error| wrong_use(&error))?;
    // The secret has no option, because others can read a command line.
    let setting = |name: &str| contents.variable(name).map(str::to_owned).or_else(|| secret(name));
    let environment = Environment::read(setting, strict_environment).map_err(|error| {
        not_started("environment not provided", Some(&error.to_string()));
        ExitCode::from(FAILED)
    })?;
    Ok((log, environment))
}

/// Returns the pull secret from the environment.
fn secret(name: &str) -> Option<String> {
    (name == "IRONIC_AGENT_PULL_SECRET").then(|| variable(name)).flatten()
}

/// Returns an environment variable that is text.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn config(arguments: ControllerArguments, environment: Environment) -> Result<ControllerConfig, ImagesError> {
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let namespace = match arguments.namespace {
        None | Some(Namespaces::All) => None,
        Some(Namespaces::One(name)) => Some(name),
    };
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
pub(super) fn images(arguments: ImagesArguments) -> Result<ImagesConfig, ImagesError> {
    let tls = match (non_empty_path(arguments.images_tls_cert_file), non_empty_path(arguments.images_tls_key_file)) {
        (Some(certificate), Some(key)) => Some(Tls::from_files(&certificate, &key)?),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return Err(ImagesError::HalfTls),
    };
    let [key, certificate] = [arguments.site_key, arguments.site_certificate].map(non_empty_path);
    let site_key = SiteKeyPair::from_options(key.as_deref(), certificate.as_deref())?;
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
        site_key: site_key.map(Arc::new),
        audit: audit(arguments.audit_log, arguments.audit_log_max_mib),
        drain: Duration::from_secs(arguments.drain_seconds),
    })
}

fn audit(path: Option<PathBuf>, max_mebibytes: Option<NonZeroU64>) -> Option<AuditSettings> {
    let max_bytes = max_mebibytes.map(|mebibytes| mebibytes.get().saturating_mul(1 << 20));
    non_empty_path(path).map(|path| AuditSettings { target: path.into(), max_bytes })
}

fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
