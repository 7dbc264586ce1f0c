//! What each client has read of a file since somebody last asked, for an audit log.

use std::net::IpAddr;
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use super::ranges::Ranges;

/// Maximum number of clients of a file that are remembered until somebody asks.
const MAX_CLIENTS: usize = 64;

/// When a read is complete enough to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakeAfter {
    /// The client has read nothing for this time.
    pub quiet: Duration,
    /// The client began this long ago, even if it still reads.
    pub begun: Duration,
}

impl TakeAfter {
    /// Takes all reads.
    pub const NOW: Self = Self { quiet: Duration::ZERO, begun: Duration::ZERO };
}

/// What one client has read of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRead {
    /// The file.
    pub file: &'static str,
    /// The client's address.
    pub peer: IpAddr,
    /// When the server sent the first of these bytes.
    pub first: SystemTime,
    /// When the server sent the last of them.
    pub last: SystemTime,
    /// The bytes, in ascending order.
    pub ranges: Vec<Range<u64>>,
    /// How many bytes the server has sent; bytes that it sent twice count twice.
    pub sent: u64,
    /// Whether close ranges were merged, as if the bytes between them had been read, because there were too many.
    pub approximate: bool,
}

/// The reads of a file that nobody has taken yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    clients: Vec<ClientRead>,
    /// How many reads were dropped because there were too many clients.
    dropped: u64,
}

#[derive(Debug, Clone)]
struct ClientRead {
    peer: IpAddr,
    begun: Instant,
    first: SystemTime,
    latest: Instant,
    last: SystemTime,
    ranges: Ranges,
    sent: u64,
}

impl Reads {
    pub(super) fn add(&mut self, peer: IpAddr, range: &Range<u64>, now: Instant, time: SystemTime) {
        let sent = range.end.saturating_sub(range.start);
        if let Some(read) = self.clients.iter_mut().find(|read| read.peer == peer) {
            read.ranges.add(range.clone());
            (read.latest, read.last) = (now, time);
            read.sent = read.sent.saturating_add(sent);
            return;
        }
        if self.clients.len() >= MAX_CLIENTS {
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        let mut ranges = Ranges::default();
        ranges.add(range.clone());
        self.clients.push(ClientRead { peer, begun: now, first: time, latest: now, last: time, ranges, sent });
    }

    /// Takes the reads that are complete enough, and how many were dropped.
    pub(super) fn take(&mut self, file: &'static str, after: TakeAfter, now: Instant) -> (Vec<TakenRead>, u64) {
        let is_due = |read: &mut ClientRead| {
            let since = |then: Instant| now.saturating_duration_since(then);
            since(read.latest) >= after.quiet || since(read.begun) >= after.begun
        };
        let taken = self.clients.extract_if(.., is_due).map(|read| TakenRead {
            file,
            peer: read.peer,
            first: read.first,
            last: read.last,
            ranges: read.ranges.as_slice().to_vec(),
            sent: read.sent,
            approximate: read.ranges.are_approximate(),
        });
        (taken.collect(), std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_taken_once_when_its_client_pauses_or_has_read_for_long() {
        let (mut reads, start, time) = (Reads::default(), Instant::now(), SystemTime::now());
        let peer = |number: u8| IpAddr::from([192, 0, 2, number]);
        let after = TakeAfter { quiet: Duration::from_secs(10), begun: Duration::from_mins(5) };
        let at = |seconds| start + Duration::from_secs(seconds);
        reads.add(peer(1), &(0..10), start, time);
        reads.add(peer(1), &(10..20), at(1), time);
        reads.add(peer(1), &(5..15), at(2), time);
        reads.add(peer(2), &(100..101), at(9), time);
        assert!(reads.take("boot.iso", after, at(11)).0.is_empty());
        let (taken, dropped) = reads.take("boot.iso", after, at(12));
        assert_eq!((taken.len(), dropped), (1, 0));
        assert_eq!((taken[0].peer, taken[0].sent), (peer(1), 30));
        assert_eq!(taken[0].ranges, std::slice::from_ref(&(0..20)));
        for second in 10..309 {
            reads.add(peer(2), &(second..second + 1), at(second), time);
        }
        assert!(reads.take("boot.iso", after, at(308)).0.is_empty());
        assert_eq!(reads.take("boot.iso", after, at(309)).0.len(), 1, "a long read is taken in parts");
        assert!(reads.take("boot.iso", TakeAfter::NOW, at(400)).0.is_empty());
    }

    #[test]
    fn the_number_of_clients_is_bounded_and_dropped_reads_are_counted() {
        let (mut reads, now, time) = (Reads::default(), Instant::now(), SystemTime::now());
        for number in 0..u32::try_from(MAX_CLIENTS).unwrap() + 3 {
            reads.add(std::net::Ipv4Addr::from_bits(number).into(), &(0..1), now, time);
        }
        let (taken, dropped) = reads.take("boot.iso", TakeAfter::NOW, now);
        assert_eq!((taken.len(), dropped), (MAX_CLIENTS, 3));
        assert_eq!(reads.take("boot.iso", TakeAfter::NOW, now).1, 0);
    }
}
