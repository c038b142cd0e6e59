//! Metrics in Prometheus' text format. Labels have closed sets of values (routes, status classes,
//! codes, chains): never a tenant, a key or an address.

use std::{
    sync::{OnceLock, atomic::Ordering},
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::{evidence::SourceState, score::Verdict};
use assay_request::problem::Code;
use assay_service::{Backlog, CacheStatus, Service, chains::compositions::Progress};
use assay_store::jobs::JobCount;
use axum::http::StatusCode;
use jiff::Timestamp;
use prometheus_client::metrics::{
    counter::Counter, family::Family, gauge::Gauge, histogram::Histogram,
};

use crate::{
    Class,
    server_metrics::{ByLabel, Number, Seconds, SeriesLabels, ServerMetrics, label_of},
};

/// Value of the label `code` for responses without a problem.
const NO_PROBLEM: &str = "ok";

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

/// All metrics of the server.
#[derive(Debug)]
pub struct Metrics {
    shared: ServerMetrics,
    requests: Family<SeriesLabels<3>, Counter>,
    durations: Family<SeriesLabels<2>, Histogram>,
    in_flight: Gauge,
    shed: ByLabel<Counter>,
    checks: Family<SeriesLabels<2>, Counter>,
    limiter: ByLabel<Counter>,
    frequent: FrequentSeries,
    reachable: ByLabel<Gauge>,
    key_data_age: Seconds,
    intel_age: Seconds,
    chain_servers_silent: ByLabel<Gauge>,
    chain_servers_asked: ByLabel<Counter>,
    branches: ByLabel<Gauge>,
    composition_passes: ByLabel<Seconds>,
    records_pending: ByLabel<Number>,
    records_dropped: Counter,
    log_lines_dropped: Counter,
    jobs: Family<SeriesLabels<2, String>, Number>,
    job_delays: Family<SeriesLabels<1, String>, Seconds>,
    ready: Gauge,
    redis_commands: Counter,
    redis_timeouts: Counter,
    known_addresses: Gauge,
    unmatched_listings: Family<SeriesLabels<2, String>, Number>,
}

/// Series in which nearly all checks count, found when they are first counted.
#[derive(Debug, Default)]
struct FrequentSeries {
    /// Checks by verdict and use of the cache.
    checks: [[OnceLock<Counter>; 3]; 4],
    /// Requests that the limiter admitted.
    admitted: OnceLock<Counter>,
}

/// Route of a request, as a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteLabel<'a> {
    /// Pattern of the route.
    pub(super) pattern: &'static str,
    /// Series of the route's successful responses, if they are kept.
    pub(super) answered: Option<&'a AnsweredSeries>,
}

/// Series of the successful responses of a route, found when the first of them is counted.
#[derive(Debug, Default)]
pub(super) struct AnsweredSeries(OnceLock<RequestSeries>);

/// Series of the requests with the same labels.
#[derive(Debug)]
struct RequestSeries {
    requests: Counter,
    durations: Histogram,
}

impl RequestSeries {
    fn count(&self, took: Duration) {
        self.durations.observe(took.as_secs_f64());
        self.requests.inc();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut new = ServerMetrics::default();
        Self {
            requests: new.add("http_requests", "HTTP requests by route, class of status and code"),
            durations: new.add_durations(
                "http_request_duration_seconds",
                "Time from a request's arrival to its answer",
            ),
            in_flight: new.add("http_requests_in_flight", "HTTP requests that are being answered"),
            shed: new.add(
                "http_requests_shed",
                "HTTP requests refused because too many were in flight, by class",
            ),
            checks: new.add("checks", "Checks by verdict and cache"),
            limiter: new.add("limiter_decisions", "Decisions of the limiter by outcome"),
            frequent: FrequentSeries::default(),
            ready: new.add("ready", "1 if the server is ready, else 0"),
            reachable: new.add(
                "dependency_reachable",
                "1 if the database, the chain servers or Redis answered the last request to \
                 it, else 0",
            ),
            redis_commands: new.add("redis_commands", "Commands and scripts sent to Redis"),
            redis_timeouts: new
                .add("redis_timeouts", "Commands and scripts that Redis did not answer in time"),
            key_data_age: new.add(
                "key_data_age_seconds",
                "Time since keys, tenants and plans were last confirmed against the database",
            ),
            intel_age: new.add(
                "intel_age_seconds",
                "Time since listings and labels were last confirmed against the database",
            ),
            chain_servers_silent: new.add(
                "chain_servers_silent",
                "Chain servers from which nothing came for a second: they get no question \
                 until they are heard again",
            ),
            chain_servers_asked: new.add(
                "chain_servers_asked",
                "Questions sent to the chain servers of a chain, those for their states apart",
            ),
            branches: new.add(
                "chain_branches",
                "Branches of the blocks that the chain servers of a chain have, beyond \
                 ordinary reorganizations",
            ),
            composition_passes: new.add(
                "composition_pass_seconds",
                "Time that the last computation of a chain's compositions took",
            ),
            records_pending: new.add(
                "records_pending",
                "Records of usage and of answers that wait to be written to the database",
            ),
            records_dropped: new.add(
                "records_dropped",
                "Answers that were sent but not kept, because too many waited to be written",
            ),
            log_lines_dropped: new.add(
                "log_lines_dropped",
                "Log lines that were not written, because standard error was not read in time",
            ),
            jobs: new.add("jobs", "Background jobs of all servers by kind and status"),
            job_delays: new.add(
                "job_delay_seconds",
                "Time for which the oldest background job of a kind has been due and not done",
            ),
            unmatched_listings: new.add(
                "unmatched_listings",
                "Entries of the newest publications that no check can match, by source and blockchain",
            ),
            known_addresses: new.add("known_addresses", "Addresses that a listing or label names"),
            shared: new,
        }
    }
}

impl Metrics {
    pub(super) fn request(
        &self,
        RouteLabel { pattern, answered }: RouteLabel<'_>,
        status: StatusCode,
        code: Option<Code>,
        took: Duration,
    ) {
        let series = || self.series(pattern, class_of(status), code);
        match answered.filter(|_| status.is_success() && code.is_none()) {
            Some(AnsweredSeries(answered)) => answered.get_or_init(series).count(took),
            None => series().count(took),
        }
    }

    fn series(
        &self,
        route: &'static str,
        class: &'static str,
        code: Option<Code>,
    ) -> RequestSeries {
        let code = code.map_or(NO_PROBLEM, Code::as_str);
        let labels = [("route", route), ("class", class)];
        let durations = self.durations.get_or_create(&labels).clone();
        let labels = [("route", route), ("class", class), ("code", code)];
        RequestSeries { requests: self.requests.get_or_create(&labels).clone(), durations }
    }

    /// Counts a request as in flight until the guard is dropped.
    pub(super) fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(super) fn shed(&self, class: Class) {
        self.shed.get_or_create(&[("class", class.as_str())]).inc();
    }

    pub(super) fn check(&self, verdict: Verdict, cache: CacheStatus) {
        let [allow, indeterminate, review, block] = &self.frequent.checks;
        let [hit, miss, bypass] = match verdict {
            Verdict::Allow => allow,
            Verdict::Indeterminate => indeterminate,
            Verdict::Review => review,
            Verdict::Block => block,
        };
        let (series, cache) = match cache {
            CacheStatus::Hit => (hit, "hit"),
            CacheStatus::Miss => (miss, "miss"),
            CacheStatus::Bypass => (bypass, "bypass"),
        };
        let labels = [("verdict", verdict.as_str()), ("cache", cache)];
        series.get_or_init(|| self.checks.get_or_create(&labels).clone()).inc();
    }

    pub(super) fn limiter(&self, outcome: LimiterOutcome) {
        let series = || self.limiter.get_or_create(&[("outcome", outcome.as_str())]).clone();
        match outcome {
            LimiterOutcome::Admitted => self.frequent.admitted.get_or_init(series).inc(),
            LimiterOutcome::Refused | LimiterOutcome::Unavailable => series().inc(),
        };
    }

    /// Records whether the last request to a dependency succeeded.
    pub fn reachable(&self, dependency: Dependency, answered: bool) {
        let labels = [("dependency", dependency.as_str())];
        self.reachable.get_or_create(&labels).set(i64::from(answered));
    }

    fn count_jobs(&self, counts: &[JobCount], now: Timestamp) {
        self.jobs.clear();
        self.job_delays.clear();
        for JobCount { kind, status, count, oldest_due_at } in counts {
            let labels = [("kind", kind.clone()), ("status", status.clone())];
            self.jobs.get_or_create(&labels).set(*count);
            if status == "pending" || status == "claimed" {
                let delay = now.duration_since(*oldest_due_at).as_secs_f64().max(0.0);
                let gauge = self.job_delays.get_or_create(&[("kind", kind.clone())]);
                gauge.set(gauge.get().max(delay));
            }
        }
    }

    fn show_compositions(&self, chains: &[(ChainId, Progress)]) {
        for (chain, progress) in chains {
            self.shared.set_compositions(*chain, progress);
            if let Some(took) = progress.last_pass {
                self.composition_passes.get_or_create(&label_of(*chain)).set(took.as_secs_f64());
            }
        }
    }

    /// Returns all metrics as text.
    pub fn print(&self, service: &Service) -> String {
        let (intel, now) = (service.intel(), service.clock.now());
        self.ready.set(i64::from(!service.is_draining() && !service.is_key_data_stale()));
        self.reachable(Dependency::Database, service.store_reachable() && service.store_writable());
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
            self.shared.set_tip_age(chain, age);
        }
        for (chain, servers) in service.databases.chain_servers.iter() {
            let labels = label_of(chain);
            let silent = i64::try_from(servers.silent_count()).unwrap_or(i64::MAX);
            self.chain_servers_silent.get_or_create(&labels).set(silent);
            let asked = self.chain_servers_asked.get_or_create(&labels);
            asked.inner().store(servers.question_count(), Ordering::Relaxed);
            let branches = servers.difference().map_or(1, |it| it.branches.len());
            let branches = i64::try_from(branches).unwrap_or(i64::MAX);
            self.branches.get_or_create(&labels).set(branches);
        }
        self.show_compositions(&service.compositions.all());
        let Backlog { usage, answers, lost } = service.recorder.backlog();
        for (record, count) in [("usage", usage), ("answers", answers)] {
            self.records_pending.get_or_create(&[("record", record)]).set(count);
        }
        self.records_dropped.inner().store(lost, Ordering::Relaxed);
        let dropped_lines = assay_telemetry::dropped_lines();
        self.log_lines_dropped.inner().store(dropped_lines, Ordering::Relaxed);
        self.count_jobs(&service.background.counts.load(), now);
        self.shared.set_intel_generation(intel.generation());
        self.known_addresses.set(i64::try_from(intel.addresses()).unwrap_or(i64::MAX));
        self.count_unmatched(intel.sources());
        self.shared.text()
    }

    fn count_unmatched(&self, sources: &[SourceState]) {
        self.unmatched_listings.clear();
        for source in sources {
            for (chain, number) in &source.unmatched {
                let labels = [("source", source.id.to_string()), ("blockchain", chain.to_string())];
                self.unmatched_listings.get_or_create(&labels).set(*number);
            }
        }
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
