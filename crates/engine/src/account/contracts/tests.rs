//! The rules of contracts on small economies whose ledgers are in memory.

use std::collections::HashMap;

use assay_address::ChainId;
use jiff::{Timestamp, civil::date};
use proptest::prelude::*;
use ruint::aliases::U256;

mod crafted;

use super::{AccountStates, DayPrices, DayValues, Held, Named};
use crate::{
    account::{
        AccountLedger, AssetNumber, ContractFactKind, DealingKey, LedgerBook, MoneyEnd, MoneyEnds,
        MoneyOrigin, Movement, MovementKind, NumberedTransaction, Payment, book, scored,
        shares::WHOLE,
    },
    ledger::{OwnerNumber, TransactionNumber},
    taxonomy::Category,
};

const STOLEN: MoneyOrigin = MoneyOrigin::Party(Category::StolenFunds, None);
const THIEF: u64 = 0;
const EXCHANGE: u64 = 1;
/// The first account with code.
const FIRST_CONTRACT: u64 = 6;
const ACCOUNTS: u64 = 9;
const ETHER: u128 = 1_000_000_000_000_000_000;
const DOLLAR: u128 = 1_000_000;
const TOKEN: AssetNumber = AssetNumber(300);

#[derive(Debug)]
struct Economy {
    ledgers: HashMap<(OwnerNumber, AssetNumber), AccountLedger>,
    states: AccountStates,
    payments: Vec<Payment>,
    ends: MoneyEnds,
    values: DayValues,
}

impl LedgerBook for Economy {
    fn ledger(&self, owner: OwnerNumber, asset: AssetNumber) -> Option<&AccountLedger> {
        self.ledgers.get(&(owner, asset))
    }

    fn ledger_mut(&mut self, owner: OwnerNumber, asset: AssetNumber) -> &mut AccountLedger {
        self.ledgers.entry((owner, asset)).or_default()
    }

    fn paid(&mut self, payment: Payment, _: bool) {
        self.payments.push(payment);
    }

    fn states(&self) -> &AccountStates {
        &self.states
    }

    fn states_mut(&mut self) -> &mut AccountStates {
        &mut self.states
    }

    fn dealt(&mut self, _: OwnerNumber, _: DealingKey, _: Timestamp, _: u128) {}
}

fn number_of(ticker: &str) -> AssetNumber {
    let assets = scored::of_chain(ChainId::ETH).iter();
    let position = assets.clone().position(|asset| asset.ticker == ticker).expect(ticker);
    AssetNumber(u32::try_from(position).unwrap())
}

fn eth() -> AssetNumber {
    number_of("ETH")
}

fn usdc() -> AssetNumber {
    number_of("USDC")
}

impl Economy {
    /// A thief, an exchange, people, and contracts; an ether costs 3,000 dollars.
    fn new() -> Self {
        let end = |category| MoneyEnd { category, listed_on: None };
        let ends = [
            (OwnerNumber(THIEF), end(Category::StolenFunds)),
            (OwnerNumber(EXCHANGE), end(Category::Exchange)),
        ];
        let price = |dollars: &str| dollars.parse().unwrap();
        let prices = DayPrices::of_stored(vec![(eth(), price("3000")), (usdc(), price("1"))]);
        let mut states = AccountStates::default();
        for contract in FIRST_CONTRACT..ACCOUNTS {
            states.mark_contract(OwnerNumber(contract));
        }
        Self {
            ledgers: HashMap::new(),
            states,
            payments: Vec::new(),
            ends: ends.into_iter().collect(),
            values: DayValues::of(ChainId::ETH, &prices),
        }
    }

    /// Economy a transaction of an account; new units of tokens come from nobody.
    fn book(
        &mut self,
        initiator: u64,
        transfers: &[(u64, u64, AssetNumber, u128)],
        named: &[Named],
    ) {
        let movements: Vec<Movement> = transfers
            .iter()
            .map(|(from, to, asset, amount)| Movement {
                kind: if *from == NOBODY && !asset.is_scored() {
                    MovementKind::New
                } else {
                    MovementKind::Payment
                },
                asset: *asset,
                is_scored: asset.is_scored(),
                from: OwnerNumber(*from),
                to: OwnerNumber(*to),
                amount: *amount,
            })
            .collect();
        let time = date(2026, 1, 1).at(0, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).unwrap();
        let transaction = NumberedTransaction {
            number: TransactionNumber(self.payments.len() as u64),
            time: time.timestamp(),
            initiator: Some(OwnerNumber(initiator)),
            movements: &movements,
            named,
        };
        let (ends, values) = (std::mem::take(&mut self.ends), std::mem::take(&mut self.values));
        book(&transaction, (&ends, &values), self);
        (self.ends, self.values) = (ends, values);
    }

    fn stolen(&self, owner: u64, asset: AssetNumber) -> f64 {
        let ledger = self.ledger(OwnerNumber(owner), asset).cloned().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "shown in per cent")]
        let share = ledger.shares.far(STOLEN) as f64 / WHOLE as f64;
        if ledger.balance == 0 { 0.0 } else { (share * 1e6).round() / 1e6 }
    }

    /// The value of all severe money in ledgers.
    fn severe(&self) -> U256 {
        let masses = self.ledgers.iter().map(|((_, asset), ledger)| {
            let mass = U256::from(ledger.shares.severe()) * U256::from(ledger.balance);
            (mass >> 63) * self.values.unit(*asset)
        });
        masses.fold(U256::ZERO, |sum, mass| sum + mass)
    }
}

const NOBODY: u64 = u64::MAX;
const PERSON: u64 = 2;
const FRIEND: u64 = 3;
const PROVIDER: u64 = 4;
const POOL: u64 = FIRST_CONTRACT;
const LENDING: u64 = FIRST_CONTRACT + 1;

/// A pool of clean ether and dollars, a person with 100 stolen ether, and a friend with 30 clean ones.
fn with_pool() -> Economy {
    let mut books = Economy::new();
    for (owner, asset, amount) in [
        (PROVIDER, eth(), 4_000 * ETHER),
        (PROVIDER, usdc(), 12_000_000 * DOLLAR),
        (FRIEND, eth(), 30 * ETHER),
    ] {
        books.book(EXCHANGE, &[(EXCHANGE, owner, asset, amount)], &[]);
    }
    let liquidity = [
        (PROVIDER, POOL, eth(), 4_000 * ETHER),
        (PROVIDER, POOL, usdc(), 12_000_000 * DOLLAR),
        (NOBODY, PROVIDER, TOKEN, 1_000),
    ];
    books.book(PROVIDER, &liquidity, &[]);
    books.book(THIEF, &[(THIEF, PERSON, eth(), 100 * ETHER)], &[]);
    books
}

#[test]
fn everybody_keeps_his_history_through_a_swap() {
    let mut books = with_pool();
    books.book(
        PERSON,
        &[(PERSON, POOL, eth(), 100 * ETHER), (POOL, PERSON, usdc(), 290_000 * DOLLAR)],
        &[],
    );
    // The stolen ether is stolen dollars, and the pool has what little it gained.
    assert!(books.stolen(PERSON, usdc()) > 0.999_999);
    assert!(books.stolen(POOL, eth()) < 0.001, "{}", books.stolen(POOL, eth()));
    // A friend who trades beside the thief gets nothing of it.
    books.book(
        FRIEND,
        &[(FRIEND, POOL, eth(), 30 * ETHER), (POOL, FRIEND, usdc(), 89_000 * DOLLAR)],
        &[],
    );
    assert!(books.stolen(FRIEND, usdc()) < 0.001, "{}", books.stolen(FRIEND, usdc()));
    // An exchange is no payment to its members.
    let received = books.payments.iter().filter(|it| it.to == OwnerNumber(FRIEND));
    assert!(received.skip(1).all(|it| it.kind == MovementKind::Exchange));
}

#[test]
fn a_loan_has_the_history_of_its_collateral() {
    let mut books = with_pool();
    books.book(PROVIDER, &[(PROVIDER, FRIEND, TOKEN, 1)], &[]);
    books.book(EXCHANGE, &[(EXCHANGE, LENDING, usdc(), 1_000_000 * DOLLAR)], &[]);
    books.book(PERSON, &[(PERSON, LENDING, eth(), 100 * ETHER)], &[]);
    books.book(PERSON, &[(LENDING, PERSON, usdc(), 200_000 * DOLLAR)], &[]);
    assert!(books.stolen(PERSON, usdc()) > 0.999_999, "{}", books.stolen(PERSON, usdc()));
    // And another borrower beside it none.
    books.book(FRIEND, &[(FRIEND, LENDING, eth(), 30 * ETHER)], &[]);
    books.book(FRIEND, &[(LENDING, FRIEND, usdc(), 50_000 * DOLLAR)], &[]);
    assert!(books.stolen(FRIEND, usdc()) < 0.001, "{}", books.stolen(FRIEND, usdc()));
}

#[test]
fn a_token_carries_what_was_paid_for_it() {
    let mut books = with_pool();
    // Given tokens that a thief's friend bought at one contract and handed on,
    books.book(EXCHANGE, &[(EXCHANGE, LENDING, usdc(), 1_000_000 * DOLLAR)], &[]);
    books.book(PERSON, &[(PERSON, POOL, eth(), 100 * ETHER), (POOL, PERSON, TOKEN, 50)], &[]);
    books.book(PERSON, &[(PERSON, FRIEND, TOKEN, 50)], &[]);
    // when they are sold at another one, then the money is the stolen one.
    books.book(
        FRIEND,
        &[(FRIEND, LENDING, TOKEN, 50), (LENDING, FRIEND, usdc(), 280_000 * DOLLAR)],
        &[],
    );
    assert!(books.stolen(FRIEND, usdc()) > 0.99, "{}", books.stolen(FRIEND, usdc()));
}

#[test]
fn nobody_takes_out_more_clean_money_than_there_is() {
    let mut books = Economy::new();
    books.book(EXCHANGE, &[(EXCHANGE, FRIEND, eth(), 10 * ETHER)], &[]);
    books.book(THIEF, &[(THIEF, PERSON, eth(), 90 * ETHER)], &[]);
    books.book(FRIEND, &[(FRIEND, POOL, eth(), 10 * ETHER)], &[]);
    books.book(PERSON, &[(PERSON, POOL, eth(), 90 * ETHER)], &[]);
    // Somebody who never put in anything draws all of it.
    books.book(5, &[(POOL, 5, eth(), 100 * ETHER)], &[]);
    assert!(books.stolen(5, eth()) > 0.899, "{}", books.stolen(5, eth()));
}

#[test]
fn an_event_names_whose_claim_it_is() {
    let mut books = with_pool();
    let named = |kind, account| Named {
        contract: OwnerNumber(LENDING),
        kind,
        account: OwnerNumber(account),
    };
    let deposit = [named(ContractFactKind::Beneficiary, 5)];
    books.book(PERSON, &[(PERSON, LENDING, eth(), 100 * ETHER)], &deposit);
    let claim = Held::Claim(OwnerNumber(LENDING));
    let holding = books.states.holding(OwnerNumber(5), claim).expect("a claim");
    assert!(holding.own.is_empty() && !holding.came.is_empty());
    // Whoever draws it for the named account gets its history.
    let drawn = [named(ContractFactKind::Holder, 5)];
    books.book(FRIEND, &[(LENDING, FRIEND, eth(), 50 * ETHER)], &drawn);
    assert!(books.stolen(FRIEND, eth()) > 0.6, "{}", books.stolen(FRIEND, eth()));
}

#[test]
fn money_that_came_for_an_asset_without_a_price_is_a_conversion() {
    let mut economy = with_pool();
    economy.values = DayValues::of(ChainId::ETH, &DayPrices::default());
    let swap = [(PERSON, POOL, eth(), 100 * ETHER), (POOL, PERSON, usdc(), 290_000 * DOLLAR)];
    economy.book(PERSON, &swap, &[]);
    let got = economy.ledger(OwnerNumber(PERSON), usdc()).unwrap();
    assert_eq!(got.shares.far(MoneyOrigin::Conversion), WHOLE, "{got:?}");
}

#[test]
fn a_deposit_for_another_beside_it_hides_no_severe_claim() {
    let mut economy = with_pool();
    let named = |account| Named {
        contract: OwnerNumber(LENDING),
        kind: ContractFactKind::Beneficiary,
        account: OwnerNumber(account),
    };
    // Given a thief's deposit for an accomplice, and one of nearly nothing for a stranger,
    let deposits = [(PERSON, LENDING, eth(), 100 * ETHER)];
    economy.book(PERSON, &deposits, &[named(FRIEND), named(5)]);
    // then both have the claim, and what the accomplice draws is stolen.
    economy.book(EXCHANGE, &[(EXCHANGE, LENDING, eth(), 1_000 * ETHER)], &[]);
    economy.book(5, &[(LENDING, 5, eth(), 90 * ETHER)], &[]);
    assert!(economy.stolen(5, eth()) > 0.99, "{}", economy.stolen(5, eth()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Random transfers between people and contracts, in two scored assets and a token, several of them in one transaction.
    #[test]
    fn severe_money_never_becomes_less(
        moves in prop::collection::vec(
            (0..7_u64, prop::collection::vec((2..ACCOUNTS, 2..ACCOUNTS, 0..4_u8, 1..100_u128), 1..5)),
            1..25,
        ),
    ) {
        let mut books = with_pool();
        books.book(THIEF, &[(THIEF, POOL, usdc(), 50_000 * DOLLAR)], &[]);
        books.book(THIEF, &[(THIEF, FRIEND, usdc(), 20_000 * DOLLAR)], &[]);
        let mut tokens: HashMap<u64, u128> = HashMap::from([(PROVIDER, 1_000)]);
        for (initiator, wanted) in moves {
            let before = books.severe();
            let mut balances: HashMap<(u64, AssetNumber), u128> = books
                .ledgers
                .iter()
                .map(|((owner, asset), ledger)| ((owner.0, *asset), ledger.balance))
                .collect();
            let mut transfers = Vec::new();
            for (from, to, asset, part) in wanted {
                if from == to {
                    continue;
                }
                match asset {
                    0 | 1 => {
                        let asset = if asset == 0 { eth() } else { usdc() };
                        let held = balances.get(&(from, asset)).copied().unwrap_or(0);
                        let amount = held / 100 * part;
                        if amount > 0 {
                            *balances.entry((from, asset)).or_default() -= amount;
                            *balances.entry((to, asset)).or_default() += amount;
                            transfers.push((from, to, asset, amount));
                        }
                    }
                    2 => {
                        let amount = tokens.get(&from).copied().unwrap_or(0) * part / 100;
                        if amount > 0 {
                            *tokens.entry(from).or_default() -= amount;
                            *tokens.entry(to).or_default() += amount;
                            transfers.push((from, to, TOKEN, amount));
                        }
                    }
                    _ => {
                        *tokens.entry(to).or_default() += part;
                        transfers.push((NOBODY, to, TOKEN, part));
                    }
                }
            }
            books.book(initiator, &transfers, &[]);
            let after = books.severe();
            // Rounding to base units.
            let least = before - (before >> 40) - super::value::dollars(1);
            prop_assert!(after >= least, "{before} {after} {transfers:?}");
            prop_assert!(!books.states.has(OwnerNumber::NOBODY));
            for ((owner, asset), ledger) in &books.ledgers {
                let sum: u128 = ledger.shares.known().iter().map(|it| u128::from(it.far)).sum();
                prop_assert!(sum <= u128::from(WHOLE), "{owner:?} {asset:?}");
                prop_assert!(ledger.shares.known().iter().all(|it| it.near <= it.far));
                prop_assert_eq!(
                    ledger.balance,
                    balances.get(&(owner.0, *asset)).copied().unwrap_or(0)
                );
            }
        }
    }
}
