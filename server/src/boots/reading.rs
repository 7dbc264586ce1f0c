//! What the media plane has seen of an image being read, as far as it matters to a boot.

use media::reading::Since;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::record::BootRecord;
use crate::store::StoredImage;

/// After this long without a byte, a host that is late is not waited for any longer.
const AT_REST: Duration = Duration::from_mins(1);

/// What was seen.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// In words.
    pub(super) text: String,
    /// Whether it is being read at the moment.
    pub(super) goes_on: bool,
    /// Whether nobody has ever asked for it, as far as is known.
    pub(super) nothing: bool,
    /// Whether the BMC copies the image, so that what the host reads is not seen.
    pub(super) copied: bool,
    since_start: Option<String>,
}

impl Seen {
    /// What was read at requests that came after the host was switched on, if there were any.
    pub(super) fn since_start(&self) -> Option<String> {
        self.since_start.clone()
    }
}

/// Looks at what was read of a boot's image since its host was `started`. Waits for the disk: the first look reads
/// directories of the image.
pub(super) fn look(image: &Arc<StoredImage>, record: &BootRecord, started: Option<Instant>) -> Seen {
    let progress = image.progress();
    let since = image.read_since(record.file_name(), started);
    // A BMC that is sent what it asked for before the host was switched on has not read it for the host.
    let copied = record.at_bmc.as_ref().is_some_and(|at_bmc| at_bmc.copied) || since == Since::SentOn;
    Seen {
        text: progress.to_string(),
        goes_on: progress.idle.is_some_and(|idle| idle < AT_REST),
        nothing: !progress.asked_for && !copied,
        copied,
        since_start: (since == Since::Asked).then(|| progress.to_string()),
    }
}

/// Whether all of the file that the BMC has was read: some BMCs copy it, and the host reads the copy.
pub(super) fn is_copied(image: &StoredImage, file: &str) -> bool {
    let snapshot = image.reading();
    snapshot.files.iter().any(|read| read.name == file && read.size > 0 && read.ranges.bytes() >= read.size)
}
