//! What the media plane has seen of an image being read, as far as it matters to a boot.

use std::sync::Arc;
use std::time::Duration;

use imagelib::medium_reads::MediumReads;
use media::reading::Since;

use super::boot::Boot;
use super::record::BootRecord;
use super::step::{Step, StepState};
use crate::store::StoredImage;

/// After this time without a byte, nobody is reading any more.
const AT_REST: Duration = Duration::from_mins(1);

/// Whether anybody has requested an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    Yes,
    /// Nobody has read it since the host was switched on, and the BMC has read too little for a boot before.
    Never,
    /// Nobody has read it since the host was switched on. But the BMC may have kept enough of what it read before.
    OnlyBefore,
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
    /// How many bytes of the image were read at least once.
    pub(super) distinct: u64,
    /// How many bytes of it the server has sent. Bytes that it sent twice count twice.
    pub(super) sent: u64,
    /// Whether anybody has requested the image.
    pub(super) requested: Requested,
    /// Whether the BMC copies the image, so that dayone does not see what the host reads.
    pub(super) copied: bool,
    /// The progress of reads that were requested after the host was switched on, if there were any. They may be from before a restart.
    pub(super) since_start: Option<String>,
}

/// Returns the reads of a boot's image, and those since its host was started. Waits for the disk: the first call reads
/// directories of the image.
pub(super) fn reads(image: &Arc<StoredImage>, record: &BootRecord, boot: &Boot) -> Reads {
    let started = boot.started();
    let snapshot = image.reading();
    let progress = image.progress_of(&snapshot);
    let since = image.read_since(record.file_name(), started);
    // A BMC that still receives what it requested before the host was switched on does not read for the host.
    let copied = record.at_bmc.as_ref().is_some_and(|at_bmc| at_bmc.copied) || since == Since::SentOn;
    let requested = match started {
        _ if progress.asked_for || copied => Requested::Yes,
        None => Requested::Unknown,
        Some(_) if is_enough(boot.sent_before(), || needed(image)) => Requested::OnlyBefore,
        Some(_) => Requested::Never,
    };
    let text = match requested {
        Requested::OnlyBefore => "not requested since the host was switched on".to_owned(),
        Requested::Unknown => "not requested since dayone was restarted".to_owned(),
        _ => progress.summary.clone(),
    };
    let earlier = record.step(Step::Reading).filter(|step| step.state == StepState::Done);
    let earlier = earlier.map(|step| step.detail.clone().unwrap_or_default());
    Reads {
        text,
        in_progress: progress.idle.is_some_and(|idle| idle < AT_REST),
        distinct: snapshot.files.iter().map(|file| file.read).fold(0, u64::saturating_add),
        sent: progress.sent,
        requested,
        copied,
        since_start: (since == Since::Asked).then_some(progress.summary).or(earlier),
    }
}

/// Whether a host may boot from the `sent` bytes that the BMC read before the host started. Every boot reads `needed` bytes.
fn is_enough(sent: Option<u64>, needed: impl FnOnce() -> Option<u64>) -> bool {
    sent.is_none_or(|sent| sent > 0 && needed().is_none_or(|needed| sent >= needed))
}

/// Returns how many bytes of an image every boot reads. `None` if dayone does not know which files a boot reads.
fn needed(image: &StoredImage) -> Option<u64> {
    let planned = image.available()?;
    MediumReads::of_format(&planned.base.base, image.format()).map(|reads| reads.at_least)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bmc_read_before_the_start_may_be_enough_for_a_boot() {
        for (sent, needed, expected) in [
            (Some(0), Some(100), false),
            // Some BMCs read the beginning of a medium when they insert it.
            (Some(99), Some(100), false),
            (Some(100), Some(100), true),
            (Some(0), None, false),
            (Some(1), None, true),
            // Another process has inserted the image.
            (None, Some(100), true),
        ] {
            assert_eq!(is_enough(sent, || needed), expected, "{sent:?} of {needed:?}");
        }
    }
}
