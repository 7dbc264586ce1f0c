//! A subject at one moment, and what has changed since earlier ones.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// A piece of a subject: its id and its text.
pub(crate) type Piece = (Arc<str>, Arc<str>);

/// What a subject is at the moment. No two pieces have the same id.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// Pieces that have a place of their own.
    pub(crate) elements: Vec<Piece>,
    /// The pieces of a list, in their order; none if the subject has no list.
    pub(crate) rows: Option<Vec<Piece>>,
}

/// A subject at one moment, in which every piece knows since when it is as it is.
#[derive(Debug)]
pub(super) struct Update {
    version: u64,
    elements: Vec<Dated>,
    rows: Option<Vec<Dated>>,
    /// When a row came, went or moved.
    rearranged: u64,
    /// The events of this update, by the version that their clients have seen. Most clients have seen the last one.
    events: Mutex<BTreeMap<u64, Bytes>>,
}

#[derive(Debug)]
struct Dated {
    piece: Piece,
    changed: u64,
}

/// What has changed since a version.
#[derive(Debug)]
pub(crate) struct Changes<'a> {
    /// The elements that have changed: ids with texts.
    pub(crate) elements: Vec<(&'a str, &'a str)>,
    /// The rows that are new or have changed; none if the subject has no list.
    pub(crate) rows: Option<Vec<(&'a str, &'a str)>>,
    /// The ids of all rows, if a row came, went or moved.
    pub(crate) order: Option<Vec<&'a str>>,
}

impl Update {
    /// The update that follows the last one; none if nothing has changed.
    pub(super) fn after(last: Option<&Self>, content: Content) -> Option<Self> {
        let version = last.map_or(0, |last| last.version) + 1;
        let then = |last: &Self| -> HashMap<Arc<str>, (Arc<str>, u64)> {
            let dated = last.elements.iter().chain(last.rows.iter().flatten());
            dated.map(|Dated { piece: (id, text), changed }| (Arc::clone(id), (Arc::clone(text), *changed))).collect()
        };
        let known = last.map(then).unwrap_or_default();
        let date = |piece: Piece| {
            let same = known.get(&piece.0).filter(|(text, _)| Arc::ptr_eq(text, &piece.1) || *text == piece.1);
            let changed = same.map_or(version, |(_, changed)| *changed);
            Dated { piece, changed }
        };
        let elements: Vec<Dated> = content.elements.into_iter().map(date).collect();
        let rows: Option<Vec<Dated>> = content.rows.map(|rows| rows.into_iter().map(date).collect());
        let same_order = last.filter(|last| ids(last.rows.as_ref()).eq(ids(rows.as_ref())));
        let rearranged = same_order.map_or(version, |last| last.rearranged);
        let is_new = |piece: &Dated| piece.changed == version;
        let is_changed = rearranged == version || elements.iter().chain(rows.iter().flatten()).any(is_new);
        is_changed.then(|| Self { version, elements, rows, rearranged, events: Mutex::default() })
    }

    /// Its version. The first is 1.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The event for clients that have seen a version; 0 for those that have seen none. `encode` makes its data, which must be
    /// one line.
    pub(super) fn event(&self, seen: u64, name: &str, encode: impl FnOnce(&Changes<'_>) -> String) -> Bytes {
        let event = || Bytes::from(format!("event: {name}\ndata: {}\n\n", encode(&self.changes(seen))));
        self.events.lock().entry(seen).or_insert_with(event).clone()
    }

    fn changes(&self, seen: u64) -> Changes<'_> {
        let rearranged = self.rows.as_ref().filter(|_| self.rearranged > seen);
        Changes {
            elements: newer(&self.elements, seen),
            rows: self.rows.as_ref().map(|rows| newer(rows, seen)),
            order: rearranged.map(|rows| rows.iter().map(|row| &*row.piece.0).collect()),
        }
    }
}

fn ids(rows: Option<&Vec<Dated>>) -> impl Iterator<Item = &Arc<str>> {
    rows.into_iter().flatten().map(|row| &row.piece.0)
}

fn newer(pieces: &[Dated], seen: u64) -> Vec<(&str, &str)> {
    let newer = pieces.iter().filter(|dated| dated.changed > seen);
    newer.map(|dated| (&*dated.piece.0, &*dated.piece.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(rows: &[(&str, &str)]) -> Content {
        let piece = |(id, text): &(&str, &str)| ((*id).into(), (*text).into());
        Content { elements: vec![piece(&("headline", "1 of 2"))], rows: Some(rows.iter().map(piece).collect()) }
    }

    fn told(update: &Update, seen: u64) -> String {
        let Changes { elements, rows, order } = update.changes(seen);
        format!("{} {:?} {:?}", elements.len(), rows.unwrap(), order.unwrap_or_default())
    }

    #[test]
    fn each_client_gets_what_has_changed_since_its_last_event() {
        let first = Update::after(None, content(&[("a", "1"), ("b", "2")])).unwrap();
        assert_eq!(told(&first, 0), r#"1 [("a", "1"), ("b", "2")] ["a", "b"]"#);
        assert!(Update::after(Some(&first), content(&[("a", "1"), ("b", "2")])).is_none());
        let text = Update::after(Some(&first), content(&[("a", "1"), ("b", "3")])).unwrap();
        assert_eq!(told(&text, 1), r#"0 [("b", "3")] []"#);
        let moved = Update::after(Some(&text), content(&[("b", "3"), ("a", "1")])).unwrap();
        assert_eq!(told(&moved, 2), r#"0 [] ["b", "a"]"#);
        assert_eq!(told(&moved, 1), r#"0 [("b", "3")] ["b", "a"]"#, "a client that has missed an event");
        assert_eq!(told(&moved, 0), r#"1 [("b", "3"), ("a", "1")] ["b", "a"]"#, "a new client");
        let gone = Update::after(Some(&moved), content(&[("b", "3")])).unwrap();
        assert_eq!(told(&gone, 3), r#"0 [] ["b"]"#);
        let back = Update::after(Some(&gone), content(&[("a", "1"), ("b", "3")])).unwrap();
        assert_eq!(told(&back, 4), r#"0 [("a", "1")] ["a", "b"]"#, "a client forgets rows that have gone");
    }

    #[test]
    fn clients_that_have_seen_the_same_share_the_bytes_of_their_event() {
        let first = Update::after(None, content(&[("a", "1")])).unwrap();
        let mut encoded = 0;
        let mut event = |seen| {
            first.event(seen, "change", |changes| {
                encoded += 1;
                changes.elements.len().to_string()
            })
        };
        let (one, other, late) = (event(0), event(0), event(1));
        assert_eq!((&*one, &*late), (&b"event: change\ndata: 1\n\n"[..], &b"event: change\ndata: 0\n\n"[..]));
        assert_eq!(one.as_ptr(), other.as_ptr());
        assert_eq!(encoded, 2);
    }
}
