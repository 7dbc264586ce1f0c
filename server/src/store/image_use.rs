//! How an image is used: the limits on the access to it, and what was read. That is the same at all its addresses.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use media::access::ImageAccess;
use media::reading::{Progress, ReadingSnapshot, Since, TakeAfter, TakenRead};

use super::stored_image::StoredImage;

impl StoredImage {
    /// The limits on the access to the image.
    pub fn access(&self) -> Option<Arc<ImageAccess>> {
        self.common.access.read().clone()
    }

    /// Replaces the limits. The caller has locked the image, and written its record.
    pub(super) fn set_access(&self, access: Option<ImageAccess>) {
        *self.common.access.write() = access.map(Arc::new);
    }

    /// Whether the time to live of the image is over. It is then no longer served, and its record is about to be removed.
    pub fn has_ended(&self) -> bool {
        self.common.access.read().as_ref().is_some_and(|access| access.has_ended())
    }

    /// Notes that somebody else relies on the image now. The caller has locked the image.
    pub(super) fn order_again(&self) {
        self.common.ordered_again.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ordered_again(&self) -> bool {
        self.common.ordered_again.load(Ordering::Relaxed)
    }

    /// Whether both are from one publication, such as an image at its addresses under two installation keys.
    pub(super) fn is_same_publication(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.common, &other.common)
    }

    /// The record of what was read since the image was published, the server was started, or a boot of it began. Cheap.
    pub fn reading(&self) -> ReadingSnapshot {
        self.common.reading.snapshot(self.sizes().unwrap_or_default())
    }

    /// Whether any file was requested since the server was started.
    pub fn was_requested(&self) -> bool {
        !self.common.reading.is_empty()
    }

    /// How fast this client has read the image; see [`ImageReading::speed`](media::reading::ImageReading::speed).
    pub fn speed(&self, client: IpAddr, least_seconds: u64) -> Option<u64> {
        self.common.reading.speed(client, least_seconds)
    }

    /// Clears the record of what was read, because a boot begins.
    pub fn restart_reading(&self) {
        self.common.reading.restart();
    }

    /// Takes what clients have read and nobody has taken yet, for the audit log; and how many reads were dropped.
    pub fn take_reads(&self, after: TakeAfter) -> (Vec<TakenRead>, u64) {
        self.common.reading.take_reads(after)
    }

    /// What was read of a file since `moment`, or without one, since the server was started or a boot began.
    pub fn read_since(&self, file: &str, moment: Option<Instant>) -> Since {
        self.common.reading.since(file, moment)
    }

    /// How much was read, by the files in the image. The first call reads directories of the image.
    pub fn progress(&self) -> Progress {
        self.progress_of(&self.reading())
    }

    /// [`progress`](Self::progress) at the time of this snapshot.
    pub fn progress_of(&self, snapshot: &ReadingSnapshot) -> Progress {
        Progress::new(snapshot, |file| self.layouts.get(file.name, file.size, || self.available()))
    }
}
