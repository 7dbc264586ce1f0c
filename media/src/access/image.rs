//! The access to one image: its limits, and what of them is used up.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;

use super::{AccessLimits, Clock, Deadline, Reads};

/// Why a client does not get a file although it has its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The client's address is not in the networks of the image.
    #[error("the client's address is not one that may read the image")]
    Address,
    /// The file was read as often as it may be.
    #[error("the file was read as often as it may be")]
    Reads,
}

/// The access to one image.
#[derive(Debug)]
pub struct ImageAccess {
    limits: AccessLimits,
    since: SystemTime,
    deadline: Option<Deadline>,
    clock: Clock,
    /// How many bytes of each file were passed to connections, if that is limited.
    delivered: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    /// How many of them the store has recorded.
    recorded: AtomicU64,
}

impl ImageAccess {
    /// The access to an image that got these limits at `since`. `delivered` is how many bytes of each file were passed to
    /// connections since then.
    pub fn new(limits: AccessLimits, since: SystemTime, delivered: BTreeMap<String, u64>, clock: Clock) -> Self {
        let deadline = limits.ttl.map(|ttl| Deadline::new(ttl, since, clock.now()));
        let recorded = AtomicU64::new(delivered.values().sum());
        let delivered = delivered.into_iter().map(|(file, bytes)| (file, Arc::new(AtomicU64::new(bytes))));
        Self { limits, since, deadline, clock, delivered: Mutex::new(delivered.collect()), recorded }
    }

    /// The limits.
    pub fn limits(&self) -> &AccessLimits {
        &self.limits
    }

    /// When the image got these limits.
    pub fn since(&self) -> SystemTime {
        self.since
    }

    /// When the image ends, by the time of day.
    pub fn ends(&self) -> Option<SystemTime> {
        self.deadline.map(Deadline::wall)
    }

    /// Whether the image has ended. From then on, nobody may learn that it exists.
    pub fn has_ended(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline.is_over(self.clock.now()))
    }

    /// How many bytes of each file were passed to connections. Empty if that is not limited.
    pub fn delivered(&self) -> BTreeMap<String, u64> {
        let delivered = self.delivered.lock();
        delivered.iter().map(|(file, bytes)| (file.clone(), bytes.load(Ordering::Relaxed))).collect()
    }

    /// How many bytes were passed to connections in all, if the store has not recorded that yet.
    pub fn unrecorded(&self) -> Option<u64> {
        let total = self.delivered.lock().values().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        (total != self.recorded.load(Ordering::Relaxed)).then_some(total)
    }

    /// Notes that the store has recorded this number of bytes, or more.
    pub fn record(&self, total: u64) {
        self.recorded.store(total, Ordering::Relaxed);
    }

    /// How many times a file of `size` bytes was read as a whole; `None` if that is not limited.
    pub fn reads(&self, file: &str, size: u64) -> Option<u64> {
        let max = u64::from(self.limits.max_reads?.get());
        let delivered = self.delivered.lock().get(file).map_or(0, |bytes| bytes.load(Ordering::Relaxed));
        Some((delivered / size.max(1)).min(max))
    }

    /// The access to a file of `size` bytes.
    pub fn file(self: &Arc<Self>, file: &str, size: u64) -> FileAccess {
        let reads = self.limits.max_reads.map(|max_reads| {
            let mut delivered = self.delivered.lock();
            let delivered = match delivered.get(file) {
                Some(known) => Arc::clone(known),
                None => Arc::clone(delivered.entry(file.to_owned()).or_default()),
            };
            Reads::new(delivered, size, max_reads)
        });
        FileAccess { image: Arc::clone(self), reads }
    }
}

/// The access to one file of an image.
#[derive(Debug, Clone)]
pub struct FileAccess {
    image: Arc<ImageAccess>,
    reads: Option<Reads>,
}

impl FileAccess {
    /// Whether an answer to a client with this address may begin. A client whose address is not known is in no network.
    pub fn admit(&self, client: Option<IpAddr>) -> Result<(), Refusal> {
        if let Some(networks) = &self.image.limits.only_from
            && !client.is_some_and(|address| networks.admits(address))
        {
            return Err(Refusal::Address);
        }
        if self.reads.as_ref().is_some_and(Reads::are_used_up) { Err(Refusal::Reads) } else { Ok(()) }
    }

    /// What counts the bytes of answers.
    pub(crate) fn into_reads(self) -> Option<Reads> {
        self.reads
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn access(limits: AccessLimits) -> Arc<ImageAccess> {
        Arc::new(ImageAccess::new(limits, SystemTime::now(), BTreeMap::new(), Clock::default()))
    }

    #[test]
    fn every_file_has_its_own_count_and_all_share_the_networks() {
        let only_from = serde_json::from_str(r#"["192.0.2.0/24"]"#).unwrap();
        let limits = AccessLimits { max_reads: NonZeroU32::new(1), only_from: Some(only_from), ttl: None };
        let access = access(limits);
        let (iso, script) = (access.file("boot.iso", 10), access.file("boot.ipxe", 5));
        let (inside, outside) = (Some([192, 0, 2, 1].into()), Some([192, 0, 3, 1].into()));
        assert_eq!(
            [inside, outside, None].map(|client| iso.admit(client).err()),
            [None, Some(Refusal::Address), Some(Refusal::Address)]
        );
        assert!(iso.reads.as_ref().unwrap().take(10));
        assert_eq!(iso.admit(inside), Err(Refusal::Reads));
        assert_eq!(access.file("boot.iso", 10).admit(inside), Err(Refusal::Reads), "each request has its own value");
        assert_eq!(script.admit(inside), Ok(()));
        assert_eq!((access.reads("boot.iso", 10), access.reads("boot.ipxe", 5)), (Some(1), Some(0)));
        assert_eq!(access.delivered(), BTreeMap::from([("boot.iso".to_owned(), 10), ("boot.ipxe".to_owned(), 0)]));
        assert_eq!(access.unrecorded(), Some(10));
        access.record(10);
        assert_eq!(access.unrecorded(), None);
        // As after a restart.
        let again = ImageAccess::new(access.limits().clone(), access.since(), access.delivered(), Clock::default());
        assert_eq!(Arc::new(again).file("boot.iso", 10).admit(inside), Err(Refusal::Reads));
    }

    #[test]
    fn without_limits_everybody_may_read() {
        let access = access(AccessLimits::default());
        let file = access.file("boot.iso", 10);
        assert_eq!(file.admit(None), Ok(()));
        assert!(file.into_reads().is_none() && !access.has_ended() && access.delivered().is_empty());
        assert_eq!((access.ends(), access.reads("boot.iso", 10)), (None, None));
    }
}
