//! Metrics of a chain server in Prometheus' text format.

use std::time::Duration;

use assay_chain_protocol::message::RefusalCode;
use assay_service::chains::host::ChainHost;
use prometheus_client::metrics::{
    counter::Counter, family::Family, gauge::Gauge, histogram::Histogram,
};

use crate::server_metrics::{ByLabel, Number, Seconds, SeriesLabels, ServerMetrics, label_of};

/// All metrics of a chain server.
#[derive(Debug)]
pub struct ChainMetrics {
    shared: ServerMetrics,
    questions: Family<SeriesLabels<2>, Counter>,
    durations: Family<SeriesLabels<1>, Histogram>,
    running: Gauge,
    heights: ByLabel<Number>,
    rates: ByLabel<Seconds>,
    bytes: ByLabel<Number>,
    refused: ByLabel<Number>,
}

impl Default for ChainMetrics {
    fn default() -> Self {
        let mut new = ServerMetrics::default();
        Self {
            questions: new.add("chain_questions", "Questions of API servers by outcome"),
            durations: new.add_durations(
                "chain_question_duration_seconds",
                "Time from a question's arrival to its answer",
            ),
            running: new.add("chain_questions_running", "Questions that are being answered"),
            heights: new.add("chain_height", "Height of the newest block"),
            rates: new.add(
                "chain_blocks_per_second",
                "Blocks a second that were recorded in the last minute",
            ),
            bytes: new.add("chain_graph_bytes", "Bytes of a graph and its compositions on disk"),
            refused: new.add(
                "chain_branch_refused",
                "1 if the server stays on its branch, which is not its source's, else 0",
            ),
            shared: new,
        }
    }
}

impl ChainMetrics {
    /// Counts a question, with its refusal code and its duration.
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
        self.shared.set_intel_generation(host.intel().generation());
        for (chain, state) in host.states().await {
            let labels = label_of(chain);
            self.bytes.get_or_create(&labels).set(state.bytes);
            self.refused.get_or_create(&labels).set(state.refused_branch.is_some().into());
            if let Some(rate) = state.blocks_per_second {
                self.rates.get_or_create(&labels).set(rate);
            }
            if let Some(newest) = state.newest {
                let age = host.clock().now().duration_since(newest.block.time);
                self.heights.get_or_create(&labels).set(newest.block.height);
                self.shared.set_tip_age(chain, age);
            }
        }
        for (chain, progress) in host.compositions().all() {
            self.shared.set_compositions(chain, &progress);
        }
        self.shared.text()
    }
}
