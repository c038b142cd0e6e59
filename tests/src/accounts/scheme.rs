//! Random laundering schemes on account chains, and what the engine lets pass of them.
//!
//! A scheme has stolen money, accounts, contracts and clean capital of its own. Its measure is the value in accounts
//! that the engine allows, beyond its clean capital: with a share of 10 % from which on money is reviewed, a ninth of the
//! capital can be stolen.

use std::{collections::BTreeSet, fmt, ops::Range};

use assay_engine::{
    account::{AccountAddress, Asset, TransferKind},
    score::Verdict,
    taxonomy::Category,
};
use assay_test_random::Random;
use jiff::civil::date;

use super::{
    AccountChain, AccountWorld, DOLLAR, ETH, ETHER, ETHER_DOLLARS, Pool, USDC, USDT, chain::Move,
    move_of,
};

/// Number of moves of a scheme.
const MOVES: u32 = 25;
/// Most accounts of a scheme.
const MOST_ACCOUNTS: usize = 24;
/// Money of less than this many dollars is not moved.
const LEAST_DOLLARS: u64 = 1;

/// The moves that a scheme chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Payments of one asset only.
    Payments,
    /// Payments, and swaps through contracts.
    Swaps,
}

/// The end of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Seed of the scheme.
    pub seed: u64,
    /// Stolen dollars.
    pub stolen: u64,
    /// Dollars of clean capital.
    pub capital: u64,
    /// Dollars in accounts that are allowed with a complete answer.
    pub allowed: u64,
    /// Moves in words.
    pub moves: Vec<String>,
}

impl Outcome {
    /// Dollars in allowed accounts beyond the capital.
    #[must_use]
    pub const fn gain(&self) -> u64 {
        self.allowed.saturating_sub(self.capital)
    }

    /// True if more than a quarter of the stolen money, and more than the capital can hide, is in allowed accounts.
    #[must_use]
    pub fn is_laundered(&self) -> bool {
        let hidden_by_capital = self.capital * 103 / 900;
        self.gain() > hidden_by_capital.max(self.stolen / 4) + self.stolen / 50
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, stolen, capital, allowed, moves } = self;
        write!(
            formatter,
            "seed {seed}: {stolen} stolen, {capital} clean, {allowed} allowed: {}",
            moves.join("; ")
        )
    }
}

/// The outcomes of schemes of these seeds.
pub fn outcomes(seeds: Range<u64>, moves: Moves) -> impl Iterator<Item = Outcome> {
    seeds.map(move |seed| Scheme::new(seed, moves).run())
}

/// A scheme in progress.
struct Scheme {
    seed: u64,
    moves: Moves,
    dice: Random,
    chain: AccountChain,
    exchange: AccountAddress,
    /// Accounts of the scheme, the first one the thief's accomplice.
    accounts: Vec<AccountAddress>,
    /// Accounts that no stolen money reached yet.
    clean: BTreeSet<AccountAddress>,
    contracts: [AccountAddress; 2],
    lender: AccountAddress,
    bundler: AccountAddress,
    router: AccountAddress,
    pools: Vec<Pool>,
    own_pools: Vec<Pool>,
    stolen: u64,
    capital: u64,
    told: Vec<String>,
}

impl Scheme {
    fn new(seed: u64, moves: Moves) -> Self {
        let mut dice = Random::new(seed ^ 0xacc0);
        let mut chain = AccountChain::new();
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
        let provider = chain.outsider();
        let lender = chain.outsider();
        let mut pools = Vec::new();
        if moves == Moves::Swaps {
            for sides in [
                [(ETH, 4_000 * ETHER), (USDC, 12_000_000 * DOLLAR)],
                [(ETH, 4_000 * ETHER), (USDT, 12_000_000 * DOLLAR)],
                [(USDC, 10_000_000 * DOLLAR), (USDT, 10_000_000 * DOLLAR)],
            ] {
                // The provider's money came from the exchange.
                for (asset, amount) in sides {
                    chain.pay(exchange, provider, asset, amount);
                }
                pools.push(Pool::open(&mut chain, provider, sides));
            }
        }
        let accounts: [AccountAddress; 5] = chain.accounts();
        let builder = chain.account();
        let mut scheme = Self {
            seed,
            moves,
            exchange,
            clean: accounts[1..].iter().copied().collect(),
            contracts: chain.accounts(),
            lender,
            bundler: chain.outsider(),
            router: chain.account(),
            accounts: accounts.to_vec(),
            pools,
            own_pools: Vec::new(),
            stolen: *dice.pick(&[5_000, 30_000, 300_000]),
            capital: 0,
            told: Vec::new(),
            dice,
            chain,
        };
        let (asset, amount) = scheme.worth(scheme.stolen);
        scheme.chain.pay(thief, accounts[0], asset, amount);
        let tenths = *scheme.dice.pick(&[0, 0, 3, 10, 30, 60]);
        scheme.withdraw(accounts[4], scheme.stolen * tenths / 10);
        if scheme.dice.one_in(2) {
            scheme.chain.charge_fees(builder);
        }
        scheme
    }

    /// An amount of a random asset that is worth so many dollars.
    fn worth(&mut self, dollars: u64) -> (Asset, u128) {
        let asset = *self.dice.pick(&[ETH, ETH, USDT]);
        (asset, self.units(asset, dollars))
    }

    fn units(&self, asset: Asset, dollars: u64) -> u128 {
        let unit = if asset == ETH { ETHER } else { DOLLAR };
        u128::from(dollars) * unit / u128::from(self.chain.dollars_of(asset).unwrap_or(1))
    }

    fn dollars(asset: Asset, amount: u128) -> u64 {
        let dollars = match asset {
            ETH => amount * u128::from(ETHER_DOLLARS) / ETHER,
            USDT | USDC => amount / DOLLAR,
            _ => 0,
        };
        u64::try_from(dollars).unwrap_or(u64::MAX)
    }

    /// Clean capital from the exchange, in several payments.
    fn withdraw(&mut self, account: AccountAddress, dollars: u64) {
        for part in [5, 2, 3].map(|tenths| dollars * tenths / 10) {
            let (asset, amount) = self.worth(part);
            if amount > 0 {
                self.chain.pay(self.exchange, account, asset, amount);
                self.capital += part;
            }
        }
    }

    fn held(&self, account: AccountAddress) -> u64 {
        let held = self.chain.holdings(account).into_iter();
        held.map(|(asset, amount)| Self::dollars(asset, amount)).sum()
    }

    /// Follows which accounts stolen money has reached.
    fn note(&mut self, senders: &[AccountAddress], receivers: &[AccountAddress]) {
        let is_clean = |account: &AccountAddress| self.clean.contains(account);
        if !senders.iter().all(is_clean) {
            for receiver in receivers {
                self.clean.remove(receiver);
            }
        }
    }

    fn send(&mut self, sender: AccountAddress, moves: &[Move]) {
        let senders: Vec<_> = moves.iter().map(|(from, ..)| *from).collect();
        let receivers: Vec<_> = moves.iter().map(|(_, to, ..)| *to).collect();
        self.note(&senders, &receivers);
        self.chain.send(sender, moves);
    }

    fn pay(&mut self, from: AccountAddress, to: AccountAddress, asset: Asset, amount: u128) {
        let amount = amount.min(self.chain.balance(from, asset));
        if amount > 0 {
            self.send(from, &[(from, to, asset, amount)]);
        }
    }

    fn other(&mut self, than: AccountAddress) -> AccountAddress {
        let others: Vec<_> = self.accounts.iter().copied().filter(|it| *it != than).collect();
        *self.dice.pick(&others)
    }

    fn fresh(&mut self) -> AccountAddress {
        if self.accounts.len() >= MOST_ACCOUNTS {
            return *self.dice.pick(&self.accounts.clone());
        }
        let account = self.chain.account();
        self.accounts.push(account);
        self.clean.insert(account);
        account
    }

    fn run(mut self) -> Outcome {
        for _ in 0..MOVES {
            if self.dice.one_in(3) {
                let days = u32::try_from(self.dice.within(1, 12)).expect("few days");
                self.chain.wait_days(days);
            }
            let mut holdings = Vec::new();
            for account in self.accounts.clone() {
                let held = self.chain.holdings(account).into_iter();
                let worth = held.filter(|(asset, it)| Self::dollars(*asset, *it) > LEAST_DOLLARS);
                holdings.extend(worth.map(|(asset, amount)| (account, asset, amount)));
            }
            if holdings.is_empty() {
                break;
            }
            let (account, asset, all) = *self.dice.pick(&holdings);
            let percent = u128::from(*self.dice.pick(&[10_u64, 25, 50, 90, 100, 100]));
            let amount = all * percent / 100;
            let is_swap = self.moves == Moves::Swaps && self.dice.one_in(2);
            let told = if is_swap {
                self.swap(account, asset, amount)
            } else {
                self.pass(account, asset, amount)
            };
            let place = |of| self.accounts.iter().position(|it| *it == of).unwrap_or(99);
            self.told.push(format!("{told} of {percent} % of {}", place(account)));
        }
        if self.moves == Moves::Swaps {
            self.empty_contracts();
        }
        if self.dice.one_in(4) {
            self.chain.wait_days(100);
        }
        self.chain.wait_days(25);
        let held: Vec<_> = self.accounts.iter().map(|it| (*it, self.held(*it))).collect();
        let world = AccountWorld::new(self.chain);
        let allowed = held.into_iter().filter(|(account, dollars)| {
            *dollars > 0 && {
                let answer = world.assess(*account);
                answer.verdict == Verdict::Allow && answer.complete
            }
        });
        Outcome {
            seed: self.seed,
            stolen: self.stolen,
            capital: self.capital,
            allowed: allowed.map(|(_, dollars)| dollars).sum(),
            moves: self.told,
        }
    }

    /// One move without a contract that swaps.
    fn pass(&mut self, from: AccountAddress, asset: Asset, amount: u128) -> &'static str {
        match self.dice.below(19) {
            0..=7 => self.pay_out(from, asset, amount),
            8..=13 => self.go_round(from, asset, amount),
            _ => self.disguise(from, asset, amount),
        }
    }

    /// A payment, through others or not.
    fn pay_out(&mut self, from: AccountAddress, asset: Asset, amount: u128) -> &'static str {
        let to = self.other(from);
        match self.dice.below(8) {
            0..=2 => {
                self.pay(from, to, asset, amount);
                "payment"
            }
            3 | 4 => {
                let fresh = self.fresh();
                self.pay(from, fresh, asset, amount);
                "payment to a new account"
            }
            5 => {
                let count = *self.dice.pick(&[2_usize, 3, 5]);
                let payees: Vec<_> = (0..count).map(|_| self.fresh()).collect();
                let router = self.router;
                let part = amount / count as u128;
                let mut moves = vec![(from, router, asset, part * count as u128)];
                moves.extend(payees.into_iter().map(|payee| (router, payee, asset, part)));
                self.send(from, &moves);
                "multisend"
            }
            6 => {
                let forwarder = self.chain.account();
                let sender = *self.dice.pick(&[from, to, self.bundler]);
                self.send(
                    sender,
                    &[(from, forwarder, asset, amount), (forwarder, to, asset, amount)],
                );
                "forwarder"
            }
            _ => {
                let (lender, big) = (self.lender, 20 * amount);
                let lent = [(lender, from, asset, big), (from, lender, asset, big)];
                let [out, back] = lent;
                self.chain.send(from, &[out, (from, to, asset, amount), back]);
                self.note(&[from], &[to]);
                "flash loan"
            }
        }
    }

    /// Payments that go round, or of small sums, or through deposit addresses.
    fn go_round(&mut self, from: AccountAddress, asset: Asset, amount: u128) -> &'static str {
        let to = self.other(from);
        match self.dice.within(8, 13) {
            8 => {
                for _ in 0..*self.dice.pick(&[3, 10]) {
                    self.pay(from, to, asset, amount);
                    self.pay(to, from, asset, amount - amount / 1_000);
                }
                "circles"
            }
            9 => {
                let third = self.other(from);
                for _ in 0..*self.dice.pick(&[3, 10, 40]) {
                    self.pay(from, to, asset, amount);
                    self.pay(to, third, asset, amount);
                    self.pay(third, from, asset, amount);
                }
                "ring"
            }
            10 => {
                for _ in 0..20 {
                    self.pay(from, to, asset, amount / 20);
                }
                "small payments"
            }
            11 => {
                let dust = self.units(asset, 9) / 10;
                for _ in 0..*self.dice.pick(&[20, 60]) {
                    self.pay(from, to, asset, dust);
                }
                "dust"
            }
            12 => {
                // All money of clean accounts may go through the exchange and come back.
                if self.clean.contains(&from) {
                    for _ in 0..*self.dice.pick(&[1, 5, 30]) {
                        let amount = amount.min(self.chain.balance(from, asset));
                        self.pay(from, self.exchange, asset, amount);
                        self.chain.pay(self.exchange, from, asset, amount);
                    }
                    return "circles with the exchange";
                }
                let deposit = self.chain.account();
                self.pay(from, deposit, asset, amount / 4);
                self.pay(deposit, self.exchange, asset, amount / 4);
                "deposit"
            }
            _ => {
                // An account becomes a deposit address first.
                let deposit = self.fresh();
                for _ in 0..3 {
                    let asset_of_gas = ETH;
                    self.chain.pay(self.exchange, deposit, asset_of_gas, ETHER / 1_000);
                    self.pay(deposit, self.exchange, asset_of_gas, ETHER / 1_000);
                }
                self.pay(from, deposit, asset, amount);
                "payment to a used deposit address"
            }
        }
    }

    /// A payment in the guise of another, or beside others.
    fn disguise(&mut self, from: AccountAddress, asset: Asset, amount: u128) -> &'static str {
        let to = self.other(from);
        match self.dice.within(14, 18) {
            14 if asset == ETH => {
                let fee = move_of(TransferKind::Fee, (from, to, ETH, amount * 9 / 10));
                self.note(&[from], &[to]);
                self.chain.transact(from, vec![fee]);
                "fee"
            }
            15 => {
                // A payer that nobody knows sends what it had before the first block.
                let outsider = self.chain.outsider();
                for _ in 0..*self.dice.pick(&[1, 30]) {
                    self.chain.pay(outsider, to, asset, self.units(asset, 9) / 10);
                }
                self.pay(from, to, asset, amount);
                "payment after dust of others"
            }
            16 => {
                let moves = [
                    (from, from, asset, amount),
                    (from, to, asset, 0),
                    (self.exchange, to, asset, 0),
                    (from, to, asset, amount),
                ];
                let sender = *self.dice.pick(&[from, to]);
                self.note(&[from], &[to]);
                self.chain.send(sender, &moves);
                "payments to itself and of nothing"
            }
            17 => {
                let third = self.other(from);
                let half = amount / 2;
                self.note(&[from], &[to, third]);
                self.chain.send(
                    from,
                    &[
                        (from, self.router, asset, amount),
                        (self.router, to, asset, amount),
                        (to, third, asset, half),
                        (third, self.router, asset, half / 2),
                        (self.router, from, asset, half / 2),
                    ],
                );
                "payments in a circle within a transaction"
            }
            _ => {
                // A payment together with clean money of another account, of which both get a part.
                let third = self.other(from);
                let own = self.chain.balance(third, asset);
                let all = own + amount;
                if third == to || own == 0 {
                    return "nothing";
                }
                self.send(
                    from,
                    &[
                        (from, self.router, asset, amount),
                        (third, self.router, asset, own),
                        (self.router, to, asset, all / 2),
                        (self.router, third, asset, all - all / 2),
                    ],
                );
                "common purse"
            }
        }
    }

    /// One move with a contract that swaps.
    fn swap(&mut self, from: AccountAddress, asset: Asset, amount: u128) -> &'static str {
        let other = self.other(from);
        let to = *self.dice.pick(&[from, other]);
        self.note(&[from], &[to]);
        let sender = *self.dice.pick(&[from, from, self.bundler]);
        match self.dice.below(9) {
            0 | 1 => {
                let pools: Vec<Pool> =
                    self.pools.iter().copied().filter(|it| it.assets.contains(&asset)).collect();
                let Some(pool) = pools.first().map(|_| *self.dice.pick(&pools)) else {
                    return "nothing";
                };
                if self.dice.one_in(2) {
                    let parties = (from, self.router, to);
                    pool.swap_through(&mut self.chain, parties, asset, amount);
                    return "swap through a router";
                }
                pool.swap_to(&mut self.chain, (from, to), asset, amount);
                "swap"
            }
            2 => {
                let token = self.chain.token();
                self.chain.mint(token, from, 1_000_000_000);
                let own = amount.min(self.chain.balance(from, asset));
                let own = (own / *self.dice.pick(&[1, 10, 10_000])).max(1);
                let pool = Pool::open(&mut self.chain, from, [(token, 900_000_000), (asset, own)]);
                self.own_pools.push(pool);
                "pool of an own token"
            }
            3 => {
                let pools = self.own_pools.clone();
                let Some(pool) = pools.iter().find(|it| it.assets.contains(&asset)) else {
                    return "nothing";
                };
                pool.swap_to(&mut self.chain, (from, to), asset, amount);
                "purchase of an own token"
            }
            4 => {
                self.sell_own_token();
                "sale of an own token"
            }
            5 => {
                self.pull();
                "pulled pool"
            }
            6 => {
                let contract = *self.dice.pick(&self.contracts);
                self.chain.send(sender, &[(from, contract, asset, amount)]);
                "payment into a contract"
            }
            7 => {
                let contract = *self.dice.pick(&self.contracts);
                let held = self.chain.holdings(contract);
                if held.is_empty() {
                    return "nothing";
                }
                let (of, all) = *self.dice.pick(&held);
                self.clean.remove(&to);
                self.chain.send(sender, &[(contract, to, of, all / *self.dice.pick(&[1, 2, 4]))]);
                "payment out of a contract"
            }
            _ => {
                // A swap at contracts of the scheme: one gets, the same or the other one pays.
                let (gets, pays) =
                    (*self.dice.pick(&self.contracts), *self.dice.pick(&self.contracts));
                let held: Vec<_> = self.chain.holdings(pays);
                let Some((of, all)) = held.into_iter().find(|(of, _)| *of != asset) else {
                    return "nothing";
                };
                let paid = all.min(self.units(of, Self::dollars(asset, amount)));
                self.clean.remove(&to);
                self.chain.send(sender, &[(from, gets, asset, amount), (pays, to, of, paid)]);
                "swap at own contracts"
            }
        }
    }

    fn sell_own_token(&mut self) {
        for pool in self.own_pools.clone() {
            let [token, _] = pool.assets;
            let holder = self.accounts.iter().find(|it| self.chain.balance(**it, token) > 0);
            if let Some(holder) = holder.copied() {
                let other = self.other(holder);
                let to = *self.dice.pick(&[holder, other]);
                let amount = self.chain.balance(holder, token);
                self.clean.remove(&to);
                pool.swap_to(&mut self.chain, (holder, to), token, amount);
                return;
            }
        }
    }

    /// Takes all out of an own pool.
    fn pull(&mut self) {
        let Some(pool) = self.own_pools.pop() else { return };
        let to = *self.dice.pick(&self.accounts.clone());
        let shares = self.chain.token();
        self.chain.mint(shares, to, 1);
        let mut moves = Vec::new();
        if self.dice.one_in(2) {
            moves.push((to, pool.contract, shares, 1));
        }
        for asset in pool.assets {
            moves.push((pool.contract, to, asset, self.chain.balance(pool.contract, asset)));
        }
        self.clean.remove(&to);
        self.chain.send(to, &moves);
    }

    /// Takes all out of the scheme's contracts.
    fn empty_contracts(&mut self) {
        while !self.own_pools.is_empty() {
            self.sell_own_token();
            self.pull();
        }
        for contract in self.contracts {
            for (asset, amount) in self.chain.holdings(contract) {
                let to = *self.dice.pick(&self.accounts.clone());
                self.chain.send(to, &[(contract, to, asset, amount)]);
            }
        }
    }
}
