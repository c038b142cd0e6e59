//! Comparison of ledgers with the balances that the followed node states, beside the following of its blocks. It finds tokens
//! that log transfers which did not happen.

use std::{convert::Infallible, time::Duration};

use assay_engine::account::{AccountAddress, AccountView, Asset, ScoredAsset};
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{AccountGraphView, LedgerComparisons},
};
use assay_telemetry::request::run_on_thread;
use ruint::aliases::U256;

use super::{FollowedChain, IngestError};
use crate::location;

/// Interval at which requests are looked for.
const TICK: Duration = Duration::from_secs(1);

/// Ledgers of an account at a block.
struct Ledgers {
    block: [u8; 32],
    balances: Vec<(&'static ScoredAsset, u128)>,
}

/// Compares ledgers on request until the task is aborted.
pub(super) async fn compare_ledgers(
    followed: &FollowedChain,
    graphs: &EmbeddedGraphs,
) -> Infallible {
    let (chain, comparisons) = (followed.chain, graphs.ledger_comparisons());
    comparisons.begin(chain);
    let mut known_dropped = 0;
    loop {
        tokio::time::sleep(TICK).await;
        let dropped = comparisons.dropped(chain);
        if dropped > known_dropped {
            tracing::info!(%chain, dropped, "some ledgers are not compared with the node: too many wait");
            known_dropped = dropped;
        }
        while let Some(account) = comparisons.next(chain) {
            if let Err(error) = compare(followed, graphs, comparisons, account).await {
                tracing::debug!(%chain, %error, "ledgers were not compared with the node");
            }
        }
    }
}

async fn compare(
    followed: &FollowedChain,
    graphs: &EmbeddedGraphs,
    comparisons: &LedgerComparisons,
    account: AccountAddress,
) -> Result<(), IngestError> {
    let Some(Ledgers { block, balances }) = ledgers(followed, graphs, account)? else {
        return Ok(());
    };
    let node = followed.clone();
    let assets: Vec<Asset> = balances.iter().map(|(scored, _)| scored.id.asset).collect();
    let asked = run_on_thread(move || {
        let source = location::balances(node.chain, &node.location, node.test_networks)?;
        let Some(source) = source else { return Ok(Vec::new()) };
        source.balances(account, &assets, &block)
    });
    let stated = asked.await.map_err(|_| IngestError::Reader)??;
    comparisons.keep(followed.chain, account, exceeding(&balances, &stated));
    Ok(())
}

/// The ledgers of an account whose balances the chain's records alone decide: without those of rebasing tokens, and of the native
/// coin where transfers inside of transactions are not recorded.
fn ledgers(
    followed: &FollowedChain,
    graphs: &EmbeddedGraphs,
    account: AccountAddress,
) -> Result<Option<Ledgers>, GraphError> {
    let Some(view) = graphs.account_snapshot(followed.chain)? else { return Ok(None) };
    let owner = view.owner(account);
    let is_whole = view.has_internal_transfers() && view.internal_gaps().is_empty();
    let all = owner.map(|owner| view.ledgers(owner)).unwrap_or_default().into_iter();
    let balances = all.filter_map(|(asset, ledger)| Some((view.scored(asset)?, ledger.balance)));
    let is_decided = |scored: &ScoredAsset| {
        !scored.is_rebasing && (is_whole || scored.id.asset != Asset::Native)
    };
    let balances =
        balances.filter(|(scored, balance)| *balance > 0 && is_decided(scored)).collect();
    view.check()?;
    Ok(view.newest_hash().map(|block| Ledgers { block, balances }))
}

/// The tickers of the assets of which the ledgers hold more than the node states. Less is no finding: money from before the
/// records is in no ledger.
fn exceeding(
    ledgers: &[(&'static ScoredAsset, u128)],
    stated: &[Option<U256>],
) -> Vec<&'static str> {
    let pairs = ledgers.iter().zip(stated);
    let exceeding =
        pairs.filter(|((_, held), stated)| stated.is_some_and(|it| it < U256::from(*held)));
    exceeding.map(|((scored, _), _)| scored.ticker).collect()
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;
    use assay_engine::account::scored_assets;

    use super::*;

    /// Given balances of a node, then only a ledger that holds more than the node states is a finding.
    #[test]
    fn ledgers_that_hold_more_than_the_node_states_are_found() {
        let assets: Vec<_> = scored_assets(ChainId::ETH).take(4).collect();
        let held: Vec<_> = assets.iter().map(|scored| (*scored, 10)).collect();
        let stated = [Some(U256::from(9)), Some(U256::from(10)), Some(U256::from(11)), None];
        assert_eq!(exceeding(&held, &stated), [assets[0].ticker]);
    }
}
