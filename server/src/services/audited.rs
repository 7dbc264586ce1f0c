//! The audit log of a service without an API: what clients read of images, and when the service started and stopped.

use std::sync::Arc;

use media::reading::TakeAfter;
use media::served::Published;
use media::{MediaMetrics, MediaService};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::audit::{Audit, Event, Readings, Who};
use crate::store::Store;

/// An audit log, or none, and the task that records what clients read.
#[derive(Debug)]
pub(super) struct Audited {
    pub(super) audit: Audit,
    readings: JoinHandle<Readings>,
}

impl Audited {
    /// Records what clients read of the images in the store until `stopping` is cancelled.
    pub(super) fn start(audit: Audit, store: &Arc<Store>, stopping: &CancellationToken) -> Self {
        let readings = tokio::spawn(Readings::new(Arc::clone(store), audit.clone()).follow(stopping.clone()));
        Self { audit, readings }
    }

    /// The service of the media plane. It keeps what clients read only if somebody takes it.
    pub(super) fn service(&self, store: &Arc<Store>, metrics: MediaMetrics) -> MediaService {
        let published = Arc::clone(store) as Arc<dyn Published>;
        if self.audit.is_on() {
            media::service_that_keeps_reads(published, metrics)
        } else {
            media::service(published, metrics)
        }
    }

    /// Records the rest when all transfers have ended.
    pub(super) async fn stop(self) {
        let Self { audit, readings } = self;
        let readings = readings.await;
        let end = tokio::task::spawn_blocking(move || {
            if let Ok(mut readings) = readings {
                readings.record_finished(TakeAfter::NOW);
            }
            audit.record(Who::SERVER, Event::ServerStopped);
            audit.stop();
        });
        // Fails only if the work panics; the panic hook has logged where.
        let _ = end.await;
    }
}
