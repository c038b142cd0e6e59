//! Keeping of ledgers while a program runs: also without a check, ledgers follow from the present lists and labels.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_graph::GraphError;
use tokio::time::{MissedTickBehavior, interval};

use super::state::AccountState;
use crate::chains::compositions::{GraphOwner, Progress};

/// Interval of checking chains, lists and labels for changes.
const TICK: Duration = Duration::from_secs(1);

/// Keeps the ledgers of all account chains in the data directory up to date until the task is aborted.
pub async fn keep_ledgers(owner: Arc<dyn GraphOwner>) {
    let mut states: BTreeMap<ChainId, Arc<AccountState>> = BTreeMap::new();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let chains = owner.graphs().account_chains();
        states.retain(|chain, _| chains.contains(chain));
        for chain in chains {
            let new = || Arc::new(AccountState::new(chain, Arc::clone(owner.graphs())));
            let state = states.entry(chain).or_insert_with(new);
            match progress(&*owner, state).await {
                Ok(Some(progress)) => owner.progress().set(chain, progress),
                Ok(None) => {}
                // Checks and the state of the chain tell the error.
                Err(error) => tracing::debug!(%chain, %error, "ledgers are not compared"),
            }
        }
    }
}

/// Begins to compute ledgers that rest on other lists and labels, and returns how much of them is to be computed; `None`
/// without transfers.
async fn progress(
    owner: &dyn GraphOwner,
    state: &Arc<AccountState>,
) -> Result<Option<Progress>, GraphError> {
    let intel = owner.intel();
    let found = state.on_day(&intel, intel.day(owner.now())).await?;
    Ok(found.map(|found| Progress { behind: state.behind(&found), last_pass: None }))
}
