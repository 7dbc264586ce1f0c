//! `/h/<token>`: a booted host requests this path when its network is up. The answer is 204 as soon as the call is recorded,
//! and 404 if nobody waits for it.
//!
//! A host that got its 204 does not call again. So the answer waits until whoever waits for the call has recorded it durably: a
//! server that dies in between answers nothing, and the host calls again.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::header::USER_AGENT;
use http::request::Parts;
use tokio::sync::watch;
use tokio::time::timeout;

use super::log::text;
use crate::MediaToken;
use crate::listen::Peer;

/// Maximum number of calls to wait for: many times the number of hosts that one server boots.
const MAX_EXPECTED: usize = 16_384;

/// How long an answer waits for the record. The script in the image gives each of its calls 4 s, connecting included.
const MAX_WAIT: Duration = Duration::from_secs(3);

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

/// The calls that somebody waits for, and those that are recorded. Clones share them. They are only in memory: after a restart,
/// the caller must call [`expect`](Self::expect) and [`recorded`](Self::recorded) again.
#[derive(Clone, Default)]
pub struct CallHomes(Arc<Mutex<CallsByToken>>);

type CallsByToken = HashMap<MediaToken, TokenCalls>;

/// What is known about the calls with one token.
#[derive(Default)]
struct TokenCalls {
    /// Several callers may wait for the same call.
    waiting: Vec<Waiting>,
    /// Whether a call is recorded, so that a host that is not sure of that gets its answer.
    is_recorded: bool,
}

/// Both directions between a request and somebody who waits for it.
struct Waiting {
    call: watch::Sender<Option<Call>>,
    is_recorded: watch::Receiver<bool>,
}

/// A call that somebody waits for. Drop it to stop waiting: hosts that call meanwhile are then asked to call again.
pub struct ExpectedCall {
    call: watch::Receiver<Option<Call>>,
    is_recorded: watch::Sender<bool>,
    calls: CallHomes,
    token: MediaToken,
}

/// A call of a host that somebody waits for, or waited for.
#[derive(Debug)]
pub(super) enum Called {
    /// It is recorded.
    Recorded,
    /// Those who wait for it have yet to record it.
    Pending(Pending),
}

/// A call that is to be recorded.
#[derive(Debug)]
pub(super) struct Pending(Vec<watch::Receiver<bool>>);

impl CallHomes {
    /// Waits for the call of the host that has `token`, from now on. Earlier calls do not count, recorded or not.
    pub fn expect(&self, token: MediaToken) -> Result<ExpectedCall, TooManyExpected> {
        let mut calls = self.by_token();
        make_room(&mut calls);
        if calls.len() >= MAX_EXPECTED {
            return Err(TooManyExpected);
        }
        let (sender, call) = watch::channel(None);
        let (is_recorded, receiver) = watch::channel(false);
        let token_calls = calls.entry(token).or_default();
        token_calls.is_recorded = false;
        token_calls.waiting.retain(Waiting::is_open);
        token_calls.waiting.push(Waiting { call: sender, is_recorded: receiver });
        Ok(ExpectedCall { call, is_recorded, calls: self.clone(), token })
    }

    /// Answers calls with `token` that nobody waits for with 204: the call of this host was recorded before a restart, and it may
    /// not know that.
    pub fn recorded(&self, token: MediaToken) {
        let mut calls = self.by_token();
        make_room(&mut calls);
        if calls.len() < MAX_EXPECTED {
            calls.entry(token).or_default().is_recorded = true;
        }
    }

    /// Stops waiting for the call of `token`, for everybody.
    pub fn forget(&self, token: &MediaToken) {
        self.by_token().remove(token);
    }

    /// Sends a call to everybody who waits for it. Only the first of several calls counts. Returns `None` for a call that nobody
    /// expects.
    pub(super) fn call(&self, token: &str, head: &Parts) -> Option<Called> {
        let token = token.parse::<MediaToken>().ok()?;
        let calls = self.by_token();
        let token_calls = calls.get(&token)?;
        let mut pending = Vec::new();
        for waiting in token_calls.waiting.iter().filter(|waiting| waiting.is_open()) {
            waiting.call.send_if_modified(|call| {
                let first = call.is_none();
                call.get_or_insert_with(|| Call::of(head));
                first
            });
            pending.push(waiting.is_recorded.clone());
        }
        if pending.is_empty() {
            token_calls.is_recorded.then_some(Called::Recorded)
        } else {
            Some(Called::Pending(Pending(pending)))
        }
    }

    fn by_token(&self) -> MutexGuard<'_, CallsByToken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets what nobody waits for, if there is no place for another token.
fn make_room(calls: &mut CallsByToken) {
    if calls.len() >= MAX_EXPECTED {
        calls.retain(|_, token_calls| token_calls.waiting.iter().any(Waiting::is_open));
    }
}

impl Waiting {
    fn is_open(&self) -> bool {
        !self.call.is_closed()
    }
}

impl ExpectedCall {
    /// The first call, if it has arrived.
    pub fn call(&self) -> Option<Call> {
        self.call.borrow().clone()
    }

    /// Returns when a call arrives that nobody has waited for with this method.
    pub async fn arrives(&mut self) {
        if self.call.changed().await.is_err() {
            // Nothing can arrive any more.
            std::future::pending::<()>().await;
        }
    }

    /// Notes that whatever follows from the call is recorded durably. Hosts that have called, and those that call again, get
    /// their answer.
    pub fn recorded(self) {
        if let Some(token_calls) = self.calls.by_token().get_mut(&self.token) {
            token_calls.is_recorded = true;
        }
        self.is_recorded.send_replace(true);
    }

    /// Waits for the next call, because this one was not that of the expected host. Hosts that have called get their answer.
    pub fn dismiss(self) -> Result<Self, TooManyExpected> {
        let (calls, token) = (self.calls.clone(), self.token);
        self.recorded();
        calls.expect(token)
    }
}

impl Pending {
    /// Waits until everybody who waits for the call has recorded it or stopped waiting, but not for long. Returns whether anybody
    /// has recorded it.
    pub(super) async fn until_recorded(self) -> bool {
        let all = async {
            let mut is_recorded = false;
            for mut waiting in self.0 {
                is_recorded |= waiting.wait_for(|is_recorded| *is_recorded).await.is_ok();
            }
            is_recorded
        };
        timeout(MAX_WAIT, all).await.unwrap_or(false)
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
        f.debug_struct("CallHomes").field("known", &self.by_token().len()).finish()
    }
}

impl fmt::Debug for ExpectedCall {
    /// Does not show the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpectedCall").field("call", &self.call()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
