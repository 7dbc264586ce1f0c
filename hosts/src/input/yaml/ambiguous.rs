//! What readers of YAML understand differently in a document, with its places.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use crate::members::get;
use vocabulary::report::DocumentPath;

/// The key whose value is merged into the mapping around it.
pub(super) const MERGE: &str = "<<";

/// What other readers may understand differently in a value, as a tree. A path for each scalar would repeat the keys that lead there: a
/// document of a few megabytes could then need terabytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) enum Ambiguous {
    /// A scalar without quotes, with its text.
    Scalar(String),
    /// A member before a merge key that adds another value for it.
    BeforeMerge,
    /// Something in a member of a mapping or in an element of a list.
    Inside(Step, Vec<Ambiguous>),
}

/// One step on the path to something ambiguous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) enum Step {
    Key(String),
    Index(usize),
}

/// Something ambiguous in a document.
pub(super) struct Place<'a> {
    /// A scalar, or a member before a merge key.
    pub(super) what: &'a Ambiguous,
    /// The last key on the path.
    pub(super) key: &'a str,
    pub(super) path: &'a DocumentPath,
}

/// Changes a scalar. It gets the keys that lead to the scalar, and the scalar's text.
type Change<'c> = dyn FnMut(&mut Value, &[&str], &str) + 'c;

impl Ambiguous {
    /// Adds what is in a member or in an element to `all`, when the reader leaves it. Merge keys are not part of paths.
    pub(super) fn add_inside(step: Step, inside: Vec<Self>, all: &mut Vec<Self>) {
        if !matches!(&step, Step::Key(key) if key == MERGE) {
            all.push(Self::Inside(step, inside));
            return;
        }
        for ambiguous in inside {
            match ambiguous {
                // The elements of a list of mappings.
                Self::Inside(Step::Index(_), inside) => all.extend(inside.into_iter().filter(Self::is_merged)),
                other => all.extend(Some(other).filter(Self::is_merged)),
            }
        }
    }

    /// Whether it is also ambiguous where its mapping is merged. The order of the members is that of the mapping itself.
    fn is_merged(&self) -> bool {
        !matches!(self, Self::Inside(Step::Key(_), inside) if *inside == [Self::BeforeMerge])
    }

    /// Divides what is in the list at `keys` among its elements: each part becomes relative to its element.
    pub(in crate::input) fn by_element(all: Vec<Self>, keys: &[&str]) -> BTreeMap<usize, Vec<Self>> {
        let mut all = all;
        for key in keys {
            let inside = |ambiguous: Self| match ambiguous {
                Self::Inside(Step::Key(found), inside) if found == *key => inside,
                _ => Vec::new(),
            };
            all = all.into_iter().flat_map(inside).collect();
        }
        let mut found: BTreeMap<usize, Vec<Self>> = BTreeMap::new();
        for ambiguous in all {
            if let Self::Inside(Step::Index(index), inside) = ambiguous {
                found.entry(index).or_default().extend(inside);
            }
        }
        found
    }

    /// Calls `take` with everything ambiguous that is still in the document at `path`.
    pub(super) fn each(document: &Mapping, all: &[Self], path: &DocumentPath, take: &mut dyn FnMut(Place<'_>)) {
        for ambiguous in all {
            if let Self::Inside(Step::Key(key), inside) = ambiguous
                && let Some(member) = get(document, key)
            {
                Self::each_in(member, key, inside, &path.key(key), take);
            }
        }
    }

    fn each_in(value: &Value, key: &str, all: &[Self], path: &DocumentPath, take: &mut dyn FnMut(Place<'_>)) {
        if let Value::Mapping(mapping) = value {
            Self::each(mapping, all, path, take);
        }
        for what in all {
            match (what, value) {
                (Self::Inside(Step::Index(index), inside), Value::Sequence(items)) => {
                    if let Some(item) = items.get(*index) {
                        Self::each_in(item, key, inside, &path.index(*index), take);
                    }
                }
                (Self::Inside(..), _) => {}
                // A member with the same key may have replaced it.
                (Self::Scalar(text), _) if value.as_str() != Some(text.as_str()) => {}
                (Self::Scalar(_) | Self::BeforeMerge, _) => take(Place { what, key, path }),
            }
        }
    }

    /// Calls `change` with each scalar that is still in the document.
    pub(super) fn change(document: &mut Mapping, all: &[Self], change: &mut Change<'_>) {
        change_in_mapping(document, all, &mut Vec::new(), change);
    }
}

fn change_in_mapping<'a>(
    mapping: &mut Mapping,
    all: &'a [Ambiguous],
    keys: &mut Vec<&'a str>,
    change: &mut Change<'_>,
) {
    for ambiguous in all {
        if let Ambiguous::Inside(Step::Key(key), inside) = ambiguous
            && let Some(member) = mapping.get_mut(key.as_str())
        {
            keys.push(key.as_str());
            change_in(member, inside, keys, change);
            keys.pop();
        }
    }
}

fn change_in<'a>(value: &mut Value, all: &'a [Ambiguous], keys: &mut Vec<&'a str>, change: &mut Change<'_>) {
    if let Value::Mapping(mapping) = value {
        change_in_mapping(mapping, all, keys, change);
        return;
    }
    for ambiguous in all {
        match ambiguous {
            Ambiguous::Inside(Step::Index(index), inside) => {
                let items = value.as_sequence_mut();
                if let Some(item) = items.and_then(|items| items.get_mut(*index)) {
                    change_in(item, inside, keys, change);
                }
            }
            Ambiguous::Scalar(text) if value.as_str() == Some(text.as_str()) => change(value, keys.as_slice(), text),
            Ambiguous::Scalar(_) | Ambiguous::BeforeMerge | Ambiguous::Inside(Step::Key(_), _) => {}
        }
    }
}
