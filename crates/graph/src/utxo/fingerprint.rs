//! The fingerprint of a graph: a digest of all its rows.
//!
//! Each table is hashed separately, row by row in the order of keys, each field in full width, most significant byte
//! first. The fingerprint is the digest of the graph's own row and the digests of the six tables.

use assay_address::ChainId;
use assay_engine::{
    ledger::{BlockRef, Statistics},
    utxo::{ScriptOwner, Txid},
};
use sha2::{Digest, Sha256};

use super::{
    link::ClusterLink,
    record::{InputEntry, InputOrigin, OutputEntry, OutputValue, TransactionHead, kind_number},
};

/// A digest of rows, which are added by table and in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Fingerprint {
    blocks: Sha256,
    transactions: Sha256,
    inputs: Sha256,
    outputs: Sha256,
    owners: Sha256,
    links: Sha256,
}

impl Fingerprint {
    /// Adds a block with the numbers of its first transaction and its first new owner. The block's work is left out,
    /// because it follows from the header, whose hash is included, and not every source reports it.
    pub(super) fn block(&mut self, block: &BlockRef, first_transaction: u64, first_owner: u64) {
        self.blocks.update(block.height.to_be_bytes());
        self.blocks.update(block.hash);
        self.blocks.update(block.parent);
        self.blocks.update(block.time.as_millisecond().to_be_bytes());
        self.blocks.update(first_transaction.to_be_bytes());
        self.blocks.update(first_owner.to_be_bytes());
    }

    /// Adds a transaction.
    pub(super) fn transaction(&mut self, number: u64, txid: Txid, head: &TransactionHead) {
        self.transactions.update(number.to_be_bytes());
        self.transactions.update(head.height.to_be_bytes());
        self.transactions.update(txid.as_bytes());
        self.transactions.update(u16::from(kind_number(head.kind)).to_be_bytes());
        for number in [head.inputs, head.outputs, head.input_total, head.output_total, head.unknown]
        {
            self.transactions.update(number.to_be_bytes());
        }
    }

    /// Adds an input of a transaction.
    pub(super) fn input(&mut self, transaction: u64, input: &InputEntry) {
        self.inputs.update(transaction.to_be_bytes());
        self.inputs.update(input.index.to_be_bytes());
        match input.origin {
            InputOrigin::Pool => self.inputs.update([0]),
            InputOrigin::Recorded { transaction, index } => {
                self.inputs.update([1]);
                self.inputs.update(transaction.to_be_bytes());
                self.inputs.update(index.to_be_bytes());
            }
            InputOrigin::Unrecorded(output) => {
                self.inputs.update([2]);
                self.inputs.update(output.txid.as_bytes());
                self.inputs.update(output.index.to_be_bytes());
            }
        }
        match &input.spent {
            None => self.inputs.update([0]),
            Some(spent) => {
                self.inputs.update([1]);
                value(&mut self.inputs, *spent);
            }
        }
    }

    /// Adds an output of a transaction.
    pub(super) fn output(&mut self, transaction: u64, output: &OutputEntry) {
        self.outputs.update(transaction.to_be_bytes());
        self.outputs.update(output.index.to_be_bytes());
        value(&mut self.outputs, output.output);
    }

    /// Adds an owner.
    pub(super) fn owner(&mut self, number: u64, owner: &ScriptOwner, statistics: Statistics) {
        let key = owner.to_bytes();
        self.owners.update(number.to_be_bytes());
        self.owners.update((key.len() as u64).to_be_bytes());
        self.owners.update(key);
        let Statistics { first_seen, last_seen, transactions_in, transactions_out, received, sent } =
            statistics;
        for time in [first_seen, last_seen] {
            self.owners.update(time.as_millisecond().to_be_bytes());
        }
        for count in [transactions_in, transactions_out] {
            self.owners.update(count.to_be_bytes());
        }
        for sum in [received, sent] {
            self.owners.update(sum.to_be_bytes());
        }
    }

    /// Adds a link of clusters, with its confirmation.
    pub(super) fn link(&mut self, link: &ClusterLink) {
        let ClusterLink { child, parent, transaction, size, smallest, is_conclusive, .. } = *link;
        let ClusterLink { child_member, parent_member, .. } = *link;
        for number in [child, parent, transaction, size, smallest, child_member, parent_member] {
            self.links.update(number.to_be_bytes());
        }
        self.links.update([u8::from(is_conclusive), u8::from(link.confirmation.is_some())]);
        if let Some(by) = link.confirmation {
            for number in [by.transaction, by.child_member, by.parent_member] {
                self.links.update(number.to_be_bytes());
            }
        }
    }

    /// The digest of a graph of `chain` that begins at `start`.
    pub(super) fn finish(self, chain: ChainId, start: u64, sample: bool) -> [u8; 32] {
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

fn value(hash: &mut Sha256, output: OutputValue) {
    hash.update(output.owner.to_be_bytes());
    hash.update(output.value.to_be_bytes());
}
