//! Writing into bytes that are kept in memory, and telling what became of them.

use bytes::Bytes;

use crate::overlay::Patch;

/// Equal bytes between two differences that are not worth a patch of their own.
const GAP: usize = 64;

/// The patches that make `new` of `old`, which stands at `offset` and is as long.
pub(super) fn difference(offset: u64, old: &[u8], new: Vec<u8>) -> Vec<Patch> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for at in old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new).map(|(at, _)| at) {
        match ranges.last_mut().filter(|range| at - range.end < GAP) {
            Some(range) => range.end = at + 1,
            None => ranges.push(at..at + 1),
        }
    }
    let new = Bytes::from(new);
    ranges.into_iter().map(|range| patch(offset, &new, range)).collect()
}

fn patch(offset: u64, new: &Bytes, range: std::ops::Range<usize>) -> Patch {
    // A copy, so that a patch of eight bytes does not keep a directory in memory.
    Patch::bytes(offset.saturating_add(range.start as u64), new.get(range).map(<[u8]>::to_vec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fields::put;
    use crate::overlay::Content;

    proptest! {
        #[test]
        fn the_difference_makes_the_new_of_the_old(
            old in proptest::collection::vec(any::<u8>(), 0..600),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        ) {
            let mut new = old.clone();
            for (index, byte) in changes {
                if !new.is_empty() {
                    let at = index.index(new.len());
                    new[at] = byte;
                }
            }
            let mut patched = old.clone();
            let mut end = 0;
            for patch in difference(1000, &old, new.clone()) {
                let Content::Bytes(bytes) = patch.content else { panic!() };
                let at = usize::try_from(patch.offset).unwrap() - 1000;
                prop_assert!(at >= end && !bytes.is_empty());
                end = at + bytes.len();
                put(&mut patched, at, &bytes);
            }
            prop_assert_eq!(patched, new);
        }
    }
}
