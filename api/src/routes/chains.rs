//! `GET /api/v1/chains`: the blockchains, the parts of answers that Assay supports on each, and the data of this
//! installation.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::{ChainCoverage, ChainId};
use assay_engine::account::{Asset, scored_assets};
use assay_intel::IntelSnapshot;
use assay_telemetry::stage;
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument;

use crate::App;

/// Blockchains.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChainsResponse {
    /// All blockchains, in the order of the documentation. The list of blockchains may grow.
    pub chains: Vec<ChainRow>,
    /// Revision of the data.
    pub data_revision: String,
}

/// A blockchain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChainRow {
    /// Identifier in requests and answers.
    pub blockchain: ChainId,
    /// Name of the chain.
    pub name: &'static str,
    /// Other names that requests may use.
    pub aliases: &'static [&'static str],
    /// Ticker of the native coin; empty if there is none.
    pub asset: &'static str,
    /// Assets whose money is followed, the native coin first.
    pub assets: Vec<FollowedAsset>,
    /// Parts of an answer that this version can give on the chain.
    pub supported: ChainCoverage,
    /// Parts that this installation has data for.
    pub installed: InstalledChain,
}

/// An asset whose money is followed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FollowedAsset {
    /// Asset: `native`, or the address of the token's contract.
    pub asset: String,
    /// Ticker of amounts in answers.
    pub ticker: &'static str,
    /// Decimals: one unit has 10 to this power base units.
    pub decimals: u8,
}

impl FollowedAsset {
    /// Returns the assets of a chain; only the coin on a chain of outputs.
    fn of(chain: ChainId) -> Vec<Self> {
        let coin = chain.info().native();
        let coin = Self { asset: "native".to_owned(), ticker: coin.code, decimals: coin.decimals };
        let tokens = scored_assets(chain).filter(|asset| asset.id.asset != Asset::Native);
        let tokens = tokens.map(|token| Self {
            asset: token.id.asset.text(chain),
            ticker: token.ticker,
            decimals: token.decimals,
        });
        std::iter::once(coin).chain(tokens).filter(|asset| !asset.ticker.is_empty()).collect()
    }
}

/// Data of this installation on a blockchain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InstalledChain {
    /// Number of addresses that lists name, ended listings included.
    pub listed_addresses: u64,
    /// Number of addresses with labels.
    pub labeled_addresses: u64,
    /// Height of the latest block of the chain's graph; null if the chain is not ingested.
    pub latest_block_height: Option<u64>,
    /// True if flows are traced: the chain is ingested, or read on demand.
    pub flows: bool,
}

/// Returns the rows for a snapshot of lists and labels, with the latest block of each chain that has flows.
pub(crate) fn rows(
    intel: &IntelSnapshot,
    latest_blocks: &BTreeMap<ChainId, Option<u64>>,
) -> Vec<ChainRow> {
    let numbers = intel.addresses_by_chain();
    ChainId::all()
        .map(|chain| {
            let info = chain.info();
            let (listed, labeled) = numbers.get(&chain).copied().unwrap_or_default();
            let latest = latest_blocks.get(&chain);
            ChainRow {
                blockchain: chain,
                name: info.name,
                aliases: info.aliases,
                asset: info.native().code,
                assets: FollowedAsset::of(chain),
                supported: info.coverage(),
                installed: InstalledChain {
                    listed_addresses: listed,
                    labeled_addresses: labeled,
                    latest_block_height: latest.copied().flatten(),
                    flows: latest.is_some(),
                },
            }
        })
        .collect()
}

/// Lists the blockchains.
pub async fn list_chains(State(app): State<Arc<App>>) -> Json<ChainsResponse> {
    let intel = app.service.intel();
    let chains = app.service.chains();
    let latest_blocks = match chains.latest_blocks().instrument(stage!("read_tips")).await {
        Ok(tips) => tips.iter().map(|(chain, tip)| (*chain, Some(tip.height))).collect(),
        Err(error) => {
            tracing::error!(%error, "failed to read the latest blocks");
            BTreeMap::new()
        }
    };
    Json(ChainsResponse {
        chains: rows(&intel, &latest_blocks),
        data_revision: intel.data_revision().to_owned(),
    })
}
