//! Runs the engine's trace over a source of flows.

use assay_engine::{evidence::FlowFacts, trace::Trace};
use assay_store::{
    StoreError,
    graph::{FlowSource, follow, memory::MemoryGraph},
};
use jiff::Timestamp;

use super::Case;

impl Case {
    /// The chain as a graph in memory.
    #[must_use]
    pub fn in_memory(&self) -> MemoryGraph {
        let start = self.blocks.first().map_or(0, |block| block.block.height);
        MemoryGraph::new(self.chain, start, true, self.blocks.clone(), Timestamp::UNIX_EPOCH)
    }

    /// What the engine says, reading from `source`, which holds the blocks, and asking for at most
    /// `batch` transactions at once. `None` where the source does not know the subject.
    ///
    /// # Errors
    ///
    /// Where reading fails.
    pub async fn trace(
        &self,
        source: &dyn FlowSource,
        batch: usize,
    ) -> Result<Option<FlowFacts>, StoreError> {
        let largest = self.rules.transfers_per_address;
        let Some(history) = source.history(&self.subject, largest).await? else {
            return Ok(None);
        };
        let attribute = |holder: &_| self.attribution(holder);
        let mut trace =
            Trace::new(self.chain, &self.subject, &history, self.rules, self.today, &attribute);
        follow(source, &mut trace, batch).await?;
        Ok(Some(trace.finish()))
    }
}
