//! Assembles transactions and blocks: identifiers, heights, times and new outputs.

use assay_engine::ledger::BlockRef;
use assay_engine::utxo::{
    Block, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
};
use assay_test_random::Random;
use jiff::Timestamp;

/// An unspent output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utxo {
    /// The output's outpoint.
    pub outpoint: OutPoint,
    /// Owner of the output's script.
    pub owner: ScriptOwner,
    /// Amount in base units.
    pub value: u64,
}

impl Utxo {
    /// The input that spends this output.
    #[must_use]
    pub fn input(self) -> TxInput {
        TxInput::new(self.outpoint, Some(TxOut { owner: self.owner, value: self.value }))
    }
}

/// The sum of coins in base units.
#[must_use]
pub fn total(coins: &[Utxo]) -> u64 {
    coins.iter().map(|coin| coin.value).sum()
}

/// The outputs of a transaction.
pub fn utxos_of(transaction: &Transaction) -> impl Iterator<Item = Utxo> {
    let txid = transaction.txid;
    transaction.outputs.iter().zip(0..).map(move |(TxOut { owner, value }, index)| Utxo {
        outpoint: OutPoint { txid, index },
        owner: owner.clone(),
        value: *value,
    })
}

/// Assembles transactions and blocks: identifiers are random, and each block follows the one before.
#[derive(Clone, Debug)]
pub struct BlockAssembler {
    /// Random choices.
    pub random: Random,
    height: u64,
    parent: [u8; 32],
}

impl BlockAssembler {
    /// An assembler whose first block has this height.
    #[must_use]
    pub const fn new(seed: u64, height: u64) -> Self {
        Self { random: Random::new(seed), height, parent: [0; 32] }
    }

    /// Height of the next block.
    #[must_use]
    pub const fn height(&self) -> u64 {
        self.height
    }

    /// A transaction with a new identifier.
    pub fn transaction(
        &mut self,
        kind: TransactionKind,
        inputs: Vec<TxInput>,
        outputs: Vec<TxOut>,
    ) -> Transaction {
        Transaction { txid: Txid::from_bytes(self.random.bytes()), kind, inputs, outputs }
    }

    /// The next block.
    pub fn block(
        &mut self,
        time: Timestamp,
        work: Option<u128>,
        transactions: Vec<Transaction>,
    ) -> ResolvedBlock {
        let (height, parent) = (self.height, self.parent);
        let reference = BlockRef { height, hash: self.random.bytes(), parent, time };
        self.follow(&reference);
        ResolvedBlock::assume(Block { reference, work, transactions })
    }

    /// Sets the parent of the next block.
    pub const fn follow(&mut self, block: &BlockRef) {
        (self.height, self.parent) = (block.height + 1, block.hash);
    }
}
