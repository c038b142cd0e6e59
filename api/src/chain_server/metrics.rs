//! Metrics of a chain server in Prometheus' text format.

use std::{sync::atomic::AtomicU64, time::Duration};

use assay_chain_protocol::message::RefusalCode;
use assay_service::chains::host::ChainHost;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::Registry,
};

use crate::metrics::DURATION_BOUNDS;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QuestionLabels {
    question: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    question: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ChainLabels {
    chain: &'static str,
}

type Number = Gauge<u64, AtomicU64>;
type Seconds = Gauge<f64, AtomicU64>;

/// All metrics of a chain server.
#[derive(Debug)]
pub struct ChainMetrics {
    registry: Registry,
    questions: Family<QuestionLabels, Counter>,
    durations: Family<DurationLabels, Histogram>,
    running: Gauge,
    generation: Number,
    heights: Family<ChainLabels, Number>,
    ages: Family<ChainLabels, Seconds>,
    rates: Family<ChainLabels, Seconds>,
    bytes: Family<ChainLabels, Number>,
    behind: Family<ChainLabels, Number>,
    refused: Family<ChainLabels, Number>,
}

impl Default for ChainMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("assay");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program that runs", build);
        let durations =
            Family::new_with_constructor((|| Histogram::new(DURATION_BOUNDS)) as fn() -> Histogram);
        let metrics = Self {
            registry: Registry::default(),
            questions: Family::default(),
            durations,
            running: Gauge::default(),
            generation: Number::default(),
            heights: Family::default(),
            ages: Family::default(),
            rates: Family::default(),
            bytes: Family::default(),
            behind: Family::default(),
            refused: Family::default(),
        };
        metrics.register(&mut registry);
        Self { registry, ..metrics }
    }
}

impl ChainMetrics {
    fn register(&self, registry: &mut Registry) {
        registry.register(
            "chain_questions",
            "Questions of API servers by outcome",
            self.questions.clone(),
        );
        registry.register(
            "chain_question_duration_seconds",
            "Time from a question's arrival to its answer",
            self.durations.clone(),
        );
        registry.register(
            "chain_questions_running",
            "Questions that are being answered",
            self.running.clone(),
        );
        registry.register(
            "intel_generation",
            "Changes of sources, listings and labels that are loaded",
            self.generation.clone(),
        );
        registry.register("chain_height", "Height of the newest block", self.heights.clone());
        registry.register(
            "chain_tip_age_seconds",
            "Time since the newest block that is known of a chain",
            self.ages.clone(),
        );
        registry.register(
            "chain_blocks_per_second",
            "Blocks a second that were recorded in the last minute",
            self.rates.clone(),
        );
        registry.register(
            "chain_graph_bytes",
            "Bytes of a graph and its compositions on disk",
            self.bytes.clone(),
        );
        registry.register(
            "chain_branch_refused",
            "1 if the server stays on its branch, which is not its source's, else 0",
            self.refused.clone(),
        );
        registry.register(
            "composition_transactions_behind",
            "Transactions of a chain whose compositions are to be computed until all are complete",
            self.behind.clone(),
        );
    }

    /// Counts a question.
    pub(super) fn answered(
        &self,
        question: &'static str,
        refusal: Option<RefusalCode>,
        took: Duration,
    ) {
        let outcome = refusal.map_or("answered", RefusalCode::as_str);
        self.questions.get_or_create(&QuestionLabels { question, outcome }).inc();
        self.durations.get_or_create(&DurationLabels { question }).observe(took.as_secs_f64());
    }

    /// Returns all metrics as text.
    pub(super) async fn print(&self, host: &ChainHost) -> String {
        self.running.set(i64::try_from(host.running_traces()).unwrap_or(i64::MAX));
        self.generation.set(host.intel().generation());
        for (chain, state) in host.states().await {
            let labels = ChainLabels { chain: chain.info().id };
            self.bytes.get_or_create(&labels).set(state.bytes);
            self.refused.get_or_create(&labels).set(state.refused_branch.is_some().into());
            if let Some(rate) = state.blocks_per_second {
                self.rates.get_or_create(&labels).set(rate);
            }
            if let Some(newest) = state.newest {
                let age = host.clock().now().duration_since(newest.block.time);
                self.heights.get_or_create(&labels).set(newest.block.height);
                self.ages.get_or_create(&labels).set(age.as_secs_f64().max(0.0));
            }
        }
        for (chain, progress) in host.compositions().all() {
            let labels = ChainLabels { chain: chain.info().id };
            self.behind.get_or_create(&labels).set(progress.behind);
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
