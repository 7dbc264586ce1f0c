//! What logs in at a BMC, and where it comes from. A record holds a reference, or what only this installation can open.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::id::BootId;
use super::seal::{Seal, SealError};
use redfish::{Credentials, CredentialsError, Password};

/// What the variables with the usual credentials begin with.
pub(super) const ENVIRONMENT: &str = "DAYONE_BMC";

/// The name of credentials that the server keeps: that of a directory in `--bmc-credentials`. A DNS subdomain (RFC 1123),
/// as Kubernetes names Secrets, so it leads nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CredentialsName(String);

/// Not the name of credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of credentials: a-z, 0-9, '-' and inner '.', 253 characters at most")]
pub struct NotACredentialsName(String);

impl FromStr for CredentialsName {
    type Err = NotACredentialsName;

    fn from_str(text: &str) -> Result<Self, NotACredentialsName> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let label = |label: &str| !label.is_empty() && label.bytes().all(inner);
        let good = text.len() <= 253 && text.split('.').all(label);
        if good { Ok(Self(text.to_owned())) } else { Err(NotACredentialsName(text.chars().take(64).collect())) }
    }
}

impl TryFrom<String> for CredentialsName {
    type Error = NotACredentialsName;

    fn try_from(text: String) -> Result<Self, NotACredentialsName> {
        text.parse()
    }
}

impl From<CredentialsName> for String {
    fn from(name: CredentialsName) -> Self {
        name.0
    }
}

impl fmt::Display for CredentialsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the credentials of a boot come from, as its record has it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CredentialsSource {
    /// Kept by the server under this name, and read anew each time.
    Named(CredentialsName),
    /// The server's environment.
    Environment,
    /// They came with the request, and are sealed here until the boot is over.
    Sealed(String),
    /// They came with the request; the boot is over.
    Forgotten,
    /// The BMC asks for none.
    None,
}

impl fmt::Debug for CredentialsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CredentialsSource {
    /// For people: nothing of what is sealed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "named {name}"),
            Self::Environment => f.write_str("environment"),
            Self::Sealed(_) => f.write_str("documents"),
            Self::Forgotten => f.write_str("documents (forgotten)"),
            Self::None => f.write_str("none"),
        }
    }
}

/// What a request says about credentials.
#[derive(Debug, Clone)]
pub enum GivenCredentials {
    /// Those that the server keeps under this name.
    Named(CredentialsName),
    /// These, out of the documents.
    Inline(Credentials),
    /// Nothing: the server's usual ones.
    Default,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum NoCredentials {
    /// The server keeps none.
    #[error(
        "the BMC's credentials are named ({0}), but this server keeps none: start it with --bmc-credentials DIR, where \
         DIR/{0} has the files username and password"
    )]
    NoDirectory(CredentialsName),
    /// None under this name, or they cannot be read.
    #[error(
        "the BMC's credentials {0} cannot be used: the directory of --bmc-credentials has no readable {0}/username and {0}/password"
    )]
    Named(CredentialsName, #[source] CredentialsError),
    /// The server's environment is wrong.
    #[error("the server's usual credentials for BMCs cannot be used: {0}")]
    Environment(CredentialsError),
    /// They cannot be used.
    #[error("the BMC's credentials in the documents cannot be used: {0}")]
    Inline(CredentialsError),
    /// Sealed, and they do not open.
    #[error(transparent)]
    Seal(#[from] SealErrorBody),
    /// Asked for after the end.
    #[error("the BMC's credentials came with the request and were forgotten when the boot was over")]
    Forgotten,
}

/// [`SealError`], for the outside.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SealErrorBody(String);

impl From<SealError> for NoCredentials {
    fn from(error: SealError) -> Self {
        Self::Seal(SealErrorBody(error.to_string()))
    }
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    username: String,
    password: String,
}

/// The credentials that the server can come by.
pub(super) struct Keeper {
    directory: Option<PathBuf>,
    seal: Seal,
}

impl Keeper {
    pub(super) fn new(directory: Option<PathBuf>, seal: Seal) -> Self {
        Self { directory, seal }
    }

    /// What the record of `boot` shall say of the credentials that were given for it. They are there, and can be used.
    pub(super) fn keep(&self, boot: BootId, given: &GivenCredentials) -> Result<CredentialsSource, NoCredentials> {
        match given {
            GivenCredentials::Named(name) => {
                self.named(name)?;
                Ok(CredentialsSource::Named(name.clone()))
            }
            GivenCredentials::Inline(Credentials { username, password }) => {
                let sealed = Sealed { username: username.clone(), password: password.reveal().to_owned() };
                // Serialising to memory fails only for maps whose keys are not texts.
                let json = serde_json::to_vec(&sealed).unwrap_or_default();
                Ok(CredentialsSource::Sealed(self.seal.seal(boot, &json)?))
            }
            GivenCredentials::Default => {
                let usual = Credentials::from_environment(ENVIRONMENT).map_err(NoCredentials::Environment)?;
                Ok(if usual.is_some() { CredentialsSource::Environment } else { CredentialsSource::None })
            }
        }
    }

    /// The credentials of a record. Waits for the disk.
    pub(super) fn find(&self, boot: BootId, source: &CredentialsSource) -> Result<Option<Credentials>, NoCredentials> {
        match source {
            CredentialsSource::Named(name) => self.named(name).map(Some),
            CredentialsSource::Environment => {
                Credentials::from_environment(ENVIRONMENT).map_err(NoCredentials::Environment)
            }
            CredentialsSource::Sealed(sealed) => {
                let json = self.seal.open(boot, sealed)?;
                let opened: Sealed = serde_json::from_slice(&json).map_err(|_| SealError::Open)?;
                let credentials = Credentials::new(opened.username, Password::from(opened.password));
                credentials.map(Some).map_err(NoCredentials::Inline)
            }
            CredentialsSource::Forgotten => Err(NoCredentials::Forgotten),
            CredentialsSource::None => Ok(None),
        }
    }

    /// Whether there are any in the environment.
    pub(super) fn has_usual() -> bool {
        Credentials::from_environment(ENVIRONMENT).is_ok_and(|usual| usual.is_some())
    }

    /// Those under this name.
    pub(super) fn named(&self, name: &CredentialsName) -> Result<Credentials, NoCredentials> {
        let Some(directory) = &self.directory else { return Err(NoCredentials::NoDirectory(name.clone())) };
        let read = Credentials::from_directory(&directory.join(&name.0));
        read.map_err(|error| NoCredentials::Named(name.clone(), error))
    }

    /// Whether the server keeps credentials under this name.
    pub(super) fn knows(&self, name: &CredentialsName) -> bool {
        self.directory.as_ref().is_some_and(|directory| directory.join(&name.0).is_dir())
    }
}
