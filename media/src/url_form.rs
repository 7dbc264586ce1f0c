//! The forms of images' URLs.

use std::str::FromStr;

use uuid::{Builder, Uuid};

use crate::UrlSecret;

/// Length of a UUID in characters.
const LENGTH: usize = 36;

/// Maximum length of a name, as of a file name.
const MAX_NAME: usize = 255;

/// The form of images' URLs. The plane answers `/i/<token>/<file>` in every form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlForm {
    /// `/i/<token>/<file>` and nothing else. The token is the credential.
    Capability,
    /// `/<uuid>`, after any path: the form of Metal3's image-customization-controller. The UUID is the credential. It
    /// depends on the installation key, the image and the file, so it is the same after a restart.
    Uuid,
    /// `/<name>`, after any path: the form of Metal3's image-customization-server. The name is that of the image's
    /// owner. It is not a secret: anyone who guesses it can read the image.
    Named,
}

/// The text cannot be the last segment of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a name: use 1 to 255 letters, digits, '-', '.' and '_', and begin with a letter or a digit")]
pub struct NotAName;

impl UrlForm {
    /// Whether a URL of this form may end with `name`. Checks only its characters.
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::Capability => false,
            Self::Uuid => name.parse::<MediaUuid>().is_ok(),
            Self::Named => check_name(name).is_ok(),
        }
    }
}

/// Checks that `name` can be the last segment of a URL. Such a name has only characters that mean the same to every
/// client, and is never a path on this machine.
pub fn check_name(name: &str) -> Result<(), NotAName> {
    let is_valid = name.len() <= MAX_NAME
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    if is_valid { Ok(()) } else { Err(NotAName) }
}

/// The UUID in a URL of the form [`UrlForm::Uuid`], in lower case and with hyphens.
pub type MediaUuid = UrlSecret<LENGTH>;

impl MediaUuid {
    /// Makes the UUID of the first 128 bits of `mac`. It has the form of a random UUID (RFC 9562 §5.4), which clients
    /// of Metal3's controller expect.
    pub fn from_mac(mac: &[u8; 32]) -> Self {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(mac).for_each(|(to, from)| *to = *from);
        Self::of(Builder::from_random_bytes(bytes).into_uuid())
    }

    fn of(uuid: Uuid) -> Self {
        let mut text = [0; LENGTH];
        uuid.hyphenated().encode_lower(&mut text);
        Self(text)
    }
}

impl FromStr for MediaUuid {
    type Err = NotAName;

    /// Accepts only the form that [`as_str`](Self::as_str) has. With capitals or braces, it is another URL.
    fn from_str(text: &str) -> Result<Self, NotAName> {
        let uuid = Uuid::try_parse(text).map_err(|_| NotAName)?;
        Some(Self::of(uuid)).filter(|uuid| uuid.as_str() == text).ok_or(NotAName)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_read_as_it_is_written_and_in_no_other_form() {
        let uuid = MediaUuid::from_mac(&[0xA5; 32]);
        assert_eq!(uuid.as_str(), "a5a5a5a5-a5a5-45a5-a5a5-a5a5a5a5a5a5");
        assert_eq!(uuid.as_str().parse(), Ok(uuid));
        assert_eq!(format!("{uuid:?}"), "a5a5…");
        for bad in [
            "",
            "a5a5a5a5a5a545a5a5a5a5a5a5a5a5a5",
            "A5A5A5A5-A5A5-45A5-A5A5-A5A5A5A5A5A5",
            "{a5a5a5a5-a5a5-45a5-a5a5-a5a5a5a5a5a5}",
            "urn:uuid:a5a5a5a5-a5a5-45a5-a5a5-a5a5a5a5a5a5",
            "a5a5a5a5-a5a5-45a5-a5a5-a5a5a5a5a5a5.iso",
        ] {
            assert!(!UrlForm::Uuid.has(bad), "{bad}");
        }
    }

    #[test]
    fn names_are_plain_and_never_paths() {
        for good in ["worker-0.iso", "W_1.initramfs", "a", "1.2.3.iso", "a..b"] {
            assert!(UrlForm::Named.has(good), "{good}");
            assert!(!UrlForm::Capability.has(good) && !UrlForm::Uuid.has(good), "{good}");
        }
        let long = "a".repeat(256);
        for bad in ["", ".", "..", ".hidden", "-a", "a/b", "../a", "a b", "a%2e", "a\\b", "ä.iso", "a\n", long.as_str()]
        {
            assert!(!UrlForm::Named.has(bad), "{bad}");
        }
    }
}
