//! What the operator counts. No names of objects: how many series there are is known beforehand.

use std::sync::Arc;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::reason::Reason;

/// What a piece of work came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReconcileLabels {
    /// The kind.
    pub kind: &'static str,
    /// `changed`, `unchanged` or `failed`.
    pub outcome: &'static str,
}

/// Why work failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct FailureLabels {
    /// The kind.
    pub kind: &'static str,
    /// One of [`Reason::ALL`].
    pub reason: &'static str,
}

/// What is written where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WriteLabels {
    /// `status`, `finalizer`, `secret`, `event`, `store`, or the kind of an object that was made.
    pub what: &'static str,
}

/// What the operator counts.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciled: Family<ReconcileLabels, Counter>,
    failures: Family<FailureLabels, Counter>,
    writes: Family<WriteLabels, Counter>,
    keys_made: Counter,
    leader: Gauge,
    /// How long publishing took, in seconds.
    pub publish_seconds: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("assay_operator");
        let reconciled = Family::default();
        let failures = Family::default();
        let writes = Family::default();
        let keys_made = Counter::default();
        let leader = Gauge::default();
        let publish_seconds = Histogram::new([0.005, 0.02, 0.1, 0.5, 2.0, 10.0]);
        registry.register("reconciled", "Objects looked at", reconciled.clone());
        registry.register("failures", "Work that failed, by reason", failures.clone());
        registry.register("writes", "What was written", writes.clone());
        registry.register("keys_made", "API keys that were made", keys_made.clone());
        registry.register("leader", "Whether this operator is the one that works", leader.clone());
        registry.register("publish_seconds", "Publishing to the store", publish_seconds.clone());
        let registry = Arc::new(registry);
        Self { registry, reconciled, failures, writes, keys_made, leader, publish_seconds }
    }
}

impl Metrics {
    /// Counts an object that was looked at.
    pub fn reconciled(&self, kind: &'static str, changed: bool) {
        let outcome = if changed { "changed" } else { "unchanged" };
        self.reconciled.get_or_create(&ReconcileLabels { kind, outcome }).inc();
    }

    /// Counts work that failed.
    pub fn failed(&self, kind: &'static str, reason: Reason) {
        self.reconciled.get_or_create(&ReconcileLabels { kind, outcome: "failed" }).inc();
        self.failures.get_or_create(&FailureLabels { kind, reason: reason.as_str() }).inc();
    }

    /// Counts a write.
    pub fn wrote(&self, what: &'static str) {
        self.writes.get_or_create(&WriteLabels { what }).inc();
    }

    /// Counts a key that was made.
    pub fn key_issued(&self) {
        self.keys_made.inc();
    }

    /// Says whether this operator is the one that works.
    pub fn set_leader(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    /// Everything, as it is scraped.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
