//! Counters of the media plane.

use std::sync::Arc;

use http::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::path::Target;
use crate::access::Refusal;

/// Status codes and kinds whose counters begin at zero: Prometheus does not see the first increment of a counter that appears with
/// it, and alerts are about these.
const CODES: [u16; 5] = [200, 206, 403, 404, 503];
const KINDS: [&str; 3] = ["image", "call-home", "path"];
const REFUSALS: [Refusal; 2] = [Refusal::Address, Refusal::Reads];

/// Counters of the media plane. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct MediaMetrics(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    // The plane uses few status codes, so the exact code costs no more than its class.
    requests: Family<[(&'static str, u16); 1], Counter>,
    /// The members of `requests` in which nearly all requests count. Looking one up takes a lock and a hash.
    whole: Counter,
    partial: Counter,
    unknown: Family<[(&'static str, &'static str); 1], Counter>,
    refused: Family<[(&'static str, &'static str); 1], Counter>,
    bytes: Counter,
    cold_reads: Counter,
    active: Gauge,
    aborted: Counter,
}

impl Default for Counters {
    fn default() -> Self {
        let requests = Family::default();
        let [whole, partial] = [StatusCode::OK, StatusCode::PARTIAL_CONTENT].map(|code| counter(&requests, code));
        Self {
            requests,
            whole,
            partial,
            unknown: Family::default(),
            refused: Family::default(),
            bytes: Counter::default(),
            cold_reads: Counter::default(),
            active: Gauge::default(),
            aborted: Counter::default(),
        }
    }
}

fn counter(requests: &Family<[(&'static str, u16); 1], Counter>, status: StatusCode) -> Counter {
    requests.get_or_create_owned(&[("code", status.as_u16())])
}

impl MediaMetrics {
    /// Registers the counters.
    pub fn register(&self, registry: &mut Registry) {
        let counters = &self.0;
        for code in CODES {
            drop(counters.requests.get_or_create(&[("code", code)]));
        }
        for kind in KINDS {
            drop(counters.unknown.get_or_create(&[("kind", kind)]));
        }
        for refusal in REFUSALS {
            drop(counters.refused.get_or_create(&[("reason", reason(refusal))]));
        }
        let registry = registry.sub_registry_with_prefix("media");
        registry.register("requests", "Requests by status code", counters.requests.clone());
        registry.register(
            "unknown_requests",
            "Requests that found nothing, by what they were for: images (unknown tokens and names), calls home, other \
             paths",
            counters.unknown.clone(),
        );
        registry.register(
            "refused_requests",
            "Requests for images that the image's limits refused, by the limit: address (only_from), reads (max_reads)",
            counters.refused.clone(),
        );
        registry.register_with_unit("sent", "Image bytes given to connections", Unit::Bytes, counters.bytes.clone());
        registry.register(
            "cold_reads",
            "Reads that had to wait for a disk, and all reads of a base on a network file system",
            counters.cold_reads.clone(),
        );
        registry.register("active_transfers", "Downloads and ranges being sent", counters.active.clone());
        registry.register("aborted_transfers", "Transfers that ended early, on either side", counters.aborted.clone());
    }

    pub(super) fn request(&self, status: StatusCode) {
        match status {
            StatusCode::OK => self.0.whole.inc(),
            StatusCode::PARTIAL_CONTENT => self.0.partial.inc(),
            _ => counter(&self.0.requests, status).inc(),
        };
    }

    pub(super) fn unknown(&self, target: Option<Target<'_>>) {
        let kind = match target {
            Some(Target::File { .. } | Target::Uuid { .. } | Target::Name { .. }) => "image",
            Some(Target::CallHome { .. }) => "call-home",
            None => "path",
        };
        self.0.unknown.get_or_create(&[("kind", kind)]).inc();
    }

    pub(super) fn refused(&self, refusal: Refusal) {
        self.0.refused.get_or_create(&[("reason", reason(refusal))]).inc();
    }

    pub(super) fn cold_read(&self) {
        self.0.cold_reads.inc();
    }

    pub(super) fn transfer(&self) -> Transfer {
        self.0.active.inc();
        Transfer { metrics: self.clone(), complete: false }
    }
}

fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Address => "address",
        Refusal::Reads => "reads",
    }
}

/// A transfer, which counts as active until it is dropped.
#[derive(Debug)]
pub(super) struct Transfer {
    metrics: MediaMetrics,
    complete: bool,
}

impl Transfer {
    pub(super) fn sent(&self, count: u64) {
        self.metrics.0.bytes.inc_by(count);
    }

    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    pub(super) fn metrics(&self) -> &MediaMetrics {
        &self.metrics
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.metrics.0.active.dec();
        if !self.complete {
            self.metrics.0.aborted.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn every_status_is_counted_under_its_code_and_clones_count_together() {
        let (metrics, mut registry) = (MediaMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        for (times, code) in [(1, 200), (2, 206), (3, 404), (4, 416)] {
            for _ in 0..times {
                metrics.clone().request(StatusCode::from_u16(code).unwrap());
            }
        }
        let transfer = metrics.transfer();
        transfer.sent(5);
        let text = || {
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            text
        };
        for (line, value) in [
            ("media_requests_total{code=\"200\"}", 1),
            ("media_requests_total{code=\"206\"}", 2),
            ("media_requests_total{code=\"403\"}", 0),
            ("media_requests_total{code=\"404\"}", 3),
            ("media_requests_total{code=\"416\"}", 4),
            ("media_sent_bytes_total", 5),
            ("media_active_transfers", 1),
            ("media_aborted_transfers_total", 0),
        ] {
            let line = format!("{line} {value}");
            assert!(text().lines().any(|known| known == line), "{line} in {}", text());
        }
        drop(transfer);
        assert!(
            text().contains("\nmedia_active_transfers 0\n") && text().contains("\nmedia_aborted_transfers_total 1\n")
        );
    }
}
