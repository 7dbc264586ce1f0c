//! Which settings a running server takes over on SIGHUP.

use super::effective::Effective;

/// The options whose new values a running server takes over. All others need a restart.
pub(super) const LIVE: [&str; 22] = [
    "api-client-ca",
    "api-clients",
    "api-requests-per-second",
    "api-tls-cert",
    "api-tls-key",
    "api-token-file",
    "bmc-ca",
    "bmc-credentials",
    "bmc-network",
    "boot-only-from",
    "boots-at-once",
    "drain-seconds",
    "images-connections-per-address",
    "images-tls-cert-file",
    "images-tls-key-file",
    "log",
    "media-connections-per-address",
    "media-idle-seconds",
    "media-sendfile",
    "media-tls-cert",
    "media-tls-key",
    "shutdown-delay-seconds",
];

/// The settings of a certificate, its key, and the certificates of clients. Whether a listener speaks TLS or requires certificates
/// at all changes only with a restart.
const TLS: [&str; 7] = [
    "api-client-ca",
    "api-tls-cert",
    "api-tls-key",
    "images-tls-cert-file",
    "images-tls-key-file",
    "media-tls-cert",
    "media-tls-key",
];

/// What differs between the settings of a running server and those that were read again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The settings that the server takes over, and other changes that it has taken over.
    pub live: Vec<String>,
    /// The settings that need a restart.
    pub restart: Vec<String>,
}

/// The settings that a running server uses.
#[derive(Debug, Clone)]
pub struct Running(Vec<Effective>);

impl Running {
    /// The settings that the server has started with.
    pub fn new(started_with: Vec<Effective>) -> Self {
        Self(started_with)
    }

    /// Compares with settings that were read again, and takes over those that can change.
    pub fn take_over(&mut self, read: Vec<Effective>) -> Changes {
        let mut changes = Changes::default();
        for new in read {
            let Some(old) = self.0.iter_mut().find(|old| old.key == new.key) else { continue };
            if old.value == new.value {
                continue;
            }
            let switches_tls = TLS.contains(&new.key.as_str()) && old.value.is_set() != new.value.is_set();
            if LIVE.contains(&new.key.as_str()) && !switches_tls {
                changes.live.push(new.key.clone());
                *old = new;
            } else {
                changes.restart.push(new.key);
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, Value};
    use super::*;
    use crate::arguments::Program;

    #[test]
    fn every_setting_that_is_taken_over_exists() {
        for live in LIVE {
            let exists = |program: &Program| program.settings().iter().any(|setting| setting.key == live);
            assert!(Program::ALL.iter().any(exists), "{live}");
        }
    }

    #[test]
    fn what_needs_a_restart_is_named_each_time() {
        let effective = |key: &str, value: Option<&str>| Effective {
            key: key.to_owned(),
            value: value.map_or(Value::Unset(None), |value| Value::One(value.to_owned())),
            origin: Origin::Default,
            is_reloaded: true,
        };
        let mut running = Running::new(vec![
            effective("log", Some("info")),
            effective("data-dir", Some("/a")),
            effective("media-tls-cert", None),
            effective("api-tls-cert", Some("/a.pem")),
        ]);
        let read = vec![
            effective("log", Some("debug")),
            effective("data-dir", Some("/b")),
            effective("media-tls-cert", Some("/m.pem")),
            effective("api-tls-cert", Some("/b.pem")),
        ];
        let restart = vec!["data-dir".to_owned(), "media-tls-cert".to_owned()];
        let live = vec!["log".to_owned(), "api-tls-cert".to_owned()];
        assert_eq!(running.take_over(read.clone()), Changes { live, restart: restart.clone() });
        assert_eq!(running.take_over(read), Changes { live: Vec::new(), restart });
    }
}
