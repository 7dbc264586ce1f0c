//! Metrics of the process, for Prometheus. There is no global state, and no label that grows with the number of hosts.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use axum::response::{IntoResponse as _, Response};
use hosts::network::NMSTATE_VERSION;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::process_metrics::ProcessMetrics;
use crate::version;

/// Upper bounds of a build's duration: usually milliseconds, and seconds if a disk has problems.
const BUILD_SECONDS: [f64; 10] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0];

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    api_requests: Family<[(&'static str, String); 3], Counter>,
    builds: Histogram,
    build_errors: Family<[(&'static str, &'static str); 1], Counter>,
    images: Gauge,
    bases: Family<[(&'static str, String); 1], Gauge>,
    base_changes: Family<[(&'static str, String); 1], Counter>,
    orphaned_images: Family<[(&'static str, String); 1], Gauge>,
    /// Held while the metrics of bases are set and read: two answers at once would lose some.
    answering: Mutex<()>,
}

/// What the metrics say about a base.
#[derive(Debug, Clone, Copy)]
pub struct BaseValues<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it can be used.
    pub is_available: bool,
    /// How many times other files have replaced its own since the process started.
    pub changes: u64,
    /// How many published images cannot be served, because other files have replaced those that they were made from.
    pub orphaned_images: usize,
}

impl Metrics {
    /// Makes the metrics; `planes` adds those of other parts of the process, and what it returns is returned.
    pub fn new<T>(planes: impl FnOnce(&mut Registry) -> T) -> (Self, T) {
        let mut registry = Registry::default();
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // This metric has the usual name, without our prefix.
        registry.register_with_unit(
            "process_start_time",
            "When the process started, in seconds since 1970",
            Unit::Seconds,
            ConstGauge::new(started.as_secs_f64()),
        );
        registry.register_collector(Box::new(ProcessMetrics));
        let ours = registry.sub_registry_with_prefix("dayone");
        ours.register("build", "The version of dayone", Info::new(build()));
        let duration = "Time from the arrival of a request for an image to its answer";
        let api_requests = registered(ours, "api_requests", "Requests to the API");
        let builds = registered_seconds(ours, "build_duration", duration, BUILD_SECONDS);
        let build_errors = registered(ours, "build_errors", "Refused requests for images, by kind of problem");
        let images = registered(ours, "images", "Published images");
        let bases = registered(ours, "base_available", "Whether a base is available (1) or not (0)");
        let base_changes = registered(
            ours,
            "base_changes",
            "How often other files have replaced those of a base since the process started",
        );
        let orphaned = "Published images that cannot be served, because other files have replaced those of their base";
        let orphaned_images = registered(ours, "base_orphaned_images", orphaned);
        let planes = planes(ours);
        let metrics = Self {
            registry,
            api_requests,
            builds,
            build_errors,
            images,
            bases,
            base_changes,
            orphaned_images,
            answering: Mutex::default(),
        };
        (metrics, planes)
    }

    /// Counts an answer of the API.
    pub fn api_request(&self, method: &Method, route: &str, status: StatusCode) {
        let status = match status.as_u16() {
            100..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            _ => "5xx",
        };
        // A method that a client invents must not become a label.
        let method = if matches!(*method, Method::GET | Method::HEAD | Method::POST | Method::DELETE) {
            method.to_string()
        } else {
            "other".to_owned()
        };
        let labels = [("method", method), ("route", route.to_owned()), ("status", status.to_owned())];
        self.api_requests.get_or_create(&labels).inc();
    }

    /// Counts an image that was made or found in this time.
    pub fn built(&self, duration: Duration) {
        self.builds.observe(duration.as_secs_f64());
    }

    /// Counts a refused request for an image.
    pub fn build_refused(&self, reason: &'static str) {
        self.build_errors.get_or_create(&[("reason", reason)]).inc();
    }

    /// Answers with all metrics as text, with the current values of the gauges.
    pub fn answer<'a>(&self, images: usize, bases: impl Iterator<Item = BaseValues<'a>>) -> Response {
        let gauge = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let _alone = self.answering.lock();
        self.images.set(gauge(images));
        // A base that is no longer configured, and that no image needs, has no metrics.
        self.bases.clear();
        self.base_changes.clear();
        self.orphaned_images.clear();
        for base in bases {
            let label = [("base", base.name.to_owned())];
            self.bases.get_or_create(&label).set(base.is_available.into());
            self.base_changes.get_or_create(&label).inner().store(base.changes, Ordering::Relaxed);
            self.orphaned_images.get_or_create(&label).set(gauge(base.orphaned_images));
        }
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = text::encode(&mut text, &self.registry);
        ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
    }
}

/// The version of dayone, the commit that it was built from if the build has set `DAYONE_COMMIT`, and the version of nmstate.
fn build() -> Vec<(&'static str, &'static str)> {
    let commit = version::commit().unwrap_or("unknown");
    vec![("version", env!("CARGO_PKG_VERSION")), ("commit", commit), ("nmstate", NMSTATE_VERSION)]
}

/// Makes a family of counters, and registers it. The counters of these values begin at zero: Prometheus does not see the first
/// increment of a counter that appears with it.
pub fn registered_counters<V: Clone + Hash + Eq + EncodeLabelValue + Send + Sync + Debug + 'static>(
    registry: &mut Registry,
    (name, help): (&str, &str),
    label: &'static str,
    values: impl IntoIterator<Item = V>,
) -> Family<[(&'static str, V); 1], Counter> {
    let counters: Family<[(&'static str, V); 1], Counter> = registered(registry, name, help);
    for value in values {
        drop(counters.get_or_create(&[(label, value)]));
    }
    counters
}

/// Makes a metric, and registers it.
pub fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// Makes a histogram of seconds with these upper bounds, and registers it.
pub fn registered_seconds<const N: usize>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    bounds: [f64; N],
) -> Histogram {
    let histogram = Histogram::new(bounds);
    registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
    histogram
}
