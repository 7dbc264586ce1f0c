//! Findings about a user's documents, each with its path in the documents.

mod catalogue;
mod format;
mod name;
mod origins;
mod path;
mod position;
mod repeated;

use std::fmt;

use serde::Serialize;

pub use catalogue::{Explanation, explain, explanations, fix_in};
pub use format::NetworkFormat;
pub use origins::Origins;
pub use path::{DocumentPath, Step};
pub use position::{LineColumn, Position};
pub use repeated::Repeated;

use crate::text::{one_line, without_middle};

/// How long a message may be, in bytes. It may quote a text of megabytes, and thousands of findings may quote the same.
const MAX_MESSAGE: usize = 4096;

/// How severe a [`Finding`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The host would not come up as described, or would lack something that the user wants.
    Error,
    /// dayone can build the image, but the user should know this.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One thing that is wrong or doubtful in the user's documents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// How severe it is.
    pub severity: Severity,
    /// The stable name of this kind of finding, in kebab case: `interface-name-too-long`.
    pub code: &'static str,
    /// The place in the documents.
    pub path: DocumentPath,
    /// A sentence whose subject is the path: `is missing; keys found: networkData`. It is one line, and never contains a
    /// secret.
    pub message: String,
    /// The line and the column, once `hosts::input::locate` has found them.
    pub position: Option<Position>,
    /// The line and the column within the text at the path, if the reader of that text gave them.
    pub in_text: Option<LineColumn>,
    /// The format of the network that the finding is about, if it is not NMState or keyfiles.
    pub format: Option<NetworkFormat>,
}

impl Finding {
    /// Returns what to change, in the words of the format that the user wrote.
    pub fn fix(&self) -> &'static str {
        let in_format = self.format.and_then(|format| fix_in(self.code, format));
        in_format.or_else(|| explain(self.code).map(|explanation| explanation.fix)).unwrap_or_default()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.subject();
        if path.is_empty() { f.write_str(&self.message) } else { write!(f, "{path} {}", self.message) }
    }
}

/// An error that is already in a [`Report`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported;

/// All findings about a set of documents, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct Report {
    findings: Vec<Finding>,
    /// The name of a document in findings, and its place in the user's texts.
    names: Vec<(DocumentPath, DocumentPath)>,
}

/// Reports with the same findings are equal, no matter where the documents are.
impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        self.findings == other.findings
    }
}

impl Eq for Report {}

impl Report {
    /// Makes an empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error.
    pub fn error(&mut self, code: &'static str, path: &DocumentPath, message: impl Into<String>) {
        self.add(Severity::Error, code, path, message);
    }

    /// Adds an error, and returns the proof for a function that fails because of it.
    pub fn refuse(&mut self, code: &'static str, path: &DocumentPath, message: impl Into<String>) -> Reported {
        self.error(code, path, message);
        Reported
    }

    /// Adds an error, unless the report has `most` findings already. The last one says that there may be more: a document of a few
    /// megabytes may have hundreds of thousands.
    pub fn error_up_to(
        &mut self,
        most: usize,
        code: &'static str,
        path: &DocumentPath,
        message: impl FnOnce() -> String,
    ) {
        match most.saturating_sub(self.findings.len()) {
            0 => {}
            1 => self.error(code, path, message() + "; there may be more such errors, which dayone does not list"),
            _ => self.error(code, path, message()),
        }
    }

    /// Adds a warning.
    pub fn warning(&mut self, code: &'static str, path: &DocumentPath, message: impl Into<String>) {
        self.add(Severity::Warning, code, path, message);
    }

    /// Adds a finding.
    pub fn add(&mut self, severity: Severity, code: &'static str, path: &DocumentPath, message: impl Into<String>) {
        debug_assert!(explain(code).is_some(), "{code} has no entry in report/catalogue");
        let message: String = message.into();
        let (path, message) = (path.clone(), one_line(&without_middle(&message, MAX_MESSAGE)));
        self.findings.push(Finding { severity, code, path, message, position: None, in_text: None, format: None });
    }

    /// Adds an error about the text at `path`, with a line and a column in that text.
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

    /// Notes that findings call the document at `path`, such as `document 2: items[0]`, by a name, such as
    /// `Secret/worker-0-network`. This makes it possible to find the lines of findings about it.
    pub fn name_document(&mut self, name: &DocumentPath, path: &DocumentPath) {
        if name != path {
            self.names.push((name.clone(), path.clone()));
        }
    }

    /// Returns the names of documents, each with the path of its document.
    pub fn names(&self) -> &[(DocumentPath, DocumentPath)] {
        &self.names
    }

    /// Returns the findings for changes.
    pub fn findings_mut(&mut self) -> &mut [Finding] {
        &mut self.findings
    }

    /// Sets the file of all positions that have none. Paths in a single text do not name its file.
    pub fn in_file(&mut self, file: &str) {
        for position in self.findings.iter_mut().filter_map(|finding| finding.position.as_mut()) {
            position.file.get_or_insert_with(|| file.to_owned());
        }
    }

    /// Keeps the findings that `keep` accepts.
    pub fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.findings.retain(keep);
    }

    /// Removes all findings with this code, because they no longer apply.
    pub fn forget(&mut self, code: &str) {
        self.findings.retain(|finding| finding.code != code);
    }

    /// Moves every finding to the place where its part of the document comes from.
    #[must_use]
    pub fn at_origins(mut self, origins: &Origins) -> Self {
        for finding in &mut self.findings {
            if let Some(origin) = origins.of(&finding.path) {
                finding.path = origin;
            }
        }
        self
    }

    /// Notes that the network which the findings are about is in this format.
    pub fn about_format(&mut self, format: Option<NetworkFormat>) {
        for finding in &mut self.findings {
            finding.format = finding.format.or(format);
        }
    }

    /// Moves the findings from index `at` on into another report.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Report {
        Self { findings: self.findings.split_off(at.min(self.findings.len())), names: Vec::new() }
    }

    /// Returns a report with the findings at these indices.
    #[must_use]
    pub fn at(&self, indices: &[usize]) -> Report {
        let findings = indices.iter().filter_map(|index| self.findings.get(*index).cloned()).collect();
        Self { findings, names: Vec::new() }
    }

    /// Adds all findings of `other`.
    pub fn append(&mut self, mut other: Report) {
        self.findings.append(&mut other.findings);
        self.names.append(&mut other.names);
    }

    /// Adds the findings of `other`, except those that concern the same place as an error in this report: an error there, inside
    /// it, or about something around it is more exact.
    pub fn append_new(&mut self, other: Report) {
        let errors: Vec<DocumentPath> =
            self.findings.iter().filter(|f| f.severity == Severity::Error).map(|f| f.path.clone()).collect();
        let is_known = |path: &DocumentPath| errors.iter().any(|error| error.is_inside(path) || path.is_inside(error));
        self.findings.extend(other.findings.into_iter().filter(|finding| !is_known(&finding.path)));
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Whether there are no findings at all.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the findings in the order in which they were added.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_it_quotes() {
        let mut report = Report::new();
        let message = "names the Secret links: []\nservices: []\u{1b}[31m, which is not here";
        report.error("bmc-secret-missing", &DocumentPath::root(), message);
        assert_eq!(
            report.findings()[0].message,
            r"names the Secret links: []\nservices: []\u{1b}[31m, which is not here"
        );
    }

    #[test]
    fn findings_are_short_whatever_they_quote() {
        let long = "x".repeat(1 << 20);
        let mut report = Report::new();
        report.error("invalid-value", &DocumentPath::root().key(&long), format!("is {long}, not a number"));
        let finding = report.findings()[0].to_string();
        assert!(finding.len() < 10_000 && finding.starts_with("[\"xxx") && finding.ends_with("xxx, not a number"));
    }

    #[test]
    fn the_last_of_too_many_errors_says_that_there_may_be_more() {
        let mut report = Report::new();
        for number in 0..5 {
            report.error_up_to(3, "invalid-value", &DocumentPath::root(), || format!("is {number}"));
        }
        let messages: Vec<&str> = report.findings().iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, ["is 0", "is 1", "is 2; there may be more such errors, which dayone does not list"]);
    }

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
