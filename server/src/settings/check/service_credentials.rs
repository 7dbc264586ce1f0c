//! Credentials of the packaged service (`LoadCredential=`): systemd makes them when it starts the service, and removes them when it ends.

use std::mem;
use std::path::{Path, PathBuf};

use super::Checking;
use crate::arguments::Settings;

/// Where systemd puts them.
const DIRECTORY: &str = "/run/credentials/dayone.service";

impl Checking<'_> {
    /// Takes the settings out that name credentials, if the service has none or does not run, and warns of them. Returns
    /// their names.
    pub(super) fn take_absent_credentials(&mut self, settings: &mut Settings) -> Vec<&'static str> {
        if !self.is_of_service() || !matches!(Path::new(DIRECTORY).try_exists(), Ok(false)) {
            return Vec::new();
        }
        let taken = take_credentials(settings);
        for (key, path) in &taken {
            let message =
                format!("{} is not there: the service is stopped, or runs without credentials", path.display());
            let fix = "systemd makes it when the service starts or restarts, if a drop-in of its unit has LoadCredential= \
                       (docs/install.md); check again after that";
            self.doubt(key, "service-credential", message, fix);
        }
        taken.into_iter().map(|(key, _)| key).collect()
    }
}

fn is_credential(path: &Path) -> bool {
    path.starts_with(DIRECTORY)
}

/// Takes the settings out that name credentials. A certificate goes with its key. Returns the name of each setting, and the credential.
fn take_credentials(settings: &mut Settings) -> Vec<(&'static str, PathBuf)> {
    let mut taken = Vec::new();
    for (key, paths) in [("api-token-file", &mut settings.api_token_file), ("base-keys", &mut settings.base_keys)] {
        let all = mem::take(paths).into_iter();
        let (credentials, others): (Vec<_>, Vec<_>) = all.partition(|path| is_credential(path));
        *paths = others;
        taken.extend(credentials.into_iter().map(|path| (key, path)));
    }
    for (key, path) in [
        ("data-key-file", &mut settings.data_key_file),
        ("base-ca", &mut settings.base_ca),
        ("api-clients", &mut settings.api_clients),
        ("api-client-ca", &mut settings.api_client_ca),
        ("bmc-credentials", &mut settings.bmc_credentials),
        ("bmc-ca", &mut settings.bmc_ca),
    ] {
        taken.extend(path.take_if(|path| is_credential(path)).map(|path| (key, path)));
    }
    for pair in [
        [("media-tls-cert", &mut settings.media_tls_cert), ("media-tls-key", &mut settings.media_tls_key)],
        [("api-tls-cert", &mut settings.api_tls_cert), ("api-tls-key", &mut settings.api_tls_key)],
        [("site-key", &mut settings.site_key), ("site-certificate", &mut settings.site_certificate)],
    ] {
        // Half a pair is a mistake, wherever it is.
        let is_whole = pair.iter().all(|(_, path)| path.is_some());
        if is_whole && pair.iter().any(|(_, path)| path.as_deref().is_some_and(is_credential)) {
            let paths = pair.into_iter().filter_map(|(key, path)| Some((key, path.take()?)));
            taken.extend(paths.filter(|(_, path)| is_credential(path)));
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out_and_other_files_stay() {
        let credential = |name: &str| Path::new(DIRECTORY).join(name);
        let mut settings = Settings {
            api_token_file: vec![credential("token"), "/etc/dayone/token".into()],
            data_key_file: Some(credential("data.key")),
            bmc_ca: Some("/etc/dayone/bmc-ca.pem".into()),
            site_key: Some(credential("site.key")),
            site_certificate: Some("/etc/dayone/site.crt".into()),
            media_tls_key: Some(credential("media.key")),
            api_tls_cert: Some("/etc/dayone/api.crt".into()),
            api_tls_key: Some("/etc/dayone/api.key".into()),
            ..Settings::default()
        };
        let names: Vec<_> = take_credentials(&mut settings).into_iter().map(|(key, _)| key).collect();
        assert_eq!(names, ["api-token-file", "data-key-file", "site-key"]);
        assert_eq!(settings.api_token_file, [Path::new("/etc/dayone/token")]);
        assert!(settings.data_key_file.is_none() && settings.bmc_ca.is_some());
        assert!(settings.site_key.is_none() && settings.site_certificate.is_none());
        assert!(settings.api_tls_cert.is_some() && settings.api_tls_key.is_some());
        assert!(settings.media_tls_key.is_some(), "its certificate is missing, which the check shall say");
    }
}
