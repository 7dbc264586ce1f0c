//! What dayone has to say about a user's documents: findings, each with the path of what it is about.

use std::fmt;

use serde::{Serialize, Serializer};

/// How much a [`Finding`] weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The host would not come up as described, or something the user asked for would be lost.
    Error,
    /// The image can be built, and the user should know this about it.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

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
        let separator = match self.0.chars().last() {
            Some(':') => " ",
            Some(_) if plain => ".",
            _ => "",
        };
        if plain {
            Self(format!("{}{separator}{key}", self.0))
        } else {
            Self(format!("{}{separator}[{key:?}]", self.0))
        }
    }

    /// The element `index` (from 0) of the sequence at this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
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

/// One thing about the user's documents that the user should know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// A stable name for this kind of finding, in kebab case: `interface-name-too-long`.
    pub code: &'static str,
    /// What it is about.
    pub path: DocumentPath,
    /// A sentence without its subject, which is the path: `is missing; keys found: networkData`.
    /// Never a secret's content.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.0.ends_with(':') { &self.path.0 } else { &self.path.to_string() };
        if path.is_empty() { f.write_str(&self.message) } else { write!(f, "{path} {}", self.message) }
    }
}

impl Serialize for Finding {
    /// `{"severity", "code", "path", "message"}`, where `message` is the whole sentence, path included.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut object = serializer.serialize_struct("Finding", 4)?;
        object.serialize_field("severity", &self.severity)?;
        object.serialize_field("code", self.code)?;
        object.serialize_field("path", &self.path)?;
        object.serialize_field("message", &self.to_string())?;
        object.end()
    }
}

/// All findings about a set of documents, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// An empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error.
    pub fn error(&mut self, code: &'static str, path: &DocumentPath, message: impl Into<String>) {
        self.push(Severity::Error, code, path, message.into());
    }

    /// Adds a warning.
    pub fn warning(&mut self, code: &'static str, path: &DocumentPath, message: impl Into<String>) {
        self.push(Severity::Warning, code, path, message.into());
    }

    pub(crate) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        path: &DocumentPath,
        message: impl Into<String>,
    ) {
        self.push(severity, code, path, message.into());
    }

    fn push(&mut self, severity: Severity, code: &'static str, path: &DocumentPath, message: String) {
        self.findings.push(Finding { severity, code, path: path.clone(), message });
    }

    /// Takes the findings of a kind out, which have been settled since.
    pub fn forget(&mut self, code: &str) {
        self.findings.retain(|finding| finding.code != code);
    }

    /// Adds all findings of `other` behind those of this report.
    pub fn append(&mut self, mut other: Report) {
        self.findings.append(&mut other.findings);
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Whether there are no findings at all.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The findings, in the order in which they were made.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_a_sentence_with_its_path() {
        let mut report = Report::new();
        let secret = DocumentPath::document("Secret/worker-0-network");
        report.error("secret-key-missing", &secret.key("data").key("nmstate"), "is missing; keys found: networkData");
        report.warning("unused", &secret, "is not used");
        let text: Vec<String> = report.findings().iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "Secret/worker-0-network: data.nmstate is missing; keys found: networkData",
                "Secret/worker-0-network: is not used",
            ]
        );
    }

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
