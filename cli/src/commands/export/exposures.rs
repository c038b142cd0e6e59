//! `assay export exposures`: the origins of the money that each address of a chain received.

use std::{path::PathBuf, sync::Arc};

use assay_address::{ChainId, LedgerKind};
use assay_engine::{
    composition::Origin,
    evidence::ListingPeriod,
    ledger::{CoinShare, OwnerNumber},
};
use assay_graph::{Graph, compositions::OwnerExposure};
use assay_intel::IntelSnapshot;
use assay_service::chains::ends::ends;
use clap::Args;
use serde::Serialize;

use super::{
    account_exposures,
    sink::{ExportFormat, Sink},
};
use crate::commands::{Context, Failure, progress::Progress, require_block, require_graph};

const EXAMPLES: &str = "\
Examples:
  assay export exposures --blockchain btc --format csv -o exposures.csv
  assay export exposures --blockchain btc --format jsonl |
    jq -c 'select(.origin == \"sanctions\" and .share > 0.1)'
  assay export exposures --blockchain eth -o exposures.csv";

/// Number of transactions whose compositions (breakdowns of their funds by origin) are computed together.
const SLICE: u64 = 200_000;

/// Export the origins of the money that each address received
///
/// One row per address and origin of its money: `blockchain`, `address`, `received` (base units, net of change),
/// `origin` (a category, `mining` or `unknown`), `listing_period` (`before` or `since` the listing of a listed
/// party), `share` (of all that the address received), `mixed` (the share that passed a joint transaction). Shares
/// follow from the whole chain, at any distance, by haircut: all outputs of a transaction are made of the same money.
/// Labels that count in some policies only, and private labels, do not count.
///
/// On an account chain, one row per account, scored asset and origin: in addition `asset` (`native` or the contract),
/// `decayed_share` (`share`, decayed by each hop but the first), `hops` (fewest), `balance` (base units; empty for
/// parties at which money ends) and `balance_share` (of the balance); no `mixed`. Another origin is `conversion`:
/// received in exchange for another asset. Shares below a billionth have no row.
///
/// On UTXO chains, Assay stores the composition (breakdown of the funds by origin) of each transaction beside the graph, and first
/// computes missing compositions. After a change of lists or labels, Assay computes all compositions of the chain anew.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct ExposuresArgs {
    /// Blockchain, such as btc
    #[arg(long, value_name = "CHAIN")]
    blockchain: ChainId,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// One origin of an address's money.
#[derive(Serialize)]
struct Row<'a> {
    blockchain: ChainId,
    address: &'a str,
    received: String,
    origin: &'static str,
    listing_period: Option<&'static str>,
    share: f64,
    mixed: f64,
}

const COLUMNS: [&str; 7] =
    ["blockchain", "address", "received", "origin", "listing_period", "share", "mixed"];

pub(super) async fn run(args: ExposuresArgs, context: &Context) -> Result<(), Failure> {
    let chain = args.blockchain;
    if chain.info().ledger == LedgerKind::Account {
        return account_exposures::run(chain, args.format, args.output.as_deref(), context).await;
    }
    let databases = context.open_databases().await?;
    let graphs = context.graphs();
    let graph = require_graph(chain, graphs.open(chain)?)?;
    let intel = IntelSnapshot::load(&*databases.store, None).await?;
    // The parties are found in the same state or a newer one, and so are complete.
    let snapshot = graph.snapshot()?;
    let view = require_block(chain, Arc::clone(&graph).view().await?)?;
    let today = intel.day(context.clock.now());
    let ends = ends(&*view, chain, &intel, today).await?;
    let transactions = snapshot.transactions()?;
    let progress = Progress::towards("transactions");
    let writer = graphs.composition_writer(chain)?;
    let mut computed = 0;
    loop {
        let advanced = writer.advance(&snapshot, &ends, SLICE)?;
        computed += advanced.computed;
        progress.reached(computed, transactions);
        if advanced.is_complete {
            break;
        }
    }
    progress.finish();
    drop(writer);
    let compositions = graphs.compositions(chain)?.map(|found| found.reader()).transpose()?;
    let compositions = compositions.flatten().ok_or_else(|| {
        Failure::Failed(format!("the compositions of the {chain} chain were removed meanwhile"))
    })?;
    let mut sink = Sink::new(args.format, &COLUMNS, args.output.as_deref())?;
    let (reader, owners) = (snapshot.reader(), snapshot.owners()?);
    let progress = Progress::towards("addresses");
    for owner in 0..owners {
        if let Some(exposure) = compositions.exposure(&reader, OwnerNumber(owner))? {
            write(chain, &exposure, &mut sink)?;
        }
        if owner % 1_000 == 0 {
            progress.reached(owner, owners);
        }
    }
    progress.finish();
    sink.finish()
}

/// Writes the rows of an owner; an owner without an address has no rows.
fn write(chain: ChainId, exposure: &OwnerExposure, sink: &mut Sink) -> Result<(), Failure> {
    let Some(address) = exposure.owner.address(chain) else { return Ok(()) };
    let composition = &exposure.composition;
    let mut row = Row {
        blockchain: chain,
        address: address.as_str(),
        received: exposure.received.to_string(),
        origin: "unknown",
        listing_period: None,
        share: 0.0,
        mixed: decimal(composition.mixed()),
    };
    for (origin, share) in composition.origins() {
        (row.origin, row.listing_period) = match origin {
            Origin::Mining => ("mining", None),
            Origin::Party(category, period) => (category.as_str(), period.map(period_text)),
        };
        row.share = decimal(share);
        sink.row(&row)?;
    }
    // Less is what rounding left.
    let unknown = composition.unknown();
    if unknown >= CoinShare::LEAST {
        (row.origin, row.listing_period, row.share) = ("unknown", None, decimal(unknown));
        sink.row(&row)?;
    }
    Ok(())
}

/// The identifier of a listing period.
pub(super) const fn period_text(period: ListingPeriod) -> &'static str {
    match period {
        ListingPeriod::Before => "before",
        ListingPeriod::Since => "since",
    }
}

/// A share of the funds with nine decimals, rounded down.
fn decimal(share: CoinShare) -> f64 {
    const BILLION: u128 = 1_000_000_000;
    let billionths = u32::try_from(share.of_amount(BILLION)).unwrap_or(u32::MAX);
    f64::from(billionths) / 1e9
}
