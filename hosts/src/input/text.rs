//! The user's texts: documents, connection profiles and tables.

use std::borrow::Cow;

use super::encoding;
use super::yaml::{Budget, Problem};
use vocabulary::report::DocumentPath;

/// The suffixes of inventories in Ansible's INI form.
pub(super) const INVENTORIES: [&str; 2] = [".ini", ".inventory"];
/// The suffix of keyfiles.
pub(super) const KEYFILE: &str = ".nmconnection";
/// The suffixes of tables, in lower case.
const TABLES: [&str; 4] = [".csv", ".tsv", INVENTORIES[0], INVENTORIES[1]];

/// One of the user's texts.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// The name of the file, for findings. A single text needs no name, unless its name determines its kind
    /// ([`Text::needs_name`]).
    pub name: Option<&'a str>,
    /// The content, which may be compressed.
    pub text: &'a [u8],
}

/// The kind of a text, which follows from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A stream of documents: all other texts.
    Documents,
    /// A connection profile of NetworkManager: `.nmconnection`.
    Keyfile,
    /// A file that a fleet file names: a table (`.csv`, `.tsv`), or an inventory in Ansible's INI form (`.ini`, `.inventory`).
    Table,
}

/// A text that is not a stream of documents, decompressed.
pub(super) struct NamedText<'a> {
    /// The path of the file.
    pub(super) name: &'a str,
    /// The content.
    pub(super) content: Cow<'a, [u8]>,
    /// The path for findings.
    pub(super) path: DocumentPath,
}

impl Text<'_> {
    /// Whether the kind of a text with this name follows only from the name, so that a client must send the name, too.
    pub fn needs_name(name: &str) -> bool {
        TextKind::of(Some(name)) != TextKind::Documents
    }
}

impl<'a> Text<'a> {
    pub(super) fn kind(&self) -> TextKind {
        TextKind::of(self.name)
    }

    /// Returns the content with the name.
    pub(super) fn named(&self, budget: &mut Budget) -> Result<NamedText<'a>, Problem> {
        let content = self.content(budget)?;
        budget.take_bytes(content.len())?;
        Ok(NamedText { name: self.name.unwrap_or_default(), content, path: self.top() })
    }

    /// Returns the decompressed content.
    pub(super) fn content(&self, budget: &mut Budget) -> Result<Cow<'a, [u8]>, Problem> {
        let most = budget.limits().text;
        if self.text.len() > most {
            let message = format!("is {} bytes long; dayone reads at most {most}", self.text.len());
            return Err(Problem::new("input-too-large", message));
        }
        encoding::decompressed(Cow::Borrowed(self.text), most, budget)
    }

    /// Whether the text begins like an inventory in Ansible's INI form. dayone recognizes these only by their names.
    pub(super) fn begins_as_inventory(&self, budget: &mut Budget) -> bool {
        let Ok(content) = self.content(budget) else { return false };
        let lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b";"));
        let section = lines.next().and_then(|line| line.strip_prefix(b"[")?.strip_suffix(b"]"));
        let group = section.map(|name| name.strip_suffix(b":vars").or(name.strip_suffix(b":children")).unwrap_or(name));
        group.is_some_and(|name| {
            !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(b))
        })
    }

    pub(super) fn top(&self) -> DocumentPath {
        self.name.map_or_else(DocumentPath::root, DocumentPath::document)
    }

    /// Returns the path of document `number` (from 1).
    pub(super) fn document(&self, number: usize) -> DocumentPath {
        self.top().numbered_document(number)
    }
}

impl TextKind {
    fn of(name: Option<&str>) -> Self {
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if name.ends_with(KEYFILE) {
            Self::Keyfile
        } else if TABLES.iter().any(|end| name.ends_with(end)) {
            Self::Table
        } else {
            Self::Documents
        }
    }
}
