//! The releases of systemd-stub.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use utoipa::ToSchema;

/// What the section `.sdmagic` of a stub begins and ends with (systemd, `src/boot/stub.c`).
const MAGIC: (&str, &str) = ("#### LoaderInfo: systemd-stub ", " ####");
/// From this release on, addons can have kernel arguments (systemd's NEWS, 254).
const WITH_ARGUMENTS: u32 = 254;
/// From this release on, addons can have an initrd (systemd/systemd#34680).
const WITH_INITRD: u32 = 257;

/// A release of systemd-stub, as its packagers write it: `257.13-1~deb13u1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubVersion {
    text: String,
    major: u32,
}

/// What dayone can put beside a unified kernel image so that its stub takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// An addon with kernel arguments and an initrd.
    Addon,
    /// An addon with kernel arguments, and a credential, by which the systemd of the initrd writes files.
    Credential,
    /// An addon with kernel arguments alone.
    ArgumentsAddon,
    /// Nothing that dayone writes.
    None,
}

named_variants!(Carrier {
    Addon => "addon",
    Credential => "credential",
    ArgumentsAddon => "arguments-addon",
    None => "none",
});

impl StubVersion {
    /// What this release takes, whatever is in the initrd.
    pub fn carrier(&self) -> Carrier {
        match self.major {
            WITH_INITRD.. => Carrier::Addon,
            WITH_ARGUMENTS.. => Carrier::ArgumentsAddon,
            _ => Carrier::None,
        }
    }

    /// The release in the section `.sdmagic`. `None` if the program is not systemd-stub.
    pub(super) fn of_section(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let version = text.trim_end_matches('\0').strip_prefix(MAGIC.0)?.strip_suffix(MAGIC.1)?;
        version.parse().ok()
    }
}

/// A text that is not a release of systemd-stub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a release of systemd-stub")]
pub struct UnknownVersion(String);

impl FromStr for StubVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let unknown = || UnknownVersion(text.chars().take(64).collect());
        let digits = text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let major = digits.parse().map_err(|_| unknown())?;
        let plain = text.len() <= 64 && text.chars().all(|c| c.is_ascii_graphic());
        if plain { Ok(Self { text: text.to_owned(), major }) } else { Err(unknown()) }
    }
}

impl fmt::Display for StubVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_differ_in_what_they_take() {
        for (section, carrier) in [
            ("#### LoaderInfo: systemd-stub 252.39-1~deb12u2 ####\0", Some(Carrier::None)),
            ("#### LoaderInfo: systemd-stub 253 ####", Some(Carrier::None)),
            ("#### LoaderInfo: systemd-stub 254-rc1 ####", Some(Carrier::ArgumentsAddon)),
            ("#### LoaderInfo: systemd-stub 256.10 ####", Some(Carrier::ArgumentsAddon)),
            ("#### LoaderInfo: systemd-stub 257.13-1~deb13u1 ####", Some(Carrier::Addon)),
            ("#### LoaderInfo: systemd-stub 1000 ####", Some(Carrier::Addon)),
            ("#### LoaderInfo: systemd-boot 257 ####", None),
            ("#### LoaderInfo: systemd-addon 257 ####", None),
            ("#### LoaderInfo: systemd-stub v257 ####", None),
            ("#### LoaderInfo: systemd-stub 99999999999 ####", None),
            ("#### LoaderInfo: systemd-stub 257 or so ####", None),
            ("", None),
        ] {
            let found = StubVersion::of_section(section.as_bytes());
            assert_eq!(found.map(|version| version.carrier()), carrier, "{section}");
        }
    }
}
