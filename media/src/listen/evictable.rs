//! Waiting for a client that has not authenticated itself yet.

use std::sync::Arc;

use super::table::Standing;

/// The connection of a request. A service uses it to wait for what a client sends before the client is authenticated, such as the form of a
/// login. Every request has it as an extension.
#[derive(Debug, Clone)]
pub struct Evictable(Arc<Standing>);

impl Evictable {
    pub(super) fn new(standing: &Arc<Standing>) -> Self {
        Self(Arc::clone(standing))
    }

    /// Waits for what the client sends. Meanwhile, the connection may be closed to make room for another one. The service must not go on
    /// waiting when the request has been dropped.
    pub async fn wait<F: Future>(&self, sent: F) -> F::Output {
        self.0.set_answering(false);
        let sent = sent.await;
        self.0.set_answering(true);
        sent
    }
}
