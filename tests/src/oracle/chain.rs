//! Random small chains: few addresses, so that all owners' money mixes.

use assay_engine::{
    ledger::BlockRef,
    utxo::{
        Block, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut,
        Txid, coinjoin::CoinjoinKind,
    },
};
use assay_test_random::Random;
use jiff::Timestamp;

/// All coins of a chain are worth no more than this together, so that every sum over one transaction
/// fits the integers of every store.
const SUPPLY: u64 = 9_000_000_000_000_000_000;
/// Outputs of one transaction that carry a message and no money.
const MESSAGE: ScriptOwner = ScriptOwner::Script([0x6a; 32]);

/// Range of amounts on a chain.
#[derive(Clone, Copy, Debug)]
struct AmountRange {
    least: u64,
    most: u64,
    /// Percentage of amounts that are equal, so that there are ties.
    alike: u64,
}

const AMOUNT_RANGES: [AmountRange; 6] = [
    AmountRange { least: 1, most: 9, alike: 20 },
    AmountRange { least: 1, most: 3, alike: 60 },
    AmountRange { least: 100, most: 100_000, alike: 30 },
    AmountRange { least: 1, most: 5_000_000_000, alike: 10 },
    AmountRange { least: 1_000_000, most: 2_100_000_000_000_000, alike: 10 },
    AmountRange { least: 100_000_000, most: 1_000_000_000_000_000_000, alike: 10 },
];

/// A new owner.
pub(super) fn new_owner(random: &mut Random) -> ScriptOwner {
    match random.below(8) {
        0..4 => ScriptOwner::KeyHash(random.bytes()),
        4 => ScriptOwner::ScriptHash(random.bytes()),
        5 => ScriptOwner::Witness(0, random.bytes::<20>().to_vec()),
        6 => ScriptOwner::Witness(1, random.bytes::<32>().to_vec()),
        _ => ScriptOwner::Script(random.bytes()),
    }
}

/// Percentages of the kinds of transactions on a chain.
#[derive(Clone, Copy, Debug)]
struct Habits {
    /// Inputs of one transaction belong to one owner.
    one_sender: u64,
    /// An owner pays itself.
    self_payments: u64,
    /// A part is paid, and the rest goes to a new owner.
    peels: u64,
    /// Money goes to many outputs, or many outputs to one.
    fans: u64,
    /// Joint transactions, whatever they look like.
    joint: u64,
}

/// A chain under way.
struct BlockBuilder<'a> {
    random: &'a mut Random,
    /// Owners that take part.
    cast: Vec<ScriptOwner>,
    /// Owners that appeared under way.
    newcomers: Vec<ScriptOwner>,
    habits: Habits,
    amounts: AmountRange,
    /// Coins that may still be created.
    supply: u64,
    unspent: Vec<(OutPoint, TxOut)>,
}

/// A chain with a block at each of `times`, in which `cast` pay one another. A pool among the cast
/// is paid by outputs, and sometimes its money is an input. Also returns all owners but that of messages.
pub(super) fn make(
    random: &mut Random,
    cast: Vec<ScriptOwner>,
    times: &[Timestamp],
) -> (Vec<ResolvedBlock>, Vec<ScriptOwner>) {
    let habits = Habits {
        one_sender: *random.of(&[0, 50, 90, 100]),
        self_payments: *random.of(&[0, 10, 40]),
        peels: *random.of(&[0, 10, 40]),
        fans: *random.of(&[0, 0, 10, 30]),
        joint: *random.of(&[0, 5, 5, 30]),
    };
    let amounts = *random.of(&AMOUNT_RANGES);
    let start = random.below(900_000);
    let busy = random.within(1, 4);
    let mut block_builder = BlockBuilder {
        random,
        cast,
        newcomers: Vec::new(),
        habits,
        amounts,
        supply: SUPPLY,
        unspent: Vec::new(),
    };
    let mut parent = [0; 32];
    let mut blocks = Vec::new();
    for (time, height) in times.iter().zip(start..) {
        let hash = block_builder.random.bytes();
        let mut transactions = Vec::new();
        for _ in 0..block_builder.random.below(busy + 1) {
            transactions.extend(block_builder.payment());
        }
        // New coins, and fees, cannot be spent in their own block.
        transactions.insert(0, block_builder.coinbase());
        let reference = BlockRef { height, hash, parent, time: *time };
        blocks.push(ResolvedBlock::assume(Block { reference, work: None, transactions }));
        parent = hash;
    }
    let mut owners = block_builder.cast;
    owners.append(&mut block_builder.newcomers);
    (blocks, owners)
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

impl BlockBuilder<'_> {
    fn amount(&mut self) -> u64 {
        let AmountRange { least, most, alike } = self.amounts;
        if self.random.percent(alike) {
            return least.max(most / 4);
        }
        // As many small amounts as large ones.
        let ceiling = most >> self.random.below(1 + u64::from((most / least).ilog2()));
        self.random.within(least, ceiling.max(least))
    }

    /// New coins, as far as there may be more.
    fn mint(&mut self) -> u64 {
        let amount = self.amount().min(self.supply);
        self.supply -= amount;
        amount
    }

    fn somebody(&mut self) -> ScriptOwner {
        self.random.of(&self.cast).clone()
    }

    /// Makes outputs and, where they can be spent by name, remembers them.
    fn record(
        &mut self,
        kind: TransactionKind,
        inputs: Vec<TxInput>,
        outputs: Vec<TxOut>,
        txid: Txid,
    ) -> Transaction {
        for (coin, index) in outputs.iter().zip(0..) {
            if coin.owner != MESSAGE && !self.random.percent(10) {
                self.unspent.push((OutPoint { txid, index }, coin.clone()));
            }
        }
        Transaction { txid, kind, inputs, outputs }
    }

    fn coinbase(&mut self) -> Transaction {
        let txid = Txid::from_bytes(self.random.bytes());
        let mut outputs = Vec::new();
        for _ in 0..self.random.within(1, 2) {
            let value = self.mint();
            let mut owner = self.somebody();
            while matches!(owner, ScriptOwner::Pool(_)) {
                owner = self.somebody();
            }
            outputs.push(TxOut { owner, value });
        }
        if self.random.percent(20) {
            outputs.push(TxOut { owner: MESSAGE, value: 0 });
        }
        self.record(TransactionKind::Coinbase, Vec::new(), outputs, txid)
    }

    fn payment(&mut self) -> Option<Transaction> {
        let txid = Txid::from_bytes(self.random.bytes());
        let Habits { self_payments, peels, fans, joint, .. } = self.habits;
        let style = match self.random.below(100) {
            chance if chance < self_payments => Style::ToItself,
            chance if chance < self_payments + peels => Style::Peel,
            chance if chance < self_payments + peels + fans => {
                *self.random.of(&[Style::FanOut, Style::Merge])
            }
            _ => Style::Any,
        };
        let mut inputs = self.spend(style);
        let before_start = self.add_foreign(&mut inputs, txid);
        if inputs.is_empty() {
            return None;
        }
        self.random.shuffle(&mut inputs);
        let known: u64 = inputs.iter().flat_map(|input| &input.spent).map(|coin| coin.value).sum();
        let worth = known + if before_start { self.mint() } else { 0 };
        let fee = match self.random.below(10) {
            0..3 => 0,
            3..8 => worth / self.random.within(100, 2_000),
            8 => worth / 2,
            _ => self.random.below(worth.saturating_add(1)),
        };
        let senders: Vec<ScriptOwner> =
            inputs.iter().flat_map(|input| &input.spent).map(|coin| coin.owner.clone()).collect();
        let outputs = match style {
            Style::Any => self.outputs(worth - fee, &senders),
            _ => self.outputs_in(style, worth - fee, &senders),
        };
        let kind = if self.random.percent(joint) {
            TransactionKind::Coinjoin(*self.random.of(&CoinjoinKind::ALL))
        } else {
            TransactionKind::Payment
        };
        Some(self.record(kind, inputs, outputs, txid))
    }

    /// Takes unspent outputs: any few, the newest ones, or all of one owner.
    fn spend(&mut self, style: Style) -> Vec<TxInput> {
        let mut taken = Vec::new();
        if style == Style::Any && self.random.percent(8) {
            let owner = self.somebody();
            let own = |(_, coin): &mut (OutPoint, TxOut)| coin.owner == owner;
            taken.extend(self.unspent.extract_if(.., own));
        } else {
            let newest = style != Style::Any || self.random.percent(40);
            let count = match style {
                Style::Any => self.random.within(1, 4),
                Style::Merge => self.random.within(2, 30),
                Style::ToItself | Style::Peel | Style::FanOut => 1,
            };
            let one_sender = style != Style::Merge && self.random.percent(self.habits.one_sender);
            for _ in 0..count {
                if self.unspent.is_empty() {
                    break;
                }
                let newer = self.unspent.len().min(3);
                let place = if newest {
                    self.unspent.len() - 1 - self.random.index(newer)
                } else {
                    self.random.index(self.unspent.len())
                };
                let sender = taken.first().map(|(_, coin): &(_, TxOut)| &coin.owner);
                if !one_sender || sender.is_none_or(|sender| self.unspent[place].1.owner == *sender)
                {
                    taken.push(self.unspent.remove(place));
                }
            }
        }
        taken.into_iter().map(|(outpoint, coin)| TxInput::new(outpoint, Some(coin))).collect()
    }

    /// A new owner.
    fn newcomer(&mut self) -> ScriptOwner {
        let owner = new_owner(self.random);
        self.newcomers.push(owner.clone());
        owner
    }

    /// Divides `sum` in a style.
    fn outputs_in(&mut self, style: Style, sum: u64, senders: &[ScriptOwner]) -> Vec<TxOut> {
        let sender = senders.first().cloned().unwrap_or_else(|| self.somebody());
        let owners: Vec<ScriptOwner> = match style {
            Style::ToItself => vec![sender; self.random.index(3) + 1],
            Style::Peel => vec![self.somebody(), self.newcomer()],
            Style::FanOut => {
                let is_new = self.random.percent(50);
                let count = self.random.within(5, 40);
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
                Style::Peel => self.random.below(left / 4 + 1),
                _ => (sum / (last as u64 + 1)).min(left),
            };
            left -= value;
            outputs.push(TxOut { owner, value });
        }
        outputs
    }

    /// Inputs without an output of this chain: from before its start, with or without the node's
    /// data about them, and out of a pool. Returns true if the value of one is not known.
    fn add_foreign(&mut self, inputs: &mut Vec<TxInput>, txid: Txid) -> bool {
        let mut before_start = false;
        let elsewhere = |random: &mut Random| OutPoint {
            txid: Txid::from_bytes(random.bytes()),
            index: u32::try_from(random.below(3)).unwrap_or_default(),
        };
        while self.random.percent(10) {
            before_start = true;
            inputs.push(TxInput::new(elsewhere(self.random), None));
        }
        if self.random.percent(4) {
            let coin = TxOut { owner: self.somebody(), value: self.mint() };
            inputs.push(TxInput::new(elsewhere(self.random), Some(coin)));
        }
        let pool = self.cast.iter().find(|owner| matches!(owner, ScriptOwner::Pool(_)));
        if let Some(pool) = pool.filter(|_| self.random.percent(8)) {
            let coin = TxOut { owner: pool.clone(), value: self.mint() };
            inputs.push(TxInput::from_pool(txid, Some(coin)));
        }
        before_start
    }

    /// Divides `sum` among any owners, or back to the senders, in equal or in random parts.
    fn outputs(&mut self, sum: u64, senders: &[ScriptOwner]) -> Vec<TxOut> {
        let many = if self.random.percent(5) { 12 } else { 4 };
        let count = self.random.within(1, many);
        let alike = self.random.percent(25);
        let back = *self.random.of(&[0, 0, 30, 30, 30, 100]);
        let mut left = sum;
        let mut outputs = Vec::new();
        for number in (0..count).rev() {
            let value = match number {
                0 => left,
                _ if alike => (sum / count).min(left),
                _ if self.random.percent(5) => 0,
                _ => self.random.below(left.saturating_add(1)),
            };
            left -= value;
            let owner = if !senders.is_empty() && self.random.percent(back) {
                self.random.of(senders).clone()
            } else {
                self.somebody()
            };
            outputs.push(TxOut { owner, value });
        }
        if self.random.percent(10) {
            outputs.push(TxOut { owner: MESSAGE, value: 0 });
        }
        self.random.shuffle(&mut outputs);
        outputs
    }
}
