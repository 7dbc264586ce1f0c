//! Bases that were replaced under their names, with images that were published over what they were before.

use std::collections::BTreeMap;

use imagelib::base::BaseIdentity;

use super::Store;
use super::definition::BaseName;
use super::registered_base::BaseState;

/// A base that is another image than the one under which images were published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedBase {
    /// Its name.
    pub name: BaseName,
    /// Its identity when the images were published.
    pub was: BaseIdentity,
    /// Its identity now.
    pub now: BaseIdentity,
    /// How many images answer 503 for that reason.
    pub images: usize,
}

impl Store {
    /// The bases that were replaced, ordered by name and by what they were.
    pub fn replaced_bases(&self) -> Vec<ReplacedBase> {
        let mut images: BTreeMap<(BaseName, BaseIdentity), usize> = BTreeMap::new();
        for image in self.images() {
            let Some(name) = image.base_name().filter(|_| image.available().is_none()) else { continue };
            *images.entry((name.clone(), image.recipe().base)).or_default() += 1;
        }
        let replaced = images.into_iter().filter_map(|((name, was), images)| {
            let BaseState::Available(open) = self.base(name.as_str())?.state() else { return None };
            (open.identity != was).then_some(ReplacedBase { name, was, now: open.identity, images })
        });
        replaced.collect()
    }
}
