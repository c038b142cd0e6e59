//! Ethereum chain of the demo data set: transactions built from the scenario, equal on every machine.

mod scenario;

use std::collections::{BTreeMap, HashMap};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, AssetId, PublishedPlace, Transfer, TransferKind,
        TransferPlace, UsdPrice,
    },
    policy::Quantity,
    utxo::Txid,
};
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use ruint::aliases::U256;
use sha2::{Digest, Sha256};

use crate::{chain::ScenarioError, scenario::Wallet, world};
use scenario::{Move, PRICES, STEPS, SampleAsset, Step};

/// Height of the first block.
const FIRST_HEIGHT: u64 = 21_560_000;
/// Blocks of a day.
const BLOCKS_A_DAY: u64 = 7_200;
/// Fee of a transaction to the producer of its block, in base units, if the sender can pay it.
const PRIORITY_FEE: u128 = 40_000_000_000_000;
/// Fee of a transaction that is destroyed.
const BASE_FEE: u128 = 300_000_000_000_000;
/// Name of the producer of all blocks.
const PRODUCER: Wallet = Wallet { name: "a block producer", index: 0 };
/// Name of an account that looks like another one.
const LOOKALIKE: &str = "a look-alike";
/// The account that it looks like.
const IMITATED: Wallet = Wallet { name: "Joiner's workshop", index: 0 };
/// The dollar token: USDT on Ethereum.
const DOLLAR: &str = "0xdAC17F958D2ee523a2206206994597C13D831ec7";

/// Builds the transactions of the demo chain from the scenario, in the order of the chain.
///
/// # Errors
///
/// Returns an error if a transaction of the scenario is impossible.
pub fn transactions() -> Result<Vec<AccountTransaction>, ScenarioError> {
    let mut built = Builder::default();
    let mut steps: Vec<&Step> = STEPS.iter().collect();
    // Days are written so that they sort as texts.
    steps.sort_by_key(|step| step.day);
    steps.into_iter().enumerate().map(|(index, step)| built.transaction(index, step)).collect()
}

/// Symbols of tokens that bear the name of another one, by contract.
///
/// # Errors
///
/// Returns an error if the scenario has no such token.
pub fn lookalike_symbols() -> Result<BTreeMap<AccountAddress, String>, ScenarioError> {
    let (found, _) = asset(SampleAsset::FalseDollar)?;
    let contract = match found {
        Asset::Token(contract) => Some((contract, "USDT".to_owned())),
        Asset::Native | Asset::Numbered(_) => None,
    };
    Ok(contract.into_iter().collect())
}

/// Prices of the demo chain's coin.
#[must_use]
pub fn prices() -> Vec<(AssetId, Date, UsdPrice)> {
    let ether = AssetId::native(ChainId::ETH);
    let prices = PRICES
        .iter()
        .filter_map(|(day, price)| Some((ether, day.parse().ok()?, price.parse().ok()?)));
    prices.collect()
}

/// Balances while the chain is built.
#[derive(Default)]
struct Builder {
    balances: HashMap<(AccountAddress, Asset), u128>,
}

impl Builder {
    fn transaction(
        &mut self,
        index: usize,
        step: &'static Step,
    ) -> Result<AccountTransaction, ScenarioError> {
        let day: Date = step.day.parse().map_err(|_| ScenarioError::Day(step.day))?;
        let place = u64::try_from(index).unwrap_or_default();
        let time = time(day, place).ok_or(ScenarioError::Day(step.day))?;
        let sender = account(step.sender)?;
        let mut transfers = Vec::new();
        for (number, moved) in (0..).zip(step.moves) {
            transfers.push(self.transfer(step, moved, number)?);
        }
        transfers.extend(self.fees(sender, transfers.len())?);
        Ok(AccountTransaction {
            block: FIRST_HEIGHT + days_since_start(day) * BLOCKS_A_DAY + place,
            time,
            id: Txid::from_bytes(Sha256::digest(format!("{index}: {step:?}")).into()),
            initiator: Some(sender),
            transfers,
            contract_facts: Vec::new(),
            freezes: Vec::new(),
        })
    }

    fn transfer(
        &mut self,
        step: &'static Step,
        moved: &'static Move,
        number: u32,
    ) -> Result<Transfer, ScenarioError> {
        let (asset, decimals) = asset(moved.asset)?;
        let amount = amount(step.day, moved.amount, decimals)?;
        let (from, to) = (account(moved.from)?, account(moved.to)?);
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
        let held = self.balances.entry((sender, Asset::Native)).or_default();
        let Some(rest) = held.checked_sub(PRIORITY_FEE + BASE_FEE) else { return Ok(Vec::new()) };
        *held = rest;
        let producer = account(PRODUCER)?;
        let fees = [(producer, PRIORITY_FEE), (AccountAddress::ZERO, BASE_FEE)];
        let fees = fees.into_iter().enumerate().map(|(index, (to, amount))| Transfer {
            kind: TransferKind::Fee,
            asset: Asset::Native,
            from: sender,
            to,
            amount: U256::from(amount),
            place: TransferPlace {
                index: u32::try_from(from + index).unwrap_or(u32::MAX),
                published: None,
            },
        });
        Ok(fees.collect())
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
fn account(wallet: Wallet) -> Result<AccountAddress, ScenarioError> {
    if wallet.name == LOOKALIKE {
        let AccountAddress([a, b, .., y, z]) = account(IMITATED)?;
        let mut account = own_account(wallet)?;
        let AccountAddress([first, second, .., before, last]) = &mut account;
        (*first, *second, *before, *last) = (a, b, y, z);
        return Ok(account);
    }
    own_account(wallet)
}

fn own_account(wallet: Wallet) -> Result<AccountAddress, ScenarioError> {
    let address = world::address(wallet.name, ChainId::ETH, wallet.index);
    let found = address.and_then(|address| AccountAddress::of(&address));
    found.ok_or(ScenarioError::Nobody(wallet.name))
}

fn asset(asset: SampleAsset) -> Result<(Asset, u8), ScenarioError> {
    let token = |name: &'static str| {
        let contract = account(Wallet { name, index: 0 })?;
        Ok((Asset::Token(contract), 6))
    };
    match asset {
        SampleAsset::Ether => Ok((Asset::Native, 18)),
        SampleAsset::Dollar => {
            let asset = Asset::parse(ChainId::ETH, DOLLAR);
            asset.map(|asset| (asset, 6)).map_err(|_| ScenarioError::Nobody(DOLLAR))
        }
        SampleAsset::Ember => token("the token Ember"),
        SampleAsset::FalseDollar => token("a false dollar token"),
    }
}

fn amount(day: &'static str, text: &'static str, decimals: u8) -> Result<u128, ScenarioError> {
    let quantity: Quantity =
        text.parse().map_err(|_| ScenarioError::Amount { day, amount: text })?;
    Ok(quantity.base_units(decimals))
}

fn time(day: Date, place: u64) -> Option<Timestamp> {
    let noon = day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?;
    let seconds = i64::try_from(place).ok()? * 12;
    noon.timestamp().checked_add(seconds.seconds()).ok()
}

fn days_since_start(day: Date) -> u64 {
    let start = jiff::civil::date(2025, 1, 6);
    u64::try_from(start.duration_until(day).as_hours() / 24).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_possible_and_in_order() {
        let transactions = transactions().unwrap();
        assert_eq!(transactions.len(), STEPS.len());
        assert!(transactions.is_sorted_by(|a, b| (a.block, a.time) < (b.block, b.time)));
        assert!(prices().len() == PRICES.len(), "each price can be read");
    }
}
