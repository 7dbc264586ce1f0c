//! The network of a host, as its documents have it: read, and not yet understood.

use std::fmt;

use crate::report::{DocumentPath, Origins};

/// A host's network in the form that its user has it in.
#[derive(Debug, Clone, PartialEq)]
pub enum NetworkDocument {
    /// NMState, or what was translated to it.
    Nmstate(NmstateDocument),
    /// NetworkManager's own connection profiles.
    Keyfiles(Vec<KeyfileDocument>),
}

impl NetworkDocument {
    /// The NMState, where it is such.
    pub fn as_nmstate(&self) -> Option<&NmstateDocument> {
        match self {
            Self::Nmstate(document) => Some(document),
            Self::Keyfiles(_) => None,
        }
    }

    /// [`Self::as_nmstate`], to be changed.
    pub fn as_nmstate_mut(&mut self) -> Option<&mut NmstateDocument> {
        match self {
            Self::Nmstate(document) => Some(document),
            Self::Keyfiles(_) => None,
        }
    }

    /// Where it stands in what the user handed over.
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

/// An NMState document that has been read but not yet understood.
#[derive(Clone, PartialEq)]
pub struct NmstateDocument {
    /// The document.
    pub value: serde_yaml::Value,
    /// Where it stands in what the user handed over.
    pub path: DocumentPath,
    /// Where its parts come from, if it does not stand there as it is.
    pub origins: Origins,
}

impl NmstateDocument {
    /// A document that stands at `path` as it is.
    pub fn new(value: serde_yaml::Value, path: DocumentPath) -> Self {
        Self { value, path, origins: Origins::default() }
    }
}

impl fmt::Debug for NmstateDocument {
    /// Without the content, which may hold 802.1X passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NmstateDocument").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A connection profile of NetworkManager that has been read but not yet understood.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyfileDocument {
    /// The name of its file.
    pub name: String,
    /// Its content.
    pub content: String,
    /// Where it stands in what the user handed over.
    pub path: DocumentPath,
}

impl fmt::Debug for KeyfileDocument {
    /// Without the content, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyfileDocument").field("path", &self.path).finish_non_exhaustive()
    }
}
