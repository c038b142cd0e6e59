//! Fingerprints: a digest of everything that a graph holds.
//!
//! Each table is hashed on its own, row by row in the order of its key, every field in its full width,
//! most significant byte first; then the graph's own row and the six digests together.

use assay_address::ChainId;
use assay_engine::utxo::Statistics;
use sha2::{Digest, Sha256};

use super::{
    cluster::{LinkRow, RecordedLink},
    rows::{
        BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TransactionRow, TxOutRow, kind_number,
    },
};
use crate::value;

/// A digest of rows, which are added by table and in the order of their keys.
#[derive(Debug, Default)]
pub struct Fingerprint {
    blocks: Sha256,
    transactions: Sha256,
    inputs: Sha256,
    outputs: Sha256,
    owners: Sha256,
    links: Sha256,
}

impl Fingerprint {
    /// Adds a block. Its work is left out: it follows from the header, whose hash is in, and not every source states
    /// it.
    pub fn block(&mut self, row: &BlockRow) {
        let BlockRow { block, work: _, first_transaction, first_owner } = row;
        self.blocks.update(block.height.to_be_bytes());
        self.blocks.update(block.hash);
        self.blocks.update(block.parent);
        self.blocks.update(value::milliseconds(block.time).to_be_bytes());
        self.blocks.update(first_transaction.to_be_bytes());
        self.blocks.update(first_owner.to_be_bytes());
    }

    /// Adds a transaction.
    pub fn transaction(&mut self, row: &TransactionRow) {
        self.transactions.update(row.number.to_be_bytes());
        self.transactions.update(row.height.to_be_bytes());
        self.transactions.update(row.txid.as_bytes());
        self.transactions.update(kind_number(row.kind).to_be_bytes());
        for number in [row.inputs, row.outputs, row.input_total, row.output_total, row.unknown] {
            self.transactions.update(number.to_be_bytes());
        }
    }

    /// Adds an input.
    pub fn input(&mut self, row: &InputRow) {
        self.inputs.update(row.transaction.to_be_bytes());
        self.inputs.update(row.index.to_be_bytes());
        match row.source {
            InputSource::Pool => self.inputs.update([0]),
            InputSource::Recorded { transaction, index } => {
                self.inputs.update([1]);
                self.inputs.update(transaction.to_be_bytes());
                self.inputs.update(index.to_be_bytes());
            }
            InputSource::Unrecorded(output) => {
                self.inputs.update([2]);
                self.inputs.update(output.txid.as_bytes());
                self.inputs.update(output.index.to_be_bytes());
            }
        }
        match &row.spent {
            None => self.inputs.update([0]),
            Some(row) => {
                self.inputs.update([1]);
                output(&mut self.inputs, row);
            }
        }
    }

    /// Adds an output.
    pub fn output(&mut self, row: &OutputRow) {
        self.outputs.update(row.transaction.to_be_bytes());
        self.outputs.update(row.index.to_be_bytes());
        output(&mut self.outputs, &row.output);
    }

    /// Adds an owner.
    pub fn owner(&mut self, row: &OwnerRow) {
        let key = row.owner.to_bytes();
        self.owners.update(row.number.to_be_bytes());
        self.owners.update((key.len() as u64).to_be_bytes());
        self.owners.update(key);
        let Statistics { first_seen, last_seen, transactions_in, transactions_out, received, sent } =
            row.statistics;
        for time in [first_seen, last_seen] {
            self.owners.update(value::milliseconds(time).to_be_bytes());
        }
        for count in [transactions_in, transactions_out] {
            self.owners.update(count.to_be_bytes());
        }
        for sum in [received, sent] {
            self.owners.update(sum.to_be_bytes());
        }
    }

    /// Adds a link of clusters, with its confirmation.
    pub fn link(&mut self, row: &RecordedLink) {
        let LinkRow { child, parent, transaction, size, smallest, is_conclusive, .. } = row.link;
        let LinkRow { child_member, parent_member, .. } = row.link;
        for number in [child, parent, transaction, size, smallest, child_member, parent_member] {
            self.links.update(number.to_be_bytes());
        }
        self.links.update([u8::from(is_conclusive), u8::from(row.confirmation.is_some())]);
        if let Some(row) = row.confirmation {
            for number in [row.transaction, row.child_member, row.parent_member] {
                self.links.update(number.to_be_bytes());
            }
        }
    }

    /// The digest of a graph of `chain` that begins at `start`.
    #[must_use]
    pub fn finish(self, chain: ChainId, start: u64, sample: bool) -> [u8; 32] {
        let Self { blocks, transactions, inputs, outputs, owners, links } = self;
        let mut all = Sha256::new();
        all.update(chain.as_str());
        all.update([0]);
        all.update(start.to_be_bytes());
        all.update([u8::from(sample)]);
        for table in [blocks, transactions, inputs, outputs, owners, links] {
            all.update(table.finalize());
        }
        all.finalize().into()
    }
}

fn output(hash: &mut Sha256, row: &TxOutRow) {
    hash.update(row.owner.to_be_bytes());
    hash.update(row.value.to_be_bytes());
}
