//! Metrics of the audit log.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::metrics::registered;

/// The metrics. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct AuditMetrics {
    pub(super) entries: Counter,
    pub(super) lost: Counter,
    pub(super) failing: Gauge,
}

impl AuditMetrics {
    /// Registers the metrics.
    pub fn new(registry: &mut Registry) -> Self {
        Self {
            entries: registered(registry, "audit_entries", "Entries that were written to the audit log"),
            lost: registered(registry, "audit_lost_entries", "Entries that were not written to the audit log"),
            failing: registered(registry, "audit_failing", "Whether the audit log cannot be written (1) or can (0)"),
        }
    }
}
