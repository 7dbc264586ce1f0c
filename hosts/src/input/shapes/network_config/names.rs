//! The names of interfaces on the host, by which a document refers to them.

use std::collections::{BTreeMap, BTreeSet};

use crate::input::fields::Fields;
use crate::input::listing::{listed, quoted};
use crate::input::shapes::network_data::members;
use crate::nmstate_document::interfaces::kernel_name_problem;
use vocabulary::report::{DocumentPath, Report};

/// The names of interfaces, by the names by which the document refers to them.
#[derive(Default)]
pub(super) struct Names<'a> {
    by_id: BTreeMap<&'a str, String>,
    taken: BTreeSet<String>,
}

impl<'a> Names<'a> {
    /// Returns the name of the interface that the document calls `id`.
    pub(super) fn of(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(String::as_str)
    }

    /// Gives the interface `id` the name `name`, which no other interface may have.
    pub(super) fn add(&mut self, id: &'a str, name: &str, path: &DocumentPath, report: &mut Report) {
        if self.by_id.contains_key(id) || !self.taken.insert(name.to_owned()) {
            let message = format!("is called {} on the host, like another interface of the document", quoted(name));
            report.error("link-duplicate", path, message);
            return;
        }
        self.by_id.insert(id, name.to_owned());
    }

    /// Gives a NIC that the host finds by its MAC address a name: the first of `wanted` that an interface can have, or `nic0`,
    /// `nic1`, ….
    pub(super) fn add_nic(&mut self, id: &'a str, wanted: &[&str]) {
        let is_free = |name: &str| kernel_name_problem(name).is_none() && !self.taken.contains(name);
        let wanted = wanted.iter().find(|name| is_free(name)).map(|name| (*name).to_owned());
        let numbered = || (0..=self.taken.len()).map(|number| format!("nic{number}")).find(|name| is_free(name));
        if let Some(name) = wanted.or_else(numbered) {
            self.taken.insert(name.clone());
            self.by_id.insert(id, name);
        }
    }

    /// Returns the names of the interfaces in the list at `key`, each with its place, and reports the unknown ones.
    pub(super) fn references(
        &self,
        fields: &Fields<'a>,
        key: &str,
        report: &mut Report,
    ) -> Vec<(&'a str, String, DocumentPath)> {
        let mut found = Vec::new();
        for (id, path) in members::texts(fields, key, report) {
            if let Some(name) = self.reference(id, &path, report) {
                found.push((id, name, path));
            }
        }
        found
    }

    /// Looks up the interface that the document calls `id`. Reports an unknown interface.
    pub(super) fn reference(&self, id: &str, path: &DocumentPath, report: &mut Report) -> Option<String> {
        let name = self.of(id);
        if name.is_none() {
            let all = listed(self.by_id.keys().copied());
            let message = format!("is {}, and the document has no such interface; it has {all}", quoted(id));
            report.error("link-not-found", path, message);
        }
        name.map(str::to_owned)
    }
}
