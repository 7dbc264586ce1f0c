//! Capability tokens: the part of an image's URL that nobody can guess.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use subtle::ConstantTimeEq as _;

/// Characters of a token: 130 bits in base32.
const LENGTH: usize = 26;

/// Not a token: other than 26 characters of `a`–`z` and `2`–`7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token")]
pub struct NotAToken;

/// The credential in an image's URLs: 26 characters of base32 (RFC 4648 §6, lower case, no padding), which BMC firmware
/// takes in any path. Whoever has it can read the image, so it is never shown: `Debug` gives its beginning, and there is
/// no `Display`.
///
/// Comparing takes the same time wherever two tokens differ. A map of tokens looks them up by a hash under a key that
/// is drawn at start (the standard library's `RandomState`), so the time that a lookup takes tells nothing of how much
/// of a guess is right.
#[derive(Clone, Copy)]
pub struct MediaToken([u8; LENGTH]);

impl MediaToken {
    /// The token of these bits: the first 130 are taken.
    pub fn from_mac(mac: &[u8; 32]) -> Self {
        let mut token = [0; LENGTH];
        // 20 bytes are 160 bits, a whole number of base32 groups; the first 26 characters of them are 130 bits.
        let text = data_encoding::BASE32.encode(mac.split_at(20).0).to_ascii_lowercase();
        token.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        Self(token)
    }

    /// The token in full, for the image's URL and for nothing else.
    pub fn as_str(&self) -> &str {
        // Only ASCII is ever stored.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Its beginning: six characters tell images apart in a log and leave 100 bits to guess.
    pub fn shown(&self) -> &str {
        self.as_str().get(..6).unwrap_or_default()
    }
}

impl FromStr for MediaToken {
    type Err = NotAToken;

    fn from_str(text: &str) -> Result<Self, NotAToken> {
        let token: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| NotAToken)?;
        let good = token.iter().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'));
        if good { Ok(Self(token)) } else { Err(NotAToken) }
    }
}

impl PartialEq for MediaToken {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for MediaToken {}

impl Hash for MediaToken {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl fmt::Debug for MediaToken {
    /// Four characters tell images apart in a log and leave 110 bits to guess.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.as_str().get(..4).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_as_it_is_written_and_is_not_shown() {
        let token = MediaToken::from_mac(&[0xA5; 32]);
        assert_eq!(token.as_str(), "uws2ljnfuws2ljnfuws2ljnfuw");
        assert_eq!(token.as_str().parse(), Ok(token));
        assert_eq!(format!("{token:?}"), "uws2…");
        for bad in [
            "",
            "uws2",
            "UWS2LJNFUWS2LJNFUWS2LJNFUW",
            "uws2ljnfuws2ljnfuws2ljnfu1",
            "uws2ljnfuws2ljnfuws2ljnfuww",
            "ääääääääääääa",
        ] {
            assert_eq!(bad.parse::<MediaToken>(), Err(NotAToken), "{bad}");
        }
    }
}
