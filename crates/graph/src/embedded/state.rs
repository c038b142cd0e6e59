//! The record of a graph's state.

use assay_engine::utxo::BlockRef;
use jiff::Timestamp;

use super::{bytes::Reading, error::damaged};
use crate::{GraphError, backend::GraphState, value};

/// The key of the record.
pub(super) const KEY: &[u8] = &[0];
/// The key of the list of runs.
pub(super) const RUNS: &[u8] = &[1];

/// The key of the height of the highest block, which earlier releases do not write.
pub(super) const HIGHEST: &[u8] = &[2];

/// A graph's state, and what an embedded graph counts besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredState {
    /// The state, whose tip is read with its block.
    pub(super) state: GraphState,
    /// The number of the next output.
    pub(super) next_output: u64,
    /// Blocks from this height on have their entries in ordered tables, those below it in runs.
    pub(super) recent_from: u64,
}

impl StoredState {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let state = &self.state;
        let mut bytes = Vec::with_capacity(96);
        bytes.extend_from_slice(&[
            u8::from(state.sample),
            u8::from(state.indexed),
            u8::from(state.tip.is_some()),
        ]);
        let (height, verified_at) = state.tip.map_or((0, 0), |(block, verified_at)| {
            (block.height, value::milliseconds(verified_at))
        });
        bytes.extend_from_slice(&verified_at.to_be_bytes());
        for number in [
            state.start,
            height,
            state.next_transaction.unsigned_abs(),
            state.next_owner.unsigned_abs(),
            self.next_output,
            state.reorganisable_from,
            self.recent_from,
        ] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(state.chain.as_str().as_bytes());
        bytes
    }

    /// Reads a state; `block` finds the block of a height. `highest` is what is stored as the highest block.
    pub(super) fn read(
        bytes: &[u8],
        highest: Option<&[u8]>,
        block: impl FnOnce(u64) -> Result<BlockRef, GraphError>,
    ) -> Result<Self, GraphError> {
        let invalid = || damaged("meta", "its state");
        let (parsed, tip) = Self::parse(bytes).ok_or_else(invalid)?;
        let tip = tip.map(|(height, at)| Ok::<_, GraphError>((block(height)?, at))).transpose()?;
        let highest = highest.and_then(|bytes| Reading(bytes).u64());
        let highest = highest.max(tip.map(|(block, _)| block.height)).unwrap_or_default();
        Ok(Self { state: GraphState { tip, highest, ..parsed.state }, ..parsed })
    }

    fn parse(bytes: &[u8]) -> Option<(Self, Option<(u64, Timestamp)>)> {
        let mut reading = Reading(bytes);
        let [sample, indexed, has_tip] = reading.array::<3>()?.map(|flag| flag != 0);
        let verified_at = value::time(reading.i64()?)?;
        let (start, height) = (reading.u64()?, reading.u64()?);
        let (next_transaction, next_owner) = (reading.i64()?, reading.i64()?);
        let (next_output, reorganisable_from) = (reading.u64()?, reading.u64()?);
        let recent_from = reading.u64()?;
        let chain = std::str::from_utf8(reading.0).ok()?.parse().ok()?;
        let state = GraphState {
            chain,
            start,
            sample,
            tip: None,
            highest: 0,
            next_transaction,
            next_owner,
            reorganisable_from,
            indexed,
        };
        Some((Self { state, next_output, recent_from }, has_tip.then_some((height, verified_at))))
    }
}
