//! Sessions of browsers: what a login exchanges an API token for, so that the browser need not keep the token.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::BASE64URL_NOPAD;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::clients::{ApiClients, Caller, TokenDigest};

/// How long a session lasts.
const LIFETIME: Duration = Duration::from_hours(12);

/// The maximum number of sessions. For a further one, one of the token with the most sessions ends.
const MAX_SESSIONS: usize = 1000;

/// The sessions of a server, in memory: they end when the server stops. Clones share them.
///
/// The keys are digests of the ids, so that the time of a search shows nothing about an id.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<BTreeMap<[u8; 32], Session>>>);

struct Session {
    /// The token of the login. The session ends when the token is no longer valid.
    token: TokenDigest,
    until: Instant,
}

impl Sessions {
    /// Begins a session for a valid token, and returns its id.
    pub(crate) fn begin(&self, token: TokenDigest) -> Result<String, getrandom::Error> {
        let mut random = [0; 32];
        getrandom::fill(&mut random)?;
        let id = BASE64URL_NOPAD.encode(&random);
        let now = Instant::now();
        let mut sessions = self.0.lock();
        sessions.retain(|_, session| session.until > now);
        if sessions.len() >= MAX_SESSIONS
            && let Some(dispensable) = dispensable(&sessions)
        {
            sessions.remove(&dispensable);
        }
        sessions.insert(key(&id), Session { token, until: now + LIFETIME });
        Ok(id)
    }

    /// The client whose session with this id is going on.
    pub(crate) fn client(&self, id: &str, clients: &ApiClients) -> Option<Arc<Caller>> {
        self.client_at(id, clients, Instant::now())
    }

    fn client_at(&self, id: &str, clients: &ApiClients, now: Instant) -> Option<Arc<Caller>> {
        let sessions = self.0.lock();
        let session = sessions.get(&key(id)).filter(|session| session.until > now)?;
        clients.with_digest(&session.token)
    }

    /// Ends the session with this id.
    pub(crate) fn end(&self, id: &str) {
        self.0.lock().remove(&key(id));
    }
}

/// The oldest session of the token with the most: a client with a small role must not end the sessions of others by its logins.
fn dispensable(sessions: &BTreeMap<[u8; 32], Session>) -> Option<[u8; 32]> {
    let mut counts = BTreeMap::<TokenDigest, usize>::new();
    for session in sessions.values() {
        *counts.entry(session.token).or_default() += 1;
    }
    let (token, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let of_token = sessions.iter().filter(|(_, session)| session.token == token);
    of_token.min_by_key(|(_, session)| session.until).map(|(key, _)| *key)
}

fn key(id: &str) -> [u8; 32] {
    Sha256::digest(id.as_bytes()).into()
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sessions({})", self.0.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn a_session_ends_with_its_time_its_token_and_a_logout() {
        let mut tokens = ApiClients::default();
        tokens.add(TOKEN, "the test").unwrap();
        let sessions = Sessions::default();
        let id = sessions.begin(TokenDigest::of(TOKEN)).unwrap();
        let admitted = |id: &str, clients: &ApiClients| sessions.client(id, clients).is_some();
        assert!(admitted(&id, &tokens) && !admitted("", &tokens) && !admitted(TOKEN, &tokens));
        assert!(!admitted(&id, &ApiClients::default()), "the token was withdrawn");
        let now = Instant::now();
        assert!(sessions.client_at(&id, &tokens, now + LIFETIME / 2).is_some());
        assert!(sessions.client_at(&id, &tokens, now + LIFETIME + Duration::from_secs(1)).is_none());
        sessions.end(&id);
        assert!(!admitted(&id, &tokens));
    }

    #[test]
    fn the_oldest_session_makes_room() {
        let mut tokens = ApiClients::default();
        tokens.add(TOKEN, "the test").unwrap();
        let sessions = Sessions::default();
        let ids: Vec<String> = (0..=MAX_SESSIONS).map(|_| sessions.begin(TokenDigest::of(TOKEN)).unwrap()).collect();
        assert!(sessions.client(&ids[0], &tokens).is_none());
        assert!(ids[1..].iter().all(|id| sessions.client(id, &tokens).is_some()));
    }

    #[test]
    fn one_client_does_not_end_the_sessions_of_others() {
        const OTHER: &str = "fedcba9876543210";
        let mut tokens = ApiClients::default();
        tokens.add(TOKEN, "the test").unwrap();
        tokens.add(OTHER, "the test").unwrap();
        let sessions = Sessions::default();
        let before = sessions.begin(TokenDigest::of(TOKEN)).unwrap();
        let others: Vec<String> =
            (0..2 * MAX_SESSIONS).map(|_| sessions.begin(TokenDigest::of(OTHER)).unwrap()).collect();
        let after = sessions.begin(TokenDigest::of(TOKEN)).unwrap();
        assert!(
            [&before, &after, &others[others.len() - 1]].into_iter().all(|id| sessions.client(id, &tokens).is_some())
        );
        assert_eq!(sessions.0.lock().len(), MAX_SESSIONS);
    }
}
