//! People who pay each other at random.

use assay_engine::utxo::ScriptOwner;
use jiff::SignedDuration;

use crate::world::{ChainBuilder, Form, Utxo};

/// Fee of a payment in base units.
pub(super) const FEE: u64 = 1_000;
/// One coin in base units.
pub(super) const COIN: u64 = 100_000_000;

/// A chain with a crowd on it.
pub(super) struct Crowd {
    pub(super) chain: ChainBuilder,
    /// The unspent outputs of the people.
    coins: Vec<Utxo>,
}

impl Crowd {
    /// A crowd of `people` owners with one coin each.
    pub(super) fn new(mut chain: ChainBuilder, people: usize) -> Self {
        let mut minted = Vec::new();
        for _ in 0..people {
            minted.push((chain.fresh_address(Form::WitnessKey), COIN));
        }
        let coins = chain.mine(&minted);
        let mut crowd = Self { chain, coins };
        crowd.pause(60, 120);
        crowd
    }

    /// A random number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.chain.dice().within(low, high)
    }

    /// A new address.
    pub(super) fn address(&mut self) -> ScriptOwner {
        self.chain.fresh_address(Form::WitnessKey)
    }

    /// A coin of somebody new, who mined it.
    pub(super) fn coin(&mut self, value: u64) -> Utxo {
        let owner = self.address();
        self.coin_of(&owner, value)
    }

    /// A mined coin of an owner.
    pub(super) fn coin_of(&mut self, owner: &ScriptOwner, value: u64) -> Utxo {
        let mut made = self.chain.mine(&[(owner.clone(), value)]);
        made.remove(0)
    }

    /// Spends all of these coins: pays the named amounts to their payees, and the rest, less a fee, to `rest`.
    pub(super) fn pay(
        &mut self,
        coins: &[Utxo],
        named: &[(ScriptOwner, u64)],
        rest: Option<&ScriptOwner>,
    ) -> Vec<Utxo> {
        let all: u64 = coins.iter().map(|coin| coin.value).sum();
        let paid: u64 = named.iter().map(|(_, value)| value).sum();
        let mut outputs = named.to_vec();
        let left = all.saturating_sub(paid + FEE);
        if let Some(rest) = rest
            && left > 0
        {
            outputs.push((rest.clone(), left));
        }
        self.chain.pay(coins, &outputs)
    }

    /// Lets between `low` and `high` minutes pass, in which the crowd makes payments.
    pub(super) fn pause(&mut self, low: u64, high: u64) {
        let minutes = self.between(low, high);
        self.minutes(minutes);
    }

    /// Lets time pass, in which the crowd makes a few payments.
    pub(super) fn minutes(&mut self, minutes: u64) {
        let payments = (minutes / 60).clamp(1, 3);
        for _ in 0..payments {
            self.anybody_pays();
        }
        self.chain.wait(SignedDuration::from_mins(minutes.cast_signed()));
    }

    /// One owner of the crowd pays another, with change to a new address.
    fn anybody_pays(&mut self) {
        if self.coins.is_empty() {
            return;
        }
        let index = self.chain.dice().index(self.coins.len());
        let coin = self.coins.swap_remove(index);
        if coin.value < 20 * FEE {
            self.coins.push(coin);
            return;
        }
        let percent = self.between(5, 95);
        let (payee, change) = (self.address(), self.address());
        let amount = (coin.value - FEE) / 100 * percent;
        let made = self.pay(&[coin], &[(payee, amount)], Some(&change));
        self.coins.extend(made);
    }

    /// Owners of the crowd's coins.
    pub(super) fn people(&self) -> impl Iterator<Item = &ScriptOwner> {
        self.coins.iter().map(|coin| &coin.owner)
    }
}
