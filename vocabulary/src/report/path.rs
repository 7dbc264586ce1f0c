//! The way to a place in a user's documents.

use std::fmt;

use serde::{Serialize, Serializer};

/// Where in the user's documents something stands, as a person would write it:
/// `Secret/worker-0-network: stringData.nmstate: interfaces[0].ipv4.address[1].ip`.
///
/// A colon separates documents: an object in a stream from what is inside it, and a document that is
/// held as text in another (NMState in a Secret) from the key that holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentPath(String);

impl DocumentPath {
    /// The top of a document that has no name of its own.
    pub fn root() -> Self {
        Self::default()
    }

    /// The top of a named document, such as `BareMetalHost/worker-0`.
    pub fn document(name: &str) -> Self {
        Self(format!("{name}:"))
    }

    /// The member `key` of the mapping at this path. Keys that hold anything but letters, digits, `-`, `_` and `/`
    /// are quoted, so that the path stays readable and on one line.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/'));
        let separator = match self.0.as_bytes().last() {
            Some(b':') => " ",
            Some(_) if plain => ".",
            _ => "",
        };
        if plain {
            // Paths are made for every member of every host, and nearly all of them for nothing.
            Self([self.0.as_str(), separator, key].concat())
        } else {
            Self(format!("{}{separator}[{key:?}]", self.0))
        }
    }

    /// The element `index` (from 0) of the sequence at this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// What a finding's sentence begins with: with its colon, where the path is a whole document.
    pub fn as_subject(&self) -> &str {
        &self.0
    }

    /// Whether it is at `top`, or inside that.
    pub fn is_inside(&self, top: &Self) -> bool {
        let rest = self.0.strip_prefix(&top.0);
        rest.is_some_and(|rest| rest.is_empty() || top.0.is_empty() || rest.starts_with(['.', '[', ':', ' ']))
    }

    /// Every path that this one is inside, itself first and the root last, each with what leads from it to this one.
    pub(super) fn tops(&self) -> impl Iterator<Item = (Self, &str)> {
        let cuts = (0..=self.0.len()).rev().filter_map(|at| Some((self.0.get(..at)?, self.0.get(at..)?)));
        let inside = |(top, rest): &(&str, &str)| {
            rest.is_empty() || top.is_empty() || top.ends_with(':') || rest.starts_with(['.', '[', ':'])
        };
        cuts.filter(inside).map(|(top, rest)| (Self(top.to_owned()), rest))
    }

    /// This path with `rest`, which [`Self::tops`] gave, behind it.
    pub(super) fn followed_by(&self, rest: &str) -> Self {
        Self(format!("{}{rest}", self.0))
    }

    /// The top of the document that is held as text at this path.
    #[must_use]
    pub fn embedded_document(&self) -> Self {
        if self.0.is_empty() || self.0.ends_with(':') { self.clone() } else { Self(format!("{}:", self.0)) }
    }
}

impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end_matches(':'))
    }
}

impl Serialize for DocumentPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_embedded_documents_indices_and_odd_keys() {
        let path = DocumentPath::document("Secret/s").key("stringData").key("nmstate").embedded_document();
        assert_eq!(path.to_string(), "Secret/s: stringData.nmstate");
        assert_eq!(
            path.key("interfaces").index(2).key("a\nb").key("ip").to_string(),
            "Secret/s: stringData.nmstate: interfaces[2][\"a\\nb\"].ip"
        );
        assert_eq!(DocumentPath::root().key("interfaces").to_string(), "interfaces");
    }
}
