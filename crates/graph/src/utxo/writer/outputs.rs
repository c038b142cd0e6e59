//! The recorded outputs that a batch of blocks spends, looked up once for the validation and the plan of the blocks.

use std::collections::HashMap;

use assay_columns::{KeyedState, run::Filters};
use assay_engine::{
    ledger::BlockRef,
    utxo::{OutPoint, TxOut},
};

use super::caches::{Caches, KnownOutput};
use crate::{
    GraphError,
    utxo::{index, reader::Reader, record::OutputValue},
};

/// The result of a lookup of an output in a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedOutput {
    /// The output, spent or not.
    Found(TxOut),
    /// The output's transaction is recorded and has fewer outputs.
    Missing,
    /// The output's transaction is not recorded.
    Unknown,
}

/// The outputs that were looked up in one state of a graph.
#[derive(Debug)]
pub struct RecordedOutputs {
    /// The newest block of the state.
    pub(super) tip: Option<BlockRef>,
    found: HashMap<OutPoint, OutputLookup, KeyedState>,
}

/// The result of a lookup of an output, with internal numbers.
#[derive(Debug)]
pub(super) enum OutputLookup {
    Output(KnownOutput),
    /// The number of the output's transaction, which has fewer outputs.
    Missing(u64),
}

impl RecordedOutputs {
    /// Looks outputs up, and removes them from the cache, because the batch spends them.
    pub(super) fn look_up(
        reader: &Reader<'_>,
        caches: &mut Caches,
        tip: Option<BlockRef>,
        outpoints: &[OutPoint],
    ) -> Result<Self, GraphError> {
        let mut found = HashMap::with_capacity_and_hasher(outpoints.len(), KeyedState::default());
        for outpoint in outpoints {
            let recorded = match caches.outputs.remove(outpoint) {
                Some(known) => Some(OutputLookup::Output(known)),
                None => find(reader, &caches.filters, outpoint)?,
            };
            if let Some(recorded) = recorded {
                found.insert(*outpoint, recorded);
            }
        }
        Ok(Self { tip, found })
    }

    /// The result for an output; `Unknown` for an output that was not looked up.
    #[must_use]
    pub fn get(&self, outpoint: &OutPoint) -> RecordedOutput {
        match self.recorded(outpoint) {
            Some(OutputLookup::Output(known)) => RecordedOutput::Found(known.output.clone()),
            Some(OutputLookup::Missing(_)) => RecordedOutput::Missing,
            None => RecordedOutput::Unknown,
        }
    }

    pub(super) fn recorded(&self, outpoint: &OutPoint) -> Option<&OutputLookup> {
        self.found.get(outpoint)
    }
}

/// Finds an output in the graph.
fn find(
    reader: &Reader<'_>,
    filters: &Filters,
    outpoint: &OutPoint,
) -> Result<Option<OutputLookup>, GraphError> {
    let found = index::newest_transaction(reader, Some(filters), &outpoint.txid)?;
    let Some(transaction) = found else { return Ok(None) };
    let record = reader.known_transaction(transaction)?;
    let Some(OutputValue { value, owner }) = record.output_at(outpoint.index)? else {
        return Ok(Some(OutputLookup::Missing(transaction)));
    };
    let number = record.head().first_output + u64::from(outpoint.index);
    let output = TxOut { owner: reader.owner(owner)?, value };
    Ok(Some(OutputLookup::Output(KnownOutput { transaction, number, owner, output })))
}
