//! An overlay as a source, so that readers of images can also read planned images.

use std::io;

use super::Overlay;
use crate::source::{Source, Sources};

/// The bytes of an overlay over the files of its base.
#[derive(Debug, Clone, Copy)]
pub struct OverlaySource<'a, S> {
    overlay: &'a Overlay,
    base: S,
}

impl<'a, S: Sources + Send + Sync> OverlaySource<'a, S> {
    /// Reads `overlay` over these files.
    pub fn new(overlay: &'a Overlay, base: S) -> Self {
        Self { overlay, base }
    }
}

impl<S: Sources + Send + Sync> Source for OverlaySource<'_, S> {
    fn size(&self) -> u64 {
        self.overlay.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.overlay.read_at(&self.base, offset, buffer)
    }
}
