//! Sessions of browsers: what a login exchanges an API token for, so that the browser need not keep the token.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::BASE64URL_NOPAD;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::tokens::{ApiTokens, TokenDigest};

/// How long a session lasts.
const LIFETIME: Duration = Duration::from_hours(12);

/// The maximum number of sessions. A further login ends the session that would end first.
const MOST: usize = 1000;

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
        if sessions.len() >= MOST
            && let Some(oldest) = sessions.iter().min_by_key(|(_, session)| session.until).map(|(key, _)| *key)
        {
            sessions.remove(&oldest);
        }
        sessions.insert(key(&id), Session { token, until: now + LIFETIME });
        Ok(id)
    }

    /// Whether the session with this id is going on.
    pub(crate) fn admit(&self, id: &str, tokens: &ApiTokens) -> bool {
        self.admit_at(id, tokens, Instant::now())
    }

    fn admit_at(&self, id: &str, tokens: &ApiTokens, now: Instant) -> bool {
        let sessions = self.0.lock();
        sessions.get(&key(id)).is_some_and(|session| session.until > now && tokens.admit_digest(&session.token))
    }

    /// Ends the session with this id.
    pub(crate) fn end(&self, id: &str) {
        self.0.lock().remove(&key(id));
    }
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
        let mut tokens = ApiTokens::default();
        tokens.add(TOKEN, "the test").unwrap();
        let sessions = Sessions::default();
        let id = sessions.begin(TokenDigest::of(TOKEN)).unwrap();
        assert!(sessions.admit(&id, &tokens) && !sessions.admit("", &tokens) && !sessions.admit(TOKEN, &tokens));
        assert!(!sessions.admit(&id, &ApiTokens::default()), "the token was withdrawn");
        let now = Instant::now();
        assert!(sessions.admit_at(&id, &tokens, now + LIFETIME / 2));
        assert!(!sessions.admit_at(&id, &tokens, now + LIFETIME + Duration::from_secs(1)));
        sessions.end(&id);
        assert!(!sessions.admit(&id, &tokens));
    }

    #[test]
    fn the_oldest_session_makes_room() {
        let mut tokens = ApiTokens::default();
        tokens.add(TOKEN, "the test").unwrap();
        let sessions = Sessions::default();
        let ids: Vec<String> = (0..=MOST).map(|_| sessions.begin(TokenDigest::of(TOKEN)).unwrap()).collect();
        assert!(!sessions.admit(&ids[0], &tokens));
        assert!(ids[1..].iter().all(|id| sessions.admit(id, &tokens)));
    }
}
