//! Who uses a base.

use std::sync::Arc;

use imagelib::base::BaseIdentity;

use super::Store;
use super::base_record::{BaseRecord, BaseVersion};
use super::registered_base::RegisteredBase;

/// Who uses a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BaseUse {
    /// How many published images were made from it.
    pub images: usize,
    /// How many answers with bytes of these images are under way.
    pub transfers: usize,
}

impl Store {
    /// Who uses the bases of this identity.
    pub fn base_use(&self, identity: &BaseIdentity) -> BaseUse {
        let mut counted = BaseUse::default();
        for image in self.images.all().iter().filter(|image| image.base() == *identity) {
            counted.images += 1;
            let elsewhere = self.images.elsewhere(&image.id());
            counted.transfers += image.transfers() + elsewhere.map_or(0, |elsewhere| elsewhere.transfers());
        }
        counted
    }

    /// The bases of this name that a later one has replaced and that are still there, in the order of their versions.
    pub fn replaced_by(&self, name: &str) -> Vec<Arc<RegisteredBase>> {
        let mut replaced = self.bases.replaced();
        replaced.retain(|base| base.name().as_str() == name);
        replaced.sort_by_key(|base| base.version());
        replaced
    }

    /// Whether a later base of its name has the same files as this replaced one: the store removes this one in a moment.
    pub fn is_there_again(&self, replaced: &RegisteredBase, identity: &BaseIdentity) -> bool {
        self.bases.is_there_again(replaced, identity)
    }

    /// The bases that were added while the server ran, also those whose files are not there, in the order of their versions.
    pub fn added_bases(&self) -> Vec<(BaseVersion, BaseRecord)> {
        self.added.all()
    }

    /// Whether the base of this name is in the server's configuration.
    pub fn is_configured(&self, name: &str) -> bool {
        self.base(name).is_some_and(|base| base.version().is_none())
    }

    /// The record of the added base of this name, if the base can be used. One whose files are lost or damaged needs new ones.
    pub fn usable_added_base(&self, name: &str) -> Option<BaseRecord> {
        let base = self.base(name).filter(|base| base.available().is_some());
        base.and_then(|base| self.added.get(base.version()?))
    }

    /// The record of an added base.
    pub fn added_base(&self, version: BaseVersion) -> Option<BaseRecord> {
        self.added.get(version)
    }
}
