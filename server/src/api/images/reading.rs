//! `GET /v1/images/{id}/reading`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use imagelib::layout::BootRole;
use media::reading::{ClientSnapshot, FileProgress, FileSnapshot, Progress, ReadingSnapshot};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::problem::{Problem, ProblemBody};
use crate::api::timestamp::rfc3339;
use crate::api::{Api, blocking};

/// What was read of an image, and by whom.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Reading {
    #[serde(flatten)]
    progress: ProgressBody,
    /// The image's files that somebody has asked for.
    files: Vec<FileReadingBody>,
}

/// How far the reading of an image has come.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadingProgress)]
pub(in crate::api) struct ProgressBody {
    /// All of it in a sentence.
    #[schema(example = "kernel read, initrd 43 %, 206 KB/s, 3 min left")]
    summary: String,
    /// Since when the record is kept (RFC 3339): since the image was made, the server started, or a boot of the image began.
    #[schema(example = "2026-02-28T23:59:59Z", format = DateTime)]
    since: String,
    /// When this was known.
    #[schema(format = DateTime)]
    at: String,
    /// How many bytes were sent; those that were sent again count again.
    sent: u64,
    /// Bytes sent per second, over the last ten seconds.
    rate: u64,
    /// When the last byte was sent; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_read: Option<String>,
    /// For how many seconds nothing has been sent although something should be: a kernel or an initrd was read in part, or a
    /// client takes no more of what it asked for. Absent if it is not so.
    #[serde(skip_serializing_if = "Option::is_none")]
    stalled_seconds: Option<u64>,
    /// How many seconds the file that is being read will take yet, at the present rate. Absent for a root file system on a
    /// medium, of which a live system reads what it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
    /// The files and structures in the image that were read, and those that a boot reads.
    contents: Vec<ContentBody>,
}

/// How far the reading of a file in an image has come.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadContent)]
struct ContentBody {
    /// The file of the image that it is in.
    #[schema(example = "boot.iso")]
    file: &'static str,
    /// Its path there, behind that of the file system image that it is in and a colon; or what it is.
    #[schema(example = "/images/pxeboot/initrd.img")]
    name: String,
    /// `kernel`, `initrd` or `rootfs`, for what a boot reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "initrd")]
    role: Option<BootRole>,
    /// Whether it is a structure of the medium, such as `directories`, and not a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    structure: bool,
    /// Length in bytes.
    size: u64,
    /// How many of its bytes were read at least once.
    read: u64,
    /// The same in hundredths: 100 is all of it.
    percent: u8,
    /// Whether it is being read now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reading: bool,
}

/// What was read of a file of an image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FileReading)]
struct FileReadingBody {
    /// Its name.
    #[schema(example = "boot.iso")]
    name: &'static str,
    /// Length in bytes.
    size: u64,
    /// How many of its bytes were read at least once.
    read: u64,
    /// How many bytes were sent; those that were sent again count again.
    sent: u64,
    /// How many answers are being sent at the moment.
    active: u32,
    /// When the first byte was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    first_read: Option<String>,
    /// When the last byte was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_read: Option<String>,
    /// Which bytes were read.
    ranges: Vec<RangeBody>,
    /// Whether there were so many ranges that close ones were made one, as if what lies between them had been read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    approximate: bool,
    /// Who asked for it: the last 16 addresses.
    clients: Vec<ClientBody>,
    /// How many addresses asked for it besides.
    #[serde(skip_serializing_if = "is_zero")]
    more_clients: u64,
}

/// Bytes of a file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadRange)]
struct RangeBody {
    /// The first one.
    start: u64,
    /// The one behind the last.
    end: u64,
}

/// Who asked for a file of an image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadClient)]
struct ClientBody {
    /// IP address.
    address: String,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// Version of TLS; absent on plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<&'static str>,
    /// How many GET requests.
    gets: u64,
    /// How many HEAD requests.
    heads: u64,
    /// How many of them asked for ranges.
    range_requests: u64,
    /// How many bytes it was sent.
    sent: u64,
    /// When it asked first.
    #[schema(format = DateTime)]
    first: String,
    /// When it asked last, or was sent something.
    #[schema(format = DateTime)]
    last: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Show what was read of an image, by whom, and how far that has come, by the files on it.
///
/// Kept in memory: it begins again when the server starts, and when a boot of the image does. What counts was handed to a
/// connection; of a file that is fetched in one piece, up to a few MiB may still be on their way.
#[utoipa::path(operation_id = "getReading", get,
    path = "/v1/images/{id}/reading",
    tag = "images",
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "What was read", body = Reading),
        (status = 404, description = "No such image (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Its base is not there (`base-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn reading(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<Reading>, Problem> {
    super::planned(&api, &id)?;
    let image = super::find(&api, &id)?;
    // The first time, directories of the image are read.
    let reading = blocking(move || {
        let snapshot = image.reading();
        Reading::new(&snapshot, &image.progress_of(&snapshot))
    });
    Ok(Json(reading.await?))
}

impl Reading {
    fn new(snapshot: &ReadingSnapshot, progress: &Progress) -> Self {
        let files = snapshot.files.iter().filter(|file| file.is_asked_for());
        Self { progress: ProgressBody::from(progress), files: files.map(FileReadingBody::from).collect() }
    }
}

impl From<&Progress> for ProgressBody {
    fn from(progress: &Progress) -> Self {
        Self {
            summary: progress.to_string(),
            since: rfc3339(progress.since),
            at: rfc3339(progress.taken),
            sent: progress.sent,
            rate: progress.rate,
            last_read: progress.last.map(rfc3339),
            stalled_seconds: progress.stalled.map(|stalled| stalled.as_secs()),
            seconds_left: progress.left.map(|left| left.as_secs()),
            contents: progress.files.iter().map(ContentBody::from).collect(),
        }
    }
}

impl From<&FileProgress> for ContentBody {
    fn from(file: &FileProgress) -> Self {
        Self {
            file: file.image_file,
            name: file.name.clone(),
            role: file.role,
            structure: !file.is_file,
            size: file.size,
            read: file.read,
            percent: file.percent(),
            reading: file.reading,
        }
    }
}

impl From<&FileSnapshot> for FileReadingBody {
    fn from(file: &FileSnapshot) -> Self {
        let ranges = file.ranges.as_slice().iter();
        Self {
            name: file.name,
            size: file.size,
            read: file.ranges.bytes(),
            sent: file.sent,
            active: file.open,
            first_read: file.first.map(rfc3339),
            last_read: file.last.map(rfc3339),
            ranges: ranges.map(|range| RangeBody { start: range.start, end: range.end }).collect(),
            approximate: file.ranges.are_approximate(),
            clients: file.clients.iter().map(ClientBody::from).collect(),
            more_clients: file.clients_forgotten,
        }
    }
}

impl From<&ClientSnapshot> for ClientBody {
    fn from(client: &ClientSnapshot) -> Self {
        Self {
            address: client.address.to_string(),
            user_agent: client.user_agent.clone(),
            tls: client.tls,
            gets: client.gets,
            heads: client.heads,
            range_requests: client.ranges,
            sent: client.bytes,
            first: rfc3339(client.first),
            last: rfc3339(client.last),
        }
    }
}
