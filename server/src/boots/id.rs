//! The ids of boots.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

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

/// The id of a boot: 16 characters of base32 (RFC 4648 §7, lower case), ordered by the time of the request. It is not secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BootId([u8; LENGTH]);

impl BootId {
    /// Makes an id for a boot that is requested now.
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 10];
        let (time, random) = bytes.split_at_mut(6);
        let millis = Timestamp::of(SystemTime::now()).millis().to_be_bytes();
        time.iter_mut().zip(millis.iter().skip(2)).for_each(|(to, from)| *to = *from);
        getrandom::fill(random)?;
        let mut id = [0; LENGTH];
        let encoding: &Encoding = &BASE32HEX_NOPAD;
        encoding.encode_mut(&bytes, &mut id);
        id.make_ascii_lowercase();
        Ok(Self(id))
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
    fn ids_are_ordered_by_time_and_read_as_written() {
        let first = BootId::new().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = BootId::new().unwrap();
        assert!(first < second, "{first} {second}");
        assert_eq!(first.to_string().parse(), Ok(first));
        for bad in ["", "06GQ1K2M5V8T3N4P", "06gq1k2m5v8t3n4", "../../../etc/pas", "06gq1k2m5v8t3n4w"] {
            assert_eq!(bad.parse::<BootId>(), Err(NotABootId), "{bad}");
        }
    }
}
