//! Counting what happens, in Prometheus' text format. Labels come from closed sets: routes, statuses,
//! verdicts; never a tenant, a key or an address.

use std::{sync::atomic::AtomicU64, time::Duration};

use assay_engine::score::Verdict;
use axum::http::StatusCode;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::serving::{CacheStatus, Service};

/// Bounds in seconds, dense around what an answer takes and around the 300 ms promise.
const DURATION_BOUNDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 10.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabels {
    verdict: &'static str,
    cache: &'static str,
}

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram>,
    checks: Family<CheckLabels, Counter>,
    limited: Counter,
    ready: Gauge,
    store_reachable: Gauge,
    intel_generation: Gauge<u64, AtomicU64>,
    known_addresses: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("assay");
        let requests = Family::default();
        registry.register("http_requests", "HTTP requests by route and status", requests.clone());
        let durations =
            Family::new_with_constructor((|| Histogram::new(DURATION_BOUNDS)) as fn() -> Histogram);
        registry.register(
            "http_request_duration_seconds",
            "Time from a request's arrival to its answer",
            durations.clone(),
        );
        let checks = Family::default();
        registry.register("checks", "Checks by verdict and cache", checks.clone());
        let limited = Counter::default();
        registry.register("rate_limited", "Requests refused by a limit", limited.clone());
        let ready = Gauge::default();
        registry.register("ready", "Whether the program is ready", ready.clone());
        let store_reachable = Gauge::default();
        registry.register(
            "store_reachable",
            "Whether the store answered the last time it was asked",
            store_reachable.clone(),
        );
        let intel_generation = Gauge::default();
        registry.register(
            "intel_generation",
            "Changes of sources, listings and labels that are loaded",
            intel_generation.clone(),
        );
        let known_addresses = Gauge::default();
        registry.register(
            "known_addresses",
            "Addresses that a listing or label names",
            known_addresses.clone(),
        );
        Self {
            registry,
            requests,
            durations,
            checks,
            limited,
            ready,
            store_reachable,
            intel_generation,
            known_addresses,
        }
    }
}

impl Metrics {
    pub(super) fn request(&self, route: &str, status: StatusCode, took: Duration) {
        let labels = RequestLabels { route: route.to_owned(), status: status.as_u16() };
        self.requests.get_or_create(&labels).inc();
        let labels = RouteLabels { route: route.to_owned() };
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(super) fn check(&self, verdict: Verdict, cache: CacheStatus) {
        let cache = match cache {
            CacheStatus::Hit => "hit",
            CacheStatus::Miss => "miss",
            CacheStatus::Bypass => "bypass",
        };
        self.checks.get_or_create(&CheckLabels { verdict: verdict.as_str(), cache }).inc();
    }

    pub(super) fn limited(&self) {
        self.limited.inc();
    }

    /// All metrics as text.
    pub(super) fn print(&self, service: &Service) -> String {
        let intel = service.intel();
        self.ready.set(i64::from(!service.is_draining()));
        self.store_reachable.set(i64::from(service.store_reachable()));
        self.intel_generation.set(intel.generation());
        self.known_addresses.set(i64::try_from(intel.addresses()).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
