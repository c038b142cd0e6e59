//! Account chains of the demo data set: transactions built from the scenarios, equal on every machine.
//!
//! `scenario` is the form of a scenario; `ethereum` and `tron` are the two.

mod ethereum;
mod scenario;
mod tron;

use std::collections::{BTreeMap, HashMap};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, AssetId, FreezeEvent, PublishedPlace, Transfer,
        TransferKind, TransferPlace, UsdPrice,
    },
    policy::Quantity,
    utxo::Txid,
};
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use ruint::aliases::U256;
use sha2::{Digest, Sha256};

use crate::{chain::ScenarioError, scenario::Wallet, world};
use ethereum::ETHEREUM;
use scenario::{AccountScenario, Freeze, Move, SampleAsset, Step};
use tron::TRON;

/// Name of an account that looks like another one.
const LOOKALIKE: &str = "a look-alike";
/// The account that it looks like.
const IMITATED: Wallet = Wallet { name: "Joiner's workshop", index: 0 };
/// Tokens of the demo data set.
const EMBER: Wallet = Wallet { name: "the token Ember", index: 0 };
const FALSE_DOLLAR: Wallet = Wallet { name: "a false dollar token", index: 0 };
/// The account that freezes dollars.
const ISSUER: Wallet = Wallet { name: "the issuer of the dollar", index: 0 };
/// Parties with one key on all chains: those who use a bridge.
const ONE_KEY: [&str; 2] = ["Remo", "Gerd"];
/// The account chains.
const SCENARIOS: [AccountScenario; 2] = [ETHEREUM, TRON];

/// An account chain of the demo data set.
#[derive(Clone, Debug)]
pub struct SampleAccounts {
    /// The chain.
    pub chain: ChainId,
    /// Its transactions in their order.
    pub transactions: Vec<AccountTransaction>,
    /// Symbols of tokens that bear the name of another one, by contract.
    pub lookalike_symbols: BTreeMap<AccountAddress, String>,
}

/// Builds the account chains from the scenarios.
///
/// # Errors
///
/// Returns an error if a transaction of a scenario is impossible.
pub fn account_chains() -> Result<Vec<SampleAccounts>, ScenarioError> {
    SCENARIOS.iter().map(account_chain).collect()
}

fn account_chain(scenario: &'static AccountScenario) -> Result<SampleAccounts, ScenarioError> {
    let mut builder = Builder { scenario, balances: HashMap::new() };
    let steps = scenario.steps.iter().map(|step| (step.day, Event::Step(step)));
    let freezes = scenario.freezes.iter().map(|freeze| (freeze.day, Event::Freeze(freeze)));
    let mut events: Vec<_> = steps.chain(freezes).collect();
    // Days are written so that they sort as texts.
    events.sort_by_key(|(day, _)| *day);
    let events = (0_u64..).zip(events);
    let transactions = events.map(|(place, (day, event))| builder.transaction(place, day, event));
    let transactions = transactions.collect::<Result<_, _>>()?;
    Ok(SampleAccounts {
        chain: scenario.chain,
        transactions,
        lookalike_symbols: lookalike_symbols(scenario)?,
    })
}

/// Event that a transaction records.
#[derive(Clone, Copy, Debug)]
enum Event {
    Step(&'static Step),
    Freeze(&'static Freeze),
}

/// Symbols of the chain's tokens that bear the name of another one, by contract.
fn lookalike_symbols(
    scenario: &AccountScenario,
) -> Result<BTreeMap<AccountAddress, String>, ScenarioError> {
    let mut moves = scenario.steps.iter().flat_map(|step| step.moves);
    if moves.all(|moved| moved.asset != SampleAsset::FalseDollar) {
        return Ok(BTreeMap::new());
    }
    let contract = account(FALSE_DOLLAR, scenario.chain)?;
    Ok([(contract, "USDT".to_owned())].into())
}

/// Prices of the chains' coins.
#[must_use]
pub fn prices() -> Vec<(AssetId, Date, UsdPrice)> {
    let of_chain = |scenario: &AccountScenario| {
        let coin = AssetId::native(scenario.chain);
        let prices = scenario.prices.iter();
        prices.filter_map(move |(day, price)| Some((coin, day.parse().ok()?, price.parse().ok()?)))
    };
    SCENARIOS.iter().flat_map(of_chain).collect()
}

/// A chain while it is built.
struct Builder {
    scenario: &'static AccountScenario,
    balances: HashMap<(AccountAddress, Asset), u128>,
}

impl Builder {
    fn transaction(
        &mut self,
        place: u64,
        day: &'static str,
        event: Event,
    ) -> Result<AccountTransaction, ScenarioError> {
        let date: Date = day.parse().map_err(|_| ScenarioError::Day(day))?;
        let (block, time) = self.moment(date, place).ok_or(ScenarioError::Day(day))?;
        let sender = self.account(match event {
            Event::Step(step) => step.sender,
            Event::Freeze(_) => ISSUER,
        })?;
        let (mut transfers, mut freezes) = (Vec::new(), Vec::new());
        match event {
            Event::Step(step) => {
                for (number, moved) in (0..).zip(step.moves) {
                    transfers.push(self.transfer(step, moved, number)?);
                }
            }
            Event::Freeze(freeze) => freezes.push(FreezeEvent {
                asset: self.dollar()?,
                account: self.account(freeze.account)?,
                change: freeze.change,
                log: 100,
            }),
        }
        transfers.extend(self.fees(sender, transfers.len())?);
        Ok(AccountTransaction {
            block,
            time,
            id: Txid::from_bytes(Sha256::digest(format!("{place}: {event:?}")).into()),
            initiator: Some(sender),
            transfers,
            contract_facts: Vec::new(),
            freezes,
            delegations: Vec::new(),
            messages: Vec::new(),
        })
    }

    fn transfer(
        &mut self,
        step: &'static Step,
        moved: &'static Move,
        number: u32,
    ) -> Result<Transfer, ScenarioError> {
        let (asset, decimals) = self.asset(moved.asset)?;
        let amount = amount(step.day, moved.amount, decimals)?;
        let (from, to) = (self.account(moved.from)?, self.account(moved.to)?);
        if is_funded(moved.from, moved.asset) {
            *self.balances.entry((from, asset)).or_default() += amount;
        }
        self.take(step, (from, asset), moved.from, amount)?;
        *self.balances.entry((to, asset)).or_default() += amount;
        let published = match asset {
            Asset::Native => PublishedPlace::Trace(number.to_string().into()),
            Asset::Token(_) | Asset::Numbered(_) => PublishedPlace::Log(100 + number),
        };
        Ok(Transfer {
            kind: TransferKind::Transfer,
            asset,
            from,
            to,
            amount: U256::from(amount),
            place: TransferPlace { index: number, published: Some(published) },
        })
    }

    fn take(
        &mut self,
        step: &'static Step,
        key: (AccountAddress, Asset),
        payer: Wallet,
        amount: u128,
    ) -> Result<(), ScenarioError> {
        let held = self.balances.entry(key).or_default();
        let too_little = || ScenarioError::TooLittle {
            day: step.day,
            payer: payer.name,
            wanted: amount,
            held: *held,
        };
        *held = held.checked_sub(amount).ok_or_else(too_little)?;
        Ok(())
    }

    /// The fees of a transaction; none if others pay them for the sender.
    fn fees(
        &mut self,
        sender: AccountAddress,
        from: usize,
    ) -> Result<Vec<Transfer>, ScenarioError> {
        let fees = self.scenario.fees;
        let held = self.balances.entry((sender, Asset::Native)).or_default();
        let Some(rest) = held.checked_sub(fees.iter().map(|fee| fee.amount).sum()) else {
            return Ok(Vec::new());
        };
        *held = rest;
        let fees = fees.iter().enumerate().map(|(index, fee)| {
            let to = fee.to.map_or(Ok(AccountAddress::ZERO), |to| self.account(to))?;
            Ok(Transfer {
                kind: TransferKind::Fee,
                asset: Asset::Native,
                from: sender,
                to,
                amount: U256::from(fee.amount),
                place: TransferPlace {
                    index: u32::try_from(from + index).unwrap_or(u32::MAX),
                    published: None,
                },
            })
        });
        fees.collect()
    }

    /// The block and the time of a transaction by its day and its place in the chain.
    fn moment(&self, day: Date, place: u64) -> Option<(u64, Timestamp)> {
        let of_day = days_since_start(day) * self.scenario.blocks_a_day;
        let noon = day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?;
        let seconds = i64::try_from(place).ok()? * self.scenario.seconds_a_block;
        let time = noon.timestamp().checked_add(seconds.seconds()).ok()?;
        Some((self.scenario.first_height + of_day + place, time))
    }

    fn account(&self, wallet: Wallet) -> Result<AccountAddress, ScenarioError> {
        account(wallet, self.scenario.chain)
    }

    fn dollar(&self) -> Result<Asset, ScenarioError> {
        let dollar = self.scenario.dollar;
        Asset::parse(self.scenario.chain, dollar).map_err(|_| ScenarioError::Nobody(dollar))
    }

    /// An asset with its decimals.
    fn asset(&self, asset: SampleAsset) -> Result<(Asset, u8), ScenarioError> {
        match asset {
            SampleAsset::Coin => Ok((Asset::Native, self.scenario.coin_decimals)),
            SampleAsset::Dollar => Ok((self.dollar()?, 6)),
            SampleAsset::Ember => Ok((Asset::Token(self.account(EMBER)?), 6)),
            SampleAsset::FalseDollar => Ok((Asset::Token(self.account(FALSE_DOLLAR)?), 6)),
        }
    }
}

/// True for parties whose money is not explained: services, and issuers of tokens.
fn is_funded(party: Wallet, asset: SampleAsset) -> bool {
    let services = [
        "Harbor Lane Exchange",
        "Meridian Square Exchange",
        "Causeway Bridge",
        "Quiet River Mixer",
    ];
    services.contains(&party.name) || matches!(asset, SampleAsset::Ember | SampleAsset::FalseDollar)
}

/// The account of a wallet. A look-alike has the first and last bytes of the account that it imitates.
fn account(wallet: Wallet, chain: ChainId) -> Result<AccountAddress, ScenarioError> {
    if wallet.name == LOOKALIKE {
        let AccountAddress([a, b, .., y, z]) = account(IMITATED, chain)?;
        let mut account = own_account(wallet, chain)?;
        let AccountAddress([first, second, .., before, last]) = &mut account;
        (*first, *second, *before, *last) = (a, b, y, z);
        return Ok(account);
    }
    // One key has the same twenty bytes on every chain with accounts of Ethereum's form.
    let chain = if ONE_KEY.contains(&wallet.name) { ChainId::ETH } else { chain };
    own_account(wallet, chain)
}

fn own_account(wallet: Wallet, chain: ChainId) -> Result<AccountAddress, ScenarioError> {
    let address = world::address(wallet.name, chain, wallet.index);
    let found = address.and_then(|address| AccountAddress::of(&address));
    found.ok_or(ScenarioError::Nobody(wallet.name))
}

fn amount(day: &'static str, text: &'static str, decimals: u8) -> Result<u128, ScenarioError> {
    let quantity: Quantity =
        text.parse().map_err(|_| ScenarioError::Amount { day, amount: text })?;
    Ok(quantity.base_units(decimals))
}

fn days_since_start(day: Date) -> u64 {
    let start = jiff::civil::date(2025, 1, 6);
    u64::try_from(start.duration_until(day).as_hours() / 24).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chains_are_possible_and_in_order() {
        let chains = account_chains().unwrap();
        for (built, scenario) in chains.iter().zip(&SCENARIOS) {
            let transactions = &built.transactions;
            assert_eq!(transactions.len(), scenario.steps.len() + scenario.freezes.len());
            assert!(transactions.is_sorted_by(|a, b| (a.block, a.time) < (b.block, b.time)));
        }
        let of_scenarios: usize = SCENARIOS.iter().map(|scenario| scenario.prices.len()).sum();
        assert_eq!(prices().len(), of_scenarios, "each price can be read");
    }
}
