//! Records what clients of the media plane read. It looks at the records of readings once a second, so that serving a byte costs no
//! more than before.

use std::sync::Arc;
use std::time::Duration;

use imagelib::recipe::RecipeId;
use media::reading::{TakeAfter, TakenRead};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::event::{Event, Who};
use super::handle::Audit;
use crate::store::{ReleasedImage, Store, StoredImage};

/// The time between two looks.
const PACE: Duration = Duration::from_secs(1);

/// When a read is recorded: when the client pauses, and in parts if it reads for long, so that a failure loses little.
const AFTER: TakeAfter = TakeAfter { quiet: Duration::from_secs(10), begun: Duration::from_mins(5) };

/// The readings of the images of a store.
#[derive(Debug)]
pub struct Readings {
    audit: Audit,
    store: Arc<Store>,
    /// Images that the store has released, and of which transfers go on.
    released: Vec<ReleasedImage>,
}

impl Readings {
    /// The readings of the images of `store`.
    pub fn new(store: Arc<Store>, audit: Audit) -> Self {
        store.keep_released(audit.is_on());
        Self { audit, store, released: Vec::new() }
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

    /// Records the reads that are complete enough, and which images have ended.
    pub fn record_finished(&mut self, after: TakeAfter) {
        // Before the released ones, so that an image that is released meanwhile is among these.
        for image in self.store.unreleased_images() {
            record_reads(&self.audit, &image, after);
        }
        for image in self.store.take_released() {
            if image.has_ended() {
                let (image, host) = (image.id().to_string(), image.label().map(str::to_owned));
                self.audit.record(Who::SERVER, Event::ImageEnded { image, host });
            }
            self.released.push(image);
        }
        let audit = &self.audit;
        self.released.retain(|image| {
            // A transfer may pause for as long as connections may be idle. Without one, nothing follows what is taken now.
            let is_in_use = image.is_in_use();
            let reads = image.take_reads(if is_in_use { after } else { TakeAfter::NOW });
            record(audit, image.id(), image.label(), reads);
            is_in_use
        });
    }
}

/// Records the reads of an image that are complete enough.
pub fn record_reads(audit: &Audit, image: &StoredImage, after: TakeAfter) {
    record(audit, image.id(), image.label(), image.take_reads(after));
}

/// Records reads, and how many were dropped.
fn record(audit: &Audit, image: RecipeId, label: Option<&str>, (reads, dropped): (Vec<TakenRead>, u64)) {
    if reads.is_empty() && dropped == 0 {
        return;
    }
    let (id, host) = (image.to_string(), label.map(str::to_owned));
    if dropped > 0 {
        let event = Event::ReadsLost { image: id.clone(), host: host.clone(), pieces: dropped };
        audit.record(Who::SERVER, event);
    }
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
}
