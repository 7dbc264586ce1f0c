//! The texts that a user hands over, and what each is: documents, a connection profile, or a table.

use std::borrow::Cow;

use super::gzip;
use super::yaml::{Budget, Problem};
use vocabulary::report::DocumentPath;

/// What the names of inventories in Ansible's INI form end in.
pub(super) const INVENTORIES: [&str; 2] = [".ini", ".inventory"];
/// The end of the names of keyfiles.
pub(super) const KEYFILE: &str = ".nmconnection";
/// Tables, in small letters.
const TABLES: [&str; 3] = [".csv", INVENTORIES[0], INVENTORIES[1]];

/// One of several texts that belong together.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// What the user calls it, for findings: the name of a file. A single text needs none, unless
    /// [`Text::is_told_by_name`].
    pub name: Option<&'a str>,
    /// Its content.
    pub text: &'a [u8],
}

/// What a text is, as its name says. Nothing else is decided by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A stream of documents: everything that is nothing else.
    Documents,
    /// A connection profile of NetworkManager: `.nmconnection`.
    Keyfile,
    /// What a fleet file names: a table (`.csv`), or an inventory in Ansible's INI form (`.ini`, `.inventory`).
    Table,
}

/// A text that is no stream of documents, read from whatever it was packed in.
pub(super) struct NamedText<'a> {
    /// The name of its file, with the directories before it that the user's own argument does not have.
    pub(super) name: &'a str,
    /// Its content.
    pub(super) content: Cow<'a, [u8]>,
    /// Where it stands.
    pub(super) path: DocumentPath,
}

impl Text<'_> {
    /// Whether what a text of this name is does not follow from its content, so that it has to be handed over with its
    /// name.
    pub fn is_told_by_name(name: &str) -> bool {
        TextKind::of(Some(name)) != TextKind::Documents
    }
}

impl<'a> Text<'a> {
    pub(super) fn kind(&self) -> TextKind {
        TextKind::of(self.name)
    }

    /// The text with its name, where its kind is told by that.
    pub(super) fn named(&self, budget: &mut Budget) -> Result<NamedText<'a>, Problem> {
        let content = self.content(budget)?;
        budget.take_bytes(content.len())?;
        Ok(NamedText { name: self.name.unwrap_or_default(), content, path: self.top() })
    }

    /// Its content, unpacked.
    pub(super) fn content(&self, budget: &mut Budget) -> Result<Cow<'a, [u8]>, Problem> {
        let most = budget.limits().text;
        if self.text.len() > most {
            let message = format!("is {} bytes long; dayone reads at most {most}", self.text.len());
            return Err(Problem::new("input-too-large", message));
        }
        gzip::unpacked(Cow::Borrowed(self.text), most, budget)
    }

    /// Whether it begins as an inventory in Ansible's INI form does, which is told by its name alone.
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

    /// Where its document `number` (from 1) stands.
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
