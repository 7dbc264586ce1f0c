//! Records what was read from an image.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;

use super::file::{FileReading, State};
use super::reads::{TakeAfter, TakenRead};
use super::snapshot::{FileSnapshot, ReadingSnapshot};

/// The record of an image, with those of its files that somebody has requested.
#[derive(Debug)]
pub struct ImageReading(Mutex<Record>);

/// What was read from a file since some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Nothing.
    Nothing,
    /// Only answers to earlier requests continued.
    SentOn,
    /// Somebody requested a part of it and got it.
    Asked,
}

#[derive(Debug)]
struct Record {
    since: SystemTime,
    files: BTreeMap<&'static str, Arc<FileReading>>,
}

impl Default for ImageReading {
    fn default() -> Self {
        Self(Mutex::new(Record { since: SystemTime::now(), files: BTreeMap::new() }))
    }
}

impl ImageReading {
    /// The record of a file.
    pub fn file(&self, name: &'static str) -> Arc<FileReading> {
        Arc::clone(self.0.lock().files.entry(name).or_default())
    }

    /// Whether no file of the image was ever requested.
    pub fn is_empty(&self) -> bool {
        self.0.lock().files.is_empty()
    }

    /// Whether somebody may read more of it: an answer is under way, or about to be.
    pub fn is_in_use(&self) -> bool {
        self.0.lock().files.values().any(|file| Arc::strong_count(file) > 1)
    }

    /// Begins a new record, because a boot begins.
    pub fn restart(&self) {
        let mut record = self.0.lock();
        record.since = SystemTime::now();
        record.files.values().for_each(|file| file.restart());
    }

    /// Takes a snapshot of the files with these names and sizes.
    pub fn snapshot(&self, files: impl IntoIterator<Item = (&'static str, u64)>) -> ReadingSnapshot {
        let record = self.0.lock();
        let (now, time) = (Instant::now(), SystemTime::now());
        let files = files.into_iter().map(|(name, size)| {
            let of = |state: &State| FileSnapshot::of(name, size, state, now, time);
            record.files.get(name).map_or_else(|| of(&State::default()), |file| file.look(of))
        });
        ReadingSnapshot { since: record.since, taken: time, files: files.collect() }
    }

    /// The highest rate at which this client has read one of the files, in bytes per second. Only files that no other client has
    /// read, and that it has read in at least this number of seconds.
    pub fn speed(&self, client: IpAddr, least_seconds: u64) -> Option<u64> {
        let of_file = |state: &State| {
            let is_alone = matches!(state.clients.known(), [only] if only.address == client);
            let seconds = state.rate.busy_seconds();
            let counts = is_alone && state.clients.forgotten() == 0 && seconds >= least_seconds;
            counts.then(|| state.sent.checked_div(seconds)).flatten()
        };
        self.0.lock().files.values().filter_map(|file| file.look(of_file)).max()
    }

    /// Takes what each client has read of each file since somebody last took it, if the client has paused; and how many reads were
    /// dropped because too many clients read the image at once. Nothing, unless the recorders [keep](super::Recorder::keeping_reads) it. Independent of [`restart`](Self::restart).
    pub fn take_reads(&self, after: TakeAfter) -> (Vec<TakenRead>, u64) {
        let (mut reads, mut dropped) = (Vec::new(), 0_u64);
        let now = Instant::now();
        for (name, file) in &self.0.lock().files {
            let (taken, more) = file.take_reads(name, after, now);
            reads.extend(taken);
            dropped = dropped.saturating_add(more);
        }
        (reads, dropped)
    }

    /// What was read from a file since `moment`, or at any time.
    pub fn since(&self, name: &str, moment: Option<Instant>) -> Since {
        let times = |state: &State| (state.latest_request, state.last);
        let Some((asked, sent)) = self.0.lock().files.get(name).map(|file| file.look(times)) else {
            return Since::Nothing;
        };
        let is_later = |then: Option<Instant>| then.is_some_and(|then| moment.is_none_or(|moment| then >= moment));
        if is_later(asked) {
            Since::Asked
        } else if is_later(sent) {
            Since::SentOn
        } else {
            Since::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Moment;
    use crate::reading::Request;

    #[test]
    fn only_later_requests_count_as_requested_since() {
        let image = ImageReading::default();
        let request = Request { peer: None, user_agent: None, tls: None, is_head: false, asks_range: false };
        let file = image.file("boot.iso");
        let copying = file.request(&request, Moment::now());
        copying.sent(&(0..10));
        assert_eq!(image.since("boot.iso", None), Since::Asked);
        std::thread::sleep(std::time::Duration::from_millis(2));
        let moment = Instant::now();
        assert_eq!(image.since("boot.iso", Some(moment)), Since::Nothing);
        copying.sent(&(10..20));
        assert_eq!(image.since("boot.iso", Some(moment)), Since::SentOn);
        image.restart();
        copying.sent(&(20..30));
        assert_eq!(image.since("boot.iso", Some(moment)), Since::SentOn, "forgetting does not make it new");
        let _head = file.request(&Request { is_head: true, ..request }, Moment::now());
        assert_eq!(image.since("boot.iso", Some(moment)), Since::SentOn, "nothing was sent");
        image.file("boot.ipxe").request(&request, Moment::now()).sent(&(0..1));
        assert_eq!(image.since("boot.iso", Some(moment)), Since::SentOn, "another file");
        file.request(&request, Moment::now()).sent(&(0..1));
        assert_eq!(image.since("boot.iso", Some(moment)), Since::Asked);
        assert_eq!(image.since("nothing", None), Since::Nothing);
    }

    #[test]
    fn the_speed_of_a_client_is_known_from_files_that_it_alone_has_read() {
        let image = ImageReading::default();
        let (bmc, other): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let read = |name, peer| {
            let request = Request { peer: Some(peer), user_agent: None, tls: None, is_head: false, asks_range: false };
            image.file(name).request(&request, Moment::now()).sent(&(0..1000));
        };
        assert_eq!(image.speed(bmc, 0), None);
        read("boot.iso", bmc);
        assert_eq!(image.speed(bmc, 1), Some(1000), "the first second begins with the first byte");
        assert_eq!((image.speed(other, 1), image.speed(bmc, 10)), (None, None));
        read("boot.iso", other);
        assert_eq!((image.speed(bmc, 1), image.speed(other, 1)), (None, None));
    }

    #[test]
    fn an_image_is_in_use_until_its_last_answer_has_ended() {
        let image = ImageReading::default();
        let request = Request { peer: None, user_agent: None, tls: None, is_head: false, asks_range: false };
        assert!(!image.is_in_use());
        let file = image.file("boot.iso");
        assert!(image.is_in_use(), "an answer is about to begin");
        let answers = [file.request(&request, Moment::now()), file.request(&request, Moment::now())];
        drop(file);
        image.restart();
        for answer in answers {
            assert!(image.is_in_use(), "however long it pauses");
            drop(answer);
        }
        assert!(!image.is_in_use());
    }

    #[test]
    fn reads_are_kept_only_for_somebody_who_takes_them() {
        let image = ImageReading::default();
        let peer = Some([192, 0, 2, 1].into());
        let request = Request { peer, user_agent: None, tls: None, is_head: false, asks_range: false };
        let file = image.file("boot.iso");
        file.request(&request, Moment::now()).sent(&(0..10));
        assert_eq!(image.take_reads(TakeAfter::NOW), (vec![], 0));
        file.request(&request, Moment::now()).keeping_reads(true).sent(&(10..20));
        let (taken, _) = image.take_reads(TakeAfter::NOW);
        assert_eq!(taken[0].ranges, std::slice::from_ref(&(10..20)));
    }
}
