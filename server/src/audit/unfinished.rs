//! Lines that are no entries. One of them may be what a server left of an entry when it failed: the next start says so in `log-recovered`.

use imagelib::digest::Digest;
use serde::Deserialize;

/// The lines without an entry since the last entry.
#[derive(Debug, Default)]
pub(super) enum Unexplained {
    /// There are none.
    #[default]
    None,
    /// A line, which the next entry may explain: its number and its bytes.
    One(usize, Vec<u8>),
    /// Several, which nothing explains. The number of the first.
    More(usize),
}

/// What an entry says of the end of the log that the server found at its start.
#[derive(Deserialize)]
struct Recovered {
    event: String,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    sha256: String,
}

impl Unexplained {
    /// Adds a line. Returns the line before it, if that is now without an explanation.
    pub(super) fn add(&mut self, number: usize, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        match std::mem::take(self) {
            Self::None => {
                *self = Self::One(number, bytes.to_owned());
                None
            }
            Self::One(first, bytes) => {
                *self = Self::More(first);
                Some((first, bytes))
            }
            Self::More(first) => {
                *self = Self::More(first);
                None
            }
        }
    }

    /// How many bytes the server found, if this entry says that they are the one line.
    pub(super) fn explained_by(&self, entry: &[u8]) -> Option<u64> {
        let Self::One(_, bytes) = self else { return None };
        let recovered: Recovered = serde_json::from_slice(entry).ok()?;
        let is_that = recovered.event == "log-recovered"
            && u64::try_from(bytes.len()) == Ok(recovered.bytes)
            && Digest::of(bytes).to_string() == recovered.sha256;
        is_that.then_some(recovered.bytes)
    }

    /// The number of the first line.
    pub(super) fn first(&self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::One(first, _) | Self::More(first) => Some(*first),
        }
    }
}
