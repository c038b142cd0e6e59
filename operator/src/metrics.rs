//! The operator's metrics. Labels hold no names of objects, so that the number of series is bounded.

use std::sync::Arc;

use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::reason::ConditionReason;

/// A counter by the values of some labels.
type Counters<const LABELS: usize> = Family<[(&'static str, &'static str); LABELS], Counter>;

/// The operator's metrics.
#[derive(Clone, Debug)]
pub struct OperatorMetrics {
    registry: Arc<Registry>,
    /// Number of reconciliations by the kind of the object, and `changed`, `unchanged` or `failed`.
    reconciled: Counters<2>,
    /// Number of failed reconciliations by the kind of the object, and the name of a [`ConditionReason`].
    failures: Counters<2>,
    /// Number of writes by `status`, `finalizer`, `secret`, `event`, `store`, or the kind of the object that was
    /// written.
    writes: Counters<1>,
    keys_issued: Counter,
    leader: Gauge,
    /// Duration of each publication to the store, in seconds.
    pub publish_seconds: Histogram,
}

impl Default for OperatorMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("assay_operator");
        let reconciled = Family::default();
        let failures = Family::default();
        let writes = Family::default();
        let keys_issued = Counter::default();
        let leader = Gauge::default();
        let publish_seconds = Histogram::new([0.005, 0.02, 0.1, 0.5, 2.0, 10.0]);
        let help = "Reconciliations of objects, by kind and outcome";
        registry.register("reconciled", help, reconciled.clone());
        let help = "Failed reconciliations, by kind and reason";
        registry.register("failures", help, failures.clone());
        let help = "Writes to the API server and the store, by what was written";
        registry.register("writes", help, writes.clone());
        registry.register("keys_issued", "API keys issued", keys_issued.clone());
        let help = "1 while this operator holds the Lease, else 0";
        registry.register("leader", help, leader.clone());
        let help = "Duration of publications of all objects to the store";
        registry.register("publish_seconds", help, publish_seconds.clone());
        let registry = Arc::new(registry);
        Self { registry, reconciled, failures, writes, keys_issued, leader, publish_seconds }
    }
}

impl OperatorMetrics {
    /// Counts a reconciliation.
    pub fn count_reconciliation(&self, kind: &'static str, changed: bool) {
        let outcome = if changed { "changed" } else { "unchanged" };
        self.reconciled.get_or_create(&[("kind", kind), ("outcome", outcome)]).inc();
    }

    /// Counts a failed reconciliation.
    pub fn count_failure(&self, kind: &'static str, reason: ConditionReason) {
        self.reconciled.get_or_create(&[("kind", kind), ("outcome", "failed")]).inc();
        self.failures.get_or_create(&[("kind", kind), ("reason", reason.as_str())]).inc();
    }

    /// Counts a write.
    pub fn count_write(&self, what: &'static str) {
        self.writes.get_or_create(&[("what", what)]).inc();
    }

    /// Counts a key that was issued.
    pub fn count_issued_key(&self) {
        self.keys_issued.inc();
    }

    /// Sets whether this operator holds the Lease.
    pub fn set_leader(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    /// All metrics in the `OpenMetrics` text format.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
