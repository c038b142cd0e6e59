//! The state of a graph: its stored form, and the checks of new blocks and rollbacks.

use assay_address::ChainId;
use assay_columns::bytes::ByteReader;
use assay_engine::{ledger::BlockRef, utxo::ResolvedBlock};
use jiff::Timestamp;

use crate::{GraphError, GraphTip, MAX_REORGANIZATION_DEPTH, WriterOptions, error::damaged};

/// The key of the state's record.
pub(super) const KEY: &[u8] = &[0];
/// The key of the list of runs.
pub(super) const RUNS: &[u8] = &[1];

/// The key of the height of the highest block, which earlier releases do not write.
pub(super) const HIGHEST: &[u8] = &[2];

/// The state of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GraphState {
    pub(crate) chain: ChainId,
    /// Height of the first block.
    pub(super) start: u64,
    /// True if the graph holds demo data.
    pub(super) sample: bool,
    /// The newest block, and the time at which a source last confirmed it; `None` without blocks.
    pub(super) tip: Option<(BlockRef, Timestamp)>,
    /// Height of the highest recorded block since the operator last accepted a branch, also if the block was rolled
    /// back. The height prevents several small reorganizations from adding up to a large one.
    pub(super) highest: u64,
    /// The number of the next transaction.
    pub(super) next_transaction: u64,
    /// The number of the next output.
    pub(super) next_output: u64,
    /// The number of the next owner.
    pub(super) next_owner: u64,
    /// The lowest height whose block can be rolled back.
    pub(super) reorganizable_from: u64,
    /// Lowest height whose index entries are in the table of recent entries; entries of lower blocks are in runs.
    pub(super) recent_from: u64,
    /// True if the indexes for reading were built.
    pub(super) indexed: bool,
}

impl GraphState {
    /// The state of a new graph without blocks and without indexes.
    pub(super) const fn new(chain: ChainId, options: WriterOptions) -> Self {
        Self {
            chain,
            start: options.start,
            sample: options.sample,
            tip: None,
            highest: 0,
            next_transaction: 0,
            next_output: 0,
            next_owner: 0,
            reorganizable_from: options.start,
            recent_from: options.start,
            indexed: false,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96);
        bytes.extend_from_slice(&[
            u8::from(self.sample),
            u8::from(self.indexed),
            u8::from(self.tip.is_some()),
        ]);
        let (height, verified_at) = self
            .tip
            .map_or((0, 0), |(block, verified_at)| (block.height, verified_at.as_millisecond()));
        bytes.extend_from_slice(&verified_at.to_be_bytes());
        for number in [
            self.start,
            height,
            self.next_transaction,
            self.next_owner,
            self.next_output,
            self.reorganizable_from,
            self.recent_from,
        ] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(self.chain.as_str().as_bytes());
        bytes
    }

    /// Parses a state. `block` finds the block of a height, `highest` is the stored height of the highest block.
    pub(super) fn read(
        bytes: &[u8],
        highest: Option<&[u8]>,
        block: impl FnOnce(u64) -> Result<BlockRef, GraphError>,
    ) -> Result<Self, GraphError> {
        let (parsed, tip) = Self::parse(bytes).ok_or_else(|| damaged("meta", "its state"))?;
        let tip = tip.map(|(height, at)| Ok::<_, GraphError>((block(height)?, at))).transpose()?;
        let highest = highest.and_then(|bytes| ByteReader(bytes).u64());
        let highest = highest.max(tip.map(|(block, _)| block.height)).unwrap_or_default();
        Ok(Self { tip, highest, ..parsed })
    }

    /// Parses the state without tip and highest block, and the height of the tip with the time of its confirmation.
    fn parse(bytes: &[u8]) -> Option<(Self, Option<(u64, Timestamp)>)> {
        let mut reading = ByteReader(bytes);
        let [sample, indexed, has_tip] = reading.array::<3>()?.map(|flag| flag != 0);
        let verified_at = Timestamp::from_millisecond(reading.i64()?).ok()?;
        let (start, height) = (reading.u64()?, reading.u64()?);
        let (next_transaction, next_owner) = (reading.u64()?, reading.u64()?);
        let (next_output, reorganizable_from) = (reading.u64()?, reading.u64()?);
        let recent_from = reading.u64()?;
        let chain = std::str::from_utf8(reading.0).ok()?.parse().ok()?;
        let state = Self {
            chain,
            start,
            sample,
            tip: None,
            highest: 0,
            next_transaction,
            next_output,
            next_owner,
            reorganizable_from,
            recent_from,
            indexed,
        };
        Some((state, has_tip.then_some((height, verified_at))))
    }

    /// The graph's tip for readers; `None` without blocks.
    pub(crate) fn graph_tip(&self) -> Option<GraphTip> {
        self.tip.map(|(block, verified_at)| GraphTip {
            start: self.start,
            block,
            verified_at,
            sample: self.sample,
        })
    }

    /// The value of `highest` after a rollback to `height`. The operator accepted a rollback of more blocks than a
    /// reorganization replaces, so that `highest` falls to `height`.
    pub(super) fn highest_after_rollback(&self, height: u64) -> u64 {
        let bound = self.chain.info().reorganization_bound();
        if self.highest.saturating_sub(height) > bound { height } else { self.highest }
    }

    /// Checks that the blocks follow the tip and one another.
    pub(super) fn expect_next(&self, blocks: &[ResolvedBlock]) -> Result<(), GraphError> {
        let mut tip = self.tip.map(|(block, _)| block);
        for block in blocks.iter().map(|block| block.reference) {
            let follows = match &tip {
                Some(tip) => {
                    Some(block.height) == tip.height.checked_add(1) && block.parent == tip.hash
                }
                None => block.height == self.start,
            };
            if !follows {
                let tip = tip.map_or(self.start.saturating_sub(1), |tip| tip.height);
                return Err(GraphError::Gap { chain: self.chain, height: block.height, tip });
            }
            tip = Some(block);
        }
        Ok(())
    }

    /// The lowest height that can be rolled back after blocks up to `tip` are recorded, if the caller requested
    /// `wanted`.
    pub(super) fn reorganizable_after(&self, tip: u64, wanted: u64) -> u64 {
        let oldest_kept = (tip + 1).saturating_sub(MAX_REORGANIZATION_DEPTH);
        let first_new = self.tip.map_or(self.start, |(block, _)| block.height + 1);
        // A block without undo log also prevents the rollback of lower blocks.
        if wanted > first_new {
            return wanted.max(oldest_kept).min(tip + 1);
        }
        self.reorganizable_from.max(oldest_kept)
    }

    /// Checks that all blocks above `height` can be rolled back.
    pub(super) fn expect_reversible(&self, height: u64) -> Result<(), GraphError> {
        let lowest = (height + 1).max(self.start);
        if lowest < self.reorganizable_from {
            return Err(GraphError::TooDeep {
                chain: self.chain,
                height: self.reorganizable_from.saturating_sub(1),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use assay_engine::utxo::Block;

    use super::*;

    /// A graph without blocks.
    fn empty(start: u64) -> GraphState {
        let options = WriterOptions { start, sample: false, backfill: false };
        GraphState { indexed: true, ..GraphState::new(ChainId::BTC, options) }
    }

    fn block(height: u64, hash: u8, parent: u8) -> ResolvedBlock {
        let (hash, parent) = ([hash; 32], [parent; 32]);
        let reference = BlockRef { height, hash, parent, time: Timestamp::UNIX_EPOCH };
        ResolvedBlock::assume(Block { reference, work: None, transactions: Vec::new() })
    }

    fn at(tip: u64) -> GraphState {
        GraphState { tip: Some((block(tip, 1, 0).reference, Timestamp::UNIX_EPOCH)), ..empty(10) }
    }

    #[test]
    fn blocks_follow_the_tip_and_one_another() {
        let follows =
            |state: &GraphState, blocks: &[ResolvedBlock]| state.expect_next(blocks).is_ok();
        assert!(follows(&empty(10), &[block(10, 1, 0), block(11, 2, 1)]));
        assert!(!follows(&empty(10), &[block(11, 1, 0)]));
        assert!(follows(&at(20), &[block(21, 2, 1), block(22, 3, 2)]));
        assert!(!follows(&at(20), &[block(21, 2, 9)]), "another parent");
        assert!(!follows(&at(20), &[block(22, 2, 1)]), "one is missing");
        assert!(!follows(&at(20), &[block(21, 2, 1), block(22, 3, 9)]));
        assert!(!follows(&at(20), &[block(21, 2, 1), block(21, 3, 2)]));
    }

    #[test]
    fn small_rollbacks_do_not_lower_the_highest_block() {
        let state = GraphState { highest: 20, ..at(20) };
        assert_eq!(state.highest_after_rollback(14), 20);
        let again = GraphState { highest: 20, ..at(14) };
        assert_eq!(again.highest_after_rollback(14), 20);
        assert_eq!(again.highest_after_rollback(13), 13, "an accepted branch");
    }

    #[test]
    fn rollbacks_are_bounded_by_the_request_and_by_depth() {
        assert_eq!(at(20).reorganizable_after(30, 0), 10, "from the first on");
        assert_eq!(at(20).reorganizable_after(30, 21), 10);
        assert_eq!(at(20).reorganizable_after(30, 25), 25);
        assert_eq!(at(20).reorganizable_after(30, 99), 31, "none of them");
        assert_eq!(at(20).reorganizable_after(500, 25), 401);
        let state = GraphState { reorganizable_from: 18, ..at(20) };
        assert_eq!(state.reorganizable_after(21, 0), 18, "what was not kept does not come back");
        assert!(state.expect_reversible(17).is_ok());
        let error = state.expect_reversible(16).unwrap_err();
        assert!(matches!(error, GraphError::TooDeep { height: 17, .. }), "{error}");
        assert!(at(20).expect_reversible(3).is_ok(), "to before its first block");
    }
}
