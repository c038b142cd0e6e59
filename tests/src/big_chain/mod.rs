//! Large generated chains: block by block, the same for the same seed, in bounded memory.
//!
//! Money moves roughly as on Bitcoin: payments of one to three inputs and two or three outputs, one
//! of them change, to a few popular services and to wallets old and new. Most outputs are spent
//! soon; those that fall out of a bounded pool are never spent. A chain may have a hub: an
//! exchange's one address that receives money in very many outputs and pays its customers in
//! batches. All amounts add up, and every spent output was created before, from block 0 on.

mod ends;
mod people;
mod record;

use std::{
    collections::{BTreeMap, VecDeque},
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use assay_address::ChainId;
use assay_chain::jsonl;
use assay_engine::{
    evidence::Tier,
    score::Confidence,
    trace::{AttributedEnd, Attribution},
    utxo::{Block, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxOut},
};
use assay_test_chains::{BlockAssembler, Utxo, total, utxos_of};
use assay_test_random::Random;
use jiff::Timestamp;

pub use ends::ends;
use people::SERVICES;
pub use people::{Label, Person};
pub use record::record_chain;

/// Seconds between blocks.
const SECONDS: i64 = 600;
/// Time of block 0: 2025-01-01.
const BEGUN: i64 = 1_735_689_600;
/// New coins of a coinbase, in base units.
const SUBSIDY: u64 = 5_000_000_000;
/// Number of first blocks whose coinbases pay many outputs, so that there are coins to spend.
const FIRST_BLOCKS: u64 = 4;
/// Size of the pool of outputs that may be spent later; other outputs are never spent.
const POOL: usize = 50_000;
const PAYMENT: TransactionKind = TransactionKind::Payment;
/// Amount below which an output is spent without change.
const DUST: u64 = 20_000;
/// Numbers of inputs and outputs of a batch of the hub's payments.
const BATCH_INPUTS: usize = 100;
const BATCH_OUTPUTS: u64 = 40;

/// Size of a generated chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainShape {
    /// Seed of the generator.
    pub seed: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of transactions in a block, the coinbase included.
    pub transactions: usize,
    /// The hub, if the chain has one.
    pub hub: Option<Hub>,
}

/// Size of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Number of payments to the hub, without its change. They may exceed the number of a block's transactions.
    pub outputs: u64,
    /// Number of customers whom the hub pays once and who pay the hub once.
    pub leaves: u64,
}

/// A chain: its blocks, one after the other.
#[derive(Clone, Debug)]
pub struct BigChain {
    shape: ChainShape,
    assembler: BlockAssembler,
    wallets: u64,
    /// Outputs that may be spent, in no particular order.
    pool: Vec<Utxo>,
    /// Outputs that the hub may spend.
    vault: Vec<Utxo>,
    deposits: u64,
    batches: u64,
    /// Number of the next customer to be paid.
    served: u64,
    /// Outputs that customers will pay back, with the height of the payment.
    owed: VecDeque<(u64, Utxo)>,
}

impl BigChain {
    /// The chain of this shape.
    #[must_use]
    pub const fn new(shape: ChainShape) -> Self {
        Self {
            shape,
            assembler: BlockAssembler::new(shape.seed, 0),
            wallets: 0,
            pool: Vec::new(),
            vault: Vec::new(),
            deposits: 0,
            batches: 0,
            served: 0,
            owed: VecDeque::new(),
        }
    }

    /// All labelled parties on the chain so far.
    pub fn labelled(&self) -> impl Iterator<Item = (Person, Label)> {
        let services = (0..SERVICES).map(Person::Service);
        let wallets = (0..self.wallets).map(Person::Wallet);
        services.chain(wallets).filter_map(|person| Some((person, person.label()?)))
    }

    /// The labelled parties so far, at which traces end.
    ///
    /// # Panics
    ///
    /// Never panics: labels have categories of the taxonomy.
    #[must_use]
    pub fn attributions(&self) -> BTreeMap<ScriptOwner, Attribution> {
        let attributed = self.labelled().map(|(person, label)| {
            let end = AttributedEnd {
                category: label.category.parse().expect("a category"),
                entity: Some(label.entity.into()),
                tier: Tier::Investigation,
                confidence: Confidence::CERTAIN,
                listed: false,
                listed_by: None,
                listed_on: None,
            };
            (person.owner(), Attribution { end: Some(end), ..Attribution::default() })
        });
        attributed.collect()
    }

    /// Number of wallets' addresses so far, numbered from 0 in the order of the chain.
    #[must_use]
    pub const fn wallets(&self) -> u64 {
        self.wallets
    }

    /// Customers of the hub who were paid so far.
    #[must_use]
    pub const fn leaves(&self) -> u64 {
        self.served
    }

    /// Writes the rest of the chain as JSON lines and returns the number of its transactions.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn write(&mut self, path: &Path) -> io::Result<u64> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut count = 0;
        for block in self {
            count += block.transactions.len() as u64;
            jsonl::write_block(ChainId::BTC, &as_published(block), &mut file)?;
        }
        file.flush()?;
        Ok(count)
    }

    fn block(&mut self) -> ResolvedBlock {
        let mut transactions = vec![self.coinbase()];
        if let Some(hub) = self.shape.hub {
            self.pay_customers(hub, &mut transactions);
            self.pay_hub(hub, &mut transactions);
        }
        while transactions.len() < self.shape.transactions {
            let Some(payment) = self.payment() else { break };
            transactions.push(payment);
        }
        let seconds = BEGUN + self.height().cast_signed() * SECONDS;
        self.assembler.block(Timestamp::from_second(seconds).expect("a time"), None, transactions)
    }

    const fn height(&self) -> u64 {
        self.assembler.height()
    }

    const fn dice(&mut self) -> &mut Random {
        &mut self.assembler.random
    }

    fn coinbase(&mut self) -> Transaction {
        let miners =
            if self.height() < FIRST_BLOCKS { self.shape.transactions as u64 + 9 } else { 1 };
        let outputs = (0..miners)
            .map(|_| {
                let miner = Person::Service(SERVICES - 1 - self.dice().rather_small(8));
                let payee = if miners == 1 { miner } else { self.new_wallet() };
                (payee, SUBSIDY / miners)
            })
            .collect();
        self.transaction(TransactionKind::Coinbase, Vec::new(), outputs)
    }

    /// A payment of a random wallet; `None` if no wallet has coins.
    fn payment(&mut self) -> Option<Transaction> {
        let mut inputs = vec![self.take()?];
        for _ in 0..self.dice().rather_small(3) {
            inputs.extend(self.take());
        }
        let whole = after_fee(&inputs);
        let payee = self.payee();
        if whole < DUST {
            return Some(self.transaction(PAYMENT, inputs, vec![(payee, whole)]));
        }
        let paid = whole / 1000 * (50 + self.dice().below(900));
        let mut outputs = vec![(payee, paid)];
        if self.dice().below(4) == 0 {
            let second = (whole - paid) / 3;
            outputs.push((self.payee(), second));
        }
        let change = whole - outputs.iter().map(|(_, value)| value).sum::<u64>();
        let owner = self.new_wallet();
        outputs.push((owner, change));
        if self.dice().below(2) == 0 {
            outputs.reverse();
        }
        Some(self.transaction(PAYMENT, inputs, outputs))
    }

    /// Adds the payments to the hub that are due: from paid customers, and from others.
    fn pay_hub(&mut self, hub: Hub, transactions: &mut Vec<Transaction>) {
        let height = self.height();
        while let Some((_, coin)) = self.owed.pop_front_if(|(paid_at, _)| *paid_at + 3 <= height) {
            let whole = after_fee(std::slice::from_ref(&coin));
            let rest = self.new_wallet();
            let outputs = vec![(Person::Hub, whole / 2), (rest, whole - whole / 2)];
            transactions.push(self.transaction(PAYMENT, vec![coin], outputs));
        }
        let due = hub.outputs * (self.height() + 1) / self.shape.blocks;
        while self.deposits < due {
            let Some(input) = self.take() else { break };
            let whole = after_fee(std::slice::from_ref(&input));
            let paid = (whole / 1000 * (1 + self.dice().rather_small(400))).max(1);
            let change = self.new_wallet();
            let outputs = vec![(Person::Hub, paid), (change, whole - paid)];
            transactions.push(self.transaction(PAYMENT, vec![input], outputs));
            self.deposits += 1;
        }
    }

    /// Adds payouts of the hub in batches: half of its receipts.
    fn pay_customers(&mut self, hub: Hub, transactions: &mut Vec<Transaction>) {
        let due = self.deposits / BATCH_INPUTS as u64 / 2;
        while self.batches < due && self.vault.len() >= BATCH_INPUTS {
            self.batches += 1;
            let inputs: Vec<_> = (0..BATCH_INPUTS)
                .map(|_| {
                    let place = self.assembler.random.index(self.vault.len());
                    self.vault.swap_remove(place)
                })
                .collect();
            let mut left = after_fee(&inputs);
            let mut outputs = Vec::new();
            for _ in 0..BATCH_OUTPUTS {
                let paid = left / 1000 * (10 + self.dice().below(60));
                left -= paid;
                let wanted = hub.leaves * self.height() / self.shape.blocks;
                let customer = if self.served < wanted {
                    self.served += 1;
                    Person::Leaf(self.served - 1)
                } else {
                    self.payee()
                };
                outputs.push((customer, paid));
            }
            outputs.push((Person::Hub, left));
            transactions.push(self.transaction(PAYMENT, inputs, outputs));
        }
    }

    fn payee(&mut self) -> Person {
        match self.dice().below(100) {
            0..20 => Person::Service(self.dice().rather_small(SERVICES)),
            20..45 if self.wallets > 0 => {
                let back = self.assembler.random.rather_small(self.wallets);
                Person::Wallet(self.wallets - 1 - back)
            }
            _ => self.new_wallet(),
        }
    }

    const fn new_wallet(&mut self) -> Person {
        self.wallets += 1;
        Person::Wallet(self.wallets - 1)
    }

    fn take(&mut self) -> Option<Utxo> {
        let count = self.pool.len() as u64;
        if count == 0 {
            return None;
        }
        // The newest outputs are usually spent first.
        let place = count - 1 - self.dice().rather_small(count);
        Some(self.pool.swap_remove(usize::try_from(place).unwrap_or(0)))
    }

    /// Adds a transaction. Later transactions may spend the outputs of this transaction.
    fn transaction(
        &mut self,
        kind: TransactionKind,
        inputs: Vec<Utxo>,
        outputs: Vec<(Person, u64)>,
    ) -> Transaction {
        let inputs = inputs.into_iter().map(Utxo::input).collect();
        let made =
            outputs.iter().map(|(person, value)| TxOut { owner: person.owner(), value: *value });
        let transaction = self.assembler.transaction(kind, inputs, made.collect());
        for (coin, (person, _)) in utxos_of(&transaction).zip(outputs) {
            self.keep(person, coin);
        }
        transaction
    }

    fn keep(&mut self, person: Person, coin: Utxo) {
        match person {
            Person::Hub if self.vault.len() < POOL => self.vault.push(coin),
            Person::Hub => {}
            Person::Leaf(_) => self.owed.push_back((self.height(), coin)),
            Person::Service(_) | Person::Wallet(_) if self.pool.len() < POOL => {
                self.pool.push(coin);
            }
            Person::Service(_) | Person::Wallet(_) => {
                let place = self.dice().index(POOL);
                self.pool[place] = coin;
            }
        }
    }
}

impl Iterator for BigChain {
    type Item = ResolvedBlock;

    fn next(&mut self) -> Option<ResolvedBlock> {
        (self.height() < self.shape.blocks).then(|| self.block())
    }
}

/// Total of the inputs, less a fee for each input.
fn after_fee(inputs: &[Utxo]) -> u64 {
    let whole = total(inputs);
    whole - (whole / 100).min(300 * inputs.len() as u64)
}

/// A block as a source returns it, with outpoints only for its inputs.
#[must_use]
pub fn as_published(block: ResolvedBlock) -> Block {
    let mut block = block.into_block();
    for input in block.transactions.iter_mut().flat_map(|transaction| &mut transaction.inputs) {
        input.spent = None;
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_a_function_of_its_seed_and_has_its_hub() {
        let hub = Hub { outputs: 5000, leaves: 20 };
        let shape = ChainShape { seed: 1, blocks: 60, transactions: 40, hub: Some(hub) };
        let mut chain = BigChain::new(shape);
        let blocks: Vec<_> = chain.by_ref().collect();
        assert_eq!(blocks, BigChain::new(shape).collect::<Vec<_>>());
        assert_ne!(blocks, BigChain::new(ChainShape { seed: 2, ..shape }).collect::<Vec<_>>());
        assert_eq!(blocks.len(), 60);

        let paid = |person: Person| {
            let owner = person.owner();
            let transactions = blocks.iter().flat_map(|block| &block.transactions);
            let outputs = transactions.flat_map(|transaction| &transaction.outputs);
            outputs.filter(|coin| coin.owner == owner).count() as u64
        };
        assert!((5000..5200).contains(&paid(Person::Hub)), "{}", paid(Person::Hub));
        assert!(chain.leaves() > 15, "{}", chain.leaves());
        assert!((0..chain.leaves()).all(|leaf| paid(Person::Leaf(leaf)) == 1));
        assert!(chain.labelled().count() > 30);
    }
}
