//! The settings of `dayone serve`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use imagelib::base::Base;
use media::base_file::BaseFile;
use redfish::Certificates;

use super::super::{DEFAULT_FILE, Origin, Place, Problem};
use super::{Checking, files};
use crate::api::clients::ApiClients;
use crate::arguments::Settings;
use crate::audit::AuditTarget;
use crate::boots::credentials_directory;
use crate::error_chain::chain;
use crate::logging::LogFilter;
use crate::open_files;
use crate::services::Config;
use crate::store::{BaseDefinition, DataKeys, check_names};

/// How long the unit of the packages gives the server to stop (`TimeoutStopSec=`).
const SERVICE_STOP_SECONDS: u64 = 30;

/// How long the server may wait for the disk after the last request.
const LAST_SECONDS: u64 = 5;

/// Stands for tokens in a credential that is not there while the service is stopped.
const UNSEEN_TOKEN: &str = "a-token-that-the-check-does-not-see";

/// Checks all settings.
pub(super) fn check(mut checking: Checking<'_>) -> Vec<Problem> {
    let mut settings = match checking.loaded.serve() {
        Ok(arguments) => arguments.settings,
        Err(error) => {
            checking.mistake("config", "wrong-value", error.to_string(), "");
            return checking.problems;
        }
    };
    let absent = checking.take_absent_credentials(&mut settings);
    checking.log(settings.log.as_deref());
    checking.tokens(&settings);
    checking.bases(&settings);
    let media_host = settings.media_url.as_ref().map(media::MediaUrl::host);
    let files = |certificate: &'_ Option<PathBuf>, key: &'_ Option<PathBuf>| [certificate.clone(), key.clone()];
    let media = files(&settings.media_tls_cert, &settings.media_tls_key);
    let is_https = settings.media_url.as_ref().is_some_and(media::MediaUrl::is_https);
    let host = media_host.as_deref().filter(|_| is_https);
    checking.tls(["media-tls-cert", "media-tls-key"], media.each_ref().map(Option::as_deref), host);
    let api = files(&settings.api_tls_cert, &settings.api_tls_key);
    checking.tls(["api-tls-cert", "api-tls-key"], api.each_ref().map(Option::as_deref), None);
    checking.bmcs(&settings);
    let data_dir = settings.data_dir.clone().unwrap_or_else(|| crate::services::DATA_DIR.into());
    if let Some(unusable) = files::parent_missing(&data_dir).or_else(|| files::unwritable(&data_dir)) {
        checking.mistake("data-dir", "data-directory", unusable.message, unusable.fix);
    } else {
        checking.read_only_for_service("data-dir", &data_dir);
    }
    checking.audit_log(settings.audit_log.as_deref(), settings.audit_log_max_mib.is_some());
    if let Some(Err(error)) = settings.data_key_file.as_deref().map(DataKeys::from_file) {
        checking.mistake("data-key-file", "data-key-file", error.to_string(), "");
    }
    checking.together(settings, &absent);
    checking.problems
}

impl Checking<'_> {
    /// The filter of the log.
    pub(super) fn log(&mut self, filter: Option<&str>) {
        if let Some(Err(error)) = filter.map(str::parse::<LogFilter>) {
            self.mistake("log", "wrong-value", error.to_string(), "write a level such as info, or info,media=debug");
        }
    }

    /// The file of the audit log, and whether its size has a limit.
    pub(super) fn audit_log(&mut self, path: Option<&Path>, is_limited: bool) {
        if path.is_none() && is_limited {
            let message = "there is no audit log whose size it could limit";
            self.doubt("audit-log-max-mib", "doubtful", message, "set audit-log, or remove audit-log-max-mib");
        }
        let Some(AuditTarget::File(path)) = path.map(|path| AuditTarget::from(path.to_owned())) else { return };
        if let Some(unusable) = files::no_audit_log(&path) {
            self.mistake("audit-log", "audit-log", unusable.message, unusable.fix);
        } else {
            self.read_only_for_service("audit-log", &path);
        }
    }

    /// A warning about a file or a directory that the service cannot write as the packages install it.
    fn read_only_for_service(&mut self, key: &str, path: &Path) {
        if self.is_of_service() && files::read_only_for_service(path) {
            let message =
                format!("the service cannot write {}, unless a drop-in of its unit allows it", path.display());
            let fix = "name a place in /var/lib/dayone or /var/log/dayone, or add ReadWritePaths= (docs/install.md)";
            self.doubt(key, "service-read-only", message, fix);
        }
    }

    /// Warns about ports on which the service may not listen: the packages install it without capabilities.
    fn ports_of_service(&mut self, config: &Config) {
        if !self.is_of_service() {
            return;
        }
        let first = first_open_port();
        let addresses = [("media-listen", config.media_listen), ("api-listen", Some(config.api_listen))];
        for (key, address) in addresses {
            let Some(port) = address.map(|address| address.port()).filter(|port| is_reserved(*port, first)) else {
                continue;
            };
            let message = format!("the service may not listen on port {port}, unless a drop-in of its unit allows it");
            let fix = format!(
                "use port {first} or a higher one, or allow port {port} in a drop-in of the unit (docs/install.md)"
            );
            self.doubt(key, "service-port", message, fix);
        }
    }

    /// Whether these are the settings of the service that the packages install.
    pub(super) fn is_of_service(&self) -> bool {
        self.loaded.path.as_deref() == Some(Path::new(DEFAULT_FILE))
    }

    fn tokens(&mut self, settings: &Settings) {
        for path in &settings.api_token_file {
            if let Err(error) = ApiClients::default().add_token_file(path) {
                self.mistake("api-token-file", "token-file", error.to_string(), "");
            }
        }
        if let Some(Err(error)) =
            settings.api_clients.as_deref().map(|path| ApiClients::default().add_client_file(path))
        {
            self.mistake("api-clients", "client-file", error.to_string(), "");
        }
        let token = std::env::var("DAYONE_API_TOKEN").ok().filter(|token| !token.is_empty());
        if let Some(Err(error)) = token.map(|token| ApiClients::default().add(&token, "the variable DAYONE_API_TOKEN"))
        {
            let place = Place::Environment("DAYONE_API_TOKEN".to_owned());
            self.problems.push(Problem::error("token", place, error.to_string(), ""));
        }
    }

    fn bases(&mut self, settings: &Settings) {
        let (origins, is_of_service) = (self.loaded.base_origins(), self.is_of_service());
        for base in &settings.base {
            let origin = origins.iter().find(|(name, _)| *name == base.name).map(|(_, origin)| origin.clone());
            let place = Place::of("bases", &origin.unwrap_or(Origin::Default));
            self.problems.extend(base_problems(base, &place, is_of_service));
        }
        if let Err(error) = check_names(&settings.base) {
            self.mistake("bases", "set-twice", error.to_string(), "");
        }
    }

    fn bmcs(&mut self, settings: &Settings) {
        if let Some(path) = &settings.bmc_ca
            && let Err(error) = Certificates::from_file(path)
        {
            let message = format!("{}: {error}", path.display());
            self.mistake("bmc-ca", "bmc-ca", message, "name a file with certificates (PEM)");
        }
        let Some(directory) = &settings.bmc_credentials else { return };
        let form = "it must hold, for each name, a directory with the files username and password";
        let names = match credentials_directory::names(directory) {
            Ok(names) => names,
            Err(error) => {
                let message = format!("cannot read the directory {}: {error}", directory.display());
                return self.mistake("bmc-credentials", "bmc-credentials", message, form);
            }
        };
        for name in names {
            if let Err(error) = credentials_directory::read(directory, &name) {
                self.doubt("bmc-credentials", "bmc-credentials", format!("{name}: {error}"), form);
            }
        }
    }

    /// What only all settings together show, without those that are `absent` while the service is stopped.
    fn together(&mut self, settings: Settings, absent: &[&str]) {
        let url = settings.media_url.clone();
        let token = std::env::var("DAYONE_API_TOKEN").ok().filter(|token| !token.is_empty());
        let is_absent = |keys: &[&str]| absent.iter().any(|key| keys.contains(key));
        let is_tls_absent = is_absent(&["api-tls-cert", "api-tls-key"]);
        // A credential protects the API.
        let is_protected = is_absent(&["api-token-file", "api-clients", "api-client-ca"]);
        let token = token.or_else(|| is_protected.then(|| UNSEEN_TOKEN.to_owned()));
        match Config::new(settings, token.as_deref()) {
            // Found before, with a fix.
            Err(error) if self.problems.iter().any(|found| found.is_error() && found.code == error.code()) => {}
            Err(error) if error.code() == "client-ca" && (is_tls_absent || is_absent(&["api-client-ca"])) => {}
            Err(error) => {
                // systemd reads the file for the service alone.
                let fix = if error.code() == "open-api" && self.is_of_service() {
                    "or, if /etc/dayone/dayone.env has the token, let systemd-run read it for a check (docs/install.md)"
                } else {
                    ""
                };
                self.mistake(error.setting(), error.code(), error.to_string(), fix);
            }
            Ok(config) => {
                let limit =
                    if self.is_of_service() { Some(open_files::SERVICE_LIMIT) } else { open_files::hard_limit() };
                if let Some(warning) = config.too_many_boots(limit) {
                    self.doubt("boots-at-once", "doubtful", warning, "");
                }
                if let Some(warning) = too_long_to_stop(config.drain).filter(|_| self.is_of_service()) {
                    let fix = format!(
                        "write {} at most, or set a longer TimeoutStopSec= in a drop-in of the unit",
                        SERVICE_STOP_SECONDS - LAST_SECONDS
                    );
                    self.doubt("drain-seconds", "doubtful", warning, fix);
                }
                self.ports_of_service(&config);
                let url =
                    url.or_else(|| media::MediaUrl::of_listener(config.media_listen?, config.media_tls.is_some()).ok());
                for (key, message) in url.map(|url| config.warnings(&url)).into_iter().flatten() {
                    if key != "api-tls-cert" || !is_tls_absent {
                        self.doubt(key, "doubtful", message, "");
                    }
                }
            }
        }
    }
}

/// A warning if systemd would kill the service while requests still have time to finish.
fn too_long_to_stop(drain: Duration) -> Option<String> {
    let drain = drain.as_secs();
    (drain.saturating_add(LAST_SECONDS) > SERVICE_STOP_SECONDS).then(|| {
        format!(
            "running requests may take {drain} s to finish, and the end of the server some seconds more, but systemd kills the service \
             after {SERVICE_STOP_SECONDS} s, unless a drop-in of its unit has another TimeoutStopSec="
        )
    })
}

/// The first port on which a process without capabilities may listen.
fn first_open_port() -> u16 {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    setting.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1024)
}

/// Whether a process without capabilities may not listen on a port. For port 0, the system chooses one that it may use.
fn is_reserved(port: u16, first_open: u16) -> bool {
    port != 0 && port < first_open
}

/// What is wrong with the files of a base.
fn base_problems(base: &BaseDefinition, place: &Place, is_of_service: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut open = BTreeMap::new();
    for (role, path) in base.files.iter() {
        let name = format!("base '{}', {}", base.name, role.word());
        let opened = match (files::unreadable(path), BaseFile::open(path)) {
            (Some(unusable), _) => Err(unusable),
            (None, Err(error)) => Err(files::Unusable::new(error.to_string(), "")),
            (None, Ok(file)) => Ok(file),
        };
        match opened {
            Err(files::Unusable { message, fix }) => {
                problems.push(Problem::error("base-file", place.clone(), format!("{name}: {message}"), fix));
            }
            Ok(file) => {
                open.insert(role, file);
                problems.extend(closed(&name, path, place, is_of_service));
            }
        }
    }
    if !problems.iter().any(Problem::is_error)
        && let Err(error) = Base::probe(&open)
    {
        let message = format!("base '{}': dayone cannot use it: {}", base.name, chain(&error));
        problems.push(Problem::error(
            "base-file",
            place.clone(),
            message,
            "docs/bases.md describes what dayone can use",
        ));
    }
    problems
}

/// A warning about a file that the service cannot read: it has a user of its own, and does not see all directories.
fn closed(name: &str, path: &Path, place: &Place, is_of_service: bool) -> Option<Problem> {
    let message = if let Some(hidden) = files::hidden_from_service(path).filter(|_| is_of_service) {
        format!("{name}: the service does not see the files in {hidden}")
    } else {
        let closed = files::closed_to_others(path)?;
        format!("{name}: only its owner may use {}, and the service has a user of its own", closed.display())
    };
    let fix = "put the file where everyone can read it, such as /srv/dayone";
    Some(Problem::warning("base-closed", place.clone(), message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_stops_within_the_time_of_its_unit() {
        let unit = include_str!("../../../../packaging/dayone.service");
        assert!(unit.lines().any(|line| line == format!("TimeoutStopSec={SERVICE_STOP_SECONDS}s")));
        let warns = |seconds| too_long_to_stop(Duration::from_secs(seconds)).is_some();
        assert_eq!([20, 25, 26, 120, u64::MAX].map(warns), [false, false, true, true, true]);
    }

    #[test]
    fn a_service_without_capabilities_listens_on_no_reserved_port() {
        let unit = include_str!("../../../../packaging/dayone.service");
        for line in ["CapabilityBoundingSet=", "PrivateUsers=yes"] {
            assert!(unit.lines().any(|found| found == line), "{line}");
        }
        let reserved = |port| is_reserved(port, 1024);
        assert_eq!([0, 1, 443, 1023, 1024, 8081].map(reserved), [false, true, true, true, false, false]);
        assert!(is_reserved(79, 80) && !is_reserved(80, 80) && !is_reserved(1, 0));
    }
}
