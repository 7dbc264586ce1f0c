//! The network of a host as its documents describe it, before dayone interprets it.

use std::fmt;

use crate::report::{DocumentPath, Origins};

/// A host's network in the form in which the user wrote it.
#[derive(Debug, Clone, PartialEq)]
pub enum NetworkDocument {
    /// NMState, or a document that dayone translated to NMState.
    Nmstate(NmstateDocument),
    /// NetworkManager's connection profiles.
    Keyfiles(Vec<KeyfileDocument>),
}

impl NetworkDocument {
    /// Returns the NMState, unless the network is keyfiles.
    pub fn as_nmstate(&self) -> Option<&NmstateDocument> {
        match self {
            Self::Nmstate(document) => Some(document),
            Self::Keyfiles(_) => None,
        }
    }

    /// Returns the NMState for changes.
    pub fn as_nmstate_mut(&mut self) -> Option<&mut NmstateDocument> {
        match self {
            Self::Nmstate(document) => Some(document),
            Self::Keyfiles(_) => None,
        }
    }

    /// Returns its place in the user's documents.
    pub fn path(&self) -> DocumentPath {
        match self {
            Self::Nmstate(document) => document.path.clone(),
            Self::Keyfiles(keyfiles) => keyfiles.first().map(|keyfile| keyfile.path.clone()).unwrap_or_default(),
        }
    }
}

impl From<NmstateDocument> for NetworkDocument {
    fn from(document: NmstateDocument) -> Self {
        Self::Nmstate(document)
    }
}

/// An NMState document as the user wrote it.
#[derive(Clone, PartialEq)]
pub struct NmstateDocument {
    /// The document.
    pub value: serde_yaml::Value,
    /// Its place in the user's documents.
    pub path: DocumentPath,
    /// Where its parts come from, if dayone translated or merged it.
    pub origins: Origins,
}

impl NmstateDocument {
    /// Makes a document that the user wrote at `path`.
    pub fn new(value: serde_yaml::Value, path: DocumentPath) -> Self {
        Self { value, path, origins: Origins::default() }
    }
}

impl fmt::Debug for NmstateDocument {
    /// Leaves the content out, because it may contain 802.1X passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NmstateDocument").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A connection profile of NetworkManager as the user wrote it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyfileDocument {
    /// The file name.
    pub name: String,
    /// The content of the file.
    pub content: String,
    /// Its place in the user's documents.
    pub path: DocumentPath,
}

impl fmt::Debug for KeyfileDocument {
    /// Leaves the content out, because it may contain passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyfileDocument").field("path", &self.path).finish_non_exhaustive()
    }
}
