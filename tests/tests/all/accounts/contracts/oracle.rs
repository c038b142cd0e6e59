//! Ledgers of accounts that use contracts against exact fractions.

use std::{collections::BTreeSet, fmt};

use assay_engine::account::{
    AccountAddress, AccountLedger, AccountTransaction, Asset, AssetNumber, LedgerBook, MoneyEnds,
    OriginCode, OriginShare,
};
use assay_graph::account::{AccountLedgers, AccountTransactions};
use assay_tests::{
    accounts::{
        AccountWorld,
        contracts::scheme::chain_of,
        economy::{Economy, EconomySize},
        oracle::{
            Exact,
            contracts::{ContractMoney, Funds, Part},
        },
    },
    is_full,
};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

/// Bits of the largest difference of a share.
const PRECISION: u32 = 20;
/// Base units by which a ledger may differ beyond the precision: integers divide no unit, exact fractions do.
const UNITS: u32 = 64;
/// Ledgers of fewer dollars are not compared.
const LEAST_DOLLARS: u32 = 1;

/// The number of compared shares by the class of their difference.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    /// Shares within the precision.
    precise: u32,
    /// Shares beyond the precision that are within a few base units of the balance.
    of_units: u32,
    /// The largest difference of a precise share.
    largest: f64,
}

/// A ledger after a transaction that differs from the exact one.
#[derive(Debug)]
struct Difference {
    transaction: AccountTransaction,
    account: AccountAddress,
    asset: Asset,
    ledger: AccountLedger,
    exact: Funds,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transaction, account, asset, ledger, exact } = self;
        writeln!(
            formatter,
            "{account} {asset:?} after the transaction of {:?}",
            transaction.initiator
        )?;
        for it in &transaction.transfers {
            let (from, to) = (it.from, it.to);
            writeln!(formatter, "  {}: {from} to {to}, {} of {:?}", it.kind, it.amount, it.asset)?;
        }
        for fact in &transaction.contract_facts {
            writeln!(formatter, "  {} of {}: {}", fact.kind.as_str(), fact.contract, fact.account)?;
        }
        writeln!(formatter, "  the engine's balance: {}", ledger.balance)?;
        for share in ledger.shares.known() {
            let [far, near] = [share.far, share.near].map(|it| decimal(&share_of(it)));
            writeln!(formatter, "    {:?}: {far}, near {near}", share.origin.origin())?;
        }
        writeln!(formatter, "  the exact balance: {}", exact.amount)?;
        for (origin, part) in &exact.parts {
            let [far, near] = [&part.far, &part.near].map(|it| decimal(&(it / &exact.amount)));
            writeln!(formatter, "    {:?}: {far}, near {near}", origin.origin())?;
        }
        Ok(())
    }
}

/// An economy of which both implementations book the same transactions.
struct Comparison {
    world: AccountWorld,
    transactions: AccountTransactions,
    engine: AccountLedgers,
    oracle: ContractMoney,
    compared: Compared,
}

impl Comparison {
    fn new(world: AccountWorld) -> Self {
        let id = world.accounts().transactions().chain();
        let mut transactions = AccountTransactions::new(id);
        for transaction in world.accounts().transactions().transactions() {
            transactions.push(transaction.clone());
        }
        let ends = world.ends().iter();
        let ends: MoneyEnds = ends
            .filter_map(|(account, end)| Some((transactions.owner_number(*account)?, *end)))
            .collect();
        let engine = AccountLedgers::new(ends, world.prices().clone());
        let oracle = ContractMoney::new(id, world.ends().iter().copied(), world.prices().clone());
        Self { world, transactions, engine, oracle, compared: Compared::default() }
    }

    /// Books all transactions until a ledger differs.
    fn run(&mut self) -> Option<Difference> {
        let all = self.world.accounts().transactions().transactions().to_vec();
        for (transaction, booked) in all.into_iter().zip(1..) {
            self.engine.advance_to(&self.transactions, booked);
            self.oracle.read(&transaction);
            let different = self.first_difference(&transaction);
            if different.is_some() {
                return different;
            }
        }
        None
    }

    /// Compares the ledgers of all accounts that a transaction names.
    fn first_difference(&mut self, transaction: &AccountTransaction) -> Option<Difference> {
        let transfers = transaction.transfers.iter();
        let accounts: BTreeSet<AccountAddress> =
            transfers.flat_map(|it| [it.from, it.to]).collect();
        let chain = self.transactions.chain();
        let owners = accounts.into_iter().filter_map(|account| {
            self.transactions.owner_number(account).map(|owner| (account, owner))
        });
        let keys = owners.flat_map(|(account, owner)| {
            AssetNumber::all_scored(chain).map(move |number| (account, owner, number))
        });
        for (account, owner, number) in keys {
            let Some(ledger) = self.engine.ledger(owner, number) else { continue };
            let asset = self.transactions.asset(number).unwrap();
            let value =
                self.oracle.unit_value(asset, transaction.time) * BigInt::from(ledger.balance);
            let exact = self.oracle.ledger(account, asset);
            if value >= Exact::from_integer(LEAST_DOLLARS.into())
                && !is_equal(ledger, &exact, &mut self.compared)
            {
                let (transaction, ledger) = (transaction.clone(), ledger.clone());
                return Some(Difference { transaction, account, asset, ledger, exact });
            }
        }
        None
    }
}

/// Compares a ledger with the exact one.
fn is_equal(ledger: &AccountLedger, exact: &Funds, compared: &mut Compared) -> bool {
    let balance = Exact::from_integer(ledger.balance.into());
    let shares = ledger.shares.known();
    let mut origins: BTreeSet<OriginCode> = exact.parts.keys().copied().collect();
    origins.extend(shares.iter().map(|share| share.origin));
    if balance != exact.amount {
        return false;
    }
    for origin in origins {
        let known = shares.iter().find(|share| share.origin == origin);
        let (far, near) = known.map_or((0, 0), |OriginShare { far, near, .. }| (*far, *near));
        let nothing = Part { far: Exact::zero(), near: Exact::zero() };
        let part = exact.parts.get(&origin).unwrap_or(&nothing);
        for (share, part) in [(far, &part.far), (near, &part.near)] {
            let difference = (share_of(share) - part / &balance).abs();
            if difference <= Exact::new(1.into(), BigInt::from(1) << PRECISION) {
                compared.precise += 1;
                compared.largest = compared.largest.max(decimal(&difference));
            } else if &difference * &balance <= Exact::from_integer(UNITS.into()) {
                compared.of_units += 1;
            } else {
                return false;
            }
        }
    }
    true
}

/// A share in units of 2^-63 as an exact fraction.
fn share_of(share: u64) -> Exact {
    Exact::new(share.into(), BigInt::from(1) << 63)
}

fn decimal(fraction: &Exact) -> f64 {
    fraction.to_f64().unwrap_or(f64::NAN)
}

/// Compares economies, each with its name.
fn compare_all(worlds: impl Iterator<Item = (String, AccountWorld)>) -> Compared {
    let (mut all, mut different, mut transactions) = (Compared::default(), 0, 0);
    for (name, world) in worlds {
        let mut comparison = Comparison::new(world);
        if let Some(difference) = comparison.run() {
            different += 1;
            eprintln!("{name}: {difference}");
        }
        transactions += comparison.transactions.transactions().len();
        let Compared { precise, of_units, largest } = comparison.compared;
        all.precise += precise;
        all.of_units += of_units;
        all.largest = all.largest.max(largest);
    }
    eprintln!("{transactions} transactions, {all:?}");
    assert_eq!(different, 0, "economies with a ledger that differs");
    all
}

#[test]
fn ledgers_of_schemes_are_within_a_millionth_of_exact_fractions() {
    let schemes = if is_full() { 1_000 } else { 200 };
    let world = |seed| (format!("scheme {seed}"), AccountWorld::new(chain_of(seed)));
    let compared = compare_all((0..schemes).map(world));
    assert!(compared.precise > 10_000, "few shares: {compared:?}");
    assert!(compared.of_units < compared.precise / 1_000, "many of few units: {compared:?}");
}

#[test]
fn ledgers_of_simulated_people_are_within_a_millionth_of_exact_fractions() {
    let economies = if is_full() { 50 } else { 2 };
    let size = EconomySize { people: 30, days: 20, heat: 8 };
    let world = |seed| (format!("economy {seed}"), Economy::simulate(seed, size).world);
    let compared = compare_all((0..economies).map(world));
    assert!(compared.precise > 1_000, "few shares: {compared:?}");
    assert!(compared.of_units < compared.precise / 100, "many of few units: {compared:?}");
}
