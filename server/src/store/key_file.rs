//! The file of the installation key.
//!
//! Without a rotation under way, the file has the 32 bytes of the key. During the grace period of a rotation, it is one line of
//! JSON with the present key and the previous one. Both are in one file, so that a crash leaves the file from before the
//! rotation or the one after it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::data_keys::DataKeys;
use super::durable;
use super::key::{InstallationKey, KeyError, LENGTH};
use super::record_cipher::Form;
use super::record_files::RecordFile;

/// The version of the JSON form.
const VERSION: u32 = 2;

/// The maximum size of the file, in bytes: larger than any real one.
const MAX_FILE_BYTES: u64 = 4 << 10;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyFile {
    /// The present key.
    pub(super) current: InstallationKey,
    /// The key before it, until the server no longer needs it.
    pub(super) previous: Option<PreviousKey>,
}

/// A key that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PreviousKey {
    pub(super) key: InstallationKey,
    /// How long its URLs are valid after a server has taken the present key over, in seconds.
    pub(super) grace: u64,
    /// `None` until a server has taken the present key over.
    pub(super) taken_over: Option<TakenOver>,
}

/// When a server took a key over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TakenOver {
    /// The time, in whole seconds.
    pub(super) at: SystemTime,
    /// The images that were published until then have URLs of the previous key. All later images have a later time of
    /// publication, whatever the clock says, and never had such a URL.
    pub(super) images_until: SystemTime,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Json {
    version: u32,
    key: Secret,
    previous_key: Secret,
    grace_seconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken_over: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    images_until: Option<u64>,
}

#[derive(Deserialize)]
struct VersionJson {
    version: u32,
}

/// A key in hexadecimal. A text that is not one gives an error without its content.
#[derive(Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Secret(InstallationKey);

/// The text is not a key.
struct NotAKey;

impl fmt::Display for NotAKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a key")
    }
}

impl TryFrom<String> for Secret {
    type Error = NotAKey;

    fn try_from(text: String) -> Result<Self, NotAKey> {
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| NotAKey)?;
        let key: [u8; LENGTH] = bytes.try_into().map_err(|_| NotAKey)?;
        Ok(Self(InstallationKey::from_bytes(key)))
    }
}

impl Clone for Secret {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> Self {
        HEXLOWER.encode(secret.0.as_bytes())
    }
}

impl KeyFile {
    /// Reads the file; `None` if it does not exist.
    pub(super) fn read(path: &Path, keys: &DataKeys) -> Result<Option<Self>, KeyError> {
        Ok(Self::read_with_form(path, keys)?.map(|(file, _)| file))
    }

    /// Reads the file, and returns in which form it is; `None` if it does not exist.
    pub(super) fn read_with_form(path: &Path, keys: &DataKeys) -> Result<Option<(Self, Form)>, KeyError> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Mode(mode));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        let form = Form::of(&bytes);
        let RecordFile { kind, name } = RecordFile::installation_key();
        let bytes = keys.decrypt(kind, &name, bytes).map_err(KeyError::Encrypted)?;
        Ok(Some((Self::from_bytes(&bytes)?, form)))
    }

    /// Creates the file with a new key. The key is on disk before dayone uses it, so a crash cannot invalidate a URL. The
    /// complete file is renamed into place, so a crash leaves no partial key. Nothing stays of a key that [`read`](Self::read) would refuse.
    pub(super) fn create(path: &Path, keys: &DataKeys) -> Result<Self, KeyError> {
        let current = InstallationKey::generate()?;
        let RecordFile { kind, name } = RecordFile::installation_key();
        let bytes = keys.encrypt(kind, &name, current.as_bytes()).map_err(io::Error::from)?;
        durable::write_new(path, &bytes)?;
        // A file system without modes shows the key to others. The next start would refuse it, when images have been published with it.
        if let Err(error) = Self::read(path, keys) {
            durable::remove(path)?;
            return Err(if let KeyError::Mode(mode) = error { KeyError::NoModes(mode) } else { error });
        }
        Ok(Self { current, previous: None })
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        if let Ok(key) = <[u8; LENGTH]>::try_from(bytes) {
            return Ok(Self { current: InstallationKey::from_bytes(key), previous: None });
        }
        if bytes.first() != Some(&b'{') {
            return Err(KeyError::Length(bytes.len()));
        }
        let damaged = |error: serde_json::Error| KeyError::Damaged { line: error.line(), column: error.column() };
        let VersionJson { version } = serde_json::from_slice(bytes).map_err(damaged)?;
        if version != VERSION {
            return Err(KeyError::Version(version));
        }
        let json: Json = serde_json::from_slice(bytes).map_err(damaged)?;
        let time = |seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let taken_over = match (json.taken_over.and_then(time), json.images_until.and_then(time)) {
            (Some(at), Some(images_until)) => Some(TakenOver { at, images_until }),
            _ => None,
        };
        let previous = PreviousKey { key: json.previous_key.0, grace: json.grace_seconds, taken_over };
        Ok(Self { current: json.key.0, previous: Some(previous) })
    }

    /// The content of the file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Some(previous) = &self.previous else { return self.current.as_bytes().to_vec() };
        let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let json = Json {
            version: VERSION,
            key: Secret(self.current.clone()),
            previous_key: Secret(previous.key.clone()),
            grace_seconds: previous.grace,
            taken_over: previous.taken_over.map(|taken| seconds(taken.at)),
            images_until: previous.taken_over.map(|taken| seconds(taken.images_until)),
        };
        // Serializing to memory fails only for maps whose keys are not texts.
        let mut bytes = serde_json::to_vec(&json).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_created_once_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        assert!(KeyFile::read(&path, &DataKeys::default()).unwrap().is_none());
        let made = KeyFile::create(&path, &DataKeys::default()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(KeyFile::read(&path, &DataKeys::default()).unwrap().unwrap(), made);
        assert!(
            matches!(KeyFile::create(&path, &DataKeys::default()), Err(KeyError::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists)
        );
        assert_eq!(std::fs::read(&path).unwrap(), made.current.as_bytes());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_key_that_is_too_long_too_short_or_open_to_others_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let write = |bytes: &[u8], mode| {
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            KeyFile::read(&path, &DataKeys::default())
        };
        assert!(matches!(write(&[1; 31], 0o600), Err(KeyError::Length(31))));
        assert!(matches!(write(&[1; 33], 0o600), Err(KeyError::Length(33))));
        assert!(matches!(write(&[], 0o600), Err(KeyError::Length(0))));
        assert!(matches!(write(&[1; 32], 0o640), Err(KeyError::Mode(0o640))));
        assert!(write(&[1; 32], 0o400).is_ok());
        assert!(write(&[b'{'; 32], 0o400).is_ok(), "any 32 bytes are a key");
    }

    #[test]
    fn both_keys_of_a_rotation_are_read_as_they_are_written_and_no_part_of_the_file_is() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for taken_over in [None, Some(TakenOver { at, images_until: at })] {
            let previous = PreviousKey { key: InstallationKey::from_bytes([1; 32]), grace: 86_400, taken_over };
            let file = KeyFile { current: InstallationKey::from_bytes([2; 32]), previous: Some(previous) };
            let bytes = file.to_bytes();
            assert_eq!(KeyFile::from_bytes(&bytes).unwrap(), file);
            for length in (0..bytes.len() - 1).filter(|length| *length != LENGTH) {
                assert!(KeyFile::from_bytes(&bytes[..length]).is_err(), "{length}");
            }
            let shown = format!("{file:?}");
            assert!(!shown.contains("0101") && !shown.contains("0202") && !shown.contains("1, 1"), "{shown}");
        }
    }

    #[test]
    fn errors_do_not_show_the_key() {
        let text = format!(r#"{{"version":2,"key":"{}","previous_key":"5ecret","grace_seconds":0}}"#, "ab".repeat(32));
        let error = KeyFile::from_bytes(text.as_bytes()).unwrap_err();
        assert!(matches!(KeyFile::from_bytes(br#"{"version":3,"keys":[]}"#), Err(KeyError::Version(3))));
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("5ecret") && !shown.contains("abab"), "{shown}");
    }
}
