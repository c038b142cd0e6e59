//! Bitcoin chain of the demo data set: blocks built from the scenario, equal on every machine.
//!
//! Payments spend the payer's oldest outputs and return the change, so that all amounts add up. Identifiers are hashes
//! of the content: a changed scenario gives other blocks. The chain is at most as long as the longest permitted
//! reorganization, so that a newer program can replace the blocks of an older one.

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_chain::{BlockSource, SourceError, TipRef};
use assay_engine::{
    ledger::BlockRef,
    policy::Quantity,
    utxo::{Block, OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid},
};
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use sha2::{Digest, Sha256};

use super::{
    scenario::{FIRST_DAY, LAST_DAY, MINED_BY_OTHERS, POOL, Payment, SCENARIO, Wallet},
    world,
};

/// Block subsidy in base units.
const SUBSIDY: u64 = 50_0000_0000;
/// Fee of every payment in base units.
const FEE: u64 = 1_0000;

/// Error in a payment of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The day has no block.
    #[error("`{0}` is not the day of a block: there is one each week")]
    Day(&'static str),
    /// The amount cannot be parsed.
    #[error("{day}: `{amount}` is neither an amount of bitcoin nor `rest`")]
    Amount {
        /// The day.
        day: &'static str,
        /// The amount.
        amount: &'static str,
    },
    /// A party has no address.
    #[error("{0} has no address")]
    Nobody(&'static str),
    /// The payer's balance is smaller than the payment.
    #[error("{day}: {payer} pays {wanted} base units and holds {held}")]
    TooLittle {
        /// The day.
        day: &'static str,
        /// The payer.
        payer: &'static str,
        /// The payment with its fee, in base units.
        wanted: u128,
        /// The payer's balance, in base units.
        held: u128,
    },
}

/// Block source of the demo chain.
#[derive(Clone, Debug)]
pub struct SampleChain(Vec<Block>);

impl SampleChain {
    /// Builds the chain from the scenario.
    ///
    /// # Errors
    ///
    /// Returns an error if a payment of the scenario is impossible.
    pub fn new() -> Result<Self, ScenarioError> {
        Self::from_payments(SCENARIO)
    }

    fn from_payments(scenario: &'static [Payment]) -> Result<Self, ScenarioError> {
        let mut payments_by_day: BTreeMap<Date, Vec<&Payment>> = BTreeMap::new();
        for payment in scenario {
            payments_by_day.entry(day_of_block(payment.day)?).or_default().push(payment);
        }
        let mut miners = BTreeMap::new();
        for (day, miner) in MINED_BY_OTHERS {
            miners.insert(day_of_block(day)?, *miner);
        }
        let mut wallets = Wallets::default();
        let mut blocks: Vec<Block> = Vec::new();
        let days = FIRST_DAY.series(1.week()).take_while(|day| *day <= LAST_DAY);
        for (height, day) in (0..).zip(days) {
            let payments = payments_by_day.get(&day).into_iter().flatten();
            let mut transactions = payments
                .map(|payment| wallets.pay(height, payment))
                .collect::<Result<Vec<_>, _>>()?;
            let fees = FEE * u64::try_from(transactions.len()).unwrap_or_default();
            let miner = miners.get(&day).copied().unwrap_or(POOL);
            transactions.insert(0, wallets.mine(height, miner, SUBSIDY + fees)?);
            let parent = blocks.last().map_or([0; 32], |block| block.reference.hash);
            blocks.push(block(height, day, parent, transactions));
        }
        Ok(Self(blocks))
    }

    /// Returns the blocks, oldest first. The demo chain needs no lookup of spent outputs.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.0
    }

    fn find_block(&self, height: u64) -> Option<&Block> {
        self.0.get(usize::try_from(height).ok()?)
    }

    fn newest(&self) -> TipRef {
        let newest = self.0.last().map(|block| block.reference);
        newest.map_or(TipRef { height: 0, hash: [0; 32] }, |newest| TipRef {
            height: newest.height,
            hash: newest.hash,
        })
    }
}

impl BlockSource for SampleChain {
    fn tip(&mut self) -> Result<TipRef, SourceError> {
        Ok(self.newest())
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        Ok(self.find_block(height).map(|block| block.reference.hash))
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError> {
        let found = self.0.iter().find(|block| block.reference.hash == *hash);
        found.cloned().ok_or(SourceError::NotOnChain { hash: *hash })
    }
}

/// Parses a day that has a block.
fn day_of_block(text: &'static str) -> Result<Date, ScenarioError> {
    let day: Date = text.parse().map_err(|_| ScenarioError::Day(text))?;
    let has_block = (FIRST_DAY..=LAST_DAY).contains(&day) && day.weekday() == FIRST_DAY.weekday();
    if has_block { Ok(day) } else { Err(ScenarioError::Day(text)) }
}

/// Unspent outputs of each wallet, oldest first.
#[derive(Debug, Default)]
struct Wallets(BTreeMap<Wallet, Vec<(OutPoint, u64)>>);

impl Wallets {
    /// Mines the coinbase of a block.
    fn mine(
        &mut self,
        height: u64,
        miner: Wallet,
        value: u64,
    ) -> Result<Transaction, ScenarioError> {
        self.transaction(height, vec![], &[(miner, value)])
    }

    /// Makes a payment of the scenario.
    fn pay(&mut self, height: u64, payment: &Payment) -> Result<Transaction, ScenarioError> {
        let Payment { day, payer, others, payees } = payment;
        let named: Vec<Option<u64>> =
            payees.iter().map(|(_, text)| parse_amount(day, text)).collect::<Result<_, _>>()?;
        let spends_all = named.contains(&None);
        let wanted = named.iter().flatten().sum::<u64>() + FEE;
        let payers = std::iter::once(payer).chain(*others);
        let (inputs, taken) = self.take_outputs(payers, if spends_all { u64::MAX } else { wanted });
        let Some(left) = taken.checked_sub(wanted) else {
            let (wanted, held) = (wanted.into(), taken.into());
            return Err(ScenarioError::TooLittle { day, payer: payer.name, wanted, held });
        };
        let mut outputs: Vec<(Wallet, u64)> = payees
            .iter()
            .zip(&named)
            .map(|((payee, _), value)| (*payee, value.unwrap_or(left)))
            .collect();
        if !spends_all {
            outputs.push((*payer, left));
        }
        outputs.retain(|(_, value)| *value > 0);
        self.transaction(height, inputs, &outputs)
    }

    /// Takes the oldest outputs of each payer in turn until their sum reaches `wanted`.
    fn take_outputs<'a>(
        &mut self,
        payers: impl Iterator<Item = &'a Wallet>,
        wanted: u64,
    ) -> (Vec<OutPoint>, u64) {
        let (mut inputs, mut taken) = (Vec::new(), 0);
        for payer in payers {
            let unspent = self.0.entry(*payer).or_default();
            while taken < wanted && !unspent.is_empty() {
                let (output, value) = unspent.remove(0);
                inputs.push(output);
                taken += value;
            }
        }
        (inputs, taken)
    }

    /// Builds a transaction and adds its outputs to the wallets of their owners.
    fn transaction(
        &mut self,
        height: u64,
        inputs: Vec<OutPoint>,
        outputs: &[(Wallet, u64)],
    ) -> Result<Transaction, ScenarioError> {
        let outs = outputs
            .iter()
            .map(|(owner, value)| Ok(TxOut { owner: script_owner(*owner)?, value: *value }))
            .collect::<Result<Vec<_>, _>>()?;
        let txid = txid_of(height, &inputs, &outs);
        for (index, (owner, value)) in (0..).zip(outputs) {
            self.0.entry(*owner).or_default().push((OutPoint { txid, index }, *value));
        }
        let kind =
            if inputs.is_empty() { TransactionKind::Coinbase } else { TransactionKind::Payment };
        let inputs = inputs.into_iter().map(|outpoint| TxInput::new(outpoint, None)).collect();
        Ok(Transaction { txid, kind, inputs, outputs: outs })
    }
}

/// Parses an amount into base units; `None` for `rest`.
fn parse_amount(day: &'static str, text: &'static str) -> Result<Option<u64>, ScenarioError> {
    if text == "rest" {
        return Ok(None);
    }
    let base_units = text.parse::<Quantity>().ok().map(|amount| amount.base_units(8));
    base_units
        .and_then(|amount| u64::try_from(amount).ok())
        .map(Some)
        .ok_or(ScenarioError::Amount { day, amount: text })
}

fn script_owner(Wallet { name, index }: Wallet) -> Result<ScriptOwner, ScenarioError> {
    let address = world::address(name, ChainId::BTC, index);
    address.as_ref().and_then(ScriptOwner::from_address).ok_or(ScenarioError::Nobody(name))
}

fn txid_of(height: u64, inputs: &[OutPoint], outputs: &[TxOut]) -> Txid {
    let mut hash = Sha256::new_with_prefix("assay sample world/transaction");
    hash.update(height.to_be_bytes());
    for OutPoint { txid, index } in inputs {
        hash.update(txid.as_bytes());
        hash.update(index.to_be_bytes());
    }
    for TxOut { owner, value } in outputs {
        hash.update(owner.to_bytes());
        hash.update(value.to_be_bytes());
    }
    Txid::from_bytes(hash.finalize().into())
}

/// Builds a block whose time is noon of the day.
fn block(height: u64, day: Date, parent: [u8; 32], transactions: Vec<Transaction>) -> Block {
    let mut hash = Sha256::new_with_prefix("assay sample world/block");
    hash.update(parent);
    hash.update(day.to_string());
    for transaction in &transactions {
        hash.update(transaction.txid.as_bytes());
    }
    let noon = day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC);
    let time = noon.map_or(Timestamp::UNIX_EPOCH, |noon| noon.timestamp());
    let reference = BlockRef { height, hash: hash.finalize().into(), parent, time };
    Block { reference, work: None, transactions }
}

#[cfg(test)]
mod tests;
