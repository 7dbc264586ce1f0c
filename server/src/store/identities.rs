//! The identities of the bytes of an image's files.

use std::collections::BTreeMap;

use imagelib::digest::Digest;
use serde::{Deserialize, Serialize};

/// Identities by file name. A sorted list, because an image has a file or four, and a map takes ten times the memory for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Digest>", into = "BTreeMap<String, Digest>")]
pub(super) struct Identities(Box<[(String, Digest)]>);

impl Identities {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Digest)> {
        self.0.iter().map(|(name, identity)| (name.as_str(), identity))
    }

    /// The names of the files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// Whether there is a file with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

impl From<BTreeMap<String, Digest>> for Identities {
    fn from(identities: BTreeMap<String, Digest>) -> Self {
        Self(identities.into_iter().collect())
    }
}

impl From<Identities> for BTreeMap<String, Digest> {
    fn from(identities: Identities) -> Self {
        identities.0.into_iter().collect()
    }
}

impl FromIterator<(String, Digest)> for Identities {
    fn from_iter<I: IntoIterator<Item = (String, Digest)>>(identities: I) -> Self {
        BTreeMap::from_iter(identities).into()
    }
}
