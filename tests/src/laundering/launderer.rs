//! A launderer and his moves. All coins of the launderer are dirty: he mixes them with no other money.

use assay_engine::{taxonomy::Category, utxo::ScriptOwner};
use jiff::{SignedDuration, civil::date};

use crate::world::{ChainBuilder, Claim, Claims, Form, JointKind, Utxo, total};

/// Origin of the dirty money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An address that an investigation labels as holding stolen funds.
    Stolen,
    /// An address on a sanctions list.
    Listed,
}

/// A move of the launderer, who keeps the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Sends every coin through the given number of fresh addresses.
    Forward(u32),
    /// Sends the largest coin to the coin's own address the given number of times.
    PaySelf(u32),
    /// Splits the largest coin over the given number of fresh addresses.
    Split(u32),
    /// Merges all coins at a fresh address.
    Merge,
    /// Pays the given number of instalments from the largest coin to fresh addresses, with change to that coin's
    /// address.
    Instalments(u32),
    /// Sends the given number of small parts of the largest coin to fresh addresses, and the rest each time to another
    /// fresh address.
    Peel(u32),
    /// Splits the largest coin over the given number of fresh addresses and merges the parts again.
    FanOut(u32),
    /// Makes a joint transaction of only his own coins.
    Joint(JointKind),
    /// Pays the largest coin as fees of the given number of transactions, in a block that he mines.
    Fees(u32),
    /// Waits the given number of days.
    Wait(u32),
}

/// The smallest coin that the holder makes, in base units: far above dust.
const SMALLEST: u64 = 100_000;

/// Output of a transaction that pays its coin as a fee, in base units.
const LEAST_OUTPUT: u64 = 546;

/// The smallest coin that the launderer sends alone.
const WORTH_SENDING: u64 = 30_000;

/// A holder of dirty money.
#[derive(Debug)]
pub struct Launderer<'a> {
    /// The chain.
    pub chain: &'a mut ChainBuilder,
    /// Coins of the launderer.
    pub coins: Vec<Utxo>,
    /// Form of the launderer's addresses.
    pub form: Form,
    /// Remaining number of transactions.
    pub transactions_left: u32,
}

impl<'a> Launderer<'a> {
    /// A launderer with `amount` at an address that is labelled or listed, received from somebody else.
    pub fn new(
        chain: &'a mut ChainBuilder,
        claims: &mut Claims,
        origin: Origin,
        amount: u64,
    ) -> Self {
        let (victim, holder) =
            (chain.fresh_address(Form::WitnessKey), chain.fresh_address(Form::WitnessKey));
        match origin {
            Origin::Stolen => {
                claims.label(&holder, Claim::investigated(Category::StolenFunds, "Bridge theft"));
            }
            Origin::Listed => claims.list(&holder, "DOE, Jane", date(2018, 11, 28)),
        }
        Self::from_victim(chain, &victim, &holder, amount)
    }

    /// A launderer with `amount` at the address `holder`, received from a victim.
    pub fn from_victim(
        chain: &'a mut ChainBuilder,
        victim: &ScriptOwner,
        holder: &ScriptOwner,
        amount: u64,
    ) -> Self {
        let mut launderer =
            Self { chain, coins: Vec::new(), form: Form::WitnessKey, transactions_left: u32::MAX };
        let fee = launderer.fee(1, 1);
        let coins = launderer.chain.mine(&[(victim.clone(), amount + fee)]);
        launderer.chain.wait(SignedDuration::from_hours(24));
        launderer.coins = launderer.chain.pay(&coins, &[(holder.clone(), amount)]);
        launderer.next_block();
        launderer
    }

    /// The fee of a transaction with these numbers of inputs and outputs.
    #[must_use]
    pub const fn fee(&self, inputs: u64, outputs: u64) -> u64 {
        1_000 + 100 * (inputs + outputs)
    }

    /// A fresh address.
    pub fn fresh_address(&mut self) -> ScriptOwner {
        self.chain.fresh_address(self.form)
    }

    /// Pays coins to owners, and ends the block.
    pub fn pay(&mut self, inputs: &[Utxo], outputs: &[(ScriptOwner, u64)]) -> Vec<Utxo> {
        let coins = self.chain.pay(inputs, outputs);
        self.transactions_left = self.transactions_left.saturating_sub(1);
        self.next_block();
        coins
    }

    /// Sends coins to one owner.
    pub fn send(&mut self, coins: &[Utxo], to: &ScriptOwner) -> Utxo {
        let value = total(coins) - self.fee(coins.len() as u64, 1);
        self.pay(coins, &[(to.clone(), value)]).pop().expect("one output")
    }

    /// True if another transaction is allowed, and the coin is worth its fee.
    #[must_use]
    pub const fn can_send(&self, coin: &Utxo) -> bool {
        self.transactions_left > 0 && coin.value > WORTH_SENDING
    }

    /// Takes the largest coin.
    pub fn take_largest(&mut self) -> Utxo {
        let values = self.coins.iter().enumerate();
        let (index, _) = values.max_by_key(|(_, coin)| coin.value).expect("a coin");
        self.coins.swap_remove(index)
    }

    /// Makes a move, if the money suffices.
    pub fn make_move(&mut self, step: Move) {
        match step {
            Move::Forward(hops) => {
                for coin in std::mem::take(&mut self.coins) {
                    let sent = self.forward(coin, hops);
                    self.coins.push(sent);
                }
            }
            Move::PaySelf(times) => {
                let mut coin = self.take_largest();
                for _ in 0..times {
                    if !self.can_send(&coin) {
                        break;
                    }
                    let own = coin.owner.clone();
                    coin = self.send(&[coin], &own);
                }
                self.coins.push(coin);
            }
            Move::Split(parts) => {
                let coin = self.take_largest();
                let parts = self.split(coin, parts);
                self.coins.extend(parts);
            }
            Move::Merge => {
                let (coins, to) = (std::mem::take(&mut self.coins), self.fresh_address());
                let merged = self.send(&coins, &to);
                self.coins.push(merged);
            }
            Move::Instalments(count) => self.pay_off(count, |_, coin| coin.owner.clone()),
            Move::Peel(count) => self.pay_off(count, |launderer, _| launderer.fresh_address()),
            Move::FanOut(addresses) => {
                let coin = self.take_largest();
                let parts = self.split(coin, addresses);
                let to = self.fresh_address();
                let merged = self.send(&parts, &to);
                self.coins.push(merged);
            }
            Move::Joint(kind) => self.join(kind),
            Move::Fees(payments) => self.pay_as_fees(payments),
            Move::Wait(days) => self.chain.wait(SignedDuration::from_hours(24 * i64::from(days))),
        }
    }

    /// Sends a coin through fresh addresses.
    fn forward(&mut self, mut coin: Utxo, hops: u32) -> Utxo {
        for _ in 0..hops {
            if !self.can_send(&coin) {
                break;
            }
            let to = self.fresh_address();
            coin = self.send(&[coin], &to);
        }
        coin
    }

    /// Pays the largest coin as fees, except for minimal outputs, and mines the block, whose coinbase receives only the
    /// fees.
    fn pay_as_fees(&mut self, payments: u32) {
        let coin = self.take_largest();
        if !self.can_send(&coin) {
            return self.coins.push(coin);
        }
        for part in self.split(coin, payments) {
            let rest = self.fresh_address();
            let _rest = self.chain.pay(&[part], &[(rest, LEAST_OUTPUT)]);
            self.transactions_left = self.transactions_left.saturating_sub(1);
        }
        let miner = self.fresh_address();
        let fees = self.chain.mine_fees_to(&miner);
        self.coins.push(fees);
        self.next_block();
    }

    /// Splits a coin into equal parts at fresh addresses, unless the parts would be too small.
    pub fn split(&mut self, coin: Utxo, parts: u32) -> Vec<Utxo> {
        let most = coin.value / (2 * SMALLEST);
        let parts = u64::from(parts).min(most);
        if parts < 2 {
            return vec![coin];
        }
        let value = (coin.value - self.fee(1, parts)) / parts;
        let outputs: Vec<_> = (0..parts).map(|_| (self.fresh_address(), value)).collect();
        self.pay(&[coin], &outputs)
    }

    /// Pays parts of the largest coin to fresh addresses, the rest each time to an address that `change` names.
    fn pay_off(&mut self, count: u32, change: impl Fn(&mut Self, &Utxo) -> ScriptOwner) {
        let mut coin = self.take_largest();
        let part = coin.value / (u64::from(count) + 2);
        if part >= SMALLEST {
            for _ in 0..count.min(self.transactions_left) {
                let (to, back) = (self.fresh_address(), change(self, &coin));
                let rest = coin.value - part - self.fee(1, 2);
                let mut paid = self.pay(&[coin], &[(to, part), (back, rest)]);
                coin = paid.pop().expect("two outputs");
                self.coins.extend(paid);
            }
        }
        self.coins.push(coin);
    }

    /// Prepares coins of the values that a joint transaction needs, and makes it alone.
    fn join(&mut self, kind: JointKind) {
        let coins = &self.coins;
        // The preparing transaction has more outputs than any round has inputs.
        let fee = self.fee(coins.len() as u64, 64);
        let budget = total(coins).saturating_sub(fee + SMALLEST);
        let Some(parties) = kind.parties(self.chain.dice(), budget) else { return };
        let mut prepared: Vec<_> = Vec::new();
        for value in parties.iter().flat_map(|party| &party.inputs) {
            prepared.push((self.chain.fresh_address(Form::WitnessKey), *value));
        }
        let inputs = prepared.len();
        let rest = total(coins) - fee - prepared.iter().map(|(_, value)| value).sum::<u64>();
        prepared.push((self.fresh_address(), rest));
        let coins = std::mem::take(&mut self.coins);
        let mut prepared = self.pay(&coins, &prepared);
        self.coins = prepared.split_off(inputs);
        let mut outputs: Vec<_> = Vec::new();
        for value in parties.iter().flat_map(|party| &party.outputs) {
            outputs.push((self.chain.fresh_address(Form::WitnessKey), *value));
        }
        let mixed = self.pay(&prepared, &outputs);
        self.coins.extend(mixed);
    }

    pub(super) fn next_block(&mut self) {
        self.chain.wait(SignedDuration::from_mins(20));
    }
}
