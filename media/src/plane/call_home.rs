//! `/h/<token>`: by asking for it, a host says that it is up and has its network. It is answered with 204 for tokens
//! that somebody waits for, and for no others.

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

/// How many calls can be waited for at once: many times the hosts that one server boots.
const WAITED_FOR: usize = 16_384;

/// A host's call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it came.
    pub at: SystemTime,
    /// Where it came from: the host's own address, unless something on the way translates addresses.
    pub peer: Option<SocketAddr>,
    /// What the host calls with.
    pub user_agent: Option<String>,
    /// The version of TLS; none on plain HTTP.
    pub tls: Option<&'static str>,
}

/// More hosts are waited for than a server boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{WAITED_FOR} hosts are expected to call home already; wait until some of the boots have ended")]
pub struct TooManyExpected;

/// The calls that are waited for. Clones are the same. In memory only: who waits says so again after a restart.
#[derive(Clone, Default)]
pub struct CallHomes(Arc<Mutex<Waiting>>);

/// Several may wait for the same call.
type Waiting = HashMap<MediaToken, Vec<watch::Sender<Option<Call>>>>;

impl CallHomes {
    /// Waits for the call of `token`. It is in the receiver when it has come, and only calls from now on count. Dropping
    /// the receiver ends the waiting.
    pub fn expect(&self, token: MediaToken) -> Result<watch::Receiver<Option<Call>>, TooManyExpected> {
        let mut waiting = self.waiting();
        if waiting.len() >= WAITED_FOR {
            waiting.retain(|_, senders| senders.iter().any(|sender| !sender.is_closed()));
            if waiting.len() >= WAITED_FOR {
                return Err(TooManyExpected);
            }
        }
        let (sender, receiver) = watch::channel(None);
        let senders = waiting.entry(token).or_default();
        senders.retain(|sender| !sender.is_closed());
        senders.push(sender);
        Ok(receiver)
    }

    /// Waits no longer for the call of `token`, whoever did.
    pub fn forget(&self, token: &MediaToken) {
        self.waiting().remove(token);
    }

    /// Tells those who wait for it of a call; whether there are any. Of several calls the first one counts.
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
    fn waiting_is_bounded_and_who_has_gone_does_not_count() {
        let homes = CallHomes::default();
        let token = |number: usize| {
            let letters = (0..4).map(|place| char::from(b'a' + u8::try_from((number >> (4 * place)) % 16).unwrap()));
            format!("{}{}", letters.collect::<String>(), "a".repeat(22)).parse::<MediaToken>().unwrap()
        };
        let mut waiting: Vec<_> = (0..WAITED_FOR).map(|number| homes.expect(token(number)).unwrap()).collect();
        assert_eq!(homes.expect(token(WAITED_FOR)).unwrap_err(), TooManyExpected);
        waiting.pop();
        assert!(homes.expect(token(WAITED_FOR)).is_ok());
    }
}
