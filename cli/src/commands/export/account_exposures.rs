//! `assay export exposures` on an account chain: the origins of each account's money, by asset.

use std::{path::Path, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    account::{AssetExposure, MoneyOrigin, OriginExposure, WHOLE, exposures},
    ledger::OwnerNumber,
};
use assay_intel::IntelSnapshot;
use assay_service::chains::accounts::present_ledgers;
use serde::Serialize;

use super::{
    exposures::period_text,
    sink::{ExportFormat, Sink},
};
use crate::commands::{Context, Failure, progress::Progress, require_graph};

/// One origin of an account's money in an asset.
#[derive(Serialize)]
struct Row<'a> {
    blockchain: ChainId,
    address: &'a str,
    asset: &'a str,
    received: &'a str,
    origin: &'static str,
    listing_period: Option<&'static str>,
    share: f64,
    decayed_share: f64,
    hops: Option<u8>,
    balance: Option<&'a str>,
    balance_share: Option<f64>,
}

/// The columns, in the order of the fields of a row.
const COLUMNS: [&str; 11] = [
    "blockchain",
    "address",
    "asset",
    "received",
    "origin",
    "listing_period",
    "share",
    "decayed_share",
    "hops",
    "balance",
    "balance_share",
];

/// Writes the exposures of all accounts, in the order of their first appearance.
pub(super) async fn run(
    chain: ChainId,
    format: ExportFormat,
    output: Option<&Path>,
    context: &Context,
) -> Result<(), Failure> {
    let databases = context.open_databases().await?;
    let intel = IntelSnapshot::load(&*databases.store, None).await?;
    let today = intel.day(context.clock.now());
    let accounts = present_ledgers(chain, Arc::new(context.graphs()), &intel, today).await?;
    let accounts = require_graph(chain, accounts)?;
    let mut sink = Sink::new(format, &COLUMNS, output)?;
    let owners = accounts.owners();
    let progress = Progress::towards("addresses");
    for number in 0..owners {
        let owner = OwnerNumber(number);
        if let Some(address) = accounts.address(owner).and_then(|account| account.on(chain)) {
            for exposure in exposures(&*accounts, owner) {
                write((chain, address.as_str()), &exposure, &mut sink)?;
            }
        }
        if number % 1_000 == 0 {
            progress.reached(number, owners);
        }
    }
    accounts.check()?;
    progress.finish();
    sink.finish()
}

fn write(
    (blockchain, address): (ChainId, &str),
    exposure: &AssetExposure,
    sink: &mut Sink,
) -> Result<(), Failure> {
    let asset = exposure.asset.id.asset.text(blockchain);
    let received = exposure.received.to_string();
    let balance = exposure.balance.map(|balance| balance.to_string());
    for OriginExposure { origin, hops, received: share, decayed, held } in &exposure.origins {
        let (share, balance_share) = (decimal(*share), decimal(*held));
        if share == 0.0 && balance_share == 0.0 {
            continue;
        }
        let (origin, listing_period) = match origin {
            Some(MoneyOrigin::Party(category, period)) => {
                (category.as_str(), period.map(period_text))
            }
            Some(MoneyOrigin::New) => ("mining", None),
            Some(MoneyOrigin::Conversion) => ("conversion", None),
            None => ("unknown", None),
        };
        sink.row(&Row {
            blockchain,
            address,
            asset: &asset,
            received: &received,
            origin,
            listing_period,
            share,
            decayed_share: decimal(*decayed),
            hops: *hops,
            balance: balance.as_deref(),
            balance_share: balance.as_ref().map(|_| balance_share),
        })?;
    }
    Ok(())
}

/// A share with nine decimals, rounded to the nearest: ledgers round at each step.
fn decimal(share: u64) -> f64 {
    const BILLION: u128 = 1_000_000_000;
    let billionths = (u128::from(share) * BILLION + u128::from(WHOLE / 2)) / u128::from(WHOLE);
    f64::from(u32::try_from(billionths).unwrap_or(u32::MAX)) / 1e9
}
