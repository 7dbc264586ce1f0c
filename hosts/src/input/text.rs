//! The user's texts: documents, connection profiles and tables.

use std::borrow::Cow;

use super::encoding;
use super::yaml::{Budget, Limits, Problem};
use vocabulary::report::DocumentPath;

/// The suffixes of inventories in Ansible's INI form.
pub(super) const INVENTORIES: [&str; 2] = [".ini", ".inventory"];
/// The suffix of keyfiles.
pub(super) const KEYFILE: &str = ".nmconnection";
/// The suffixes of tables, in lower case.
const TABLES: [&str; 4] = [".csv", ".tsv", INVENTORIES[0], INVENTORIES[1]];
/// The names of inventories without a suffix, as Ansible's documentation has them.
const PLAIN_INVENTORIES: [&str; 2] = ["hosts", "inventory"];
/// The suffix of what Excel saves as *Unicode Text*.
const UNICODE_TEXT: &str = ".txt";
/// The suffixes of Excel workbooks without macros and with macros. dayone does not read the macros.
const WORKBOOKS: [&str; 2] = [".xlsx", ".xlsm"];
/// How names of notes and of editors' copies end, in lower case.
const NOTES: [&str; 9] = ["~", ".bak", ".cfg", ".md", ".orig", ".retry", ".rst", ".swp", ".txt"];
/// How ZIP archives begin, and with them Excel workbooks. No YAML begins with them.
const ZIP: &[u8] = b"PK\x03\x04";
/// How a file begins that Ansible Vault has encrypted as a whole.
pub(super) const VAULT: &[u8] = b"$ANSIBLE_VAULT";
/// How old workbooks (.xls) begin, and encrypted ones. This is not UTF-8.
pub(super) const COMPOUND_FILE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Whether a file with variables is called as notes and editors' copies are. A host may have such a name, too: `w0.example.md`.
pub fn has_name_of_notes(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NOTES.iter().any(|end| name.ends_with(end))
}

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
    /// A file that a fleet file names: a table (`.csv`, `.tsv`, Excel's *Unicode Text*), or an inventory in Ansible's INI form (`.ini`,
    /// `.inventory`, or no suffix).
    Table,
    /// Variables of an Ansible inventory: a file in `group_vars` or `host_vars`.
    Variables,
    /// An Excel workbook with a table, and perhaps the fleet's document: `.xlsx`, `.xlsm`, or a text without a name that begins as one.
    Workbook,
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
        // If the text is not UTF-16 after all, reading it reports that.
        let text = encoding::as_utf8(Cow::Borrowed(self.text)).unwrap_or(Cow::Borrowed(self.text));
        match self.name {
            None if is_workbook(self.text) => TextKind::Workbook,
            Some(name) if is_plain_inventory(name) && begins_as_yaml(&text) => match TextKind::of(self.name) {
                TextKind::Table => TextKind::Documents,
                kind => kind,
            },
            Some(name) if has_no_suffix(name) && begins_as_other_text(&text) => match TextKind::of(self.name) {
                TextKind::Documents => TextKind::Table,
                kind => kind,
            },
            Some(name) if is_unicode_text(name, self.text) => TextKind::Table,
            name => TextKind::of(name),
        }
    }

    /// Returns the content with the name.
    pub(super) fn named(&self, budget: &mut Budget) -> Result<NamedText<'a>, Problem> {
        let content = self.content(budget)?;
        budget.take_bytes(content.len())?;
        Ok(NamedText { name: self.name_of_file(), content, path: self.top() })
    }

    /// Returns the name of the file. Only workbooks are recognized without one, and need one to be referred to.
    pub(super) fn name_of_file(&self) -> &'a str {
        self.name.unwrap_or("workbook.xlsx")
    }

    /// Returns how many bytes dayone has to convert, as far as that can be told without unpacking the text. A workbook counts as the
    /// largest text of a request.
    pub fn unpacked_size(&self) -> usize {
        let is_workbook = match self.name {
            None => is_workbook(self.text),
            name => TextKind::of(name) == TextKind::Workbook,
        };
        if is_workbook { Limits::REQUEST.text } else { encoding::unpacked_size(self.text) }
    }

    /// Returns the content, decompressed and in UTF-8.
    pub(super) fn content(&self, budget: &mut Budget) -> Result<Cow<'a, [u8]>, Problem> {
        let most = budget.limits().text;
        if self.text.len() > most {
            let message = format!("is {} bytes long; dayone reads at most {most}", self.text.len());
            return Err(Problem::new("input-too-large", message));
        }
        let content = encoding::as_utf8(encoding::decompressed(Cow::Borrowed(self.text), most, budget)?)?;
        if content.len() > most {
            let message = format!("is {} bytes long in UTF-8; dayone reads at most {most}", content.len());
            return Err(Problem::new("input-too-large", message));
        }
        // Whether the variables of a group or a host matter is known later.
        if content.starts_with(VAULT) && TextKind::of(self.name) != TextKind::Variables {
            let message = "is encrypted with Ansible Vault; decrypt it first, or hand over what `ansible-inventory --list \
                           --ask-vault-pass` prints";
            return Err(Problem::new("input-encrypted", message));
        }
        Ok(content)
    }

    /// Returns what a text with sections looks like, and what to do about it. dayone recognizes the kinds of such texts only by their names.
    pub(super) fn likeness(&self, budget: &mut Budget) -> Option<String> {
        let content = self.content(budget).ok()?;
        let lines = content.split(|byte| ends_line(*byte)).map(<[u8]>::trim_ascii);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b";"));
        let section = lines.next().and_then(|line| line.strip_prefix(b"[")?.strip_suffix(b"]"))?;
        let group = section.strip_suffix(b":vars").or(section.strip_suffix(b":children")).unwrap_or(section);
        let is_group = !group.is_empty() && group.iter().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(b));
        match section {
            b"connection" => {
                Some(format!("looks like a profile of NetworkManager; give the file a name that ends in {KEYFILE}"))
            }
            b"Match" | b"NetDev" => {
                Some("looks like a file of systemd-networkd, which dayone does not read".to_owned())
            }
            _ => is_group.then(|| {
                let ends = INVENTORIES.join(" or ");
                format!("looks like an Ansible inventory in INI form; give the file a name that ends in {ends}")
            }),
        }
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
        let name = name.unwrap_or_default();
        if VariablesOf::parse(name).is_some() {
            return Self::Variables;
        }
        if is_plain_inventory(name) {
            return Self::Table;
        }
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if name.ends_with(KEYFILE) {
            Self::Keyfile
        } else if WORKBOOKS.iter().any(|end| name.ends_with(end)) {
            Self::Workbook
        } else if TABLES.iter().any(|end| name.ends_with(end)) {
            Self::Table
        } else {
            Self::Documents
        }
    }
}

/// Whether the content of a file begins as that of an Excel workbook does.
pub(super) fn is_workbook(content: &[u8]) -> bool {
    content.starts_with(ZIP) || content.starts_with(COMPOUND_FILE)
}

/// Whether a file is a table in UTF-16 with Excel's suffix for such tables. Any other file with this suffix is a document.
fn is_unicode_text(name: &str, text: &[u8]) -> bool {
    let is_utf_16 = text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]);
    is_utf_16 && TextKind::of(Some(name)) == TextKind::Documents && name.to_ascii_lowercase().ends_with(UNICODE_TEXT)
}

/// Whether a file has one of the names of Ansible's inventories that have no suffix.
fn is_plain_inventory(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| PLAIN_INVENTORIES.contains(&file))
}

/// Whether the name of a file has no suffix, as names of inventories often have none: `production`, `02-rack`.
fn has_no_suffix(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| !file.is_empty() && !file.contains('.'))
}

/// Whether this is text, and not compressed, and does not begin as YAML does.
fn begins_as_other_text(text: &[u8]) -> bool {
    first_line(text).is_some() && str::from_utf8(text).is_ok() && !begins_as_yaml(text)
}

/// The first line that is neither empty nor a comment, without the byte order mark.
fn first_line(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = text.split(|byte| ends_line(*byte)).map(<[u8]>::trim_ascii);
    lines.find(|line| !line.is_empty() && !line.starts_with(b"#"))
}

/// Whether a file with this name may be an inventory in INI form: it is one if it is not YAML.
pub(super) fn is_ini(name: &str) -> bool {
    has_no_suffix(name) || INVENTORIES.iter().any(|end| name.to_ascii_lowercase().ends_with(end))
}

/// Whether a line ends here. In CR LF there is an empty one between the two.
fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Whether a text without a suffix begins as YAML does: with a key and a colon, or a mark of YAML. In the INI form of inventories, a
/// colon is inside a word.
fn begins_as_yaml(text: &[u8]) -> bool {
    let Some(first) = first_line(text) else { return false };
    // A list in JSON. In an inventory, the name of a group follows.
    let in_list = first.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    let mut words = first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let word = words.next().unwrap_or_default();
    matches!(in_list, Some([] | [b'{' | b'[', ..]))
        || matches!(word, b"---" | b"-" | b"%YAML" | b"?")
        || word.starts_with(b"{")
        || (word.ends_with(b":") && !word.contains(&b'='))
        || words.next() == Some(b":")
}

/// The steps of a path, without those that lead nowhere: `./a//b/../c` is `a/c`. In an absolute path, the first one is empty. All paths
/// that users write to one directory from one place have the same steps, unless one of them is absolute.
fn steps(path: &str) -> Vec<&str> {
    let mut steps: Vec<&str> = if path.starts_with('/') { vec![""] } else { Vec::new() };
    for step in path.split('/') {
        match (step, steps.last()) {
            ("" | ".", _) | ("..", Some(&"")) => {}
            ("..", Some(last)) if *last != ".." => _ = steps.pop(),
            _ => steps.push(step),
        }
    }
    steps
}

/// Returns the path without steps that lead nowhere.
pub(super) fn normal_path(path: &str) -> String {
    steps(path).join("/")
}

/// Which group or host of which inventory a file with variables belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VariablesOf<'n> {
    /// The directory of the inventory.
    pub(super) directory: String,
    pub(super) is_group: bool,
    /// The steps of the path behind `group_vars` or `host_vars`, without `.gz`.
    pub(super) steps: Vec<&'n str>,
}

impl<'n> VariablesOf<'n> {
    /// Reads the path of a file. There is nothing if it is not in `group_vars` or `host_vars`.
    pub(super) fn parse(path: &'n str) -> Option<Self> {
        let path = path.strip_suffix(".gz").unwrap_or(path);
        let steps = steps(path);
        let at = steps.iter().position(|step| ["group_vars", "host_vars"].contains(step))?;
        let (directory, rest) = steps.split_at_checked(at)?;
        let (kind, steps) = rest.split_first()?;
        let directory = directory.join("/");
        (!steps.is_empty()).then(|| Self { directory, is_group: *kind == "group_vars", steps: steps.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_whose_variables_a_file_has() {
        let of =
            |path: &'static str| VariablesOf::parse(path).map(|of| (of.directory, of.is_group, of.steps.join("|")));
        assert_eq!(of("group_vars/all.yml"), Some((String::new(), true, "all.yml".to_owned())));
        assert_eq!(of("./a/b/host_vars/h1/x/y"), Some(("a/b".to_owned(), false, "h1|x|y".to_owned())));
        assert_eq!(of("/a/group_vars/web.gz"), Some(("/a".to_owned(), true, "web".to_owned())));
        assert_eq!(of("group_vars"), None);
        for path in ["group_vars/web.yml", "./group_vars/web.yml", ".//group_vars/./web.yml", "a/../group_vars/web.yml"]
        {
            assert_eq!(of(path), Some((String::new(), true, "web.yml".to_owned())), "{path}");
        }
        assert_eq!(of("../a/./group_vars/x"), Some(("../a".to_owned(), true, "x".to_owned())));
        assert_eq!(of("a/groups_vars/all.yml"), None);
    }

    #[test]
    fn a_file_without_a_suffix_is_an_inventory_unless_it_is_yaml() {
        for (name, text, expected) in [
            ("inventory/production", "[web]\nw0 ansible_host=192.0.2.1\n", TextKind::Table),
            ("02-rack", "# the second rack\n\nw0\n", TextKind::Table),
            ("rack.2", "w0\n", TextKind::Documents),
            ("production", "all:\n  hosts:\n", TextKind::Documents),
            ("63", "\n%YAML 1.2\n---\na: 1\n", TextKind::Documents),
            ("63", "kind : HostFleet\n", TextKind::Documents),
            ("63", "\"kind\": HostFleet\n", TextKind::Documents),
            ("63", "\u{feff}kind: HostFleet\n", TextKind::Documents),
            ("63", "\n", TextKind::Documents),
            ("63", "[\n  {\"kind\": \"x\"}]\n", TextKind::Documents),
            ("63", "[{\"kind\": \"x\"}]\n", TextKind::Documents),
            ("63", "\u{feff}---\na: 1\n", TextKind::Documents),
            ("63", "\u{feff}# x\na: 1\n", TextKind::Documents),
            ("63", "# nothing\n", TextKind::Documents),
            ("group_vars/all", "w0\n", TextKind::Variables),
        ] {
            let text = Text { name: Some(name), text: text.as_bytes() };
            assert_eq!(text.kind(), expected, "{name} {:?}", text.text);
        }
        let compressed = Text { name: Some("63"), text: b"\x1f\x8b\x08" };
        assert_eq!(compressed.kind(), TextKind::Documents);
    }

    #[test]
    fn a_compressed_text_counts_with_its_unpacked_size() {
        let documents = b"# nothing\n".repeat(10_000);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &documents).unwrap();
        let packed = encoder.finish().unwrap();
        assert!(packed.len() < 10_000);
        for (name, text, expected) in [
            (None, &documents[..], documents.len()),
            (None, &packed[..], documents.len()),
            (Some("racks.csv.gz"), &packed[..], documents.len()),
            // A stream counts at least with its own size.
            (None, b"\x1f\x8b\x08\0\0\0\0", 7),
            (None, b"\x1f\x8b\x08", 3),
            (None, b"", 0),
            (None, b"PK\x03\x04", Limits::REQUEST.text),
            (Some("racks.xlsx"), b"", Limits::REQUEST.text),
            (Some("racks.XLSM.gz"), &packed[..], Limits::REQUEST.text),
        ] {
            assert_eq!(Text { name, text }.unpacked_size(), expected, "{name:?}");
        }
    }

    #[test]
    fn paths_to_one_file_are_the_same() {
        for (path, expected) in [
            ("hosts", "hosts"),
            ("./hosts", "hosts"),
            (".//a/./hosts/", "a/hosts"),
            ("a/../hosts", "hosts"),
            ("a/b/../../../hosts", "../hosts"),
            ("../../hosts", "../../hosts"),
            ("/a/../../b//hosts", "/b/hosts"),
            (".", ""),
            ("..", ".."),
        ] {
            assert_eq!(normal_path(path), expected, "{path}");
        }
    }

    #[test]
    fn an_inventory_without_a_suffix_is_ini_or_yaml() {
        let kind = |name, text: &'static str| Text { name: Some(name), text: text.as_bytes() }.kind();
        for ini in ["# x\n\n[web]\nh1\n", "h1 a='b: c'\n", "h1:22\n", "h1 a=b:\n", "a=b:\n", "", "; x: y\n"] {
            assert_eq!(kind("a/hosts", ini), TextKind::Table, "{ini}");
        }
        assert_eq!(kind("hosts", "apiVersion: metal3.io/v1alpha1\n"), TextKind::Documents);
        assert_eq!(kind("inventory", "# x\nall:\n  hosts: {a: {}}\n"), TextKind::Documents);
        assert_eq!(kind("hosts", "---\nall: {}\n"), TextKind::Documents);
        assert_eq!(kind("hosts.yaml", "[web]"), TextKind::Documents);
        assert_eq!(kind("group_vars/hosts", "---\n"), TextKind::Variables);
    }
}
