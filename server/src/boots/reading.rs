//! What the media plane has seen of an image being read, as far as it matters to a boot.

use std::sync::Arc;
use std::time::Duration;

use super::record::BootRecord;
use super::step::Step;
use super::time::Timestamp;
use crate::reading::Progress;
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
    since_power_on: Option<String>,
}

impl Seen {
    /// What the host has read since it was switched on, if it has.
    pub(super) fn since_power_on(&self) -> Option<String> {
        self.since_power_on.clone()
    }
}

/// Looks at what was read of a boot's image. Waits for the disk: the first look reads directories of the image.
pub(super) fn look(image: &Arc<StoredImage>, record: &BootRecord) -> Seen {
    let progress = image.progress();
    let copied = record.at_bmc.as_ref().is_some_and(|at_bmc| at_bmc.copied);
    let since_power_on = if copied {
        Some("the BMC had read the whole image before, and shows the host its copy".to_owned())
    } else {
        is_since_power_on(&progress, record).then(|| progress.to_string())
    };
    Seen {
        text: progress.to_string(),
        goes_on: progress.idle.is_some_and(|idle| idle < AT_REST),
        nothing: !progress.asked_for && !copied,
        since_power_on,
    }
}

/// The record of the reading begins anew when the host is switched off and on, unless others boot from the same image.
fn is_since_power_on(progress: &Progress, record: &BootRecord) -> bool {
    let Some(power) = record.step(Step::Power) else { return false };
    let begins_with_boot = power.started.is_some_and(|started| Timestamp::of(progress.since) >= started);
    if begins_with_boot {
        return progress.sent > 0;
    }
    power.ended.zip(progress.last).is_some_and(|(ended, last)| Timestamp::of(last) >= ended)
}

/// Whether all of the file that the BMC has was read: some BMCs copy it, and the host reads the copy.
pub(super) fn is_copied(image: &StoredImage, file: &str) -> bool {
    let snapshot = image.reading();
    snapshot.files.iter().any(|read| read.name == file && read.size > 0 && read.ranges.bytes() >= read.size)
}
