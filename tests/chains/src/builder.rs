//! A chain that grows payment by payment.

use std::collections::{HashMap, HashSet};

use assay_address::ChainId;
use assay_engine::utxo::{
    OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut,
};
use assay_test_random::Random;
use jiff::{SignedDuration, Timestamp};

use crate::{BlockAssembler, Utxo, total, utxos_of};

/// New coins of each block, in base units, besides those that a caller mints.
const SUBSIDY: u64 = 625_000_000;

/// The form of an owner's script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// P2PKH.
    KeyHash,
    /// P2SH.
    ScriptHash,
    /// P2WPKH.
    WitnessKey,
    /// P2TR.
    Taproot,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 4] = [Self::KeyHash, Self::ScriptHash, Self::WitnessKey, Self::Taproot];
}

/// A chain under construction. The seed and the calls determine all content of the chain.
#[derive(Clone, Debug)]
pub struct ChainBuilder {
    chain: ChainId,
    assembler: BlockAssembler,
    now: Timestamp,
    miner: ScriptOwner,
    blocks: Vec<ResolvedBlock>,
    /// Payments of the next block, and their fees.
    pending: Vec<Transaction>,
    fees: u64,
    unspent: HashMap<OutPoint, u64>,
    /// Scripts that need no signature.
    unsigned: HashSet<ScriptOwner>,
}

impl ChainBuilder {
    /// A chain whose first block has the time `now`.
    #[must_use]
    pub fn new(chain: ChainId, seed: u64, now: Timestamp) -> Self {
        let mut assembler = BlockAssembler::new(seed, 0);
        let miner = ScriptOwner::KeyHash(assembler.random.bytes());
        Self {
            chain,
            assembler,
            now,
            miner,
            blocks: Vec::new(),
            pending: Vec::new(),
            fees: 0,
            unspent: HashMap::new(),
            unsigned: HashSet::new(),
        }
    }

    /// The blockchain that the builder imitates.
    #[must_use]
    pub const fn id(&self) -> ChainId {
        self.chain
    }

    /// Random choices.
    pub const fn dice(&mut self) -> &mut Random {
        &mut self.assembler.random
    }

    /// Restarts the random choices with another seed.
    pub const fn reseed(&mut self, seed: u64) {
        self.assembler.random = Random::new(seed);
    }

    /// The finished blocks.
    #[must_use]
    pub fn blocks(&self) -> &[ResolvedBlock] {
        &self.blocks
    }

    /// Time of the next block.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// A new address, which is a key hash on chains without witness programs.
    pub fn fresh_address(&mut self, form: Form) -> ScriptOwner {
        let has_witness = matches!(self.chain.as_str(), "btc" | "ltc");
        let random = &mut self.assembler.random;
        match form {
            Form::ScriptHash => ScriptOwner::ScriptHash(random.bytes()),
            Form::WitnessKey if has_witness => {
                ScriptOwner::Witness(0, random.bytes::<20>().to_vec())
            }
            Form::Taproot if has_witness => ScriptOwner::Witness(1, random.bytes::<32>().to_vec()),
            _ => ScriptOwner::KeyHash(random.bytes()),
        }
    }

    /// A new script hash whose outputs anybody who knows the script can spend.
    pub fn fresh_unsigned_script(&mut self) -> ScriptOwner {
        let script = ScriptOwner::Witness(0, self.assembler.random.bytes::<32>().to_vec());
        self.unsigned.insert(script.clone());
        script
    }

    /// Adds a payment to the next block and returns its outputs. The excess of the inputs over the
    /// outputs is the fee.
    ///
    /// # Panics
    ///
    /// Panics if a coin is spent already, or if the outputs exceed the inputs.
    pub fn pay(&mut self, inputs: &[Utxo], outputs: &[(ScriptOwner, u64)]) -> Vec<Utxo> {
        for coin in inputs {
            let unspent = self.unspent.remove(&coin.outpoint);
            assert_eq!(unspent, Some(coin.value), "a coin is spent once");
        }
        let (paid_in, paid_out) = (total(inputs), outputs.iter().map(|(_, value)| value).sum());
        let fee = paid_in.checked_sub(paid_out).expect("nobody pays more than they have");
        self.fees += fee;
        let inputs = inputs.iter().map(|coin| {
            let is_signed = !self.unsigned.contains(&coin.owner);
            TxInput { is_signed, ..coin.clone().input() }
        });
        let (kind, inputs) = (TransactionKind::Payment, inputs.collect());
        let mut transaction = self.assembler.transaction(kind, inputs, tx_outs(outputs));
        transaction.classify(self.chain, self.now);
        let made = self.register_outputs(&transaction);
        self.pending.push(transaction);
        made
    }

    /// Ends the block with a coinbase that pays `outputs`, and a miner the fees.
    pub fn mine(&mut self, outputs: &[(ScriptOwner, u64)]) -> Vec<Utxo> {
        let mut paid = tx_outs(outputs);
        if self.fees > 0 || paid.is_empty() {
            let subsidy = if outputs.is_empty() { SUBSIDY } else { 0 };
            paid.push(TxOut { owner: self.miner.clone(), value: subsidy + self.fees });
        }
        let mut made = self.end_block(paid);
        made.truncate(outputs.len());
        made
    }

    /// Ends the block with a coinbase that pays its subsidy and all fees to `miner`.
    pub fn mine_to(&mut self, miner: &ScriptOwner) -> Utxo {
        self.mine_with(SUBSIDY, miner)
    }

    /// Ends the block with a coinbase that pays all fees to `miner`, and forgoes its subsidy.
    pub fn mine_fees_to(&mut self, miner: &ScriptOwner) -> Utxo {
        self.mine_with(0, miner)
    }

    fn mine_with(&mut self, subsidy: u64, miner: &ScriptOwner) -> Utxo {
        let value = subsidy + self.fees;
        self.end_block(vec![TxOut { owner: miner.clone(), value }]).remove(0)
    }

    /// Lets time pass. Earlier payments are in earlier blocks than later ones.
    pub fn wait(&mut self, time: SignedDuration) {
        if !self.pending.is_empty() {
            let _fees = self.mine(&[]);
        }
        self.now += time;
    }

    /// Lets time pass until `then`, unless `then` is past.
    pub fn wait_until(&mut self, then: Timestamp) {
        self.wait(then.duration_since(self.now).max(SignedDuration::ZERO));
    }

    /// The blocks.
    #[must_use]
    pub fn finish(mut self) -> Vec<ResolvedBlock> {
        self.wait(SignedDuration::ZERO);
        self.blocks
    }

    fn end_block(&mut self, outputs: Vec<TxOut>) -> Vec<Utxo> {
        let coinbase = self.assembler.transaction(TransactionKind::Coinbase, Vec::new(), outputs);
        let made = self.register_outputs(&coinbase);
        let mut transactions = vec![coinbase];
        transactions.append(&mut self.pending);
        self.fees = 0;
        self.blocks.push(self.assembler.block(self.now, None, transactions));
        made
    }

    fn register_outputs(&mut self, transaction: &Transaction) -> Vec<Utxo> {
        let coins: Vec<Utxo> = utxos_of(transaction).collect();
        self.unspent.extend(coins.iter().map(|coin| (coin.outpoint, coin.value)));
        coins
    }
}

fn tx_outs(outputs: &[(ScriptOwner, u64)]) -> Vec<TxOut> {
    outputs.iter().map(|(owner, value)| TxOut { owner: owner.clone(), value: *value }).collect()
}
