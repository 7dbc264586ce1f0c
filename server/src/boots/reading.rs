//! What the media plane has seen of an image being read, as far as it matters to a boot.

use media::reading::Since;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::record::BootRecord;
use super::step::{Step, StepState};
use crate::store::StoredImage;

/// After this time without a byte, nobody is reading any more.
const AT_REST: Duration = Duration::from_mins(1);

/// Whether anybody has requested an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    Yes,
    Never,
    /// dayone was restarted since the host was started, and does not know earlier requests.
    Unknown,
}

/// The reads of a boot's image.
#[derive(Debug, Clone)]
pub(super) struct Reads {
    /// The progress, for users.
    pub(super) text: String,
    /// Whether somebody is reading the image at the moment.
    pub(super) in_progress: bool,
    /// Whether anybody has requested the image.
    pub(super) requested: Requested,
    /// Whether the BMC copies the image, so that dayone does not see what the host reads.
    pub(super) copied: bool,
    /// The progress of reads that were requested after the host was switched on, if there were any. They may be from before a restart.
    pub(super) since_start: Option<String>,
}

/// Returns the reads of a boot's image, and those since its host was `started`. Waits for the disk: the first call reads
/// directories of the image.
pub(super) fn reads(image: &Arc<StoredImage>, record: &BootRecord, started: Option<Instant>) -> Reads {
    let progress = image.progress();
    let since = image.read_since(record.file_name(), started);
    // A BMC that still receives what it requested before the host was switched on does not read for the host.
    let copied = record.at_bmc.as_ref().is_some_and(|at_bmc| at_bmc.copied) || since == Since::SentOn;
    let requested = match (progress.asked_for || copied, started) {
        (true, _) => Requested::Yes,
        (false, Some(_)) => Requested::Never,
        (false, None) => Requested::Unknown,
    };
    let text = match requested {
        Requested::Unknown => "not requested since dayone was restarted".to_owned(),
        _ => progress.summary.clone(),
    };
    let earlier = record.step(Step::Reading).filter(|step| step.state == StepState::Done);
    let earlier = earlier.map(|step| step.detail.clone().unwrap_or_default());
    Reads {
        text,
        in_progress: progress.idle.is_some_and(|idle| idle < AT_REST),
        requested,
        copied,
        since_start: (since == Since::Asked).then_some(progress.summary).or(earlier),
    }
}

/// Whether the whole file was read, without the first `sent_before` bytes that the server sent. Some BMCs copy it, and the host then
/// reads the copy.
pub(super) fn is_copied(image: &StoredImage, file: &str, sent_before: u64) -> bool {
    image.reading().files.iter().any(|read| {
        let is_whole = read.read >= read.size && read.sent.saturating_sub(sent_before) >= read.size;
        read.name == file && read.size > 0 && is_whole
    })
}

/// How many bytes of the file the server has sent. Bytes that it sent twice count twice.
pub(super) fn sent(image: &StoredImage, file: &str) -> u64 {
    image.reading().files.iter().find(|read| read.name == file).map_or(0, |read| read.sent)
}
