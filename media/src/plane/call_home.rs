//! `/h/<token>`: a booted host requests this path when its network is up. The answer is 204 if somebody waits for that
//! call, and otherwise 404.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use http::header::USER_AGENT;
use http::request::Parts;
use tokio::sync::watch;

use super::log::text;
use crate::MediaToken;
use crate::listen::Peer;

/// Maximum number of calls to wait for: many times the number of hosts that one server boots.
const MAX_EXPECTED: usize = 16_384;

/// A call of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When the call arrived.
    pub at: SystemTime,
    /// The sender's address: the host's own, unless something in between translates addresses.
    pub peer: Option<SocketAddr>,
    /// The `User-Agent` header.
    pub user_agent: Option<String>,
    /// The version of TLS: `1.2`, `1.3` or `other`. `None` on plain HTTP.
    pub tls: Option<&'static str>,
}

/// Too many hosts are expected to call home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("dayone already waits for {MAX_EXPECTED} hosts to call home; wait until some of their boots have ended")]
pub struct TooManyExpected;

/// The calls that somebody waits for. Clones share them. They are only in memory: after a restart, the caller must call
/// [`expect`](Self::expect) again.
#[derive(Clone, Default)]
pub struct CallHomes(Arc<Mutex<Waiting>>);

/// Several callers may wait for the same call.
type Waiting = HashMap<MediaToken, Vec<watch::Sender<Option<Call>>>>;

impl CallHomes {
    /// Waits for the call of the host that has `token`. The receiver gets the first call from now on. Drop the receiver
    /// to stop waiting.
    pub fn expect(&self, token: MediaToken) -> Result<watch::Receiver<Option<Call>>, TooManyExpected> {
        let mut waiting = self.waiting();
        if waiting.len() >= MAX_EXPECTED {
            waiting.retain(|_, senders| senders.iter().any(|sender| !sender.is_closed()));
            if waiting.len() >= MAX_EXPECTED {
                return Err(TooManyExpected);
            }
        }
        let (sender, receiver) = watch::channel(None);
        let senders = waiting.entry(token).or_default();
        senders.retain(|sender| !sender.is_closed());
        senders.push(sender);
        Ok(receiver)
    }

    /// Stops waiting for the call of `token`, for all receivers.
    pub fn forget(&self, token: &MediaToken) {
        self.waiting().remove(token);
    }

    /// Sends a call to everybody who waits for it, and returns whether anybody does. Only the first of several calls
    /// counts.
    pub(super) fn call(&self, token: &str, head: &Parts) -> bool {
        let Ok(token) = token.parse::<MediaToken>() else { return false };
        let waiting = self.waiting();
        let senders = waiting.get(&token).map_or(&[][..], Vec::as_slice);
        let mut expected = false;
        for sender in senders.iter().filter(|sender| !sender.is_closed()) {
            expected = true;
            sender.send_if_modified(|call| {
                let first = call.is_none();
                call.get_or_insert_with(|| Call::of(head));
                first
            });
        }
        expected
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    fn of(head: &Parts) -> Self {
        let peer = head.extensions.get::<Peer>();
        Self {
            at: SystemTime::now(),
            peer: peer.map(|peer| peer.address),
            user_agent: text(&head.headers, &USER_AGENT).map(str::to_owned),
            tls: peer.and_then(|peer| peer.tls),
        }
    }
}

impl fmt::Debug for CallHomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHomes").field("waiting", &self.waiting().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz";

    fn head(agent: &str) -> Parts {
        http::Request::get("/").header(USER_AGENT, agent).body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_call_reaches_those_who_wait_for_it_and_the_first_one_counts() {
        let homes = CallHomes::default();
        assert!(!homes.call(TOKEN, &head("early")), "nobody waits yet");
        let (one, two) = (homes.expect(TOKEN.parse().unwrap()).unwrap(), homes.expect(TOKEN.parse().unwrap()).unwrap());
        assert_eq!(*one.borrow(), None, "what came before does not count");
        assert!(!homes.call(&TOKEN.replace('a', "b"), &head("other")));
        assert!(!homes.call("short", &head("none")));
        assert!(homes.call(TOKEN, &head("first")));
        assert!(homes.call(TOKEN, &head("second")), "a host that is not sure calls again");
        for waiting in [one, two] {
            assert!(waiting.has_changed().unwrap());
            assert_eq!(waiting.borrow().as_ref().unwrap().user_agent.as_deref(), Some("first"));
        }
        assert!(!homes.call(TOKEN, &head("late")), "nobody waits any longer");
        let _waiting = homes.expect(TOKEN.parse().unwrap()).unwrap();
        homes.forget(&TOKEN.parse().unwrap());
        assert!(!homes.call(TOKEN, &head("forgotten")));
    }

    #[test]
    fn the_number_of_expected_calls_is_limited_and_dropped_receivers_do_not_count() {
        let homes = CallHomes::default();
        let token = |number: usize| {
            let letters = (0..4).map(|place| char::from(b'a' + u8::try_from((number >> (4 * place)) % 16).unwrap()));
            format!("{}{}", letters.collect::<String>(), "a".repeat(22)).parse::<MediaToken>().unwrap()
        };
        let mut waiting: Vec<_> = (0..MAX_EXPECTED).map(|number| homes.expect(token(number)).unwrap()).collect();
        assert_eq!(homes.expect(token(MAX_EXPECTED)).unwrap_err(), TooManyExpected);
        waiting.pop();
        assert!(homes.expect(token(MAX_EXPECTED)).is_ok());
    }
}
