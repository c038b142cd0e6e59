//! Metrics of a chain server in Prometheus' text format.

use std::{sync::atomic::AtomicU64, time::Duration};

use assay_chain_protocol::message::RefusalCode;
use assay_service::chains::host::ChainHost;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::metrics::{Labels, Registration, chain_label, text};

type Number = Gauge<u64, AtomicU64>;
type Seconds = Gauge<f64, AtomicU64>;

/// All metrics of a chain server.
#[derive(Debug)]
pub struct ChainMetrics {
    registry: Registry,
    questions: Family<Labels<2>, Counter>,
    durations: Family<Labels<1>, Histogram>,
    running: Gauge,
    generation: Number,
    heights: Family<Labels<1>, Number>,
    ages: Family<Labels<1>, Seconds>,
    rates: Family<Labels<1>, Seconds>,
    bytes: Family<Labels<1>, Number>,
    behind: Family<Labels<1>, Number>,
    refused: Family<Labels<1>, Number>,
}

impl Default for ChainMetrics {
    fn default() -> Self {
        let mut new = Registration::begin();
        Self {
            questions: new.metric("chain_questions", "Questions of API servers by outcome"),
            durations: new.durations(
                "chain_question_duration_seconds",
                "Time from a question's arrival to its answer",
            ),
            running: new.metric("chain_questions_running", "Questions that are being answered"),
            generation: new.metric(
                "intel_generation",
                "Changes of sources, listings and labels that are loaded",
            ),
            heights: new.metric("chain_height", "Height of the newest block"),
            ages: new.metric(
                "chain_tip_age_seconds",
                "Time since the newest block that is known of a chain",
            ),
            rates: new.metric(
                "chain_blocks_per_second",
                "Blocks a second that were recorded in the last minute",
            ),
            bytes: new.metric("chain_graph_bytes", "Bytes of a graph and its compositions on disk"),
            refused: new.metric(
                "chain_branch_refused",
                "1 if the server stays on its branch, which is not its source's, else 0",
            ),
            behind: new.metric(
                "composition_transactions_behind",
                "Transactions of a chain whose compositions are to be computed until all are \
                 complete",
            ),
            registry: new.0,
        }
    }
}

impl ChainMetrics {
    /// Counts a question.
    pub(super) fn answered(
        &self,
        question: &'static str,
        refusal: Option<RefusalCode>,
        took: Duration,
    ) {
        let outcome = refusal.map_or("answered", RefusalCode::as_str);
        self.questions.get_or_create(&[("question", question), ("outcome", outcome)]).inc();
        self.durations.get_or_create(&[("question", question)]).observe(took.as_secs_f64());
    }

    /// Returns all metrics as text.
    pub(super) async fn print(&self, host: &ChainHost) -> String {
        self.running.set(i64::try_from(host.running_traces()).unwrap_or(i64::MAX));
        self.generation.set(host.intel().generation());
        for (chain, state) in host.states().await {
            let labels = chain_label(chain);
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
            let labels = chain_label(chain);
            self.behind.get_or_create(&labels).set(progress.behind);
        }
        text(&self.registry)
    }
}
