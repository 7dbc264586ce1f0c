//! How many requests each client address may send to the API.
//!
//! Crates for this, such as `governor`, bound the rate but not the memory: they keep a state for every address until somebody cleans
//! up. Here, the state of an address is one point in time (the generic cell rate algorithm), and the number of addresses is bounded.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use media::listen::{Peer, client_of};
use parking_lot::Mutex;

use super::problem::{Problem, ProblemKind};

/// How many addresses are remembered. Each takes some 50 bytes.
const MAX_ADDRESSES: usize = 16 << 10;

/// How often room is made for others.
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);

/// For how many seconds a client may save up requests.
const SAVED_SECONDS: u32 = 4;

/// How many requests without a valid token a client may send at once.
const FAILURES: u32 = 10;

/// The time after which it may send one more.
const FAILURE_PERIOD: Duration = Duration::from_secs(1);

/// The limits. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct RateLimits(Arc<Mutex<Limits>>);

#[derive(Debug, Default)]
struct Limits {
    /// Requests per second. `None`: any number.
    rate: Option<NonZeroU32>,
    requests: Buckets,
    failures: Buckets,
}

#[derive(Debug, Default)]
struct Buckets {
    /// For each address, the time at which it will have paid for all its requests. An address that has paid is not remembered.
    paid: HashMap<IpAddr, Instant>,
    /// When addresses that have paid were last looked for. To look costs as much as thousands of requests.
    searched: Option<Instant>,
}

/// How fast and how far a bucket fills.
#[derive(Debug, Clone, Copy)]
struct Pace {
    period: Duration,
    burst: u32,
}

impl Pace {
    const FAILURES: Self = Self { period: FAILURE_PERIOD, burst: FAILURES };

    fn of_requests(rate: NonZeroU32) -> Self {
        Self { period: Duration::from_secs(1) / rate.get(), burst: rate.get().saturating_mul(SAVED_SECONDS) }
    }

    /// How much an address may owe before another request.
    fn most(self) -> Duration {
        self.period.saturating_mul(self.burst.saturating_sub(1))
    }
}

impl Buckets {
    /// Checks whether an address may send a request now. If not, returns how long it has to wait.
    fn check(&self, address: IpAddr, pace: Pace, now: Instant) -> Result<(), Duration> {
        let owed = self.paid.get(&address).map_or(Duration::ZERO, |paid| paid.saturating_duration_since(now));
        if owed > pace.most() { Err(owed.saturating_sub(pace.most())) } else { Ok(()) }
    }

    /// Counts a request.
    fn count(&mut self, address: IpAddr, pace: Pace, now: Instant) {
        if self.paid.len() >= MAX_ADDRESSES && !self.paid.contains_key(&address) {
            self.make_room(now);
            if self.paid.len() >= MAX_ADDRESSES {
                return;
            }
        }
        let paid = self.paid.entry(address).or_insert(now);
        // Requests that were admitted at the same moment may exceed the limit together. None of them makes the next one wait longer.
        *paid = ((*paid).max(now) + pace.period).min(now + pace.most() + pace.period);
    }

    /// Forgets the addresses that have paid, at most once in [`SEARCH_INTERVAL`].
    fn make_room(&mut self, now: Instant) {
        if self.searched.is_none_or(|searched| now.saturating_duration_since(searched) >= SEARCH_INTERVAL) {
            self.paid.retain(|_, paid| *paid > now);
            self.searched = Some(now);
        }
    }
}

impl RateLimits {
    /// Limits the requests of each client to `rate` per second, and those without a valid token more strictly; or does not limit them.
    pub fn new(rate: Option<NonZeroU32>) -> Self {
        let limits = Self::default();
        limits.set(rate);
        limits
    }

    /// Takes over another rate.
    pub fn set(&self, rate: Option<NonZeroU32>) {
        self.0.lock().rate = rate;
    }

    /// Counts a request of a client. If the client has sent too many, returns how long it has to wait.
    fn admit(&self, client: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut limits = self.0.lock();
        let Some(pace) = limits.rate.map(Pace::of_requests) else { return Ok(()) };
        limits.failures.check(client, Pace::FAILURES, now)?;
        limits.requests.check(client, pace, now)?;
        limits.requests.count(client, pace, now);
        Ok(())
    }

    /// Counts a request that had no valid token.
    fn fail(&self, client: IpAddr, now: Instant) {
        let mut limits = self.0.lock();
        if limits.rate.is_some() {
            limits.failures.count(client, Pace::FAILURES, now);
        }
    }

    /// Counts a request as one without a valid token, before its token is looked at. If there were too many, returns how long the client
    /// has to wait.
    fn suspect(&self, client: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut limits = self.0.lock();
        if limits.rate.is_some() {
            limits.failures.check(client, Pace::FAILURES, now)?;
            limits.failures.count(client, Pace::FAILURES, now);
        }
        Ok(())
    }

    /// Takes back the count of [`suspect`](Self::suspect).
    fn clear(&self, client: IpAddr) {
        if let Some(paid) = self.0.lock().failures.paid.get_mut(&client) {
            *paid = paid.checked_sub(FAILURE_PERIOD).unwrap_or(*paid);
        }
    }
}

/// The logins of a client. The form with the token may arrive long after the head of the request, so that it counts when it has arrived:
/// otherwise, any number of clients could wait with their forms until all of them are admitted.
#[derive(Debug, Clone)]
pub(crate) struct Logins {
    limits: RateLimits,
    client: IpAddr,
}

impl Logins {
    /// Counts a login as failed, before its token is looked at. If too many have failed, returns the answer.
    pub(crate) fn begin(&self) -> Option<Response> {
        self.limits.suspect(self.client, Instant::now()).err().map(refused)
    }

    /// Takes the count back, because the token is valid.
    pub(crate) fn succeeded(&self) {
        self.limits.clear(self.client);
    }
}

/// Middleware: refuses a request of a client that has sent too many.
pub(super) async fn limit(State(limits): State<RateLimits>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| client_of(peer.address.ip()));
    let Some(client) = peer else { return next.run(request).await };
    if let Err(wait) = limits.admit(client, Instant::now()) {
        return refused(wait);
    }
    if request.uri().path() == "/login" {
        request.extensions_mut().insert(Logins { limits: limits.clone(), client });
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        limits.fail(client, Instant::now());
    }
    response
}

fn refused(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let detail = format!(
        "too many requests come from this address, or too many without a valid token; send the next one in {seconds} s"
    );
    let mut response = Problem::new(ProblemKind::TooManyRequests, detail).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        client_of(text.parse().unwrap())
    }

    #[test]
    fn a_client_may_save_up_requests_and_then_sends_at_the_rate() {
        let limits = RateLimits::new(NonZeroU32::new(5));
        let (client, start) = (address("192.0.2.1"), Instant::now());
        let sent = |at: Duration, client| (0..100).filter(|_| limits.admit(client, start + at).is_ok()).count();
        assert_eq!(sent(Duration::ZERO, client), 20);
        assert_eq!(sent(Duration::ZERO, address("192.0.2.2")), 20, "another client has its own");
        let wait = limits.admit(client, start).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_millis(200), "{wait:?}");
        assert!(limits.admit(client, start + wait).is_ok());
        assert_eq!(sent(Duration::from_secs(1), client), 4);
        assert_eq!(sent(Duration::from_mins(10), client), 20, "no more than that");
        limits.set(None);
        assert_eq!(sent(Duration::from_mins(10), client), 100);
    }

    #[test]
    fn failures_have_a_limit_of_their_own() {
        let limits = RateLimits::new(NonZeroU32::new(1000));
        let (client, start) = (address("192.0.2.1"), Instant::now());
        for _ in 0..FAILURES {
            assert!(limits.admit(client, start).is_ok());
            limits.fail(client, start);
        }
        assert!(limits.admit(client, start).is_err());
        assert!(limits.admit(address("192.0.2.2"), start).is_ok());
        assert!(limits.admit(client, start + FAILURE_PERIOD).is_ok());
        // As if a hundred had been admitted before the first one failed.
        for _ in 0..100 {
            limits.fail(client, start);
        }
        assert!(limits.admit(client, start + FAILURE_PERIOD).is_ok(), "the client waits no longer");
    }

    #[test]
    fn a_login_counts_as_failed_until_its_token_is_valid() {
        let limits = RateLimits::new(NonZeroU32::new(1000));
        let (client, start) = (address("192.0.2.1"), Instant::now());
        for _ in 0..100 {
            assert!(limits.suspect(client, start).is_ok());
            limits.clear(client);
        }
        let admitted = (0..100).filter(|_| limits.suspect(client, start).is_ok()).count();
        assert_eq!(admitted, FAILURES as usize);
        limits.set(None);
        assert!(limits.suspect(client, start).is_ok());
    }

    #[test]
    fn all_addresses_of_a_network_of_ipv6_are_one_client() {
        assert_eq!(address("2001:db8:0:1::1"), address("2001:db8:0:1:ffff::2"));
        assert_ne!(address("2001:db8:0:1::1"), address("2001:db8:0:2::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
    }

    #[test]
    fn the_number_of_remembered_addresses_is_bounded() {
        let limits = RateLimits::new(NonZeroU32::new(1));
        let start = Instant::now();
        let addresses = |first: u32| (first..first + 20_000).map(|bits| std::net::Ipv4Addr::from_bits(bits).into());
        let admitted = addresses(0).filter(|address| limits.admit(*address, start).is_ok()).count();
        assert_eq!(admitted, 20_000, "whom there is no room for is not refused");
        assert_eq!(limits.0.lock().requests.paid.len(), MAX_ADDRESSES);
        let later = start + Duration::from_mins(1);
        assert!(addresses(1 << 24).all(|address| limits.admit(address, later).is_ok()));
        assert_eq!(limits.0.lock().requests.paid.len(), MAX_ADDRESSES);
        assert!(limits.0.lock().requests.paid.values().all(|paid| *paid > later), "those that have paid make room");
        assert_eq!(limits.0.lock().requests.searched, Some(later), "thousands of requests search once");
    }
}
