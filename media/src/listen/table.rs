//! The table of a listener's open connections: where each comes from, and which may be closed to make room.
//!
//! A connection costs a descriptor before its client has sent a byte. A *pending* connection is one that waits for a
//! request and has never had a successful answer. When there is no room for a new connection, the table evicts the
//! oldest pending one: a client that needs an image sends its request at once. It never evicts a connection that had
//! a successful answer.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::peer::client_of;
use super::queue::{LONG_QUEUES, SendQueue};

/// The open connections of a listener.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    long_queues: Arc<Semaphore>,
    state: Mutex<State>,
    /// Notified when an evicted connection has closed, or stays because its request arrived.
    settled: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The next connection's number. Numbers grow with time.
    next: u64,
    /// The clients, as [`client_of`] tells them apart.
    addresses: HashMap<IpAddr, Address>,
    /// The addresses of pending connections, the oldest first.
    pending: BTreeMap<u64, IpAddr>,
}

#[derive(Debug, Default)]
struct Address {
    open: u32,
    /// The oldest first. May still list connections that had a successful answer since; eviction skips those.
    pending: BTreeMap<u64, Arc<Standing>>,
    /// The evicted connections that are still open.
    closing: HashSet<u64>,
}

/// What the table knows about one connection.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Whether it has ever sent the head of a request.
    had_request: AtomicBool,
    /// Whether the service has a request and no answer yet.
    is_answering: AtomicBool,
    /// Whether it has had a successful answer.
    trusted: AtomicBool,
    evicted: Notify,
}

/// Why a connection is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Its address is at its limit, and has connections that were evicted and will have closed in a moment.
    NotYet,
    /// Its address is at its limit with connections that stay.
    AtLimit,
}

/// An admitted connection. Dropping it removes it from the table.
#[derive(Debug)]
pub(super) struct Admission {
    table: Arc<ConnectionTable>,
    number: u64,
    address: IpAddr,
    standing: Arc<Standing>,
}

impl ConnectionTable {
    /// An empty table.
    pub(super) fn new() -> Arc<Self> {
        let long_queues = Arc::new(Semaphore::new(LONG_QUEUES));
        Arc::new(Self { long_queues, state: Mutex::default(), settled: Notify::new() })
    }

    /// [`try_admit`](Self::try_admit), which waits up to `patience` for evicted connections of the address to close. A client
    /// behind an address that opens many connections at once is so admitted after them. `None`: the caller closes the new
    /// connection.
    pub(super) async fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        per_address: u32,
        patience: Duration,
    ) -> Option<Admission> {
        let admitted = async {
            loop {
                match self.try_admit(address, per_address) {
                    Ok(admission) => break Some(admission),
                    Err(Refusal::AtLimit) => break None,
                    Err(Refusal::NotYet) => self.settled.notified().await,
                }
            }
        };
        timeout(patience, admitted).await.ok().flatten()
    }

    /// Admits a connection, up to `per_address` from one address, or from one network of IPv6. If the address is at its limit,
    /// the table evicts the address's oldest pending connection first. Evicted connections take a moment to close, and one
    /// whose request arrives in that moment stays, so an address may be above its limit by a sixteenth.
    fn try_admit(self: &Arc<Self>, address: IpAddr, per_address: u32) -> Result<Admission, Refusal> {
        let (address, per_address) = (client_of(address), per_address.max(1));
        let mut state = self.state.lock();
        let (open, closing) = state.addresses.get(&address).map_or((0, 0), |known| (known.open, known.closing.len()));
        let most = per_address.saturating_add((per_address / 16).max(1));
        if open >= per_address && (open >= most || !state.evict_from(address)) {
            return Err(if closing > 0 { Refusal::NotYet } else { Refusal::AtLimit });
        }
        let number = state.next;
        state.next += 1;
        let standing = Arc::new(Standing::default());
        let known = state.addresses.entry(address).or_default();
        known.open += 1;
        known.pending.insert(number, Arc::clone(&standing));
        state.pending.insert(number, address);
        Ok(Admission { table: Arc::clone(self), number, address, standing })
    }
}

/// What became of an attempt to evict a connection.
enum Eviction {
    /// It closes as soon as its task runs.
    Evicted,
    /// One of its requests is being answered.
    Busy,
    /// It had a successful answer, or is gone.
    NotPending,
}

impl State {
    fn evict_from(&mut self, address: IpAddr) -> bool {
        let pending = self.addresses.get(&address).map(|known| known.pending.keys().copied().collect::<Vec<_>>());
        pending.into_iter().flatten().any(|number| match self.evict(address, number) {
            Eviction::Busy => false,
            Eviction::NotPending => {
                self.pending.remove(&number);
                false
            }
            Eviction::Evicted => {
                self.pending.remove(&number);
                true
            }
        })
    }

    /// The caller removes the number from `self.pending` unless the connection is busy.
    fn evict(&mut self, address: IpAddr, number: u64) -> Eviction {
        let Some(known) = self.addresses.get_mut(&address) else { return Eviction::NotPending };
        let Some(standing) = known.pending.get(&number) else { return Eviction::NotPending };
        if standing.trusted.load(Ordering::Relaxed) {
            known.pending.remove(&number);
            return Eviction::NotPending;
        }
        if standing.is_answering() {
            return Eviction::Busy;
        }
        standing.evicted.notify_one();
        known.pending.remove(&number);
        known.closing.insert(number);
        Eviction::Evicted
    }
}

impl Admission {
    /// Evicts the oldest pending connection that is older than this one. Returns false if there is none.
    pub(super) fn make_room(&self) -> bool {
        let mut state = self.table.state.lock();
        let mut busy = Vec::new();
        let found = loop {
            let oldest = state.pending.pop_first();
            let Some((number, address)) = oldest.filter(|(number, _)| *number < self.number) else {
                state.pending.extend(oldest);
                break false;
            };
            match state.evict(address, number) {
                Eviction::Evicted => break true,
                Eviction::Busy => busy.push((number, address)),
                Eviction::NotPending => {}
            }
        };
        state.pending.extend(busy);
        found
    }

    /// The connection's queue in the kernel.
    pub(super) fn queue(&self) -> SendQueue {
        SendQueue::new(Arc::clone(&self.table.long_queues))
    }

    /// The connection's standing, to be updated with each request.
    pub(super) fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    /// Completes when the connection has to make room for another one.
    pub(super) async fn evicted(&self) {
        loop {
            self.standing.evicted.notified().await;
            let is_trusted = self.standing.is_trusted();
            if !is_trusted && !self.standing.is_answering() {
                return;
            }
            // Its request arrived in the same moment, so it stays, and may be evicted later.
            let mut state = self.table.state.lock();
            if let Some(known) = state.addresses.get_mut(&self.address) {
                known.closing.remove(&self.number);
                if !is_trusted {
                    known.pending.insert(self.number, Arc::clone(&self.standing));
                    state.pending.insert(self.number, self.address);
                }
            }
            drop(state);
            self.table.settled.notify_one();
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut state = self.table.state.lock();
        state.pending.remove(&self.number);
        if let Some(known) = state.addresses.get_mut(&self.address) {
            known.pending.remove(&self.number);
            known.closing.remove(&self.number);
            known.open = known.open.saturating_sub(1);
            if known.open == 0 {
                state.addresses.remove(&self.address);
            }
        }
        drop(state);
        self.table.settled.notify_one();
    }
}

impl Standing {
    /// Records that a request arrived. It counts as being answered until the returned value is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> RequestInProgress {
        self.had_request.store(true, Ordering::Relaxed);
        self.is_answering.store(true, Ordering::Relaxed);
        RequestInProgress(Arc::clone(self))
    }

    /// Whether it has ever sent the head of a request.
    pub(super) fn has_had_request(&self) -> bool {
        self.had_request.load(Ordering::Relaxed)
    }

    /// Whether the service has a request and no answer yet. The body of the request may still arrive.
    pub(super) fn is_answering(&self) -> bool {
        self.is_answering.load(Ordering::Relaxed)
    }

    /// Sets whether the connection stays because the service makes an answer.
    pub(super) fn set_answering(&self, is_answering: bool) {
        self.is_answering.store(is_answering, Ordering::Relaxed);
    }

    fn is_trusted(&self) -> bool {
        self.trusted.load(Ordering::Relaxed)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct RequestInProgress(Arc<Standing>);

impl RequestInProgress {
    /// Records the answer's status. A client that requests something that exists does not only take up room.
    pub(super) fn answered(&self, status: StatusCode) {
        let is_useful = !status.is_client_error()
            || [StatusCode::PRECONDITION_FAILED, StatusCode::RANGE_NOT_SATISFIABLE].contains(&status);
        if is_useful {
            self.0.trusted.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.is_answering.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const TWO: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    async fn is_evicted(admission: &Admission) -> bool {
        timeout(Duration::from_millis(20), admission.evicted()).await.is_ok()
    }

    fn answer(admission: &Admission, status: StatusCode) {
        admission.standing().begin_request().answered(status);
    }

    #[tokio::test]
    async fn an_address_at_its_limit_evicts_its_own_oldest_pending_connection() {
        let table = ConnectionTable::new();
        let (first, second) = (table.try_admit(ONE, 2).unwrap(), table.try_admit(ONE, 2).unwrap());
        let other = table.try_admit(TWO, 2).unwrap();
        assert!(!is_evicted(&first).await);
        let third = table.try_admit(ONE, 2).unwrap();
        assert!(is_evicted(&first).await && !is_evicted(&second).await && !is_evicted(&other).await);
        drop(first);

        answer(&second, StatusCode::PARTIAL_CONTENT);
        answer(&third, StatusCode::OK);
        assert!(table.try_admit(ONE, 2).is_err(), "a connection with a successful answer is never evicted");
        drop(second);
        let fourth = table.try_admit(ONE, 2).unwrap();
        answer(&fourth, StatusCode::NOT_FOUND);
        let mapped = "::ffff:10.0.0.1".parse().unwrap();
        assert!(table.try_admit(mapped, 2).is_ok() && is_evicted(&fourth).await);
        assert!(!is_evicted(&third).await);
    }

    #[tokio::test]
    async fn a_connection_waits_for_those_that_make_room_and_for_no_others() {
        let table = ConnectionTable::new();
        let (first, second) = (table.try_admit(ONE, 1).unwrap(), table.try_admit(ONE, 1).unwrap());
        assert_eq!(table.try_admit(ONE, 1).unwrap_err(), Refusal::NotYet, "the first is still open");
        let admit = |patience| table.admit(ONE, 1, Duration::from_millis(patience));
        assert!(admit(20).await.is_none());
        let (third, ()) = tokio::join!(admit(20_000), async {
            assert!(is_evicted(&first).await);
            drop(first);
        });
        answer(&second, StatusCode::OK);
        answer(third.as_ref().unwrap(), StatusCode::OK);
        assert!(!is_evicted(&second).await, "its answer came first");
        assert_eq!(table.try_admit(ONE, 1).unwrap_err(), Refusal::AtLimit);
        assert!(admit(20_000).await.is_none());
    }

    #[tokio::test]
    async fn all_addresses_of_a_network_of_ipv6_share_a_limit() {
        let table = ConnectionTable::new();
        let admit = |address: &str| table.try_admit(address.parse().unwrap(), 2);
        let open: Vec<_> = ["2001:db8::1", "2001:db8::2"].map(|address| admit(address).unwrap()).into();
        for admission in &open {
            answer(admission, StatusCode::OK);
        }
        assert!(admit("2001:db8:0:0:ffff::3").is_err() && admit("2001:db8:0:1::1").is_ok());
    }

    #[tokio::test]
    async fn the_oldest_pending_connection_is_evicted_unless_it_is_being_answered() {
        let table = ConnectionTable::new();
        let old = table.try_admit(ONE, 10).unwrap();
        let request = old.standing().begin_request();
        let (young, last) = (table.try_admit(TWO, 10).unwrap(), table.try_admit(TWO, 10).unwrap());
        answer(&last, StatusCode::OK);
        let new = table.try_admit(TWO, 10).unwrap();
        assert!(new.make_room());
        assert!(is_evicted(&young).await && !is_evicted(&old).await);
        drop(young);
        assert!(!new.make_room() && !is_evicted(&new).await, "it does not make room for itself");
        drop(request);
        assert!(new.make_room() && is_evicted(&old).await);
        drop((old, last, new));
        assert!(table.state.lock().addresses.is_empty() && table.state.lock().pending.is_empty());
    }

    #[tokio::test]
    async fn a_request_that_arrives_during_eviction_is_answered() {
        let table = ConnectionTable::new();
        let (admission, new) = (table.try_admit(ONE, 10).unwrap(), table.try_admit(ONE, 10).unwrap());
        assert!(new.make_room());
        let request = admission.standing().begin_request();
        assert!(!is_evicted(&admission).await);
        drop(request);
        assert!(new.make_room() && is_evicted(&admission).await, "it is pending still");
    }
}
