//! Random small chains with all features that a graph must store. The chains have few owners, so that all money mixes.

use assay_address::ChainId;
use assay_engine::utxo::{
    OutPoint, Pool, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
    coinjoin::CoinjoinKind,
};
use assay_test_random::Random;
use jiff::Timestamp;

use crate::{BlockAssembler, Utxo, utxos_of};

/// Largest sum of all coins of a chain, so that every sum over one transaction fits the integers of every store.
const SUPPLY: u64 = 9_000_000_000_000_000_000;
/// Owner of outputs that carry a message and no money.
const MESSAGE: ScriptOwner = ScriptOwner::Script([0x6a; 32]);

/// Identifier that no transaction has.
const NOBODY: Txid = Txid::from_bytes([0; 32]);

/// Range of amounts on a chain.
#[derive(Clone, Copy, Debug)]
pub struct AmountRange {
    /// The least amount, above 0.
    pub least: u64,
    /// The largest amount.
    pub most: u64,
    /// Percentage of equal amounts, which cause ties.
    pub alike: u64,
}

/// Habits of a chain's owners, in percent unless a field says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Amounts.
    pub amounts: AmountRange,
    /// The most payments of a block.
    pub busy: u64,
    /// Percentage of transactions whose inputs belong to one owner.
    pub one_sender: u64,
    /// Percentage of payments of an owner to itself.
    pub self_payments: u64,
    /// Percentage of transactions that pay a part and send the rest to a new owner.
    pub peels: u64,
    /// Percentage of transactions with many outputs or many inputs.
    pub fans: u64,
    /// Percentage of joint transactions.
    pub joint: u64,
    /// Percentage of coinbases that repeat an earlier one byte by byte (BIP 30).
    pub repeated: u64,
    /// Percentage of outputs that are never spent.
    pub lost: u64,
}

impl Habits {
    /// Habits that fill all tables of a graph, with few owners.
    const VARIED: Self = Self {
        amounts: AmountRange { least: 25, most: 1_000_000, alike: 10 },
        busy: 7,
        one_sender: 0,
        self_payments: 5,
        peels: 0,
        fans: 3,
        joint: 50,
        repeated: 10,
        lost: 0,
    };
}

/// A random chain.
#[derive(Clone, Debug)]
pub struct TestChain {
    /// The blockchain that the test chain imitates.
    pub id: ChainId,
    /// Height of the first block.
    pub start: u64,
    /// The blocks of the chain.
    pub blocks: Vec<ResolvedBlock>,
    assembler: BlockAssembler,
    habits: Habits,
    /// Owners: first those who pay each other, then those who appeared later.
    parties: Vec<ScriptOwner>,
    /// Number of owners who pay each other.
    cast: usize,
    /// Coins that may still be created.
    supply: u64,
    unspent: Vec<Utxo>,
}

/// Style of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Any,
    ToItself,
    Peel,
    FanOut,
    Merge,
}

/// A new owner.
pub fn new_owner(random: &mut Random) -> ScriptOwner {
    match random.below(8) {
        0..4 => ScriptOwner::KeyHash(random.bytes()),
        4 => ScriptOwner::ScriptHash(random.bytes()),
        5 => ScriptOwner::Witness(0, random.bytes::<20>().to_vec()),
        6 => ScriptOwner::Witness(1, random.bytes::<32>().to_vec()),
        _ => ScriptOwner::Script(random.bytes()),
    }
}

/// Forty owners with scripts of all types, a third of all payments to the first, and a pool.
fn cast_with_hub() -> Vec<ScriptOwner> {
    let owner = |byte: u8| match byte % 6 {
        0 | 1 => ScriptOwner::KeyHash([byte; 20]),
        2 => ScriptOwner::ScriptHash([byte; 20]),
        3 => ScriptOwner::Witness(0, vec![byte; 20]),
        4 => ScriptOwner::Witness(1, vec![byte; 32]),
        _ => ScriptOwner::Script([byte; 32]),
    };
    let hub = std::iter::repeat_n(0, 20);
    hub.chain(0..40).map(owner).chain([ScriptOwner::Pool(Pool::Mweb)]).collect()
}

impl TestChain {
    /// A chain without blocks, of varied transactions among forty owners.
    #[must_use]
    pub fn new(seed: u64, start: u64) -> Self {
        Self::with_owners(seed, start, cast_with_hub(), Habits::VARIED)
    }

    /// A chain without blocks, whose owners are `cast`. A shielded pool among them receives outputs and sometimes
    /// provides inputs.
    #[must_use]
    pub const fn with_owners(
        seed: u64,
        start: u64,
        cast: Vec<ScriptOwner>,
        habits: Habits,
    ) -> Self {
        Self {
            id: ChainId::BTC,
            start,
            blocks: Vec::new(),
            assembler: BlockAssembler::new(seed, start),
            habits,
            cast: cast.len(),
            parties: cast,
            supply: SUPPLY,
            unspent: Vec::new(),
        }
    }

    /// A chain of `blocks` blocks from height `start` on.
    #[must_use]
    pub fn generate(seed: u64, start: u64, blocks: usize) -> Self {
        Self::new(seed, start).with_random_blocks(blocks)
    }

    fn with_random_blocks(mut self, blocks: usize) -> Self {
        for _ in 0..blocks {
            self.add_random_block();
        }
        self
    }

    /// Changes the blockchain that the blocks imitate.
    #[must_use]
    pub fn with_id(self, id: ChainId) -> Self {
        Self { id, ..self }
    }

    /// The chain up to a height, followed by `blocks` other blocks.
    #[must_use]
    pub fn fork(&self, height: u64, seed: u64, blocks: usize) -> Self {
        let (cast, habits) = (self.parties.clone(), self.habits);
        let mut fork = Self {
            id: self.id,
            cast: self.cast,
            supply: self.supply,
            ..Self::with_owners(seed, self.start, cast, habits)
        };
        for block in self.blocks.iter().filter(|block| block.reference.height <= height) {
            for transaction in &block.transactions {
                fork.update_unspent(transaction);
            }
            fork.blocks.push(block.clone());
        }
        fork.with_random_blocks(blocks)
    }

    /// A chain whose transactions spend two or more new addresses of one owner together, so that clusters of equal and
    /// of different sizes are merged, some repeatedly.
    #[must_use]
    pub fn consolidating(seed: u64, blocks: usize) -> Self {
        let habits = Habits { joint: 0, peels: 40, fans: 10, repeated: 0, ..Habits::VARIED };
        Self::with_owners(seed, 0, cast_with_hub(), habits).with_random_blocks(blocks)
    }

    /// Adds a block of random transactions. Later blocks may have earlier times.
    pub fn add_random_block(&mut self) {
        let second = self.height() * 600 + self.random().below(1_500);
        let time = Timestamp::from_second(1_231_006_505 + second.cast_signed()).unwrap();
        self.add_random_block_at(time);
    }

    /// Adds a block of random transactions at a time.
    pub fn add_random_block_at(&mut self, time: Timestamp) {
        let repeated = self.repeated_coinbase();
        let mut transactions = Vec::new();
        for _ in 0..self.assembler.random.below(self.habits.busy + 1) {
            transactions.extend(self.payment());
        }
        // New coins, and fees, cannot be spent in their own block.
        let coinbase = repeated.unwrap_or_else(|| self.coinbase());
        transactions.insert(0, coinbase);
        self.add_block_at(time, transactions);
    }

    /// Adds a block with these transactions, ten minutes after the previous one.
    pub fn add_block(&mut self, transactions: Vec<Transaction>) {
        let second = 1_231_006_505 + self.height().cast_signed() * 600;
        self.add_block_at(Timestamp::from_second(second).unwrap(), transactions);
    }

    fn add_block_at(&mut self, time: Timestamp, transactions: Vec<Transaction>) {
        let height = self.height();
        if let Some(last) = self.blocks.last() {
            self.assembler.follow(&last.reference);
        }
        // Some sources do not state it.
        let work = (height % 11 != 7).then(|| u128::from(height + 1) << 70);
        self.blocks.push(self.assembler.block(time, work, transactions));
    }

    /// Height of the next block.
    fn height(&self) -> u64 {
        self.blocks.last().map_or(self.start, |block| block.reference.height + 1)
    }

    const fn random(&mut self) -> &mut Random {
        &mut self.assembler.random
    }

    fn update_unspent(&mut self, transaction: &Transaction) {
        self.unspent.retain(|coin| {
            coin.outpoint.txid != transaction.txid
                && !transaction.inputs.iter().any(|input| input.outpoint == coin.outpoint)
        });
        self.unspent.extend(utxos_of(transaction).filter(|coin| coin.owner != MESSAGE));
    }

    fn amount(&mut self) -> u64 {
        let AmountRange { least, most, alike } = self.habits.amounts;
        if self.random().percent(alike) {
            return least.max(most / 4);
        }
        // As many small amounts as large ones.
        let ceiling = most >> self.random().below(1 + u64::from((most / least).ilog2()));
        self.random().within(least, ceiling.max(least))
    }

    /// The amount of new coins, bounded by the remaining supply.
    fn mint(&mut self) -> u64 {
        let amount = self.amount().min(self.supply);
        self.supply -= amount;
        amount
    }

    fn somebody(&mut self) -> ScriptOwner {
        self.assembler.random.pick(&self.parties[..self.cast]).clone()
    }

    /// Adds a transaction. Later transactions can spend the outputs of this transaction, except for lost outputs.
    fn new_transaction(
        &mut self,
        kind: TransactionKind,
        inputs: Vec<TxInput>,
        outputs: Vec<TxOut>,
    ) -> Transaction {
        let transaction = self.assembler.transaction(kind, inputs, outputs);
        for coin in utxos_of(&transaction).filter(|coin| coin.owner != MESSAGE) {
            if !self.assembler.random.percent(self.habits.lost) {
                self.unspent.push(coin);
            }
        }
        transaction
    }

    fn repeated_coinbase(&mut self) -> Option<Transaction> {
        if !self.assembler.random.percent(self.habits.repeated) || self.blocks.is_empty() {
            return None;
        }
        let coinbase = self.assembler.random.pick(&self.blocks).transactions[0].clone();
        self.update_unspent(&coinbase);
        Some(coinbase)
    }

    fn coinbase(&mut self) -> Transaction {
        let mut outputs = Vec::new();
        for _ in 0..self.random().within(1, 2) {
            let value = self.mint();
            let mut owner = self.somebody();
            while matches!(owner, ScriptOwner::Pool(_)) {
                owner = self.somebody();
            }
            outputs.push(TxOut { owner, value });
        }
        if self.random().percent(20) {
            outputs.push(TxOut { owner: MESSAGE, value: 0 });
        }
        self.new_transaction(TransactionKind::Coinbase, Vec::new(), outputs)
    }

    fn payment(&mut self) -> Option<Transaction> {
        let Habits { self_payments, peels, fans, joint, .. } = self.habits;
        let style = match self.random().below(100) {
            chance if chance < self_payments => Style::ToItself,
            chance if chance < self_payments + peels => Style::Peel,
            chance if chance < self_payments + peels + fans => {
                *self.random().pick(&[Style::FanOut, Style::Merge])
            }
            _ => Style::Any,
        };
        let mut inputs: Vec<TxInput> = self.spend(style).into_iter().map(Utxo::input).collect();
        let before_start = self.add_external_inputs(&mut inputs);
        if inputs.is_empty() {
            return None;
        }
        self.random().shuffle(&mut inputs);
        let known: u64 = inputs.iter().flat_map(|input| &input.spent).map(|coin| coin.value).sum();
        let worth = known + if before_start { self.mint() } else { 0 };
        let fee = match self.random().below(10) {
            0..3 => 0,
            3..8 => worth / self.random().within(100, 2_000),
            8 => worth / 2,
            _ => self.random().below(worth.saturating_add(1)),
        };
        let senders: Vec<ScriptOwner> =
            inputs.iter().flat_map(|input| &input.spent).map(|coin| coin.owner.clone()).collect();
        let outputs = match style {
            Style::Any => self.outputs(worth - fee, &senders),
            _ => self.outputs_in(style, worth - fee, &senders),
        };
        let kind = if self.random().percent(joint) {
            TransactionKind::Coinjoin(*self.random().pick(&CoinjoinKind::ALL))
        } else {
            TransactionKind::Payment
        };
        let mut payment = self.new_transaction(kind, inputs, outputs);
        for input in &mut payment.inputs {
            if input.is_from_pool(NOBODY) {
                input.outpoint.txid = payment.txid;
            }
        }
        Some(payment)
    }

    /// Takes a random output of the `newest` newest unspent outputs.
    fn take(&mut self, newest: usize) -> Utxo {
        let index = self.unspent.len() - 1 - self.random().index(newest);
        self.unspent.remove(index)
    }

    /// Takes unspent outputs: a few random outputs, the newest outputs, or all outputs of one owner.
    fn spend(&mut self, style: Style) -> Vec<Utxo> {
        if style == Style::Any && self.random().percent(8) {
            let owner = self.somebody();
            return self.unspent.extract_if(.., |coin| coin.owner == owner).collect();
        }
        let newest = style != Style::Any || self.random().percent(40);
        let count = match style {
            Style::Any => self.random().within(1, 4),
            Style::Merge => self.random().within(2, 30),
            Style::ToItself | Style::Peel | Style::FanOut => 1,
        };
        let one_sender =
            style != Style::Merge && self.assembler.random.percent(self.habits.one_sender);
        let mut taken: Vec<Utxo> = Vec::new();
        for _ in 0..count {
            if self.unspent.is_empty() {
                break;
            }
            let all = self.unspent.len();
            let coin = self.take(if newest { all.min(3) } else { all });
            if one_sender && taken.first().is_some_and(|first| first.owner != coin.owner) {
                self.unspent.push(coin);
            } else {
                taken.push(coin);
            }
        }
        taken
    }

    /// Divides `sum` over outputs in a style.
    fn outputs_in(&mut self, style: Style, sum: u64, senders: &[ScriptOwner]) -> Vec<TxOut> {
        let sender = senders.first().cloned().unwrap_or_else(|| self.somebody());
        let owners: Vec<ScriptOwner> = match style {
            Style::ToItself => vec![sender; self.random().index(3) + 1],
            Style::Peel => vec![self.somebody(), self.newcomer()],
            Style::FanOut => {
                let is_new = self.habits.peels > 0 && self.random().percent(50);
                let count = self.random().within(5, 40);
                let owner = |_| if is_new { self.newcomer() } else { self.somebody() };
                (0..count).map(owner).collect()
            }
            Style::Merge | Style::Any => vec![self.somebody()],
        };
        let last = owners.len() - 1;
        let mut left = sum;
        let mut outputs = Vec::new();
        for (index, owner) in owners.into_iter().enumerate() {
            let value = match style {
                _ if index == last => left,
                Style::Peel => self.random().below(left / 4 + 1),
                _ => (sum / (last as u64 + 1)).min(left),
            };
            left -= value;
            outputs.push(TxOut { owner, value });
        }
        outputs
    }

    /// A new owner.
    fn newcomer(&mut self) -> ScriptOwner {
        let owner = new_owner(self.random());
        self.parties.push(owner.clone());
        owner
    }

    /// Adds inputs without an output of this chain: outputs from before its start, with or without known values, and
    /// money out of a pool. Returns true if the value of an input is unknown.
    fn add_external_inputs(&mut self, inputs: &mut Vec<TxInput>) -> bool {
        let mut before_start = false;
        while self.random().percent(10) {
            before_start = true;
            inputs.push(TxInput::new(self.unrecorded(), None));
        }
        if self.random().percent(4) {
            let coin = TxOut { owner: self.somebody(), value: self.mint() };
            inputs.push(TxInput::new(self.unrecorded(), Some(coin)));
        }
        let pool = self.parties.iter().find(|owner| matches!(owner, ScriptOwner::Pool(_))).cloned();
        if let Some(owner) = pool.filter(|_| self.random().percent(8)) {
            let coin = TxOut { owner, value: self.mint() };
            inputs.push(TxInput::from_pool(NOBODY, Some(coin)));
        }
        before_start
    }

    /// An output of an unrecorded transaction.
    fn unrecorded(&mut self) -> OutPoint {
        let index = *self.random().pick(&[0, 1, 70_000, 3_000_000_000]);
        OutPoint { txid: Txid::from_bytes(self.random().bytes()), index }
    }

    /// Divides `sum` among any owners, or back to the senders, in equal or in random parts.
    fn outputs(&mut self, sum: u64, senders: &[ScriptOwner]) -> Vec<TxOut> {
        let many = if self.random().percent(5) { 12 } else { 4 };
        let count = self.random().within(1, many);
        let alike = self.random().percent(25);
        let back = *self.random().pick(&[0, 0, 30, 30, 30, 100]);
        let mut left = sum;
        let mut outputs = Vec::new();
        for number in (0..count).rev() {
            let value = match number {
                0 => left,
                _ if alike => (sum / count).min(left),
                _ if self.random().percent(5) => 0,
                _ => self.random().below(left.saturating_add(1)),
            };
            left -= value;
            let owner = if !senders.is_empty() && self.random().percent(back) {
                self.random().pick(senders).clone()
            } else {
                self.somebody()
            };
            outputs.push(TxOut { owner, value });
        }
        if self.random().percent(10) {
            outputs.push(TxOut { owner: MESSAGE, value: 0 });
        }
        self.random().shuffle(&mut outputs);
        outputs
    }

    /// Owners who pay each other, and owners who appeared later.
    #[must_use]
    pub fn parties(&self) -> &[ScriptOwner] {
        &self.parties
    }

    fn transactions(&self) -> impl Iterator<Item = &Transaction> {
        self.blocks.iter().flat_map(|block| &block.transactions)
    }

    /// All owners that appear on the chain, and an owner that does not.
    #[must_use]
    pub fn owners(&self) -> Vec<ScriptOwner> {
        let outputs = self.transactions().flat_map(Transaction::all_outputs);
        let mut owners: Vec<_> = outputs.map(|output| output.owner.clone()).collect();
        owners.push(ScriptOwner::KeyHash([255; 20]));
        owners.sort();
        owners.dedup();
        owners
    }

    /// The identifiers of all transactions, repeated ones as often as they appear, and an identifier that no
    /// transaction has.
    #[must_use]
    pub fn txids(&self) -> Vec<Txid> {
        let nobody = Txid::from_bytes([255; 32]);
        self.transactions().map(|transaction| transaction.txid).chain([nobody]).collect()
    }

    /// All outputs, all spent outputs, and some that do not exist.
    #[must_use]
    pub fn outpoints(&self) -> Vec<OutPoint> {
        let outputs = self.transactions().flat_map(|transaction| {
            let made = (0..=transaction.outputs.len()).map(|index| OutPoint {
                txid: transaction.txid,
                index: u32::try_from(index).unwrap(),
            });
            made.chain(transaction.inputs.iter().map(|input| input.outpoint))
        });
        outputs.chain([OutPoint { txid: Txid::from_bytes([255; 32]), index: 0 }]).collect()
    }
}
