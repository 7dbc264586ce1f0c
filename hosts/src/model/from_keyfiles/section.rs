//! A group of a keyfile, as its settings' values.

use std::str::FromStr;

use crate::keyfile_format::{Entry, Group};
use vocabulary::report::DocumentPath;

/// A group that may be absent: then it has no keys.
pub(super) struct Section<'f, 'a> {
    group: Option<&'f Group<'a>>,
    /// Where it stands.
    pub(super) path: DocumentPath,
}

impl<'f, 'a> Section<'f, 'a> {
    pub(super) fn new(group: Option<&'f Group<'a>>, path: DocumentPath) -> Self {
        Self { group, path }
    }

    /// Where a key of it stands.
    pub(super) fn at(&self, key: &str) -> DocumentPath {
        self.path.key(key)
    }

    /// A value, where there is one that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.group?.get(key).and_then(text)
    }

    /// A value that is something which has one form.
    pub(super) fn parsed<T: FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.trim().parse().ok()
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.text(key)?.trim() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        }
    }

    pub(super) fn list(&self, key: &str) -> Vec<String> {
        let items = self.group.and_then(|group| group.get(key)?.list().ok());
        items.into_iter().flatten().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
    }

    /// The entries that count, in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, String)> {
        let entries = self.group.into_iter().flat_map(|group| {
            let counts = |entry: &&Entry<'a>| group.get(entry.key).is_some_and(|other| other.line == entry.line);
            group.entries().iter().filter(counts)
        });
        entries.filter_map(|entry| Some((entry.key, text(*entry)?)))
    }

    /// The values of keys that are one of `names` with a number behind it or none, in the order of the numbers, as
    /// libnm reads addresses, routes and rules.
    pub(super) fn numbered(&self, names: &[&str]) -> Vec<(&'a str, String)> {
        let mut found: Vec<_> = self
            .entries()
            .filter_map(|(key, value)| {
                let (index, number) = names.iter().enumerate().find_map(|(index, name)| {
                    let digits = key.strip_prefix(name)?;
                    let plain = digits == "0" || !digits.starts_with(['0', '+']);
                    let number = if digits.is_empty() { Some(None) } else { digits.parse::<u32>().ok().map(Some) };
                    Some((index, number.filter(|_| plain)?))
                })?;
                Some(((number, index), (key, value)))
            })
            .collect();
        found.sort_by_key(|(order, _)| *order);
        found.into_iter().map(|(_, entry)| entry).collect()
    }
}

fn text(entry: Entry<'_>) -> Option<String> {
    entry.text().ok().map(std::borrow::Cow::into_owned).filter(|text| !text.is_empty())
}
