//! Follows the boots of a server by its events, and connects again if the connection ends.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::boot_api::{Api, Following};
use super::client::ApiError;

/// How often to try to reach a server again, and for how long.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_mins(2);
/// A connection that has lasted so long is no failure: while nothing changes, the server sends no events.
const LASTING: Duration = Duration::from_secs(5);

/// The attempts to reach a server again.
#[derive(Debug, Default)]
pub(super) struct Retries {
    /// The time of the first failure since the server last answered.
    since: Option<Instant>,
}

impl Retries {
    /// Notes that the server has answered.
    pub(super) fn succeeded(&mut self) {
        self.since = None;
    }

    /// Notes the end of a connection that has lasted so long.
    pub(super) fn disconnected(&mut self, lasted: Duration) {
        if lasted >= LASTING {
            self.succeeded();
        }
    }

    /// Waits before the next attempt, after an error or the end of a connection. Returns the error if another attempt is of no use.
    pub(super) async fn wait(&mut self, error: Option<ApiError>) -> Result<(), ApiError> {
        let error = error.unwrap_or_else(|| ApiError::Unreachable("the server closes every connection".to_owned()));
        let interval = match &error {
            ApiError::Unreachable(_) => RETRY_INTERVAL,
            ApiError::Busy { wait, .. } => RETRY_INTERVAL.max(*wait),
            ApiError::Token(_)
            | ApiError::OtherLogin(_)
            | ApiError::NoApi(_)
            | ApiError::Missing
            | ApiError::Refused { .. } => return Err(error),
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() + interval > MAX_RETRY {
            return Err(error);
        }
        tokio::time::sleep(interval).await;
        Ok(())
    }
}

/// An event of all boots: what has changed.
#[derive(Debug, Deserialize)]
pub(super) struct Changes {
    /// The boots that are new or have changed.
    pub(super) boots: Vec<Box<RawValue>>,
    /// The ids of all boots, if a boot came or went.
    pub(super) ids: Option<Vec<String>>,
}

/// The changes of all boots of a server, or of those of a host, in one stream: a server bounds the number of streams.
pub(super) struct AllBoots<'a> {
    api: &'a Api,
    host: Option<&'a str>,
    following: Option<Following>,
    /// Whether the server has answered before. One that has never answered may be the wrong one.
    is_known: bool,
    retries: Retries,
}

impl<'a> AllBoots<'a> {
    pub(super) fn new(api: &'a Api, host: Option<&'a str>, is_known: bool) -> Self {
        Self { api, host, following: None, is_known, retries: Retries::default() }
    }

    /// Returns the next changes. If there is no connection, calls `disconnected`, and connects again. A new connection begins with all
    /// boots.
    pub(super) async fn next(&mut self, mut disconnected: impl FnMut()) -> Result<Changes, ApiError> {
        if self.following.is_some() {
            // The caller was able to use the last changes.
            self.retries.succeeded();
        }
        loop {
            let error = match &mut self.following {
                Some(following) => {
                    if let Some(event) = following.next().await {
                        return Ok(serde_json::from_str(&event.data)?);
                    }
                    None
                }
                None => match self.api.follow_all(self.host).await {
                    Ok(following) => {
                        (self.following, self.is_known) = (Some(following), true);
                        continue;
                    }
                    Err(ApiError::Missing) => {
                        let detail = "this server cannot send the changes of all boots; it is an older dayone";
                        return Err(ApiError::Unreachable(detail.to_owned()));
                    }
                    Err(error) if !self.is_known => return Err(error),
                    Err(error) => Some(error),
                },
            };
            disconnected();
            self.reconnect(error).await?;
        }
    }

    /// Ends the connection, and waits before the next one. Returns the error if another connection is of no use.
    pub(super) async fn reconnect(&mut self, error: Option<ApiError>) -> Result<(), ApiError> {
        self.following = None;
        self.retries.wait(error).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_connections_that_end_at_once_are_failures() {
        let mut retries = Retries { since: Instant::now().checked_sub(MAX_RETRY) };
        retries.disconnected(Duration::from_millis(10));
        let error = retries.wait(None).await.unwrap_err();
        assert!(error.to_string().contains("closes every connection"), "{error}");
        retries.disconnected(MAX_RETRY);
        retries.wait(None).await.unwrap();
    }
}
