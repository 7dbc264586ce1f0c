//! The names of a directory's entries in one of the two trees.

use std::collections::BTreeSet;

use super::AuthorError;
use super::tree::{Entries, Node};

/// Which names a tree has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Eight capital letters, digits and underscores, and three more behind a dot (ECMA-119 §10.1), such as `KARGS.JSO;1`:
    /// readers without Rock Ridge expect that form.
    Level1,
    /// UCS-2, big-endian (Joliet Specification §3).
    Joliet,
}

/// A name as it stands in a directory record.
pub(super) type Identifier = Vec<u8>;

/// The identifiers of all entries, in the order of the records (ECMA-119 §9.3).
pub(super) fn identifiers<'a>(entries: &Entries<'a>, form: Form) -> Result<Vec<(Identifier, Node<'a>)>, AuthorError> {
    match form {
        Form::Level1 => level_1(entries),
        Form::Joliet => Ok(joliet(entries)),
    }
}

/// The version that every file is of.
const VERSION: &str = ";1";

fn joliet<'a>(entries: &Entries<'a>) -> Vec<(Identifier, Node<'a>)> {
    let mut names: Vec<(Vec<u16>, Node<'a>)> =
        entries.iter().map(|(name, node)| (name.encode_utf16().collect(), *node)).collect();
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    let bytes = |(mut name, node): (Vec<u16>, Node<'a>)| {
        if matches!(node, Node::File(_)) {
            name.extend(VERSION.encode_utf16());
        }
        (name.into_iter().flat_map(u16::to_be_bytes).collect(), node)
    };
    names.into_iter().map(bytes).collect()
}

/// A name of level 1: what stands before and behind the dot.
type Short = (String, String);

fn level_1<'a>(entries: &Entries<'a>) -> Result<Vec<(Identifier, Node<'a>)>, AuthorError> {
    let mut taken: BTreeSet<Short> = BTreeSet::new();
    let mut names: Vec<(Short, Node<'a>)> = Vec::with_capacity(entries.len());
    // Who fits as it is keeps its name; the others get numbers where they would collide.
    let (fitting, others): (Vec<_>, Vec<_>) =
        entries.iter().map(|(name, node)| (*name, *node)).partition(|(name, node)| fits(name, *node));
    for (name, node) in fitting.into_iter().chain(others) {
        let short = unique(shorten(name, node), &taken).ok_or_else(|| AuthorError::TooMany(name.to_owned()))?;
        taken.insert(short.clone());
        names.push((short, node));
    }
    // Shorter names are compared as if filled with spaces, which come before everything allowed here.
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    let bytes = |((stem, extension), node): (Short, Node<'a>)| match node {
        Node::File(_) => (format!("{stem}.{extension}{VERSION}").into_bytes(), node),
        Node::Directory(..) => (stem.into_bytes(), node),
    };
    Ok(names.into_iter().map(bytes).collect())
}

fn fits(name: &str, node: Node<'_>) -> bool {
    let (stem, extension) = shorten(name, node);
    let whole = if extension.is_empty() { stem } else { format!("{stem}.{extension}") };
    whole == name.to_ascii_uppercase()
}

fn shorten(name: &str, node: Node<'_>) -> Short {
    let (stem, extension) = match (node, name.rsplit_once('.')) {
        (Node::File(_), Some((stem, extension))) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    };
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    (stem.chars().map(allowed).take(8).collect(), extension.chars().map(allowed).take(3).collect())
}

/// The name, or the first that differs from all those taken by a number at the end of its stem.
fn unique((stem, extension): Short, taken: &BTreeSet<Short>) -> Option<Short> {
    let numbered = (1..10_000_000).map(|number: u32| {
        let number = number.to_string();
        let kept: String = stem.chars().take(8 - number.len()).collect();
        (format!("{kept}{number}"), extension.clone())
    });
    std::iter::once((stem.clone(), extension.clone())).chain(numbered).find(|name| !taken.contains(name))
}
