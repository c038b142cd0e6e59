//! A chain with a thief and an exchange, on which the cases of the model happen, and what is said of its accounts.

use assay_engine::{
    account::{AccountAddress, Asset},
    assessment::Assessment,
    score::Verdict,
    taxonomy::Category,
};
use assay_tests::accounts::{
    AccountChain, AccountWorld, ETH, ETHER, Pool,
    contracts::{Call, Protocols},
};
use jiff::civil::date;

/// A chain with an exchange and a thief, whose first accomplice got stolen ether, and with contracts if `On` has them.
pub(super) struct Theft<On = ()> {
    pub(super) chain: AccountChain,
    pub(super) on: On,
    pub(super) exchange: AccountAddress,
    pub(super) thief: AccountAddress,
    pub(super) accomplice: AccountAddress,
}

impl Theft {
    /// A theft of 100 ether.
    pub(super) fn new() -> Self {
        Self::of(100 * ETHER)
    }

    /// A theft of so much ether.
    pub(super) fn of(amount: u128) -> Self {
        Self::on(AccountChain::new(), amount)
    }

    /// A theft of so much ether on a chain.
    pub(super) fn on(chain: AccountChain, amount: u128) -> Self {
        Self::set_up((), chain, amount)
    }
}

impl Theft<Protocols> {
    /// A theft of so many whole ether on a chain with contracts that everybody uses.
    pub(super) fn at_protocols(ether: u128) -> Self {
        let mut chain = AccountChain::new();
        let on = Protocols::open(&mut chain);
        Self::set_up(on, chain, ether * ETHER)
    }

    /// Executes a call of the contracts.
    pub(super) fn run(&mut self, call: impl FnOnce(&mut Protocols, &AccountChain) -> Call) {
        let call = call(&mut self.on, &self.chain);
        self.chain.execute(call);
    }

    /// Swaps all that an account holds of an asset. Returns the amount of the other asset.
    pub(super) fn swap_all(&mut self, pool: Pool, trader: AccountAddress, asset: Asset) -> u128 {
        pool.swap_all(&mut self.chain, trader, asset)
    }

    /// Swaps all that an account holds of an asset, and has the other asset paid to `to`.
    pub(super) fn swap_all_to(
        &mut self,
        pool: Pool,
        (trader, to): (AccountAddress, AccountAddress),
        asset: Asset,
    ) -> u128 {
        let amount = self.balance(trader, asset);
        pool.swap_to(&mut self.chain, (trader, to), asset, amount)
    }

    /// Swaps all that an account holds of an asset, paid to `to`, with further transfers in the transaction.
    pub(super) fn swap_all_beside(
        &mut self,
        pool: Pool,
        (trader, to): (AccountAddress, AccountAddress),
        asset: Asset,
        beside: &[(AccountAddress, AccountAddress, Asset, u128)],
    ) {
        let amount = self.balance(trader, asset);
        self.chain.execute(pool.call(&self.chain, (trader, to), asset, amount).with_moves(beside));
    }
}

impl<On> Theft<On> {
    fn set_up(on: On, mut chain: AccountChain, amount: u128) -> Self {
        let exchange = chain.party(Category::Exchange, "Some Exchange");
        let thief = chain.party(Category::StolenFunds, "Some Hack");
        let accomplice = chain.account();
        chain.wait_days(3);
        if amount > 0 {
            chain.pay(thief, accomplice, ETH, amount);
        }
        Self { chain, on, exchange, thief, accomplice }
    }

    /// An account with money from the exchange.
    pub(super) fn clean(&mut self, asset: Asset, amount: u128) -> AccountAddress {
        let account = self.chain.account();
        self.withdraw(account, asset, amount);
        account
    }

    /// Money from the exchange for an account.
    pub(super) fn withdraw(&mut self, account: AccountAddress, asset: Asset, amount: u128) {
        self.chain.pay(self.exchange, account, asset, amount);
    }

    /// A party whose listing began before the first block.
    pub(super) fn listed(&mut self) -> AccountAddress {
        self.chain.listed("DOE, Jane", date(2025, 1, 1))
    }

    /// The balance of an account.
    pub(super) fn balance(&self, account: AccountAddress, asset: Asset) -> u128 {
        self.chain.balance(account, asset)
    }

    /// The answers about accounts, some days later.
    pub(super) fn assess<const N: usize>(
        mut self,
        accounts: [AccountAddress; N],
    ) -> [Assessment; N] {
        self.chain.wait_days(2);
        let world = AccountWorld::new(self.chain);
        accounts.map(|account| world.assess(account))
    }

    /// Asserts the verdicts about accounts, some days later; an `allow` is one of a complete answer.
    #[track_caller]
    pub(super) fn expect<const N: usize>(self, expected: [(AccountAddress, Verdict); N]) {
        let answers = self.assess(expected.map(|(account, _)| account));
        let found = answers.each_ref().map(|answer| (answer.verdict, answer.complete));
        let expected = expected.map(|(_, verdict)| verdict);
        let is_found = found.iter().zip(expected).all(|((verdict, is_complete), wanted)| {
            *verdict == wanted && (*is_complete || wanted != Verdict::Allow)
        });
        assert!(is_found, "{found:?} instead of {expected:?}: {answers:#?}");
    }
}

#[track_caller]
pub(super) fn assert_verdict(assessment: &Assessment, expected: Verdict) {
    assert_eq!(assessment.verdict, expected, "{assessment:#?}");
}

#[track_caller]
pub(super) fn assert_review(assessment: &Assessment) {
    assert_verdict(assessment, Verdict::Review);
}

/// Asserts an `allow` of a complete answer.
#[track_caller]
pub(super) fn assert_allow(assessment: &Assessment) {
    assert_verdict(assessment, Verdict::Allow);
    assert!(assessment.complete, "{assessment:#?}");
}
