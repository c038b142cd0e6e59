//! The members of an economy and their first coins.

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_engine::{taxonomy::Category, utxo::ScriptOwner};

use super::{COIN, EconomySize, Member, Role, Simulation, first_day};
use crate::{
    wallets::{Fingerprint, WalletId, Wallets},
    world::{ChainBuilder, Claim, Claims, Form},
};

/// Percentage of people who make joint transactions.
const PRIVATE_PERCENT: u64 = 5;

/// Number of people of whom one is the subject of a report with low confidence.
const PEOPLE_FOR_A_REPORT: u64 = 100;

impl Simulation {
    /// The members that a seed determines, before the first day.
    pub(super) fn populate(seed: u64, size: EconomySize) -> Self {
        let chain = ChainBuilder::new(ChainId::BTC, seed, first_day());
        let mut simulation = Self {
            size,
            wallets: Wallets::new(chain),
            claims: Claims::default(),
            members: Vec::new(),
            by_role: BTreeMap::new(),
            accounts: BTreeMap::new(),
            private: Vec::new(),
            withdrawals: BTreeMap::new(),
            moves_left: BTreeMap::new(),
        };
        simulation.open_services();
        let people = size.people;
        for (role, count) in [
            (Role::Employer, people / 50 + 1),
            (Role::Merchant, people / 25 + 2),
            (Role::Miner, 3),
            (Role::Person, people),
            (Role::Thief, people / 200 + 1),
            (Role::Vendor, people / 200 + 1),
        ] {
            for _ in 0..count {
                let member = simulation.join(role);
                simulation.open_account(member);
            }
        }
        for person in simulation.all(Role::Person) {
            if simulation.happens(100 * PRIVATE_PERCENT) {
                simulation.private.push(person);
            }
            if simulation.happens(10_000 / PEOPLE_FOR_A_REPORT) {
                let reported = simulation.wallets.fresh_address(person);
                let report = Claim::reported(Category::Scam, 20, "reports");
                simulation.claims.label(&reported, report);
                let coins = simulation.wallets.chain.mine(&[(reported, COIN / 100)]);
                simulation.wallets.credit(coins);
            }
            let amount = simulation.dice().within(COIN / 20, 2 * COIN);
            simulation.withdraw(person, amount);
        }
        simulation
    }

    /// A new member.
    fn join(&mut self, role: Role) -> WalletId {
        let fingerprint = Fingerprint::random(self.dice());
        let wallet = self.wallets.open(fingerprint);
        self.register(role, wallet);
        wallet
    }

    fn register(&mut self, role: Role, wallet: WalletId) {
        assert_eq!(wallet, self.members.len(), "a member has one wallet");
        self.members.push(Member { role, is_exposed_by_choice: false });
        self.by_role.entry(role).or_default().push(wallet);
    }

    /// Adds a member whose change goes to one address, with `coins` mined coins of a value.
    fn join_with_home(&mut self, role: Role, coins: u64, value: u64) -> (WalletId, ScriptOwner) {
        let fingerprint = Fingerprint::service(Form::WitnessKey);
        let (wallet, home) = self.wallets.open_with_home(fingerprint);
        self.register(role, wallet);
        for _ in 0..coins {
            let made = self.wallets.chain.mine(&[(home.clone(), value)]);
            self.wallets.credit(made);
            self.hours(1);
        }
        (wallet, home)
    }

    /// Adds exchanges (two of three labelled), a mixer, a market, listed parties and a sender of dust.
    fn open_services(&mut self) {
        let reserve = COIN * (self.size.people + 200) / 20;
        for name in [Some("North Exchange"), Some("South Exchange"), None] {
            let (_, home) = self.join_with_home(Role::Exchange, 20, reserve);
            if let Some(name) = name {
                self.claims.label(&home, Claim::investigated(Category::Exchange, name));
            }
        }
        let (_, home) = self.join_with_home(Role::Mixer, 5, 20 * COIN);
        self.claims.label(&home, Claim::investigated(Category::Mixer, "Tumbler"));
        let (_, home) = self.join_with_home(Role::Market, 1, COIN);
        self.claims.label(&home, Claim::investigated(Category::DarknetMarket, "Bazaar"));
        let (_, home) = self.join_with_home(Role::Duster, 1, COIN);
        self.claims.label(&home, Claim::reported(Category::Scam, 60, "reports"));
        let day = |day: u64| {
            first_day() + jiff::SignedDuration::from_hours(24 * i64::try_from(day).expect("small"))
        };
        for (number, name) in ["DOE, Jane", "ROE, Richard", "POE, Pat"].into_iter().enumerate() {
            let (listed, home) = self.join_with_home(Role::Listed, 1, 20 * COIN);
            let since = self.size.days * (3 + number as u64) / 8;
            self.claims.list(&home, name, jiff::tz::TimeZone::UTC.to_datetime(day(since)).date());
            self.open_account(listed);
        }
    }

    /// Opens an account of a member at a random exchange: an address of the exchange.
    fn open_account(&mut self, member: WalletId) {
        let exchange = self.any(Role::Exchange);
        let account = self.wallets.fresh_address(exchange);
        self.accounts.insert(member, (exchange, account));
    }
}
