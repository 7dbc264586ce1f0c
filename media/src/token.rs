//! Capability tokens: the part of an image's URL that nobody can guess.

use std::str::FromStr;

use crate::UrlSecret;

/// Length of a token in characters: 130 bits in base32.
const LENGTH: usize = 26;

/// The text is not a token, which is 26 characters of `a`–`z` and `2`–`7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token")]
pub struct NotAToken;

/// The token in an image's URL: 26 characters of base32 (RFC 4648 §6, in lower case, without padding), which every BMC
/// accepts in a path.
pub type MediaToken = UrlSecret<LENGTH>;

impl MediaToken {
    /// Makes the token of the first 130 bits of `mac`.
    pub fn from_mac(mac: &[u8; 32]) -> Self {
        let mut token = [0; LENGTH];
        // 20 bytes are a whole number of base32 groups. The first 26 characters are 130 bits.
        let text = data_encoding::BASE32.encode(mac.split_at(20).0).to_ascii_lowercase();
        token.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        Self(token)
    }
}

impl FromStr for MediaToken {
    type Err = NotAToken;

    fn from_str(text: &str) -> Result<Self, NotAToken> {
        let token: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| NotAToken)?;
        let is_base32 = token.iter().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'));
        if is_base32 { Ok(Self(token)) } else { Err(NotAToken) }
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
