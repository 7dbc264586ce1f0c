//! Counters of a listener.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Why dayone closed a connection before it served a request on it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Closed {
    /// Its first request did not arrive in time.
    NoRequest,
    /// The table evicted it for another connection.
    Evicted,
    /// Its address was at its limit of connections.
    AddressLimit,
    /// The TLS handshake failed.
    Handshake,
    /// The TLS handshake did not finish in time.
    HandshakeTimeout,
}

impl Closed {
    const ALL: [Self; 5] =
        [Self::NoRequest, Self::Evicted, Self::AddressLimit, Self::Handshake, Self::HandshakeTimeout];

    fn reason(self) -> &'static str {
        match self {
            Self::NoRequest => "no-request",
            Self::Evicted => "evicted",
            Self::AddressLimit => "address-limit",
            Self::Handshake => "tls-handshake",
            Self::HandshakeTimeout => "tls-handshake-timeout",
        }
    }
}

/// Counters of a listener. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct ListenMetrics {
    open: Gauge,
    closed: Family<[(&'static str, &'static str); 1], Counter>,
    malformed: Counter,
}

impl ListenMetrics {
    /// Registers the counters under the name of the plane. Counters begin at zero: Prometheus does not see the first increment of a
    /// counter that appears with it.
    pub fn register(&self, registry: &mut Registry, plane: &str) {
        for why in Closed::ALL {
            drop(self.closed.get_or_create(&[("reason", why.reason())]));
        }
        let registry = registry.sub_registry_with_prefix(plane);
        registry.register("connections", "Connections that are open", self.open.clone());
        registry.register(
            "connections_closed",
            "Connections closed without a successful answer, by reason",
            self.closed.clone(),
        );
        registry.register(
            "malformed_requests",
            "Requests refused because a proxy could read them differently",
            self.malformed.clone(),
        );
    }

    pub(super) fn closed(&self, why: Closed) {
        self.closed.get_or_create(&[("reason", why.reason())]).inc();
    }

    pub(super) fn malformed(&self) {
        self.malformed.inc();
    }

    /// A connection is open until the returned value is dropped.
    pub(super) fn open(&self) -> Open {
        self.open.inc();
        Open(self.open.clone())
    }
}

/// A connection that is counted.
#[derive(Debug)]
pub(super) struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}
