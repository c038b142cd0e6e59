//! Metrics in Prometheus' text format. Labels have closed sets of values (routes, status classes,
//! codes, chains): never a tenant, a key or an address.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::score::Verdict;
use assay_request::problem::Code;
use assay_service::{Backlog, CacheStatus, Service, chains::compositions::Progress};
use assay_store::jobs::JobCount;
use axum::http::StatusCode;
use jiff::Timestamp;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::Registry,
};

use crate::Class;

/// Histogram bounds in seconds, dense around the usual response time. They include the objectives of
/// 100 and 300 ms: alerts on error budgets count the responses above one bound.
pub(crate) const DURATION_BOUNDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5,
    10.0,
];

/// Value of the label `code` for responses without a problem.
const NO_PROBLEM: &str = "ok";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    class: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    route: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabels {
    verdict: &'static str,
    cache: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DependencyLabels {
    dependency: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecordLabels {
    record: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    kind: String,
    status: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ChainLabels {
    chain: &'static str,
}

/// Outcome of a rate limiting decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterOutcome {
    /// The request was admitted.
    Admitted,
    /// A limit was exceeded.
    Refused,
    /// Limits could not be counted.
    Unavailable,
}

impl LimiterOutcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
        }
    }
}

/// External dependency of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// The database.
    Database,
    /// The chain servers, if there are any.
    ChainServers,
    /// Redis or Valkey.
    Redis,
}

impl Dependency {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::ChainServers => "chain_servers",
            Self::Redis => "redis",
        }
    }
}

type Seconds = Gauge<f64, AtomicU64>;

/// All metrics of the server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram>,
    in_flight: Gauge,
    shed: Family<ClassLabels, Counter>,
    checks: Family<CheckLabels, Counter>,
    limiter: Family<OutcomeLabels, Counter>,
    reachable: Family<DependencyLabels, Gauge>,
    key_data_age: Seconds,
    intel_age: Seconds,
    tip_ages: Family<ChainLabels, Seconds>,
    chain_servers_silent: Family<ChainLabels, Gauge>,
    chain_servers_asked: Family<ChainLabels, Counter>,
    branches: Family<ChainLabels, Gauge>,
    compositions_behind: Family<ChainLabels, Gauge<u64, AtomicU64>>,
    composition_passes: Family<ChainLabels, Seconds>,
    records_pending: Family<RecordLabels, Gauge<u64, AtomicU64>>,
    records_dropped: Counter,
    jobs: Family<JobLabels, Gauge<u64, AtomicU64>>,
    job_delays: Family<KindLabels, Seconds>,
    ready: Gauge,
    redis_commands: Counter,
    redis_timeouts: Counter,
    intel_generation: Gauge<u64, AtomicU64>,
    known_addresses: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("assay");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program that runs", build);
        let durations =
            Family::new_with_constructor((|| Histogram::new(DURATION_BOUNDS)) as fn() -> Histogram);
        let metrics = Self {
            requests: Family::default(),
            durations,
            in_flight: Gauge::default(),
            shed: Family::default(),
            checks: Family::default(),
            limiter: Family::default(),
            reachable: Family::default(),
            key_data_age: Seconds::default(),
            intel_age: Seconds::default(),
            tip_ages: Family::default(),
            chain_servers_silent: Family::default(),
            chain_servers_asked: Family::default(),
            branches: Family::default(),
            compositions_behind: Family::default(),
            composition_passes: Family::default(),
            records_pending: Family::default(),
            records_dropped: Counter::default(),
            jobs: Family::default(),
            job_delays: Family::default(),
            ready: Gauge::default(),
            redis_commands: Counter::default(),
            redis_timeouts: Counter::default(),
            intel_generation: Gauge::default(),
            known_addresses: Gauge::default(),
            registry: Registry::default(),
        };
        metrics.register_requests(&mut registry);
        metrics.register_state(&mut registry);
        Self { registry, ..metrics }
    }
}

impl Metrics {
    fn register_requests(&self, registry: &mut Registry) {
        registry.register(
            "http_requests",
            "HTTP requests by route, class of status and code",
            self.requests.clone(),
        );
        registry.register(
            "http_request_duration_seconds",
            "Time from a request's arrival to its answer",
            self.durations.clone(),
        );
        registry.register(
            "http_requests_in_flight",
            "HTTP requests that are being answered",
            self.in_flight.clone(),
        );
        registry.register(
            "http_requests_shed",
            "HTTP requests refused because too many were in flight, by class",
            self.shed.clone(),
        );
        registry.register("checks", "Checks by verdict and cache", self.checks.clone());
        registry.register(
            "limiter_decisions",
            "Decisions of the limiter by outcome",
            self.limiter.clone(),
        );
    }

    fn register_state(&self, registry: &mut Registry) {
        registry.register("ready", "1 if the server is ready, else 0", self.ready.clone());
        registry.register(
            "dependency_reachable",
            "1 if the database, the chain servers or Redis answered the last request to it, else 0",
            self.reachable.clone(),
        );
        registry.register(
            "redis_commands",
            "Commands and scripts sent to Redis",
            self.redis_commands.clone(),
        );
        registry.register(
            "redis_timeouts",
            "Commands and scripts that Redis did not answer in time",
            self.redis_timeouts.clone(),
        );
        registry.register(
            "key_data_age_seconds",
            "Time since keys, tenants and plans were last confirmed against the database",
            self.key_data_age.clone(),
        );
        registry.register(
            "intel_age_seconds",
            "Time since listings and labels were last confirmed against the database",
            self.intel_age.clone(),
        );
        registry.register(
            "chain_tip_age_seconds",
            "Time since the newest block that is known of a chain",
            self.tip_ages.clone(),
        );
        registry.register(
            "chain_servers_silent",
            "Chain servers from which nothing came for a second: they get no question until they are heard again",
            self.chain_servers_silent.clone(),
        );
        registry.register(
            "chain_servers_asked",
            "Questions sent to the chain servers of a chain, those for their states apart",
            self.chain_servers_asked.clone(),
        );
        registry.register(
            "chain_branches",
            "Branches of the blocks that the chain servers of a chain have, beyond ordinary reorganizations",
            self.branches.clone(),
        );
        registry.register(
            "composition_transactions_behind",
            "Transactions of a chain whose compositions are to be computed until all are complete",
            self.compositions_behind.clone(),
        );
        registry.register(
            "composition_pass_seconds",
            "Time that the last computation of a chain's compositions took",
            self.composition_passes.clone(),
        );
        registry.register(
            "records_pending",
            "Records of usage and of answers that wait to be written to the database",
            self.records_pending.clone(),
        );
        registry.register(
            "records_dropped",
            "Answers that were sent but not kept, because too many waited to be written",
            self.records_dropped.clone(),
        );
        registry.register(
            "jobs",
            "Background jobs of all servers by kind and status",
            self.jobs.clone(),
        );
        registry.register(
            "job_delay_seconds",
            "Time for which the oldest background job of a kind has been due and not done",
            self.job_delays.clone(),
        );
        registry.register(
            "intel_generation",
            "Changes of sources, listings and labels that are loaded",
            self.intel_generation.clone(),
        );
        registry.register(
            "known_addresses",
            "Addresses that a listing or label names",
            self.known_addresses.clone(),
        );
    }

    pub(super) fn request(
        &self,
        route: &'static str,
        status: StatusCode,
        code: Option<Code>,
        took: Duration,
    ) {
        let class = class_of(status);
        let labels = DurationLabels { route, class };
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
        let labels = RequestLabels { route, class, code: code.map_or(NO_PROBLEM, Code::as_str) };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a request as in flight until the guard is dropped.
    pub(super) fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(super) fn shed(&self, class: Class) {
        self.shed.get_or_create(&ClassLabels { class: class.as_str() }).inc();
    }

    pub(super) fn check(&self, verdict: Verdict, cache: CacheStatus) {
        let cache = match cache {
            CacheStatus::Hit => "hit",
            CacheStatus::Miss => "miss",
            CacheStatus::Bypass => "bypass",
        };
        self.checks.get_or_create(&CheckLabels { verdict: verdict.as_str(), cache }).inc();
    }

    pub(super) fn limiter(&self, outcome: LimiterOutcome) {
        self.limiter.get_or_create(&OutcomeLabels { outcome: outcome.as_str() }).inc();
    }

    /// Records whether the last request to a dependency succeeded.
    pub fn reachable(&self, dependency: Dependency, answered: bool) {
        let labels = DependencyLabels { dependency: dependency.as_str() };
        self.reachable.get_or_create(&labels).set(i64::from(answered));
    }

    fn count_jobs(&self, counts: &[JobCount], now: Timestamp) {
        self.jobs.clear();
        self.job_delays.clear();
        for JobCount { kind, status, count, oldest_due_at } in counts {
            let labels = JobLabels { kind: kind.clone(), status: status.clone() };
            self.jobs.get_or_create(&labels).set(*count);
            if status == "pending" || status == "claimed" {
                let delay = now.duration_since(*oldest_due_at).as_secs_f64().max(0.0);
                let gauge = self.job_delays.get_or_create(&KindLabels { kind: kind.clone() });
                gauge.set(gauge.get().max(delay));
            }
        }
    }

    fn show_compositions(&self, chains: &[(ChainId, Progress)]) {
        for (chain, progress) in chains {
            let labels = ChainLabels { chain: chain.info().id };
            self.compositions_behind.get_or_create(&labels).set(progress.behind);
            if let Some(took) = progress.last_pass {
                self.composition_passes.get_or_create(&labels).set(took.as_secs_f64());
            }
        }
    }

    /// Returns all metrics as text.
    pub fn print(&self, service: &Service) -> String {
        let (intel, now) = (service.intel(), service.clock.now());
        self.ready.set(i64::from(!service.is_draining() && !service.is_key_data_stale()));
        self.reachable(Dependency::Database, service.store_reachable());
        if !service.databases.chain_servers.is_empty() {
            self.reachable(Dependency::ChainServers, service.chains_reachable());
        }
        if let Some(link) = service.redis() {
            self.reachable(Dependency::Redis, link.is_connected());
            self.redis_commands.inner().store(link.commands(), Ordering::Relaxed);
            self.redis_timeouts.inner().store(link.unanswered(), Ordering::Relaxed);
        }
        let monotonic = Instant::now();
        self.key_data_age.set(service.freshness.key_data_age(monotonic).as_secs_f64());
        self.intel_age.set(service.freshness.intel_age(monotonic).as_secs_f64());
        for (chain, age) in service.freshness.tip_ages(now) {
            let labels = ChainLabels { chain: chain.info().id };
            self.tip_ages.get_or_create(&labels).set(age.as_secs_f64());
        }
        for (chain, servers) in service.databases.chain_servers.iter() {
            let labels = ChainLabels { chain: chain.info().id };
            let silent = i64::try_from(servers.silent()).unwrap_or(i64::MAX);
            self.chain_servers_silent.get_or_create(&labels).set(silent);
            let asked = self.chain_servers_asked.get_or_create(&labels);
            asked.inner().store(servers.asked(), Ordering::Relaxed);
            let branches = servers.difference().map_or(1, |it| it.branches.len());
            let branches = i64::try_from(branches).unwrap_or(i64::MAX);
            self.branches.get_or_create(&labels).set(branches);
        }
        self.show_compositions(&service.compositions.all());
        let Backlog { usage, answers, lost } = service.recorder.backlog();
        for (record, count) in [("usage", usage), ("answers", answers)] {
            self.records_pending.get_or_create(&RecordLabels { record }).set(count);
        }
        self.records_dropped.inner().store(lost, Ordering::Relaxed);
        self.count_jobs(&service.background.counts.load(), now);
        self.intel_generation.set(intel.generation());
        self.known_addresses.set(i64::try_from(intel.addresses()).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Guard of a request in flight.
#[derive(Debug)]
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

const fn class_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        ..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}
