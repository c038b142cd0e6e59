//! Values of an answer's amounts in US dollars, by the price of a day (B10). They change neither score nor verdict.

use std::{collections::BTreeMap, str::FromStr};

use assay_address::ChainId;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use ruint::aliases::U256;

use crate::{
    account::{AssetId, Prices, UsdPrice, scored_assets},
    assessment::{Amount, AssessedContractUse, AssessedTransfer, Assessment, Exposure},
};

/// Fills the values of all amounts by the prices of a day. Amounts that have a value keep it.
pub(super) fn fill(assessment: &mut Assessment, prices: &Prices, day: Date) {
    let chain = assessment.blockchain;
    let mut amounts = amounts(assessment).peekable();
    if amounts.peek().is_some() {
        DayPrices::of(chain, prices, day).fill(amounts);
    }
}

/// Fills the values of a transfer's own amounts by the prices of the day of its block.
pub(super) fn fill_transfer(transfer: &mut AssessedTransfer, chain: ChainId, prices: &Prices) {
    let Some(day) = transfer.block_time.map(day_of) else { return };
    fill_transfer_on(transfer, chain, prices, day);
}

/// Fills the values of a transfer's own amounts by the prices of a day.
pub(super) fn fill_transfer_on(
    transfer: &mut AssessedTransfer,
    chain: ChainId,
    prices: &Prices,
    day: Date,
) {
    let known = DayPrices::of(chain, prices, day);
    let outputs = transfer.outputs.iter_mut().map(|output| &mut output.amount);
    let senders = transfer.senders.iter_mut().map(|sender| &mut sender.amount);
    known.fill(outputs.chain(senders).chain([&mut transfer.amount]));
}

fn day_of(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// The price of an asset on a day, by the asset's ticker in answers.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TickerPrice {
    decimals: u8,
    price: UsdPrice,
    /// Day of the price, if the price was carried forward.
    carried_from: Option<Date>,
}

/// The prices of a chain's assets on a day, by ticker. A ticker that stands for assets with different prices has none.
struct DayPrices(BTreeMap<&'static str, Option<TickerPrice>>);

impl DayPrices {
    fn of(chain: ChainId, prices: &Prices, day: Date) -> Self {
        let coin = chain.info().native();
        let tokens = scored_assets(chain).map(|asset| (asset.ticker, asset.decimals, asset.id));
        let coin = (coin.code, coin.decimals, AssetId::native(chain));
        let mut by_ticker = BTreeMap::new();
        for (ticker, decimals, asset) in tokens.chain([coin]) {
            let found = prices.on(asset, day).map(|found| {
                let carried = i64::from(found.carried_days);
                let carried_from = (carried > 0).then(|| day.saturating_sub(carried.days()));
                TickerPrice { decimals, price: found.price, carried_from }
            });
            let known = by_ticker.entry(ticker).or_insert(found);
            if *known != found {
                *known = None;
            }
        }
        Self(by_ticker)
    }

    fn fill<'a>(&self, amounts: impl IntoIterator<Item = &'a mut Amount>) {
        for amount in amounts.into_iter().filter(|amount| amount.usd.is_none()) {
            let Some(known) = self.0.get(&*amount.asset).copied().flatten() else { continue };
            let value = U256::from_str(&amount.value).ok();
            let value = value.and_then(|value| known.price.value(value, known.decimals));
            if let Some(value) = value {
                amount.usd = Some(value.to_string());
                amount.price_day = known.carried_from;
            }
        }
    }
}

/// All amounts of an assessment except those of its transfer.
fn amounts(assessment: &mut Assessment) -> impl Iterator<Item = &mut Amount> {
    let Assessment {
        scoring_components,
        exposure,
        contracts,
        associated_wallets,
        transaction_patterns,
        activity,
        ..
    } = assessment;
    let of_components = scoring_components.iter_mut().flat_map(|component| &mut component.amount);
    let of_exposure = exposure.iter_mut().flat_map(of_line);
    let of_wallets = associated_wallets.iter_mut().flat_map(|wallet| {
        wallet.amounts.iter_mut().chain(&mut wallet.received).chain(&mut wallet.sent)
    });
    let of_patterns = transaction_patterns.iter_mut().flat_map(|pattern| {
        let largest = &mut pattern.largest;
        [&mut pattern.amount, &mut largest.amount].into_iter().chain(&mut largest.threshold)
    });
    let of_activity =
        activity.r#in.iter_mut().chain(&mut activity.out).chain(&mut activity.balance);
    let of_contracts = contracts.iter_mut().flat_map(|it| of_contract_use(it));
    let of_components = of_components.chain(of_contracts);
    of_components.chain(of_exposure).chain(of_wallets).chain(of_patterns).chain(of_activity)
}

fn of_contract_use(contracts: &mut AssessedContractUse) -> impl Iterator<Item = &mut Amount> {
    let AssessedContractUse { kept, holdings, contract_pool, .. } = contracts;
    let of_kept = kept.iter_mut().flat_map(|money| money.gave.iter_mut().chain(&mut money.got));
    let backing = holdings.iter_mut().flat_map(|holding| &mut holding.backing);
    let of_pool = contract_pool.iter_mut().map(|pool| &mut pool.amount);
    of_kept.chain(backing.map(|money| &mut money.amount)).chain(of_pool)
}

fn of_line(line: &mut Exposure) -> impl Iterator<Item = &mut Amount> {
    [&mut line.amount, &mut line.recent_amount]
        .into_iter()
        .chain(&mut line.outstanding)
        .chain(&mut line.before_listing)
        .chain(&mut line.since_listing)
        .chain(line.paths.iter_mut().map(|path| &mut path.amount))
}
