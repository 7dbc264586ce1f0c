//! Waits for the background tasks of clients, including those of dropped clients.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts tasks that are not finished. Clones count together.
///
/// A [`Client`](crate::Client) begins and closes its sessions in tasks, which go on when it is dropped. The runtime must not end before
/// them: a BMC has few sessions, and would keep an open one for half an hour.
#[derive(Debug, Clone, Default)]
pub struct Unfinished(Arc<watch::Sender<usize>>);

/// A task that is not finished until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct UnfinishedTask(Arc<watch::Sender<usize>>);

impl Unfinished {
    /// Counts one more task.
    pub fn begin(&self) -> UnfinishedTask {
        self.0.send_modify(|tasks| *tasks += 1);
        UnfinishedTask(Arc::clone(&self.0))
    }

    /// Waits until all tasks are finished.
    pub async fn finished(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.subscribe().wait_for(|tasks| *tasks == 0).await;
    }
}

impl Drop for UnfinishedTask {
    fn drop(&mut self) {
        self.0.send_modify(|tasks| *tasks = tasks.saturating_sub(1));
    }
}
