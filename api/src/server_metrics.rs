//! Metrics that API servers and chain servers have in common, and the registration of further metrics.

use std::{fmt::Debug, hash::Hash, sync::atomic::AtomicU64};

use assay_address::ChainId;
use assay_service::chains::compositions::Progress;
use jiff::SignedDuration;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Metric, Registry},
};

/// Histogram bounds in seconds, close to each other around the usual response time. The bounds include the objectives
/// of 100 and 300 ms: alerts on error budgets count the responses above one bound.
const DURATION_BOUNDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5,
    10.0,
];

/// Labels of a series, each with its value.
pub(crate) type SeriesLabels<const N: usize, V = &'static str> = [(&'static str, V); N];
pub(crate) type Number = Gauge<u64, AtomicU64>;
pub(crate) type Seconds = Gauge<f64, AtomicU64>;
/// Metric with one label.
pub(crate) type ByLabel<M> = Family<SeriesLabels<1>, M>;

/// Returns the label of a chain.
pub(crate) fn label_of(chain: ChainId) -> SeriesLabels<1> {
    [("chain", chain.info().id)]
}

/// Registry of a server's metrics, with the metrics of both kinds of servers.
#[derive(Debug)]
pub(crate) struct ServerMetrics {
    registry: Registry,
    intel_generation: Number,
    tip_ages: ByLabel<Seconds>,
    compositions_behind: ByLabel<Number>,
}

impl Default for ServerMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("assay");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program that runs", build);
        let intel_generation = add(
            &mut registry,
            "intel_generation",
            "Changes of sources, listings and labels that are loaded",
        );
        let tip_ages = add(
            &mut registry,
            "chain_tip_age_seconds",
            "Time since the newest block that is known of a chain",
        );
        let compositions_behind = add(
            &mut registry,
            "composition_transactions_behind",
            "Transactions of a chain whose compositions are to be computed until all are complete",
        );
        Self { registry, intel_generation, tip_ages, compositions_behind }
    }
}

/// Adds a metric to a registry.
fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

impl ServerMetrics {
    /// Adds a metric that only one kind of servers has.
    pub(crate) fn add<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        add(&mut self.registry, name, help)
    }

    /// Adds a histogram of durations.
    pub(crate) fn add_durations<L>(&mut self, name: &str, help: &str) -> Family<L, Histogram>
    where
        L: EncodeLabelSet + Clone + Debug + Eq + Hash + Send + Sync + 'static,
    {
        let histogram = (|| Histogram::new(DURATION_BOUNDS)) as fn() -> Histogram;
        let family = Family::new_with_constructor(histogram);
        self.registry.register(name, help, family.clone());
        family
    }

    /// Records the number of changes of lists and labels that are loaded.
    pub(crate) fn set_intel_generation(&self, generation: u64) {
        self.intel_generation.set(generation);
    }

    /// Records the age of a chain's newest block.
    pub(crate) fn set_tip_age(&self, chain: ChainId, age: SignedDuration) {
        self.tip_ages.get_or_create(&label_of(chain)).set(age.as_secs_f64().max(0.0));
    }

    /// Records the progress of a chain's compositions (breakdowns of transactions' funds by origin).
    pub(crate) fn set_compositions(&self, chain: ChainId, progress: &Progress) {
        self.compositions_behind.get_or_create(&label_of(chain)).set(progress.behind);
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
