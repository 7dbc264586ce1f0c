//! The layouts of an image's files, computed when somebody first asks for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use imagelib::iso::IsoError;
use imagelib::layout::{Layout, MAX_FILES};
use parking_lot::Mutex;
use tracing::debug;

use super::planned_image::PlannedImage;

/// With how many of the last layouts over a base a new one is compared.
const COMPARED: usize = 16;

/// The last layouts of images over a base. Most of these images have the same one, which takes kilobytes.
#[derive(Debug, Default)]
pub(super) struct LastLayouts(Mutex<VecDeque<Weak<Layout>>>);

impl LastLayouts {
    /// The same layout, which images share if they can.
    fn shared(&self, layout: Layout) -> Arc<Layout> {
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

/// Layouts by file name. They derive from plans, and never change.
#[derive(Debug, Default)]
pub(super) struct Layouts(Mutex<BTreeMap<&'static str, Arc<Layout>>>);

impl Layouts {
    /// The layout of a file of `size` bytes. If dayone cannot determine it, the layout is a single file, and the progress has
    /// no names.
    pub(super) fn get(&self, file: &str, size: u64, plan: impl FnOnce() -> Option<Arc<PlannedImage>>) -> Arc<Layout> {
        // The lock is held while reading, so that other callers wait instead of reading the same.
        let mut known = self.0.lock();
        if let Some(layout) = known.get(file) {
            return Arc::clone(layout);
        }
        let whole = |size| Arc::new(Layout::whole(file, None, size));
        let Some(planned) = plan() else { return whole(size) };
        let Some((name, overlay)) = planned.image.files.iter().find(|(name, _)| name.as_str() == file) else {
            return whole(size);
        };
        let base = &planned.base;
        match Layout::of_file(*name, overlay, &base.base, base.files_of(overlay)) {
            Ok(layout) => {
                let layout = base.last_layouts.shared(layout.reduced(MAX_FILES));
                known.insert(name.as_str(), Arc::clone(&layout));
                layout
            }
            Err(error) => {
                debug!(file, %error, "cannot determine the layout of an image");
                let layout = whole(overlay.size());
                // A failed read may succeed later. A structure that is not valid stays invalid.
                if !matches!(error, IsoError::Read { .. }) {
                    known.insert(name.as_str(), Arc::clone(&layout));
                }
                layout
            }
        }
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
