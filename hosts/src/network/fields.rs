//! Reading a document that nmstate's own engine has read already, and of which [`super::form`] has found what a form can say.

use serde_yaml::Mapping;

use crate::members::get;
use crate::nmstate_document::{elements, is_true, mapping, number, text};
use vocabulary::report::DocumentPath;

/// A mapping of the document; empty where there is none.
pub(super) struct Fields<'a> {
    map: Option<&'a Mapping>,
    path: DocumentPath,
}

impl<'a> Fields<'a> {
    pub(super) fn of(map: &'a Mapping, path: DocumentPath) -> Self {
        Self { map: Some(map), path }
    }

    pub(super) fn path(&self) -> &DocumentPath {
        &self.path
    }

    /// The path of a member.
    pub(super) fn at(&self, key: &str) -> DocumentPath {
        self.path.key(key)
    }

    /// A member that is a text, and not empty.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        text(self.map?, key).filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        get(self.map?, key).filter(|value| !value.is_null()).map(|value| is_true(Some(value)))
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        number(get(self.map?, key))
    }

    pub(super) fn section(&self, key: &str) -> Fields<'a> {
        Self { map: self.map.and_then(|map| mapping(map, key)), path: self.at(key) }
    }

    /// The elements of a member that is a list of mappings.
    pub(super) fn entries(&self, key: &str) -> Vec<Fields<'a>> {
        let at = self.at(key);
        let list = self.map.map_or(&[][..], |map| elements(map, &[key])).iter().enumerate();
        list.filter_map(|(index, value)| Some(Self::of(value.as_mapping()?, at.index(index)))).collect()
    }
}
