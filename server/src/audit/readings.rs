//! Records what clients of the media plane read. It looks at the records of readings once a second, so that serving a byte costs no
//! more than before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use media::reading::TakeAfter;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::event::{Event, Who};
use super::handle::Audit;
use crate::store::{Store, StoredImage};

/// The time between two looks.
const PACE: Duration = Duration::from_secs(1);

/// When a read is recorded: when the client pauses, and in parts if it reads for long, so that a failure loses little.
const AFTER: TakeAfter = TakeAfter { quiet: Duration::from_secs(10), begun: Duration::from_mins(5) };

/// For how long a deleted image is looked at after its last transfer. Longer than connections may be idle.
const AFTERWARDS: Duration = Duration::from_mins(10);

/// The readings of the images of a store.
#[derive(Debug)]
pub struct Readings {
    audit: Audit,
    store: Arc<Store>,
    /// The images at the last look.
    images: Vec<Arc<StoredImage>>,
    /// Images that were deleted, with the time of the last read. Transfers of them go on.
    deleted: Vec<(Arc<StoredImage>, Instant)>,
}

impl Readings {
    /// The readings of the images of `store`.
    pub fn new(store: Arc<Store>, audit: Audit) -> Self {
        Self { audit, store, images: Vec::new(), deleted: Vec::new() }
    }

    /// Records readings until `stopping` is cancelled. The caller records the rest when transfers have ended.
    pub async fn follow(mut self, stopping: CancellationToken) -> Self {
        if !self.audit.is_on() {
            return self;
        }
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = pace.tick() => {
                    self.audit.notice_stall();
                    self.record_finished(AFTER);
                }
                () = stopping.cancelled() => return self,
            }
        }
    }

    /// Records the reads that are complete enough.
    pub fn record_finished(&mut self, after: TakeAfter) {
        let images = self.store.images();
        let now = Instant::now();
        for old in std::mem::take(&mut self.images) {
            let same =
                images.binary_search_by_key(&old.id(), |image| image.id()).ok().and_then(|found| images.get(found));
            if !same.is_some_and(|same| Arc::ptr_eq(same, &old)) {
                if old.has_ended() {
                    let (image, host) = (old.id().to_string(), old.label().map(str::to_owned));
                    self.audit.record(Who::SERVER, Event::ImageEnded { image, host });
                }
                self.deleted.push((old, now));
            }
        }
        for image in &images {
            record_reads(&self.audit, image, after);
        }
        let audit = &self.audit;
        self.deleted.retain_mut(|(image, last)| {
            if record_reads(audit, image, after) > 0 {
                *last = now;
            }
            last.elapsed() < AFTERWARDS
        });
        self.images = images;
    }
}

/// Records the reads of an image that are complete enough, and returns how many there were.
pub fn record_reads(audit: &Audit, image: &StoredImage, after: TakeAfter) -> usize {
    let (reads, dropped) = image.take_reads(after);
    let (id, host) = (image.id().to_string(), image.label().map(str::to_owned));
    if dropped > 0 {
        let event = Event::ReadsLost { image: id.clone(), host: host.clone(), pieces: dropped };
        audit.record(Who::SERVER, event);
    }
    let count = reads.len();
    for read in reads {
        let event = Event::ImageRead {
            image: id.clone(),
            host: host.clone(),
            file: read.file,
            first: read.first,
            last: read.last,
            sent: read.sent,
            ranges: read.ranges,
            approximate: read.approximate,
        };
        audit.record(Who::reader(read.peer), event);
    }
    count
}
