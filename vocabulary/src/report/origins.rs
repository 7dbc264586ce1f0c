//! Where the parts of a translated or merged document come from.

use std::collections::BTreeMap;

use super::{DocumentPath, NetworkFormat};

/// The parts of a document, each with the place in the user's documents that it comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    parts: BTreeMap<DocumentPath, Origin>,
    format: Option<NetworkFormat>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// The part is a copy of what the user wrote there, so that paths inside it lead on.
    Moved(DocumentPath),
    /// The part was made from what the user wrote there, and has a structure of its own.
    Made(DocumentPath),
}

impl Origins {
    /// Makes the origins of a document that dayone translates from `format`.
    pub fn translated_from(format: NetworkFormat) -> Self {
        Self { parts: BTreeMap::new(), format: Some(format) }
    }

    /// Returns the format that the user wrote, unless it is that of the document itself.
    pub fn format(&self) -> Option<NetworkFormat> {
        self.format
    }

    /// Notes that the part at `part` is a copy of what is at `origin`.
    pub fn moved(&mut self, part: DocumentPath, origin: DocumentPath) {
        self.parts.entry(part).or_insert(Origin::Moved(origin));
    }

    /// Notes that the part at `part` was made from what is at `origin`.
    pub fn made(&mut self, part: DocumentPath, origin: DocumentPath) {
        self.parts.entry(part).or_insert(Origin::Made(origin));
    }

    /// Notes that the part at `part` was at `was` before, in the same document.
    pub fn renamed(&mut self, part: DocumentPath, was: &DocumentPath) {
        let origin = self.smallest(was).unwrap_or_else(|| Origin::Moved(was.clone()));
        self.parts.entry(part).or_insert(origin);
    }

    /// Whether the whole document is as the user wrote it.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns where the value at `path` comes from, according to the smallest part that contains it.
    pub fn of(&self, path: &DocumentPath) -> Option<DocumentPath> {
        self.smallest(path).map(|origin| match origin {
            Origin::Moved(origin) | Origin::Made(origin) => origin,
        })
    }

    /// Returns the origin of the value at `path`, according to the smallest part that contains it.
    fn smallest(&self, path: &DocumentPath) -> Option<Origin> {
        let (top, origin) = path.tops().find_map(|top| Some((top, self.parts.get(top)?)))?;
        Some(match origin {
            Origin::Moved(origin) => Origin::Moved(origin.followed_by(&path.steps_from(top)?)),
            Origin::Made(origin) => Origin::Made(origin.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_part_says_where_a_place_comes_from() {
        let interface = |index| DocumentPath::root().key("interfaces").index(index);
        let policy = DocumentPath::document("NodeNetworkConfigurationPolicy/a").key("spec");
        let link = DocumentPath::document("network_data").key("links").index(3);
        let mut origins = Origins::default();
        origins.moved(interface(1), policy.key("desiredState").key("interfaces").index(0));
        origins.made(interface(2), link.clone());
        origins.made(interface(2).key("mtu"), link.key("mtu"));
        let of = |path: DocumentPath| origins.of(&path).map(|path| path.to_string());
        let moved = "NodeNetworkConfigurationPolicy/a: spec.desiredState.interfaces[0].ipv4";
        assert_eq!(of(interface(1).key("ipv4")).as_deref(), Some(moved));
        assert_eq!(of(interface(2).key("vlan").key("id")).as_deref(), Some("network_data: links[3]"));
        assert_eq!(of(interface(2).key("mtu")).as_deref(), Some("network_data: links[3].mtu"));
        assert_eq!(of(interface(10)), None);
    }

    /// A document of a few megabytes has that many parts. A linear search would take minutes.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the library has no clock; this test has one")]
    fn a_great_many_parts_are_found_at_once() {
        let list = DocumentPath::document("d").key("interfaces").index(0).key("addresses");
        let mut origins = Origins::default();
        origins.moved(list.clone(), DocumentPath::document("p").key("address"));
        let begun = std::time::Instant::now();
        for index in 0..200_000 {
            origins.renamed(list.index(index).key("valid-life-time"), &list.index(index).key("valid-lft"));
        }
        let found = origins.of(&list.index(199_999).key("valid-life-time")).map(|path| path.to_string());
        assert_eq!(found.as_deref(), Some("p: address[199999].valid-lft"));
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }
}
