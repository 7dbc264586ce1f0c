//! The layouts of an image's files, made when they are asked for first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use imagelib::image::Image;
use imagelib::iso::IsoError;
use imagelib::layout::{Layout, MOST_FILES};
use tracing::debug;

use super::open_base::OpenBase;

/// Layouts by the names of files. They follow from the plan, and never change.
#[derive(Debug, Default)]
pub(super) struct Layouts(Mutex<BTreeMap<&'static str, Arc<Layout>>>);

impl Layouts {
    /// The layout of a file of `size` bytes. One that cannot be told is that of a single file, which is what a progress
    /// without names comes down to.
    pub(super) fn get(&self, image: &Image, base: &OpenBase, file: &str, size: u64) -> Arc<Layout> {
        // Held while reading: who asks for the same at the same time waits instead of reading the same.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layout) = known.get(file) {
            return Arc::clone(layout);
        }
        let part = image.files.iter().find(|(name, _)| name.as_str() == file);
        let Some((name, overlay)) = part else {
            return Arc::new(Layout::whole(file, None, size));
        };
        match Layout::of_file(*name, overlay, &base.base, base.files_of(overlay)) {
            Ok(layout) => {
                let layout = Arc::new(layout.reduced(MOST_FILES));
                known.insert(name.as_str(), Arc::clone(&layout));
                layout
            }
            Err(error) => {
                debug!(file, %error, "what lies where in an image is not known");
                let layout = Arc::new(Layout::whole(file, None, overlay.size()));
                // What cannot be read now may be read later; what makes no sense stays so.
                if !matches!(error, IsoError::Read { .. }) {
                    known.insert(name.as_str(), Arc::clone(&layout));
                }
                layout
            }
        }
    }
}
