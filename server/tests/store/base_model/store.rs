//! What the store does with the versions of one base, and with images over them: each function is one step of the store, as
//! `base_changes.rs` and `added_bases.rs` do it under their locks.

use std::collections::{BTreeMap, BTreeSet};

/// Which files a base has. The store finds images and bases of the same files by it.
pub(crate) type Content = u8;
pub(crate) type Version = u8;

/// All versions of one base, and which contents have an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ModelStore {
    last: Version,
    /// The records: `None` while dayone fetches the files.
    pub(crate) records: BTreeMap<Version, Option<Content>>,
    pub(crate) present: Option<Version>,
    pub(crate) replaced: BTreeSet<Version>,
    pub(crate) images: BTreeSet<Content>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelFinished {
    Added,
    Unchanged,
    Removed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelRemoved {
    Removed,
    Unknown,
    InUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelPublished {
    Published,
    UnknownBase,
    BaseReplaced,
}

impl ModelStore {
    pub(crate) fn content(&self, version: Version) -> Option<Content> {
        self.records.get(&version).copied().flatten()
    }

    /// The versions whose files have not arrived.
    pub(crate) fn unfinished(&self) -> Vec<Version> {
        self.records.iter().filter(|(_, content)| content.is_none()).map(|(version, _)| *version).collect()
    }

    /// `Store::begin_base`
    pub(crate) fn begin(&mut self) -> Version {
        // A restart forgets which numbers were used; the process that runs does not.
        self.last = self.last.max(self.records.keys().last().copied().unwrap_or(0)) + 1;
        self.records.insert(self.last, None);
        self.last
    }

    /// The part of `Store::finish_base` under the lock that excludes publications.
    pub(crate) fn finish(&mut self, version: Version, content: Content) -> ModelFinished {
        if self.present.and_then(|present| self.content(present)) == Some(content) {
            self.records.remove(&version);
            return ModelFinished::Unchanged;
        }
        let Some(record) = self.records.get_mut(&version).filter(|record| record.is_none()) else {
            return ModelFinished::Removed;
        };
        *record = Some(content);
        self.replaced.extend(self.present.replace(version));
        self.release_replaced();
        ModelFinished::Added
    }

    /// `Store::forget_base`
    pub(crate) fn forget(&mut self, version: Version) -> bool {
        let is_unfinished = self.records.get(&version).is_some_and(Option::is_none);
        if is_unfinished {
            self.records.remove(&version);
        }
        is_unfinished
    }

    /// `Store::remove_base`
    pub(crate) fn remove(&mut self) -> ModelRemoved {
        let Some(present) = self.present else { return ModelRemoved::Unknown };
        let versions: Vec<Version> = self.replaced.iter().copied().chain([present]).collect();
        let is_used = versions.iter().any(|version| self.content(*version).is_some_and(|of| self.images.contains(&of)));
        if is_used {
            return ModelRemoved::InUse;
        }
        for version in versions {
            self.records.remove(&version);
        }
        self.present = None;
        self.replaced.clear();
        ModelRemoved::Removed
    }

    /// `Store::publish`, of a recipe over these files.
    pub(crate) fn publish(&mut self, content: Content) -> ModelPublished {
        let Some(present) = self.present else { return ModelPublished::UnknownBase };
        let mut usable = self.replaced.iter().copied().chain([present]);
        if !usable.any(|version| self.content(version) == Some(content)) {
            return ModelPublished::BaseReplaced;
        }
        self.images.insert(content);
        ModelPublished::Published
    }

    /// `Store::release`
    pub(crate) fn release(&mut self, content: Content) -> bool {
        self.images.remove(&content)
    }

    /// `Store::release_replaced_bases`, which `Store::recheck` calls.
    pub(crate) fn release_replaced(&mut self) {
        for version in self.replaced.clone() {
            let content = self.content(version);
            let mut later = self.replaced.iter().copied().chain(self.present).filter(|later| *later > version);
            let is_there_again = later.any(|later| self.content(later) == content);
            if is_there_again || content.is_none_or(|content| !self.images.contains(&content)) {
                self.records.remove(&version);
                self.replaced.remove(&version);
            }
        }
    }

    /// What a restart makes of the records: the present base is the last one that is ready.
    pub(crate) fn after_restart(&self) -> Option<Version> {
        self.records.iter().filter(|(_, content)| content.is_some()).map(|(version, _)| *version).next_back()
    }
}
