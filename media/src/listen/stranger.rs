//! Waiting for a client that has shown no secret.

use std::sync::Arc;

use super::table::Standing;

/// With this, a service waits for what a client sends before it has shown a secret, such as the form of a login. Meanwhile, the
/// connection may be closed to make room for another one. Every request has it as an extension.
#[derive(Debug, Clone)]
pub struct Stranger(Arc<Standing>);

impl Stranger {
    pub(super) fn new(standing: &Arc<Standing>) -> Self {
        Self(Arc::clone(standing))
    }

    /// Waits for what the client sends. The service must not go on waiting when the request has been dropped.
    pub async fn awaited<F: Future>(&self, sent: F) -> F::Output {
        self.0.set_answering(false);
        let sent = sent.await;
        self.0.set_answering(true);
        sent
    }
}
