//! Metrics of the process, for Prometheus. There is no global state, and no label that grows with the number of hosts.

use std::time::{Duration, SystemTime};

use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds of a build's duration: usually milliseconds, and seconds if a disk has problems.
const BUILD_SECONDS: [f64; 10] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ApiRequest {
    method: String,
    route: String,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Base {
    base: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    api_requests: Family<ApiRequest, Counter>,
    builds: Histogram,
    build_errors: Family<Reason, Counter>,
    images: Gauge,
    bases: Family<Base, Gauge>,
}

impl Metrics {
    /// Makes the metrics; `planes` adds those of other parts of the process.
    pub fn new(planes: impl FnOnce(&mut Registry)) -> Self {
        let mut registry = Registry::default();
        let api_requests = Family::default();
        let builds = Histogram::new(BUILD_SECONDS);
        let build_errors = Family::default();
        let images = Gauge::default();
        let bases = Family::default();
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // This metric has the usual name, without our prefix.
        registry.register_with_unit(
            "process_start_time",
            "When the process started, in seconds since 1970",
            Unit::Seconds,
            ConstGauge::new(started.as_secs_f64()),
        );
        let ours = registry.sub_registry_with_prefix("dayone");
        ours.register("api_requests", "Requests to the API", Family::clone(&api_requests));
        ours.register_with_unit(
            "build_duration",
            "Time from the arrival of a request for an image to its answer",
            Unit::Seconds,
            builds.clone(),
        );
        ours.register("build_errors", "Refused requests for images, by kind of problem", Family::clone(&build_errors));
        ours.register("images", "Published images", images.clone());
        ours.register("base_available", "Whether a base is available (1) or not (0)", Family::clone(&bases));
        planes(ours);
        Self { registry, api_requests, builds, build_errors, images, bases }
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
        self.api_requests.get_or_create(&ApiRequest { method, route: route.to_owned(), status }).inc();
    }

    /// Counts an image that was made or found in this time.
    pub fn built(&self, duration: Duration) {
        self.builds.observe(duration.as_secs_f64());
    }

    /// Counts a refused request for an image.
    pub fn build_refused(&self, reason: &'static str) {
        self.build_errors.get_or_create(&Reason { reason }).inc();
    }

    /// Answers with all metrics as text, with the current values of the gauges.
    pub fn answer<'a>(&self, images: usize, bases: impl Iterator<Item = (&'a str, bool)>) -> Response {
        self.images.set(i64::try_from(images).unwrap_or(i64::MAX));
        // A base that is no longer configured has no gauge.
        self.bases.clear();
        for (base, available) in bases {
            self.bases.get_or_create(&Base { base: base.to_owned() }).set(available.into());
        }
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = text::encode(&mut text, &self.registry);
        ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
    }
}
