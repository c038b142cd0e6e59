//! Recording blocks that are resolved already.

use assay_engine::utxo::{OutPoint, ResolvedBlock};
use assay_graph::{GraphError, GraphWriter};
use jiff::Timestamp;

/// Records blocks that follow the graph's newest one, in one transaction. Blocks from the height `reorganizable_from`
/// on can be rolled back.
///
/// # Errors
///
/// Returns an error if the graph refuses them or fails.
pub fn append(
    writer: &mut GraphWriter,
    blocks: &[ResolvedBlock],
    reorganizable_from: u64,
    at: Timestamp,
) -> Result<(), GraphError> {
    let transactions = blocks.iter().flat_map(|block| &block.transactions);
    let inputs = transactions.flat_map(|transaction| &transaction.inputs);
    let spent: Vec<OutPoint> = inputs.map(|input| input.outpoint).collect();
    let recorded = writer.outputs(&spent)?;
    writer.append(blocks, &recorded, reorganizable_from, at)
}
