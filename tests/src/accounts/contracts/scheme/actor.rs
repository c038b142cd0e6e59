//! A scheme in progress: what it owns, and how it sends transactions.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{
    account::{AccountAddress, Asset, WHOLE},
    score::Verdict,
    taxonomy::Category,
};
use assay_test_random::Random;
use jiff::civil::date;

use super::ContractOutcome;
use crate::accounts::{
    AccountChain, AccountWorld, DOLLAR, ETH, ETHER, Pool, STETH, USDC, USDT, WBTC, WETH,
    chain::Move,
    contracts::{Call, Protocols, protocols::TOKEN},
    scheme::Outcome,
};

pub(super) const ZERO: AccountAddress = AccountAddress::ZERO;
/// The assets in which a scheme holds money.
pub(super) const MONEY: [Asset; 6] = [ETH, USDC, USDT, WBTC, WETH, STETH];
/// Most accounts of a scheme.
const MOST_ACCOUNTS: usize = 16;

/// A part of what an account of the scheme holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    pub(super) account: AccountAddress,
    pub(super) asset: Asset,
    pub(super) amount: u128,
}

/// A scheme in progress.
pub(super) struct Actor {
    seed: u64,
    pub(super) dice: Random,
    pub(super) chain: AccountChain,
    pub(super) on: Protocols,
    /// Accounts of the scheme: first the thief's accomplice, then others, a friend, and two smart accounts.
    pub(super) accounts: Vec<AccountAddress>,
    /// Accounts that no stolen money reached.
    clean: BTreeSet<AccountAddress>,
    /// Contracts of the scheme, which pay as it likes.
    pub(super) contracts: [AccountAddress; 2],
    /// Pools of tokens of the scheme.
    pub(super) own_pools: Vec<Pool>,
    /// Tokens of the scheme's contracts.
    pub(super) own_tokens: Vec<Asset>,
    /// Tokens of the scheme's contracts that stand for another token that the contract holds.
    pub(super) wrapped: BTreeMap<(AccountAddress, Asset), Asset>,
    stolen: u64,
    capital: u64,
    told: Vec<String>,
}

impl Actor {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Random::new(seed ^ 0xc0de);
        let mut chain = AccountChain::new();
        let on = Protocols::open(&mut chain);
        let exchange = chain.party(Category::Exchange, "Some Exchange");
        let thief = match dice.below(4) {
            0 => chain.party(Category::Ransomware, "Some Extortion"),
            1 => {
                // Before, in the middle of or after the moves.
                let day = i8::try_from(dice.within(1, 28)).expect("a day");
                chain.listed("DOE, Jane", date(2026, 1, day))
            }
            _ => chain.party(Category::StolenFunds, "Some Hack"),
        };
        let [first, second, third, friend] = chain.accounts();
        let smart: [AccountAddress; 2] = chain.contracts();
        let contracts = chain.contracts();
        let stolen = *dice.pick(&[5_000, 30_000, 300_000]);
        let capital = stolen * *dice.pick(&[0, 0, 3, 10, 30, 60]) / 10;
        let asset = *dice.pick(&[ETH, ETH, USDT]);
        chain.pay(thief, first, asset, chain.units(asset, stolen));
        for (asset, tenths) in [(ETH, 5), (ETH, 2), (USDC, 3)] {
            let amount = chain.units(asset, capital * tenths / 10);
            if amount > 0 {
                chain.pay(exchange, friend, asset, amount);
            }
        }
        let accounts = vec![first, second, third, friend, smart[0], smart[1]];
        Self {
            seed,
            dice,
            chain,
            on,
            clean: accounts[1..].iter().copied().collect(),
            accounts,
            contracts,
            own_pools: Vec::new(),
            own_tokens: Vec::new(),
            wrapped: BTreeMap::new(),
            stolen,
            capital,
            told: Vec::new(),
        }
    }

    pub(super) fn wait(&mut self) {
        let days = u32::try_from(self.dice.within(1, 4)).expect("few days");
        self.chain.wait_days(days);
    }

    pub(super) fn log_move(&mut self, name: &str, holding: &Holding) {
        let place = self.accounts.iter().position(|it| *it == holding.account).unwrap_or(99);
        let dollars = self.chain.dollars(holding.asset, holding.amount);
        self.told.push(format!("{name} of {place} with {dollars} dollars"));
    }

    /// Money of all accounts that is worth a dollar and more.
    fn holdings(&self) -> Vec<Holding> {
        let of = |account: &AccountAddress| {
            let account = *account;
            let held = self.chain.holdings(account).into_iter();
            held.map(move |(asset, amount)| Holding { account, asset, amount })
        };
        let all = self.accounts.iter().flat_map(of);
        all.filter(|it| MONEY.contains(&it.asset) && self.chain.dollars(it.asset, it.amount) > 0)
            .collect()
    }

    /// A part of some money of an account.
    pub(super) fn some_holding(&mut self) -> Option<Holding> {
        let holding = self.one_of(&self.holdings())?;
        Some(self.part_of(holding))
    }

    pub(super) fn part_of(&mut self, holding: Holding) -> Holding {
        let percent = u128::from(*self.dice.pick(&[10_u64, 25, 50, 90, 100, 100]));
        let amount = if percent == 100 { holding.amount } else { holding.amount / 100 * percent };
        Holding { amount, ..holding }
    }

    /// One of several, none of nothing.
    pub(super) fn one_of<T: Clone>(&mut self, several: &[T]) -> Option<T> {
        (!several.is_empty()).then(|| self.dice.pick(several).clone())
    }

    /// Units of tokens of a kind that the accounts hold.
    pub(super) fn held_tokens(&self, is_wanted: impl Fn(Asset) -> bool) -> Vec<Holding> {
        let of = |account: &AccountAddress| {
            let account = *account;
            let held = self.chain.holdings(account).into_iter();
            held.map(move |(asset, amount)| Holding { account, asset, amount })
        };
        self.accounts.iter().flat_map(of).filter(|it| is_wanted(it.asset)).collect()
    }

    /// True for both tokens outside the table that everybody trades.
    pub(super) fn is_public_token(&self, asset: Asset) -> bool {
        asset == self.on.token || asset == self.on.other_token
    }

    /// The account, or more rarely another one of the scheme.
    pub(super) fn perhaps_other(&mut self, account: AccountAddress) -> AccountAddress {
        if self.dice.percent(60) { account } else { self.other(account) }
    }

    pub(super) fn other(&mut self, than: AccountAddress) -> AccountAddress {
        let others: Vec<_> = self.accounts.iter().copied().filter(|it| *it != than).collect();
        *self.dice.pick(&others)
    }

    pub(super) fn any_account(&mut self) -> AccountAddress {
        let index = self.dice.index(self.accounts.len());
        self.accounts[index]
    }

    /// A new account of the scheme, or an old one if it has many.
    pub(super) fn fresh(&mut self) -> AccountAddress {
        if self.accounts.len() >= MOST_ACCOUNTS {
            return self.any_account();
        }
        let account = self.chain.account();
        self.accounts.push(account);
        self.clean.insert(account);
        account
    }

    /// Sends a transaction, now and then by a relayer.
    pub(super) fn execute(&mut self, call: Call) {
        let call = if self.dice.percent(25) { call.sent_by(self.chain.account()) } else { call };
        self.note(&call);
        self.chain.execute(call);
    }

    pub(super) fn send(&mut self, sender: AccountAddress, moves: &[Move]) {
        self.execute(Call::new(sender, moves));
    }

    pub(super) fn pay(
        &mut self,
        from: AccountAddress,
        to: AccountAddress,
        asset: Asset,
        amount: u128,
    ) {
        let amount = amount.min(self.chain.balance(from, asset));
        if amount > 0 {
            self.send(from, &[(from, to, asset, amount)]);
        }
    }

    /// Sends a swap, and counts the gain of accounts that no stolen money reached as capital.
    pub(super) fn execute_swap(&mut self, call: Call) {
        let value = |moved: &Move| self.chain.dollars(moved.2, moved.3);
        let (paid, got) = (call.moves.first(), call.moves.get(1));
        let gain = got.map_or(0, value).saturating_sub(paid.map_or(0, value));
        let parties = call.moves.iter().flat_map(|(from, to, ..)| [*from, *to]);
        let is_clean = parties
            .chain([call.sender])
            .all(|it| !self.accounts.contains(&it) || self.clean.contains(&it));
        if is_clean {
            self.capital += gain;
        }
        self.execute(call);
    }

    /// Transfers of no value beside others: crumbs, tokens out of nothing, worthless tokens that are given away.
    pub(super) fn by_play(&mut self, parties: [AccountAddress; 2]) -> Vec<Move> {
        let mut moves = Vec::new();
        for _ in 0..*self.dice.pick(&[0, 1, 1, 2]) {
            let party = *self.dice.pick(&parties);
            match self.dice.below(3) {
                0 => moves.push((self.on.router, party, ETH, ETHER / 1_000_000)),
                1 => {
                    let token = self.own_token();
                    moves.push((ZERO, party, token, TOKEN));
                }
                _ => {
                    let held = self.chain.holdings(party);
                    let own = held.into_iter().filter(|(it, _)| self.own_tokens.contains(it));
                    if let Some((token, amount)) = self.one_of(&own.collect::<Vec<_>>()) {
                        let contract = *self.dice.pick(&self.contracts);
                        let is_spent = moves.iter().any(|it: &Move| it.0 == party && it.2 == token);
                        if !is_spent {
                            moves.push((party, contract, token, amount));
                        }
                    }
                }
            }
        }
        moves
    }

    /// A new token of the scheme.
    pub(super) fn own_token(&mut self) -> Asset {
        let token = self.chain.token();
        self.own_tokens.push(token);
        token
    }

    /// Follows which accounts stolen money has reached: what the scheme's contracts pay may be stolen.
    fn note(&mut self, call: &Call) {
        let is_stolen = |it: &AccountAddress| {
            self.contracts.contains(it) || self.accounts.contains(it) && !self.clean.contains(it)
        };
        let is_reached =
            is_stolen(&call.sender) || call.moves.iter().any(|(from, ..)| is_stolen(from));
        if is_reached {
            let receivers = call.moves.iter().map(|(_, to, ..)| *to);
            let named = call.named.iter().map(|it| it.account);
            for account in receivers.chain(named) {
                self.clean.remove(&account);
            }
        }
    }

    /// Dollars of money that an account holds.
    fn dollars_of(&self, account: AccountAddress) -> u64 {
        let held = MONEY.map(|it| self.chain.dollars(it, self.chain.balance(account, it)));
        held.into_iter().sum()
    }

    /// The engine's answers, some weeks later.
    pub(super) fn finish(mut self) -> ContractOutcome {
        if self.dice.one_in(4) {
            self.chain.wait_days(100);
        }
        self.chain.wait_days(25);
        let held: Vec<_> = self.accounts.iter().map(|it| (*it, self.dollars_of(*it))).collect();
        let transactions = self.chain.len();
        let prices = MONEY.map(|asset| (asset, self.chain.dollars_of(asset).unwrap_or(0)));
        let world = AccountWorld::new(self.chain);
        let allowed = held.into_iter().filter(|(account, dollars)| {
            *dollars > 0 && {
                let answer = world.assess(*account);
                answer.verdict == Verdict::Allow && answer.complete
            }
        });
        let outcome = Outcome {
            seed: self.seed,
            stolen: self.stolen,
            capital: self.capital,
            allowed: allowed.map(|(_, dollars)| dollars).sum(),
            moves: self.told,
        };
        let severe = severe_dollars(&world, &prices);
        #[expect(clippy::cast_precision_loss, reason = "few dollars")]
        let severe_part = severe / self.stolen as f64;
        ContractOutcome { outcome, severe_part, transactions }
    }
}

/// Dollars of severe money in all ledgers, at prices in dollars of a whole unit.
#[expect(clippy::cast_precision_loss, reason = "a sum of parts needs no more than 50 bits")]
fn severe_dollars(world: &AccountWorld, prices: &[(Asset, u64)]) -> f64 {
    let transactions = world.accounts().transactions();
    let ledgers = world.accounts().ledgers().all();
    let of_ledger = ledgers.iter().map(|(_, number, ledger)| {
        let asset = transactions.asset(*number);
        let price = prices.iter().find(|(of, _)| Some(*of) == asset).map_or(0, |it| it.1);
        let unit = match asset {
            Some(USDC | USDT) => DOLLAR,
            Some(WBTC) => 100_000_000,
            _ => ETHER,
        };
        let severe = ledger.shares.severe() as f64 / WHOLE as f64;
        ledger.balance as f64 / unit as f64 * price as f64 * severe
    });
    of_ledger.sum()
}
