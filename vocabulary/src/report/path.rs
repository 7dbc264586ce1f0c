//! Paths to places in a user's documents.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::name::Name;
use crate::text::without_middle;

/// How much of a key a path keeps, in bytes. The longest key in Kubernetes has 317. Thousands of paths may have the same key.
const MAX_KEY: usize = 512;

/// A place in the user's documents, displayed as
/// `Secret/worker-0-network: stringData.nmstate: interfaces[0].ipv4.address[1].ip`.
///
/// A colon separates documents: an object in a stream from its members, and a document that another one contains as text
/// (NMState in a Secret) from the key that holds it.
///
/// Paths share their beginnings to be cheap: dayone makes one for every member of every host, and shows few of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentPath(Option<Arc<Node>>);

/// The last step comes first, because most paths differ there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    step: Step,
    before: DocumentPath,
}

/// One step of a [`DocumentPath`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(Kind);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Document(Name),
    Row(Box<Row>),
    Numbered(usize),
    Embedded,
    Key(Name),
    Index(usize),
}

/// A document that was made from a row of another document's table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    document: String,
    labels: Vec<String>,
}

impl Step {
    /// Returns the key, if the step leads to a member of a mapping.
    pub fn as_key(&self) -> Option<&str> {
        if let Kind::Key(key) = &self.0 { Some(key.as_str()) } else { None }
    }

    /// Returns the index (from 0), if the step leads to an element of a sequence.
    pub fn as_index(&self) -> Option<usize> {
        if let Kind::Index(index) = self.0 { Some(index) } else { None }
    }

    /// Returns the number (from 1), if the step leads to a document in a stream.
    pub fn as_document_number(&self) -> Option<usize> {
        if let Kind::Numbered(number) = self.0 { Some(number) } else { None }
    }

    /// Returns the first label, if the step leads to a row: the name of a fleet's host.
    pub(super) fn as_row(&self) -> Option<&str> {
        if let Kind::Row(row) = &self.0 { row.labels.first().map(String::as_str) } else { None }
    }

    fn is_document(&self) -> bool {
        matches!(self.0, Kind::Document(_) | Kind::Row(_) | Kind::Numbered(_) | Kind::Embedded)
    }
}

impl DocumentPath {
    /// Returns the top of a document without a name.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the top of a named document, such as `BareMetalHost/worker-0`.
    pub fn document(name: &str) -> Self {
        Self::root().step(Kind::Document(Name::new(name)))
    }

    /// Returns the top of a document made from a row of the table in `document`, such as a host of a fleet:
    /// `HostFleet/rack (worker-0, hosts.csv line 2)`.
    pub fn row(document: &str, labels: &[&str]) -> Self {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        Self::root().step(Kind::Row(Box::new(Row { document: document.to_owned(), labels })))
    }

    /// Returns the top of document `number` (from 1) of the stream at this path.
    #[must_use]
    pub fn numbered_document(&self, number: usize) -> Self {
        self.step(Kind::Numbered(number))
    }

    /// Returns the member `key` of the mapping at this path. A very long key loses its middle.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.step(Kind::Key(Name::new(&without_middle(key, MAX_KEY))))
    }

    /// Returns the element `index` (from 0) of the sequence at this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Kind::Index(index))
    }

    /// Returns the top of the document that is contained as text at this path.
    #[must_use]
    pub fn embedded_document(&self) -> Self {
        if self.is_document() { self.clone() } else { self.step(Kind::Embedded) }
    }

    /// Whether the path is the top of a document.
    pub fn is_document(&self) -> bool {
        self.last().is_none_or(Step::is_document)
    }

    fn step(&self, kind: Kind) -> Self {
        Self(Some(Arc::new(Node { step: Step(kind), before: self.clone() })))
    }

    /// Returns the last step.
    pub(super) fn last(&self) -> Option<&Step> {
        self.0.as_ref().map(|node| &node.step)
    }

    /// Whether the path is `top` or inside it.
    pub fn is_inside(&self, top: &Self) -> bool {
        self.tops().any(|one| one == top)
    }

    /// Returns the path itself and every path that contains it, up to the root.
    pub fn tops(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |path| path.0.as_ref().map(|node| &node.before))
    }

    /// Returns the steps that lead from `top` to this path, if `top` contains it.
    pub fn steps_from(&self, top: &Self) -> Option<Vec<&Step>> {
        let mut steps = Vec::new();
        for path in self.tops() {
            if path == top {
                steps.reverse();
                return Some(steps);
            }
            steps.extend(path.last());
        }
        None
    }

    /// Returns the path that `steps` lead to from this one.
    #[must_use]
    pub fn followed_by(&self, steps: &[&Step]) -> Self {
        steps.iter().fold(self.clone(), |path, step| match step.0 {
            Kind::Embedded => path.embedded_document(),
            _ => path.step(step.0.clone()),
        })
    }

    /// Returns the path as the subject of a finding's sentence: with a colon if it is a whole document.
    pub fn subject(&self) -> String {
        let mut text = String::new();
        for step in self.steps_from(&Self::root()).unwrap_or_default() {
            step.write(&mut text);
        }
        text
    }
}

impl Step {
    /// Quotes keys with other characters than letters, digits, `-`, `_` and `/`, so that the path stays readable and on one
    /// line.
    fn write(&self, text: &mut String) {
        let separate = |text: &mut String, otherwise| match text.as_bytes().last() {
            Some(b':') => text.push(' '),
            Some(_) => text.push_str(otherwise),
            None => {}
        };
        match &self.0 {
            Kind::Document(name) => text.extend([name.as_str(), ":"]),
            Kind::Row(row) => text.extend([&row.document, " (", &row.labels.join(", "), "):"]),
            Kind::Numbered(number) => {
                separate(text, "");
                text.extend(["document ", &number.to_string(), ":"]);
            }
            Kind::Embedded => text.push(':'),
            Kind::Index(index) => text.extend(["[", &index.to_string(), "]"]),
            Kind::Key(key) => {
                let key = key.as_str();
                if !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/')) {
                    separate(text, ".");
                    text.push_str(key);
                } else {
                    separate(text, "");
                    text.extend(["[", &format!("{key:?}"), "]"]);
                }
            }
        }
    }
}

impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.subject().trim_end_matches(':'))
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

    #[test]
    fn texts_of_documents_keep_their_colons_and_their_odd_keys() {
        let stream = DocumentPath::document("dir/a: b.yaml").numbered_document(2);
        let item = stream.key("items").index(3).embedded_document();
        let row = DocumentPath::row("HostFleet/rack", &["worker-0", "hosts.csv line 2"]);
        let texts = [
            (DocumentPath::root().numbered_document(1).index(0).key(""), "document 1:[0][\"\"]"),
            (item.key("a.b").key("]: \"é\\"), "dir/a: b.yaml: document 2: items[3]: [\"a.b\"][\"]: \\\"é\\\\\"]"),
            (row.key("spec"), "HostFleet/rack (worker-0, hosts.csv line 2): spec"),
            (DocumentPath::root().embedded_document().index(0), "[0]"),
            (item.embedded_document(), "dir/a: b.yaml: document 2: items[3]:"),
        ];
        for (path, text) in texts {
            assert_eq!(path.subject(), text);
        }
    }

    #[test]
    fn steps_lead_from_every_top_to_the_path_itself() {
        let long = "a-key-that-is-longer-than-what-fits-into-a-step-itself";
        let path = DocumentPath::document("Secret/s").key(long).embedded_document().key("é: [\"\n").index(7).key("");
        for top in path.tops() {
            let steps = path.steps_from(top).unwrap();
            assert_eq!(top.followed_by(&steps), path);
            assert!(path.is_inside(top));
            assert_eq!(top.is_inside(&path), steps.is_empty());
        }
        let steps = path.steps_from(&DocumentPath::document("Secret/s")).unwrap();
        let keys: Vec<_> = steps.iter().filter_map(|step| step.as_key()).collect();
        assert_eq!(keys, [long, "é: [\"\n", ""]);
        assert_eq!(steps.iter().find_map(|step| step.as_index()), Some(7));
        assert!(!DocumentPath::document("Secret/s2").is_inside(&DocumentPath::document("Secret/s")));
    }
}
