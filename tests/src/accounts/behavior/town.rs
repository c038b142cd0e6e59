//! People who pay each other at random on an account chain.

use assay_engine::{
    account::{AccountAddress, Asset, TransferKind},
    taxonomy::Category,
};
use assay_test_random::Random;
use jiff::SignedDuration;

use crate::accounts::{AccountChain, DOLLAR, ETH, ETHER, ETHER_DOLLARS, Pool, USDC, USDT, move_of};

/// A chain with people on it, an exchange, a mixing service and a pool.
pub(super) struct Town {
    pub(super) chain: AccountChain,
    pub(super) dice: Random,
    pub(super) exchanges: [AccountAddress; 2],
    pub(super) mixer: AccountAddress,
    pub(super) pool: Pool,
    people: Vec<AccountAddress>,
}

impl Town {
    /// A town of `people` with 100,000 dollars each.
    pub(super) fn new(seed: u64, people: usize) -> Self {
        let mut chain = AccountChain::new();
        if seed.is_multiple_of(2) {
            let builder = chain.account();
            chain.charge_fees(builder);
        }
        let exchanges =
            ["North Exchange", "South Exchange"].map(|name| chain.party(Category::Exchange, name));
        let mixer = chain.party(Category::Mixer, "Some Mixer");
        let provider = chain.outsider();
        let sides = [(ETH, 100_000 * ETHER), (USDC, 300_000_000 * DOLLAR)];
        let pool = Pool::open(&mut chain, provider, sides);
        create(&mut chain, provider, pool.contract);
        let mut town =
            Self { chain, dice: Random::new(seed), exchanges, mixer, pool, people: Vec::new() };
        for _ in 0..people {
            let person = town.chain.account();
            town.grant(person, 30_000);
            town.people.push(person);
        }
        town.pause(60, 120);
        town
    }

    /// The people.
    pub(super) fn people(&self) -> &[AccountAddress] {
        &self.people
    }

    /// A random number from `low` to `high`, both included.
    pub(super) const fn between(&mut self, low: u64, high: u64) -> u64 {
        self.dice.within(low, high)
    }

    /// An account that never appeared.
    pub(super) const fn account(&mut self) -> AccountAddress {
        self.chain.account()
    }

    /// One of the assets in which people pay.
    pub(super) fn asset(&mut self) -> Asset {
        *self.dice.pick(&[USDT, USDC, ETH])
    }

    /// Somebody new pays dollars in one asset.
    pub(super) fn receive(&mut self, to: AccountAddress, asset: Asset, cents: u64) {
        let payer = self.chain.outsider();
        self.chain.pay(payer, to, asset, units(asset, cents));
    }

    /// Somebody new pays so many dollars in each asset, in one transaction.
    pub(super) fn grant(&mut self, to: AccountAddress, dollars: u64) {
        let payer = self.chain.outsider();
        let paid = [USDT, USDC, ETH].map(|it| (payer, to, it, units(it, dollars * 100)));
        self.chain.send(payer, &paid);
    }

    /// An account pays an amount in cents.
    pub(super) fn pay(
        &mut self,
        (from, to): (AccountAddress, AccountAddress),
        asset: Asset,
        cents: u64,
    ) {
        self.chain.pay(from, to, asset, units(asset, cents));
    }

    /// A contract that somebody creates.
    pub(super) fn contract(&mut self) -> AccountAddress {
        let creator = self.chain.outsider();
        let contract = self.chain.account();
        create(&mut self.chain, creator, contract);
        contract
    }

    /// Lets between `low` and `high` minutes pass, in which people make payments.
    pub(super) fn pause(&mut self, low: u64, high: u64) {
        let minutes = self.between(low, high);
        for _ in 0..(minutes / 60).clamp(1, 3) {
            self.anybody_pays();
        }
        self.chain.wait(SignedDuration::from_mins(minutes.cast_signed()));
    }

    /// Somebody pays a new account, is paid by one, or swaps.
    fn anybody_pays(&mut self) {
        if self.people.is_empty() {
            return;
        }
        let (person, other) = (*self.dice.pick(&self.people), self.account());
        let (asset, cents) = (self.asset(), self.between(2_000, 80_000));
        match self.between(0, 4) {
            0 | 1 if self.chain.balance(person, asset) > 2 * units(asset, cents) => {
                self.pay((person, other), asset, cents);
            }
            2 if self.chain.balance(person, USDC) > 2 * units(USDC, cents) => {
                self.pool.swap(&mut self.chain, person, USDC, units(USDC, cents));
            }
            _ => self.receive(person, asset, cents),
        }
    }
}

/// Base units of an amount in cents.
pub(super) fn units(asset: Asset, cents: u64) -> u128 {
    let one = if asset == ETH { ETHER / u128::from(ETHER_DOLLARS) } else { DOLLAR };
    u128::from(cents) * one / 100
}

/// Records that an account created a contract.
fn create(chain: &mut AccountChain, creator: AccountAddress, contract: AccountAddress) {
    chain.transact(creator, vec![move_of(TransferKind::Create, (creator, contract, ETH, 1))]);
}
