//! What dayone has to say about a user's documents: findings, each with the path of what it is about.

mod catalogue;
mod name;
mod origins;
mod path;
mod position;
mod repeated;

use std::fmt;

use serde::Serialize;

pub use catalogue::{Explanation, explain, explanations};
pub use origins::Origins;
pub use path::{DocumentPath, Step};
pub use position::{LineColumn, Position};
pub use repeated::Repeated;

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
    /// Where the user's text says so; none until [`locate`](crate::input::locate) has found it.
    pub position: Option<Position>,
    /// Where it is in the text that stands at the path.
    pub in_text: Option<LineColumn>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.subject();
        if path.is_empty() { f.write_str(&self.message) } else { write!(f, "{path} {}", self.message) }
    }
}

/// All findings about a set of documents, in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub struct Report {
    findings: Vec<Finding>,
    /// What findings call a document, and where that document stands.
    names: Vec<(DocumentPath, DocumentPath)>,
}

/// Reports that say the same are equal, wherever the documents stand.
impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        self.findings == other.findings
    }
}

impl Eq for Report {}

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

    /// Adds a finding.
    pub fn add(&mut self, severity: Severity, code: &'static str, path: &DocumentPath, message: impl Into<String>) {
        self.push(severity, code, path, message.into());
    }

    fn push(&mut self, severity: Severity, code: &'static str, path: &DocumentPath, message: String) {
        debug_assert!(explain(code).is_some(), "{code} has no entry in report/catalogue");
        self.findings.push(Finding { severity, code, path: path.clone(), message, position: None, in_text: None });
    }

    /// Adds an error about the text that stands at `path`, which is at a line and a column of that text.
    pub fn error_in_text(
        &mut self,
        code: &'static str,
        path: &DocumentPath,
        message: impl Into<String>,
        at: Option<LineColumn>,
    ) {
        self.error(code, path, message);
        if let Some(finding) = self.findings.last_mut() {
            finding.in_text = at;
        }
    }

    /// Notes that the document at `place`, such as `document 2: items[0]`, is what findings call `name`, such as
    /// `Secret/worker-0-network`: so the line of a finding about it can be found.
    pub fn name_place(&mut self, name: &DocumentPath, place: &DocumentPath) {
        if name != place {
            self.names.push((name.clone(), place.clone()));
        }
    }

    /// Names that places were given: the name, and the place that it stands for.
    pub fn names(&self) -> &[(DocumentPath, DocumentPath)] {
        &self.names
    }

    /// All findings, to be changed.
    pub fn findings_mut(&mut self) -> &mut [Finding] {
        &mut self.findings
    }

    /// Names the file of positions that have none: for a single text, which needs no name in its paths.
    pub fn in_file(&mut self, file: &str) {
        for position in self.findings.iter_mut().filter_map(|finding| finding.position.as_mut()) {
            position.file.get_or_insert_with(|| file.to_owned());
        }
    }

    /// Keeps only some findings.
    pub fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.findings.retain(keep);
    }

    /// Takes the findings of a kind out, which have been settled since.
    pub fn forget(&mut self, code: &str) {
        self.findings.retain(|finding| finding.code != code);
    }

    /// With every finding at the place that its part of the document comes from.
    #[must_use]
    pub fn at_origins(mut self, origins: &Origins) -> Self {
        for finding in &mut self.findings {
            if let Some(origin) = origins.of(&finding.path) {
                finding.path = origin;
            }
        }
        self
    }

    /// The findings from number `at` on, which are then another report's.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Report {
        Self { findings: self.findings.split_off(at.min(self.findings.len())), names: Vec::new() }
    }

    /// Adds all findings of `other` behind those of this report.
    pub fn append(&mut self, mut other: Report) {
        self.findings.append(&mut other.findings);
        self.names.append(&mut other.names);
    }

    /// Appends the findings of `other`, but for those at a place of which an error says more exactly what is wrong, there or inside
    /// it, or of all that it stands in.
    pub fn append_unsaid(&mut self, other: Report) {
        let errors: Vec<DocumentPath> =
            self.findings.iter().filter(|f| f.severity == Severity::Error).map(|f| f.path.clone()).collect();
        let is_said = |path: &DocumentPath| errors.iter().any(|error| error.is_inside(path) || path.is_inside(error));
        self.findings.extend(other.findings.into_iter().filter(|finding| !is_said(&finding.path)));
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
        report.warning("secret-unused", &secret, "is not used");
        let text: Vec<String> = report.findings().iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "Secret/worker-0-network: data.nmstate is missing; keys found: networkData",
                "Secret/worker-0-network: is not used",
            ]
        );
    }
}
