//! The text format of keyfiles: `GLib`'s `GKeyFile`, of which NetworkManager's profiles are written.
//!
//! Source: `GLib`'s `gkeyfile.c` (`g_key_file_parse_line` and what it calls). What `GLib` refuses is refused here, and a
//! file that is read says what it says to `GLib`. What a key means is somebody else's business.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Why a text is no keyfile, or a value cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line})")]
pub(crate) struct FormatError {
    /// From 1.
    pub(crate) line: usize,
    /// A sentence without its subject, which is the file, or the key whose value it is. Holds no value.
    pub(crate) message: &'static str,
}

/// A keyfile: groups of keys with values.
#[derive(Debug, Default)]
pub(crate) struct GroupedKeys<'a> {
    groups: Vec<Group<'a>>,
    by_name: BTreeMap<&'a str, usize>,
}

/// A group, with the keys of all places at which the file opens it.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// The name between its brackets.
    pub(crate) name: &'a str,
    entries: Vec<Entry<'a>>,
    by_key: BTreeMap<&'a str, usize>,
}

/// A line `key=value`.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// The key, before the `=`.
    pub(crate) key: &'a str,
    /// Where it stands, from 1.
    pub(crate) line: usize,
    raw: &'a str,
}

impl std::fmt::Debug for Entry<'_> {
    /// Without the value, which may be a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("key", &self.key).field("line", &self.line).finish_non_exhaustive()
    }
}

impl<'a> GroupedKeys<'a> {
    /// Reads the text of a keyfile, in time and space that are linear in its length.
    pub(crate) fn parse(text: &'a str) -> Result<Self, FormatError> {
        let mut file = Self::default();
        let mut current = None;
        for (index, line) in text.split('\n').enumerate() {
            let line_number = index + 1;
            let error = |message| FormatError { line: line_number, message };
            if line.contains('\0') {
                return Err(error("contains a NUL byte, which would end the file"));
            }
            let line = line.strip_suffix('\r').unwrap_or(line).trim_start_matches(is_space);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = group_name(line) {
                current = Some(file.open(name.map_err(error)?));
                continue;
            }
            let (key, raw) = key_and_value(line).map_err(error)?;
            let Some(group) = current.and_then(|index: usize| file.groups.get_mut(index)) else {
                return Err(error("has a key before the first group, such as [connection]"));
            };
            group.by_key.insert(key, group.entries.len());
            group.entries.push(Entry { key, line: line_number, raw });
        }
        Ok(file)
    }

    fn open(&mut self, name: &'a str) -> usize {
        *self.by_name.entry(name).or_insert_with(|| {
            self.groups.push(Group { name, entries: Vec::new(), by_key: BTreeMap::new() });
            self.groups.len() - 1
        })
    }

    /// All groups, in the order in which the file opens them.
    pub(crate) fn groups(&self) -> &[Group<'a>] {
        &self.groups
    }

    /// The group of this name.
    pub(crate) fn group(&self, name: &str) -> Option<&Group<'a>> {
        self.groups.get(*self.by_name.get(name)?)
    }

    /// The entry that counts of this key in this group.
    pub(crate) fn get(&self, group: &str, key: &str) -> Option<Entry<'a>> {
        self.group(group)?.get(key)
    }
}

impl<'a> Group<'a> {
    /// All entries, in their order. Of those with one key, the last one counts.
    pub(crate) fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// The entry that counts of this key.
    pub(crate) fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.entries.get(*self.by_key.get(key)?).copied()
    }

    /// Entries whose keys come to nothing, since a later one has the same.
    pub(crate) fn overridden(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().enumerate().filter(|(index, entry)| self.by_key.get(entry.key) != Some(index)).map(|e| e.1)
    }
}

const BAD_ESCAPE: &str = "has a backslash that is not part of an escape (\\s, \\n, \\t, \\r, \\\\); write two of them";
const LONE_BACKSLASH: &str = "ends in a single backslash; write two of them";

impl<'a> Entry<'a> {
    /// The value, as it stands in the file.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw
    }

    /// The value as one text.
    pub(crate) fn text(&self) -> Result<Cow<'a, str>, FormatError> {
        if !self.raw.contains('\\') {
            return Ok(Cow::Borrowed(self.raw));
        }
        let mut text = String::with_capacity(self.raw.len());
        let mut chars = self.raw.chars();
        while let Some(c) = chars.next() {
            text.push(if c == '\\' { self.escaped(chars.next(), false)? } else { c });
        }
        Ok(Cow::Owned(text))
    }

    /// The value as a list, whose items end in `;` or with the line.
    pub(crate) fn list(&self) -> Result<Vec<String>, FormatError> {
        let mut items = Vec::new();
        let mut item = String::new();
        let mut chars = self.raw.chars();
        while let Some(c) = chars.next() {
            match c {
                ';' => items.push(std::mem::take(&mut item)),
                '\\' => item.push(self.escaped(chars.next(), true)?),
                c => item.push(c),
            }
        }
        if !item.is_empty() {
            items.push(item);
        }
        Ok(items)
    }

    fn escaped(&self, c: Option<char>, in_list: bool) -> Result<char, FormatError> {
        let error = |message| FormatError { line: self.line, message };
        match c {
            Some('s') => Ok(' '),
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some('\\') => Ok('\\'),
            Some(';') if in_list => Ok(';'),
            Some(_) => Err(error(BAD_ESCAPE)),
            None => Err(error(LONE_BACKSLASH)),
        }
    }
}

/// What `g_ascii_isspace` takes for a blank.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// The name of the group that the line opens; none where it is a line of another sort.
fn group_name(line: &str) -> Option<Result<&str, &'static str>> {
    let (name, behind) = line.strip_prefix('[')?.split_once(']')?;
    if !behind.trim_start_matches([' ', '\t']).is_empty() {
        return None;
    }
    let is_name = !name.is_empty() && !name.contains(|c: char| c == '[' || c.is_ascii_control());
    Some(if is_name { Ok(name) } else { Err("has a group without a valid name") })
}

fn key_and_value(line: &str) -> Result<(&str, &str), &'static str> {
    let Some((key, value)) = line.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err("has a line that is neither [group], key=value nor # comment");
    };
    let key = key.trim_end_matches(is_space);
    // A key may carry a locale in brackets, and nothing else in them.
    let (name, locale) = match key.split_once('[') {
        Some((name, rest)) => (name, rest.strip_suffix(']')),
        None => (key, Some("")),
    };
    let in_locale = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    if name.is_empty() || name.ends_with(' ') || name.contains(']') || !locale.is_some_and(|l| l.chars().all(in_locale))
    {
        return Err("has a key that is not a valid name");
    }
    Ok((key, value.trim_start_matches(is_space)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn groups_keys_and_values_are_those_of_glib() {
        let text = "# comment\n\n [connection] \t\r\n id = a b \nuuid=\n\tx[de]=1\n[ipv4]\ndns=1;2\\;3;;\\s4\n\
                    [connection]\nid=LAB\\\\\\su=x\n";
        let file = GroupedKeys::parse(text).unwrap();
        let names: Vec<_> = file.groups().iter().map(|group| (group.name, group.entries().len())).collect();
        assert_eq!(names, [("connection", 4), ("ipv4", 1)]);
        let connection = file.group("connection").unwrap();
        assert_eq!(connection.overridden().map(|entry| (entry.key, entry.line)).collect::<Vec<_>>(), [("id", 4)]);
        let id = file.get("connection", "id").unwrap();
        assert_eq!((id.line, id.raw(), &*id.text().unwrap()), (10, "LAB\\\\\\su=x", "LAB\\ u=x"));
        assert_eq!(connection.entries()[0].raw(), "a b ");
        assert_eq!(&*file.get("connection", "uuid").unwrap().text().unwrap(), "");
        assert!(file.get("connection", "x[de]").is_some() && file.get("ipv6", "dns").is_none());
        assert_eq!(file.get("ipv4", "dns").unwrap().list().unwrap(), ["1", "2;3", "", " 4"]);
    }

    #[test]
    fn what_is_no_keyfile_is_refused_with_its_line() {
        for (text, line) in [
            ("id=x", 1),
            ("[a]\nb", 2),
            ("[a]\n=b", 2),
            ("[]", 1),
            ("[a[b]", 1),
            ("[a\tb]", 1),
            ("[a] b", 1),
            ("[a]\nb]=c", 2),
            ("[a]\nb[c=d", 2),
            ("[a]\n[b]=c", 2),
            ("[a]\nb=\0", 2),
            ("\u{feff}[a]", 1),
            ("[a]\n; comment", 2),
        ] {
            assert_eq!(GroupedKeys::parse(text).map(|_| ()).unwrap_err().line, line, "{text:?}");
        }
        for value in ["a\\", "a\\x", "\\;"] {
            let text = format!("[a]\nb={value}");
            let file = GroupedKeys::parse(&text).unwrap();
            assert_eq!(file.get("a", "b").unwrap().text().unwrap_err().line, 2, "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\[|\\]|=|;|\\\\|#|a|s| |\r|\n|ä|\0|\\[a\\]\n|b=){0,60}") {
            if let Ok(file) = GroupedKeys::parse(&text) {
                for entry in file.groups().iter().flat_map(Group::entries) {
                    let _: (Result<_, _>, Result<_, _>) = (entry.text(), entry.list());
                    prop_assert!(text.contains(entry.raw()));
                }
            }
        }
    }
}
