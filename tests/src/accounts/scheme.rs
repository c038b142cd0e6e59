//! Random laundering schemes of payments on account chains, and what the engine lets pass of them.
//!
//! A scheme has stolen money, accounts and clean capital of its own. Its measure is the value in accounts
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

use super::{AccountChain, AccountWorld, ETH, ETHER, USDT, chain::Move, move_of};

/// Number of moves of a scheme.
const MOVES: u32 = 25;
/// Most accounts of a scheme.
const MOST_ACCOUNTS: usize = 24;
/// Money of less than this many dollars is not moved.
const LEAST_DOLLARS: u64 = 1;

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
pub fn outcomes(seeds: Range<u64>) -> impl Iterator<Item = Outcome> {
    seeds.map(|seed| Scheme::new(seed).run())
}

/// A scheme in progress.
struct Scheme {
    seed: u64,
    dice: Random,
    chain: AccountChain,
    exchange: AccountAddress,
    /// Accounts of the scheme, the first one the thief's accomplice.
    accounts: Vec<AccountAddress>,
    /// Accounts that no stolen money reached yet.
    clean: BTreeSet<AccountAddress>,
    lender: AccountAddress,
    bundler: AccountAddress,
    router: AccountAddress,
    stolen: u64,
    capital: u64,
    told: Vec<String>,
}

impl Scheme {
    fn new(seed: u64) -> Self {
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
        let lender = chain.outsider();
        let accounts: [AccountAddress; 5] = chain.accounts();
        let builder = chain.account();
        let mut scheme = Self {
            seed,
            exchange,
            clean: accounts[1..].iter().copied().collect(),
            lender,
            bundler: chain.outsider(),
            router: chain.contract(),
            accounts: accounts.to_vec(),
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
        (asset, self.chain.units(asset, dollars))
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
        held.map(|(asset, amount)| self.chain.dollars(asset, amount)).sum()
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
                let worth =
                    held.filter(|(asset, it)| self.chain.dollars(*asset, *it) > LEAST_DOLLARS);
                holdings.extend(worth.map(|(asset, amount)| (account, asset, amount)));
            }
            if holdings.is_empty() {
                break;
            }
            let (account, asset, all) = *self.dice.pick(&holdings);
            let percent = u128::from(*self.dice.pick(&[10_u64, 25, 50, 90, 100, 100]));
            let amount = all * percent / 100;
            let told = self.pass(account, asset, amount);
            let place = |of| self.accounts.iter().position(|it| *it == of).unwrap_or(99);
            self.told.push(format!("{told} of {percent} % of {}", place(account)));
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

    /// One move.
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
                let forwarder = self.chain.contract();
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
                let dust = self.chain.units(asset, 9) / 10;
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
                    self.chain.pay(outsider, to, asset, self.chain.units(asset, 9) / 10);
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
}
