//! What the URLs of images look like.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use subtle::ConstantTimeEq as _;
use uuid::{Builder, Uuid};

/// Characters of a UUID.
const LENGTH: usize = 36;

/// The longest name: that of a file.
const LONGEST_NAME: usize = 255;

/// What the URLs of images look like. `/i/<token>/<file>` is answered in every form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlForm {
    /// `/i/<token>/<file>` and nothing else. The token is the credential.
    Capability,
    /// `/<uuid>`, with any path before it: the form of Metal3's image-customization-controller. The UUID is the
    /// credential. It is made from the installation's key, the image and the file, and so outlives a restart.
    Uuid,
    /// `/<name>`, with any path before it, where the name is that of the image's owner: the form of Metal3's
    /// image-customization-server. Names are no secrets: whoever guesses one can read the image.
    Named,
}

/// Not the last part of a URL of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a name: use 1 to 255 letters, digits, '-', '.' and '_', and begin with a letter or a digit")]
pub struct NotAName;

impl UrlForm {
    /// Whether a URL of this form can end in `name`, as far as its characters say.
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::Capability => false,
            Self::Uuid => name.parse::<MediaUuid>().is_ok(),
            Self::Named => check_name(name).is_ok(),
        }
    }
}

/// Makes sure that `name` can be the last part of a URL. A name never becomes a path of this machine; the characters are
/// those that mean the same to every client.
pub fn check_name(name: &str) -> Result<(), NotAName> {
    let good = name.len() <= LONGEST_NAME
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    if good { Ok(()) } else { Err(NotAName) }
}

/// The credential in a URL of the form [`UrlForm::Uuid`], as it stands there: lower case, with hyphens. It is kept as
/// secret as a [`MediaToken`](super::MediaToken), and compared like one.
#[derive(Clone, Copy)]
pub struct MediaUuid([u8; LENGTH]);

impl MediaUuid {
    /// The UUID of these bits. It looks like a random one (RFC 9562 §5.4), as clients have always seen here.
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

    /// The UUID in full, for the image's URL and for nothing else.
    pub fn as_str(&self) -> &str {
        // Only ASCII is ever stored.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for MediaUuid {
    type Err = NotAName;

    /// Only the form that is written: capitals, braces and the like are other URLs.
    fn from_str(text: &str) -> Result<Self, NotAName> {
        let uuid = Uuid::try_parse(text).map_err(|_| NotAName)?;
        Some(Self::of(uuid)).filter(|uuid| uuid.as_str() == text).ok_or(NotAName)
    }
}

impl PartialEq for MediaUuid {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for MediaUuid {}

impl Hash for MediaUuid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl fmt::Debug for MediaUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.as_str().get(..4).unwrap_or_default())
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
