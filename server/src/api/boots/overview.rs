//! Boots as `GET /v1/boots/events` shows them: what people watch, and no more.

use media::reading::{FileProgress, Progress};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::timestamp::rfc3339_millis;
use crate::boots::{BootState, Counted, Listed, Step, StepRecord, StepState};

/// A boot at a glance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootOverview)]
pub(super) struct OverviewBody {
    /// The boot's id.
    #[schema(example = "06gq1k2m5v8t3n4p")]
    id: String,
    /// The host's name in the documents.
    host: Option<String>,
    /// The address of the host's BMC.
    bmc: String,
    /// The state, as that of a `Boot`.
    #[schema(value_type = String, example = "running")]
    state: BootState,
    /// Whether the boot has ended.
    ended: bool,
    /// How the host counts in "31 of 40 hosts have booted". Absent if a later boot counts for the host, or if the boot was deleted
    /// before the host had booted.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_as: Option<Counted>,
    /// The time of the request (RFC 3339).
    #[schema(example = "2026-02-28T23:59:59.123Z", format = DateTime)]
    created: String,
    /// The steps, in order.
    steps: Vec<StepMark>,
    /// Why the boot is in its state, or what it is doing.
    #[schema(example = "insert: the BMC refuses the user name or the password")]
    reason: String,
    /// What was read of the image; absent if that does not matter any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<ReadingBody>,
    /// A number that increases with every change of the boot; it does not change with `reading`.
    revision: u64,
}

/// A step and its state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootStepMark)]
struct StepMark {
    /// The step, as that of a `Boot`.
    #[schema(value_type = String, example = "insert")]
    step: Step,
    /// Its state.
    #[schema(value_type = String, example = "done")]
    state: StepState,
}

/// What was read of a boot's image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootReading)]
struct ReadingBody {
    /// How many bytes the server has sent.
    sent: u64,
    /// Bytes per second, over the last ten seconds.
    rate: u64,
    /// When the server sent the last byte (RFC 3339); absent if it has sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_read: Option<String>,
    /// For how many seconds a read has stalled; absent if none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    stalled_seconds: Option<u64>,
    /// How many more seconds the current file will take.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
    /// The files that the boot reads.
    files: Vec<FileBody>,
}

/// How much of a file of the image was read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootFile)]
struct FileBody {
    /// `kernel`, `initrd` or `rootfs`; the file's name if the boot reads several files of the role.
    #[schema(example = "initrd")]
    label: String,
    /// Its path on the medium.
    #[schema(example = "/images/pxeboot/initrd.img")]
    name: String,
    /// How many bytes were read.
    read: u64,
    /// Length in bytes.
    size: u64,
    /// The part that was read, in percent.
    percent: u8,
    /// Whether the BMC reads it now.
    reading: bool,
}

/// Describes a boot at a glance. Waits for the disk: the first time, this reads directories of the image.
pub(super) fn overview(api: &Api, listed: &Listed) -> OverviewBody {
    let view = &listed.boot.view;
    let record = &view.record;
    let image = listed.group.is_watched().then(|| api.store.image(&record.image)).flatten();
    let mark = |step: &StepRecord| StepMark { step: step.step, state: step.state };
    OverviewBody {
        id: record.id.to_string(),
        host: record.host.clone(),
        bmc: record.bmc.address.to_string(),
        state: record.state,
        ended: record.is_ended(),
        counted_as: listed.counted(),
        created: rfc3339_millis(record.created),
        steps: record.steps().iter().map(mark).collect(),
        reason: view.reason(),
        reading: image.map(|image| reading(&image.progress())),
        revision: view.revision,
    }
}

fn reading(progress: &Progress) -> ReadingBody {
    let file = |(label, file): (String, &FileProgress)| FileBody {
        label,
        name: file.name.clone(),
        read: file.read,
        size: file.size,
        percent: file.percent,
        reading: file.reading,
    };
    ReadingBody {
        sent: progress.sent,
        rate: progress.rate,
        last_read: progress.last_read.map(|time| time.to_string()),
        stalled_seconds: progress.stalled_seconds,
        seconds_left: progress.seconds_left,
        files: progress.boot_files().into_iter().map(file).collect(),
    }
}
