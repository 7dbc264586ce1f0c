//! The ids of boots.

use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE32HEX_NOPAD, Encoding};
use serde::{Deserialize, Serialize};
use vocabulary::serde_as_text;

use super::time::Timestamp;

/// Characters of an id: 48 bits of milliseconds and 32 random bits, in base32.
const LENGTH: usize = 16;

/// A text is not the id of a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a boot: that is {LENGTH} characters of 0-9 and a-v")]
pub struct NotABootId;

/// The id of a boot: 16 characters of base32 (RFC 4648 §7, lower case), ordered by the time of the request, and within a request by its
/// hosts. It is not secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BootId([u8; LENGTH]);

impl BootId {
    /// Makes an id for a boot that is requested now. The id is greater than `last`, the id of the boot before, even in the same millisecond
    /// or if the clock was set back. Clients depend on this: they list boots page by page, each page after the last id of the page before.
    /// After a restart, `last` is the greatest id of the remaining records.
    pub(super) fn after(last: Option<Self>) -> Result<Self, getrandom::Error> {
        let random = getrandom::u32()?;
        let now = (u128::from(Timestamp::now().millis()) << 32) | u128::from(random);
        // The step is random, so that two servers whose data have a common origin do not make the same ids.
        let id = last.map_or(now, |last| now.max(last.number() + 1 + u128::from(random >> 16)));
        let [_, _, _, _, _, _, bytes @ ..] = id.to_be_bytes();
        let mut id = [0; LENGTH];
        let encoding: &Encoding = &BASE32HEX_NOPAD;
        encoding.encode_mut(&bytes, &mut id);
        id.make_ascii_lowercase();
        Ok(Self(id))
    }

    /// The 80 bits of the id as a number. The alphabet of ids is the alphabet of numbers to the base 32.
    fn number(&self) -> u128 {
        u128::from_str_radix(self.as_str(), 32).unwrap_or_default()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        // All ids are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for BootId {
    type Err = NotABootId;

    fn from_str(text: &str) -> Result<Self, NotABootId> {
        let id: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| NotABootId)?;
        if id.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'v')) { Ok(Self(id)) } else { Err(NotABootId) }
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

serde_as_text!(BootId, NotABootId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_by_their_requests_and_read_as_written() {
        let first = BootId::after(None).unwrap();
        let mut last = first;
        for _ in 0..10_000 {
            let next = BootId::after(Some(last)).unwrap();
            assert!(last < next, "{last} {next}");
            last = next;
        }
        assert_eq!(first.to_string().parse(), Ok(first));
        for bad in ["", "06GQ1K2M5V8T3N4P", "06gq1k2m5v8t3n4", "../../../etc/pas", "06gq1k2m5v8t3n4w"] {
            assert_eq!(bad.parse::<BootId>(), Err(NotABootId), "{bad}");
        }
    }

    #[test]
    fn ids_stay_ordered_if_the_clock_is_set_back() {
        let later: BootId = "vf00000000000000".parse().unwrap();
        let next = BootId::after(Some(later)).unwrap();
        assert!(later < next && next.as_str().starts_with("vf0000000"), "{next}");
    }
}
