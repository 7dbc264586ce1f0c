//! The record of an added base: the file from which a restarted server restores it, or continues to fetch it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use imagelib::base::{BaseIdentity, Role};
use imagelib::delivery::DeliveryProfile;
use imagelib::digest::Digest;
use serde::{Deserialize, Serialize};

use super::base_source::BaseSource;
use super::definition::{BaseDefinition, BaseName, BasePaths, DefinitionError};

const VERSION: u32 = 1;

/// Which of all added bases a base is. A later one has a larger number: if two have the same name, the later replaces the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaseVersion(u64);

impl BaseVersion {
    /// The version after the last of these.
    pub(super) fn after(last: Option<Self>) -> Self {
        Self(last.map_or(1, |Self(number)| number.saturating_add(1)))
    }

    /// The number, which the API shows.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The name of a file of this version.
    pub(super) fn file_name(self, role: Role) -> String {
        format!("{self}.{}", role.word())
    }
}

impl fmt::Display for BaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08}", self.0)
    }
}

/// A text that is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a version of a base")]
pub struct NotAVersion;

impl FromStr for BaseVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let version = Self(text.parse().map_err(|_| NotAVersion)?);
        // The one form only, so that no two files are records of one version.
        if version.to_string() == text { Ok(version) } else { Err(NotAVersion) }
    }
}

/// How far dayone is with an added base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseRecordState {
    /// dayone fetches its files.
    Fetching,
    /// Fetching has failed, for this reason.
    Failed(String),
    /// The files are in the data directory, and have these digests.
    Ready(BTreeMap<Role, Digest>),
}

/// The record of an added base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseRecord {
    version: u32,
    /// The name.
    pub name: BaseName,
    /// The delivery profile, to override the one that dayone detects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<DeliveryProfile>,
    /// Where its files come from.
    pub sources: BTreeMap<Role, BaseSource>,
    /// How far dayone is with it.
    pub state: BaseRecordState,
}

/// Why a file is not a record of a base. The text never has the content: URLs may hold credentials.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaseRecordError {
    #[error("it is not a record of a base: line {}, column {}", .0.line(), .0.column())]
    Json(serde_json::Error),
    #[error("it has version {0}; this dayone reads version {VERSION}")]
    Version(u32),
}

#[derive(Deserialize)]
struct VersionJson {
    version: u32,
}

impl BaseRecord {
    /// A base whose files are not there yet.
    pub fn new(name: BaseName, profile: Option<DeliveryProfile>, sources: BTreeMap<Role, BaseSource>) -> Self {
        Self { version: VERSION, name, profile, sources, state: BaseRecordState::Fetching }
    }

    /// Whether both ask for the same base.
    pub fn asks_for_the_same(&self, other: &Self) -> bool {
        (&self.name, self.profile, &self.sources) == (&other.name, other.profile, &other.sources)
    }

    /// Whether the files are in the data directory and have the digests that `other` asks for.
    pub fn fulfils(&self, other: &Self) -> bool {
        let BaseRecordState::Ready(digests) = &self.state else { return false };
        let same_files = digests.len() == other.sources.len()
            && other.sources.iter().all(|(role, source)| {
                let digest = digests.get(role);
                let signature = self.sources.get(role).and_then(|known| known.signature.as_ref());
                let is_signed = source.signature.is_none() || source.signature.as_ref() == signature;
                digest.is_some() && source.sha256.as_ref() == digest && is_signed
            });
        self.name == other.name && self.profile == other.profile && same_files
    }

    /// The record with another state.
    #[must_use]
    pub fn with_state(self, state: BaseRecordState) -> Self {
        Self { state, ..self }
    }

    /// Whether the files are in the data directory.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, BaseRecordState::Ready(_))
    }

    /// The identity of the base, if its files are in the data directory.
    pub fn identity(&self) -> Option<BaseIdentity> {
        match &self.state {
            BaseRecordState::Ready(digests) => Some(BaseIdentity::of(digests)),
            BaseRecordState::Fetching | BaseRecordState::Failed(_) => None,
        }
    }

    /// The definition of the base, with its files in this directory.
    pub(super) fn definition(&self, version: BaseVersion, files: &Path) -> Result<BaseDefinition, DefinitionError> {
        let paths = self.sources.keys().map(|role| (*role, files.join(version.file_name(*role)))).collect();
        Ok(BaseDefinition { name: self.name.clone(), files: BasePaths::new(&self.name, paths)?, profile: self.profile })
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut json = serde_json::to_vec(self)?;
        json.push(b'\n');
        Ok(json)
    }

    pub(crate) fn from_json(json: &[u8]) -> Result<Self, BaseRecordError> {
        let VersionJson { version } = serde_json::from_slice(json).map_err(BaseRecordError::Json)?;
        if version != VERSION {
            return Err(BaseRecordError::Version(version));
        }
        serde_json::from_slice(json).map_err(BaseRecordError::Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"version":1,"name":"fcos","sources":{"iso":{"url":"https://example.com/a.iso","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},"state":"fetching"}"#;

    #[test]
    fn a_record_reads_as_it_was_written() {
        let mut record = BaseRecord::from_json(RECORD.as_bytes()).unwrap();
        assert_eq!(record.to_json().unwrap().trim_ascii_end(), RECORD.as_bytes());
        let digest = Digest::of(b"test");
        assert!(record.identity().is_none());
        for state in [BaseRecordState::Failed("why".to_owned()), BaseRecordState::Ready([(Role::Iso, digest)].into())] {
            record.state = state;
            assert_eq!(BaseRecord::from_json(&record.to_json().unwrap()).unwrap(), record);
        }
        assert_eq!(record.identity(), Some(BaseIdentity::of(&[(Role::Iso, digest)].into())));
    }

    #[test]
    fn errors_do_not_quote_a_record() {
        let secret = RECORD.replace("https://example.com/a.iso", "https://me:hunter2@example.com/a.iso");
        for bad in [&secret, "", "[]", r#"{"version":1,"hunter2":1}"#] {
            let error = BaseRecord::from_json(bad.as_bytes()).unwrap_err();
            assert!(matches!(error, BaseRecordError::Json(_)) && !error.to_string().contains("hunter2"), "{error}");
        }
        let newer = RECORD.replace("\"version\":1", "\"version\":2");
        assert!(matches!(BaseRecord::from_json(newer.as_bytes()), Err(BaseRecordError::Version(2))));
    }

    #[test]
    fn a_base_fulfils_what_asks_for_its_digests() {
        let asked = BaseRecord::from_json(RECORD.as_bytes()).unwrap();
        let mut ready = asked.clone();
        assert!(!ready.fulfils(&asked), "nothing is fetched yet");
        ready.state = BaseRecordState::Ready([(Role::Iso, Digest::of(b"test"))].into());
        let elsewhere = BaseRecord::from_json(RECORD.replace("a.iso", "b.iso").as_bytes()).unwrap();
        assert!(ready.fulfils(&asked) && ready.fulfils(&elsewhere) && !ready.asks_for_the_same(&elsewhere));
        ready.state = BaseRecordState::Ready([(Role::Iso, Digest::of(b"other"))].into());
        assert!(!ready.fulfils(&asked));
    }

    #[test]
    fn versions_have_one_form() {
        let first = BaseVersion::after(None);
        assert_eq!((first.to_string(), first.file_name(Role::Iso)), ("00000001".to_owned(), "00000001.iso".to_owned()));
        assert_eq!("00000001".parse(), Ok(first));
        assert_eq!(BaseVersion::after(Some(first)).number(), 2);
        for bad in ["1", "+0000001", "000000001", "x", ""] {
            assert_eq!(bad.parse::<BaseVersion>(), Err(NotAVersion), "{bad}");
        }
    }
}
