//! What dayone adds to a host.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SshPublicKey;
use crate::cpio::{MemberPath, Owner};
use vocabulary::host::HostName;
use vocabulary::network_files::{Keyfile, NetworkdUnit};
use vocabulary::{checked_text, serde_as_text};

/// Why a path, a mode or a unit name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdditionsError {
    /// Not a path.
    #[error("{0:?} is not an absolute path of a file (such as /etc/motd; no '.', '..', '//' or control characters)")]
    Path(String),
    /// Not a mode.
    #[error("{0:?} is not a file mode (octal, such as \"0644\"; at most 7777)")]
    Mode(String),
    /// Not a unit.
    #[error("{0:?} is not the name of a systemd unit (such as network-check.service)")]
    UnitName(String),
}

/// What to add to a host's system and to the user's own config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Additions {
    /// NetworkManager profiles.
    pub keyfiles: Vec<Keyfile>,
    /// Units of systemd-networkd, for systems without NetworkManager.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networkd_units: Vec<NetworkdUnit>,
    /// Whether to stop NetworkManager from making DHCP profiles for NICs without a keyfile.
    pub no_auto_default: bool,
    /// The static host name.
    pub hostname: Option<HostName>,
    /// SSH keys of the user `core`.
    pub ssh_authorized_keys: Vec<SshPublicKey>,
    /// Other files.
    pub files: Vec<ExtraFile>,
    /// systemd units.
    pub units: Vec<Unit>,
}

impl Additions {
    /// Whether there is nothing to add. Then embed no Ignition config: a CoreOS live system with one has no automatic login.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A file to add.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtraFile {
    /// Where it goes, absolute.
    #[schema(value_type = String, example = "/etc/motd")]
    pub path: AbsolutePath,
    /// Permission bits, octal; `0644` if absent.
    #[serde(default)]
    #[schema(value_type = String, example = "0644")]
    pub mode: FileMode,
    /// Number of the user that owns it; root's if absent.
    #[serde(default, skip_serializing_if = "is_root")]
    #[schema(value_type = u64, maximum = 4_294_967_295_u64)]
    pub user: u32,
    /// Number of the group that owns it; root's if absent.
    #[serde(default, skip_serializing_if = "is_root")]
    #[schema(value_type = u64, maximum = 4_294_967_295_u64)]
    pub group: u32,
    /// Content in base64 (RFC 4648 §4).
    #[serde(with = "crate::base64_text")]
    #[schema(value_type = String, format = Byte, example = "SGVsbG8K")]
    pub contents: Bytes,
}

impl ExtraFile {
    pub(super) fn owner(&self) -> Owner {
        Owner { user: self.user, group: self.group }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_root(number: &u32) -> bool {
    *number == 0
}

debug_only!(ExtraFile { path, mode });

/// A systemd unit in `/etc/systemd/system`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Its name.
    #[schema(value_type = String, example = "network-check.service")]
    pub name: UnitName,
    /// Whether it is started at boot, as its `[Install]` section says.
    #[serde(default)]
    pub enabled: bool,
    /// The unit file; absent for a unit that the operating system has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
}

debug_only!(Unit { name, enabled });

/// The absolute path of a file, in the one form that Ignition accepts: no `.`, `..`, empty component or
/// control character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AbsolutePath(String);

checked_text!(AbsolutePath, AdditionsError);

impl AbsolutePath {
    /// A file in a directory, both known to be well-formed.
    pub(super) fn in_directory(directory: &'static str, name: &str) -> Self {
        Self(format!("{directory}/{name}"))
    }
}

impl FromStr for AbsolutePath {
    type Err = AdditionsError;

    fn from_str(text: &str) -> Result<Self, AdditionsError> {
        let relative = text.strip_prefix('/').and_then(|relative| relative.parse::<MemberPath>().ok());
        match relative {
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(AdditionsError::Path(text.chars().take(256).collect())),
        }
    }
}

/// The name of a systemd unit (`systemd.unit(5)`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UnitName(String);

checked_text!(UnitName, AdditionsError);

impl FromStr for UnitName {
    type Err = AdditionsError;

    fn from_str(text: &str) -> Result<Self, AdditionsError> {
        const KINDS: [&str; 11] =
            ["service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope"];
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'-' | b'_' | b'.' | b'\\' | b'@');
        match text.rsplit_once('.') {
            Some((stem, kind))
                if !stem.is_empty() && text.len() <= 255 && KINDS.contains(&kind) && text.bytes().all(allowed) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(AdditionsError::UnitName(text.chars().take(256).collect())),
        }
    }
}

/// Permission bits with setuid, setgid and sticky bit: four octal digits as text, `0644` where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileMode(u32);

impl FileMode {
    /// The bits.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl Default for FileMode {
    fn default() -> Self {
        Self(0o644)
    }
}

impl TryFrom<u32> for FileMode {
    type Error = AdditionsError;

    fn try_from(bits: u32) -> Result<Self, AdditionsError> {
        if bits > 0o7777 { Err(AdditionsError::Mode(format!("{bits:o}"))) } else { Ok(Self(bits)) }
    }
}

impl FromStr for FileMode {
    type Err = AdditionsError;

    fn from_str(text: &str) -> Result<Self, AdditionsError> {
        let octal = (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let refuse = || AdditionsError::Mode(text.chars().take(32).collect());
        let bits = u32::from_str_radix(text, 8).ok().filter(|_| octal).ok_or_else(refuse)?;
        bits.try_into()
    }
}

serde_as_text!(FileMode, AdditionsError);

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.0)
    }
}
