//! The credentials for a BMC. A record contains a reference to them, or a form that only this installation can decrypt.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::credentials_directory;
use super::encryption::{Cipher, EncryptionError, PURPOSE};
use super::id::BootId;
use crate::store::Store;
use redfish::{Credentials, CredentialsError, Password};
use vocabulary::checked_text;

/// The prefix of the environment variables with the default credentials.
const ENVIRONMENT: &str = "DAYONE_BMC";

/// The name of credentials that the server keeps: the name of a directory in `--bmc-credentials`. It is a DNS subdomain (RFC
/// 1123), as the names of Secrets are, so it cannot lead to another directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CredentialsName(String);

/// A text is not a valid name of credentials. It may be a password that somebody has put there, so it is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not the name of credentials that the server keeps: use a-z, 0-9, '-' and inner '.', 253 characters at most"
)]
pub struct NotACredentialsName;

checked_text!(CredentialsName, NotACredentialsName);

impl FromStr for CredentialsName {
    type Err = NotACredentialsName;

    fn from_str(text: &str) -> Result<Self, NotACredentialsName> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let label = |label: &str| !label.is_empty() && label.bytes().all(inner);
        let good = text.len() <= 253 && text.split('.').all(label);
        if good { Ok(Self(text.to_owned())) } else { Err(NotACredentialsName) }
    }
}

/// Where the credentials of a boot come from, in its record.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CredentialsSource {
    /// The server keeps them under this name, and reads them again for every use.
    Named(CredentialsName),
    /// The server's environment.
    Environment,
    /// They came with the request. The record contains them encrypted until the boot is over.
    #[serde(rename = "sealed")]
    Encrypted(String),
    /// They came with the request, and the boot is over.
    Forgotten,
    /// The BMC needs none.
    None,
}

impl fmt::Debug for CredentialsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CredentialsSource {
    /// Does not show the encrypted credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "named {name}"),
            Self::Environment => f.write_str("environment"),
            Self::Encrypted(_) => f.write_str("documents"),
            Self::Forgotten => f.write_str("documents (forgotten)"),
            Self::None => f.write_str("none"),
        }
    }
}

/// The credentials in a request.
#[derive(Debug, Clone)]
pub enum GivenCredentials {
    /// Those that the server keeps under this name.
    Named(CredentialsName),
    /// The credentials in the documents.
    Inline(Credentials),
    /// None: the server uses its default credentials.
    Default,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum NoCredentials {
    /// The server keeps no credentials.
    #[error(
        "the BMC's credentials are named ({0}), but this server keeps none: start it with --bmc-credentials DIR, where \
         DIR/{0} has the files username and password"
    )]
    NoDirectory(CredentialsName),
    /// The server has none under this name, cannot read them, or they are not valid.
    #[error("the BMC's credentials {0} cannot be used: {why}", why = why_unusable(.0, .1))]
    Named(CredentialsName, #[source] CredentialsError),
    /// The server's environment is not valid.
    #[error("the server's default credentials for BMCs cannot be used: {0}")]
    Environment(CredentialsError),
    /// The credentials in the documents are not valid.
    #[error("the BMC's credentials in the documents cannot be used: {0}")]
    Inline(CredentialsError),
    /// The credentials cannot be encrypted or decrypted.
    #[error(transparent)]
    Encryption(#[from] EncryptionError),
    /// The boot is over.
    #[error("the BMC's credentials came with the request, and dayone forgot them when the boot was over")]
    Forgotten,
}

/// Why credentials of the server cannot be used, without the directory on the server, which clients of the API need not know.
fn why_unusable(name: &CredentialsName, error: &CredentialsError) -> String {
    let file = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
    match error {
        CredentialsError::Read { .. } => {
            format!("the directory of --bmc-credentials has no readable {name}/username and {name}/password")
        }
        CredentialsError::TooLong(path) => format!("the file {} is too long", file(path)),
        CredentialsError::NotText(path) => format!("the file {} is not UTF-8 text", file(path)),
        other => other.to_string(),
    }
}

#[derive(Serialize, Deserialize)]
struct Plaintext {
    username: String,
    password: String,
}

/// Finds the credentials of boots.
pub(super) struct CredentialsStore {
    store: Arc<Store>,
}

/// What encrypts credentials, and what decrypts those from before a rotation of the installation key.
struct Ciphers {
    current: Cipher,
    previous: Option<Cipher>,
}

impl Ciphers {
    fn decrypt(&self, boot: BootId, text: &str) -> Result<Vec<u8>, EncryptionError> {
        let decrypted = self.current.decrypt(boot, text);
        match &self.previous {
            Some(previous) if decrypted.is_err() => previous.decrypt(boot, text),
            _ => decrypted,
        }
    }
}

impl CredentialsStore {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    fn ciphers(&self) -> Result<Ciphers, EncryptionError> {
        let (current, previous) = self.store.derived_keys(PURPOSE);
        Ok(Ciphers { current: Cipher::new(&current)?, previous: previous.as_ref().map(Cipher::new).transpose()? })
    }

    /// Encrypts credentials again that depend on the previous installation key. `None` if these do not, or if nobody can decrypt
    /// them.
    pub(super) fn renewed(
        &self,
        boot: BootId,
        source: &CredentialsSource,
    ) -> Result<Option<CredentialsSource>, EncryptionError> {
        let CredentialsSource::Encrypted(text) = source else { return Ok(None) };
        let Ciphers { current, previous: Some(previous) } = self.ciphers()? else { return Ok(None) };
        match previous.decrypt(boot, text) {
            Ok(json) => Ok(Some(CredentialsSource::Encrypted(current.encrypt(boot, &json)?))),
            Err(_) => Ok(None),
        }
    }

    /// Returns what the record of `boot` should contain for these credentials. Checks that they exist and are valid. Those with
    /// a name are in `directory`.
    pub(super) fn keep(
        &self,
        directory: Option<&Path>,
        boot: BootId,
        given: &GivenCredentials,
    ) -> Result<CredentialsSource, NoCredentials> {
        match given {
            GivenCredentials::Named(name) => {
                named(directory, name)?;
                Ok(CredentialsSource::Named(name.clone()))
            }
            GivenCredentials::Inline(Credentials { username, password }) => {
                let plaintext = Plaintext { username: username.clone(), password: password.reveal().to_owned() };
                // Serializing to memory fails only for maps whose keys are not texts.
                let json = serde_json::to_vec(&plaintext).unwrap_or_default();
                Ok(CredentialsSource::Encrypted(self.ciphers()?.current.encrypt(boot, &json)?))
            }
            GivenCredentials::Default => {
                let usual = Credentials::from_environment(ENVIRONMENT).map_err(NoCredentials::Environment)?;
                Ok(if usual.is_some() { CredentialsSource::Environment } else { CredentialsSource::None })
            }
        }
    }

    /// Finds the credentials of a record. Waits for the disk.
    pub(super) fn find(
        &self,
        directory: Option<&Path>,
        boot: BootId,
        source: &CredentialsSource,
    ) -> Result<Option<Credentials>, NoCredentials> {
        match source {
            CredentialsSource::Named(name) => named(directory, name).map(Some),
            CredentialsSource::Environment => {
                Credentials::from_environment(ENVIRONMENT).map_err(NoCredentials::Environment)
            }
            CredentialsSource::Encrypted(text) => {
                let json = self.ciphers()?.decrypt(boot, text)?;
                let plaintext: Plaintext = serde_json::from_slice(&json).map_err(|_| EncryptionError::Decrypt)?;
                let credentials = Credentials::new(plaintext.username, Password::from(plaintext.password));
                credentials.map(Some).map_err(NoCredentials::Inline)
            }
            CredentialsSource::Forgotten => Err(NoCredentials::Forgotten),
            CredentialsSource::None => Ok(None),
        }
    }

    /// Whether there are default credentials in the environment.
    pub(super) fn has_default() -> bool {
        Credentials::from_environment(ENVIRONMENT).is_ok_and(|usual| usual.is_some())
    }
}

/// The credentials with this name in the directory of `--bmc-credentials`.
pub(super) fn named(directory: Option<&Path>, name: &CredentialsName) -> Result<Credentials, NoCredentials> {
    let Some(directory) = directory else { return Err(NoCredentials::NoDirectory(name.clone())) };
    credentials_directory::read(directory, &name.0).map_err(|error| NoCredentials::Named(name.clone(), error))
}

/// Whether the directory has credentials with this name.
pub(super) fn has(directory: Option<&Path>, name: &CredentialsName) -> bool {
    directory.is_some_and(|directory| credentials_directory::has(directory, &name.0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_files_that_cannot_be_read_are_called_unreadable() {
        let directory = tempfile::tempdir().unwrap();
        let name: CredentialsName = "rack-1".parse().unwrap();
        let error = || named(Some(directory.path()), &name).unwrap_err().to_string();
        assert!(error().contains("has no readable rack-1/username and rack-1/password"), "{}", error());
        let place = directory.path().join("rack-1");
        fs::create_dir(&place).unwrap();
        for (username, password, says) in [
            (&b"ro:ot"[..], "hunter2", "contains a colon"),
            (b"\xff", "hunter2", "the file username is not UTF-8 text"),
            (&[b'x'; 5000], "hunter2", "the file username is too long"),
            (b"root", "hunter2\n\n", "the BMC's password contains a control character"),
        ] {
            fs::write(place.join("username"), username).unwrap();
            fs::write(place.join("password"), password).unwrap();
            let error = error();
            assert!(error.contains(says) && error.contains("rack-1") && !error.contains("no readable"), "{error}");
            assert!(!error.contains("hunter2") && !error.contains(&*place.to_string_lossy()), "{error}");
        }
    }
}
