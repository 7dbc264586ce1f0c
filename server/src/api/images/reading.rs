//! `GET /v1/images/{id}/reading`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use imagelib::layout::BootRole;
use media::reading::{ClientSnapshot, FileProgress, FileSnapshot, Progress, ReadingSnapshot};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::problem::Problem;
use crate::api::timestamp::rfc3339;
use crate::api::{Api, blocking};

/// Which bytes of an image were read, and by whom.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Reading {
    #[serde(flatten)]
    progress: ProgressBody,
    /// The image's files that a client has requested.
    files: Vec<FileReadingBody>,
}

/// How much of an image was read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadingProgress)]
pub(in crate::api) struct ProgressBody {
    /// A summary in one sentence.
    #[schema(example = "kernel read, initrd 43 %, 206 KB/s, 3 min left")]
    summary: String,
    /// When the record began (RFC 3339): when the image was made, the server started, or a boot of the image began.
    #[schema(example = "2026-02-28T23:59:59Z", format = DateTime)]
    since: String,
    /// The time of this snapshot.
    #[schema(format = DateTime)]
    at: String,
    /// How many bytes the server has sent; bytes that it sent twice count twice.
    sent: u64,
    /// Bytes sent per second, over the last ten seconds.
    rate: u64,
    /// When the server sent the last byte; absent if it has sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_read: Option<String>,
    /// For how many seconds the server has sent nothing although a read is incomplete: a client has read the kernel or an initrd
    /// only in part, or does not accept the bytes that it requested. Absent if nothing is stalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    stalled_seconds: Option<u64>,
    /// How many more seconds the current file will take at the current rate. Absent for a root file system on a medium, because
    /// a live system reads only the parts that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
    /// The files and structures on the medium that were read, and those that a boot reads.
    contents: Vec<ContentBody>,
}

/// How much of a file on the medium was read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadContent)]
struct ContentBody {
    /// The file of the image that contains it.
    #[schema(example = "boot.iso")]
    file: &'static str,
    /// Its path on the medium; for a file in a file system image, after the image's path and a colon. For a structure, its name.
    #[schema(example = "/images/pxeboot/initrd.img")]
    name: String,
    /// `kernel`, `initrd` or `rootfs`, for files that a boot reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "initrd")]
    role: Option<BootRole>,
    /// Whether it is a structure of the medium, such as `directories`, instead of a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    structure: bool,
    /// Length in bytes.
    size: u64,
    /// How many of its bytes were read at least once.
    read: u64,
    /// The same in percent.
    percent: u8,
    /// Whether a client is reading it now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reading: bool,
}

/// Which bytes of a file of an image were read.
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
    /// How many bytes the server has sent; bytes that it sent twice count twice.
    sent: u64,
    /// How many answers the server is sending at the moment.
    active: u32,
    /// When the server sent the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    first_read: Option<String>,
    /// When the server sent the last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_read: Option<String>,
    /// Which bytes were read.
    ranges: Vec<RangeBody>,
    /// Whether the server has merged close ranges, as if the bytes between them had been read, because there were too many.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    approximate: bool,
    /// The clients that requested it: the last 16 addresses.
    clients: Vec<ClientBody>,
    /// How many more addresses requested it.
    #[serde(skip_serializing_if = "is_zero")]
    more_clients: u64,
}

/// A range of bytes in a file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadRange)]
struct RangeBody {
    /// The offset of the first byte.
    start: u64,
    /// The offset after the last byte.
    end: u64,
}

/// A client that requested a file of an image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadClient)]
struct ClientBody {
    /// IP address.
    address: String,
    /// The client's `User-Agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// The version of TLS; absent for plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<&'static str>,
    /// The number of GET requests.
    gets: u64,
    /// The number of HEAD requests.
    heads: u64,
    /// The number of requests with ranges.
    range_requests: u64,
    /// How many bytes the server has sent to it.
    sent: u64,
    /// The time of its first request.
    #[schema(format = DateTime)]
    first: String,
    /// The time of its last request, or of the last byte that it was sent.
    #[schema(format = DateTime)]
    last: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Show which bytes of an image were read and by whom, and how far a boot has come.
///
/// The server keeps this record in memory: it begins again when the server starts, and when a boot of the image begins. Bytes
/// count as read when the server has handed them to a connection. For a file that a client fetches in one piece, up to a few
/// MiB may still be in transit.
#[utoipa::path(operation_id = "getReading", get, path = "/v1/images/{id}/reading", tag = "images",
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The record", body = Reading),
        (status = 404, description = "No image has this id (`not-found`)"),
        (status = 503, description = "The base is not available (`base-unavailable`)"),
    ))]
pub(super) async fn reading(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<Reading>, Problem> {
    super::planned(&api, &id)?;
    let image = super::find(&api, &id)?;
    // The first time, this reads directories of the image.
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
