//! The layouts of an image's files, computed when somebody first asks for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use imagelib::iso::IsoError;
use imagelib::layout::{Layout, MAX_FILES};
use media::WAIT_LIMIT;
use parking_lot::Mutex;
use tracing::debug;

use super::planned_image::PlannedImage;

/// Layouts by file name. They derive from plans, and never change.
#[derive(Debug, Default)]
pub(super) struct Layouts(Mutex<BTreeMap<&'static str, Arc<Layout>>>);

impl Layouts {
    /// The layout of a file of `size` bytes. If dayone cannot determine it, the layout is a single file, and the progress has
    /// no names.
    pub(super) fn get(&self, file: &str, size: u64, plan: impl FnOnce() -> Option<Arc<PlannedImage>>) -> Arc<Layout> {
        let whole = |size| Arc::new(Layout::whole(file, None, size));
        // The lock is held while reading, so that other callers wait instead of reading the same. They do not wait for ever, because
        // the base's file system may hang.
        let Some(mut known) = self.0.try_lock_for(WAIT_LIMIT) else { return whole(size) };
        if let Some(layout) = known.get(file) {
            return Arc::clone(layout);
        }
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
