//! The last layouts of images over a base, which other images share.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use imagelib::layout::Layout;
use parking_lot::Mutex;

/// How many of the last layouts over a base dayone compares a new one with.
const COMPARED: usize = 16;

/// The last layouts of images over a base. Most of these images have the same one, which takes kilobytes.
#[derive(Debug, Default)]
pub(super) struct LastLayouts(Mutex<VecDeque<Weak<Layout>>>);

impl LastLayouts {
    /// Returns the equal layout of another image, if there is one among the last, and otherwise this one.
    pub(super) fn shared(&self, layout: Layout) -> Arc<Layout> {
        let mut last = self.0.lock();
        if let Some(known) = last.iter().filter_map(Weak::upgrade).find(|known| **known == layout) {
            return known;
        }
        if last.len() == COMPARED {
            last.pop_front();
        }
        let layout = Arc::new(layout);
        last.push_back(Arc::downgrade(&layout));
        layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_layouts_are_one_as_long_as_an_image_has_it() {
        let last = LastLayouts::default();
        let layout = |size| last.shared(Layout::whole("initrd.img", None, size));
        let (one, other) = (layout(1), layout(2));
        assert!(Arc::ptr_eq(&one, &layout(1)) && Arc::ptr_eq(&other, &layout(2)));
        assert_eq!((one.files()[0].size, other.files()[0].size), (1, 2));
        drop(one);
        assert_eq!(layout(1).files()[0].size, 1);
        for size in 3..3 + u64::try_from(COMPARED).unwrap() {
            assert_eq!(layout(size).files()[0].size, size);
        }
        assert!(!Arc::ptr_eq(&other, &layout(2)) && *other == *layout(2), "it was too long ago");
    }
}
