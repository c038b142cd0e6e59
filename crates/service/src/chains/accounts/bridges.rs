//! The other chains of the data directory, on which the deposits of receipts from bridges are searched.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountPayments, AccountSubject, AccountView, BridgedAttributions, JoinedReceipts,
        OtherChain,
    },
    policy::Policy,
};
use assay_graph::EmbeddedGraphs;
use assay_intel::IntelSnapshot;
use jiff::civil::Date;

use super::{
    attributions::CheckAttributions,
    state::{AccountState, CheckState},
};

/// The states of all account chains of a data directory, which their readers share.
#[derive(Clone, Debug, Default)]
pub(super) struct AccountStates(Arc<Mutex<BTreeMap<ChainId, Arc<AccountState>>>>);

impl AccountStates {
    /// Returns the state of a chain.
    pub(super) fn of(&self, chain: ChainId, graphs: &Arc<EmbeddedGraphs>) -> Arc<AccountState> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(AccountState::new(chain, Arc::clone(graphs)));
        Arc::clone(known.entry(chain).or_insert_with(new))
    }
}

/// The states of the chains beside that of a subject, as one check reads them.
#[derive(Default)]
pub(super) struct OtherStates(Vec<(ChainId, CheckState)>);

impl OtherStates {
    /// Returns the states of the other chains with recorded transfers. A chain that cannot be read is left out, and so is demo
    /// data beside real data.
    pub(super) async fn on_day(
        of: (ChainId, &CheckState),
        (states, graphs): (&AccountStates, &Arc<EmbeddedGraphs>),
        intel: &IntelSnapshot,
        today: Date,
    ) -> Self {
        let (own, state) = of;
        let mut others = Vec::new();
        for chain in graphs.account_chains().into_iter().filter(|chain| *chain != own) {
            match states.of(chain, graphs).on_day(intel, today).await {
                Ok(Some(other)) if other.recorded.sample == state.recorded.sample => {
                    others.push((chain, other));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%chain, %error, "deposits into bridges are not searched on a chain that cannot be read");
                }
            }
        }
        Self(others)
    }

    /// Returns the attributions of the other chains' accounts.
    pub(super) fn attributions<'a>(
        &'a self,
        (intel, policy): (&'a IntelSnapshot, &'a Policy),
        today: Date,
    ) -> OtherAttributions<'a> {
        let of_chain = |(chain, state): &'a (ChainId, CheckState)| {
            let view = &*state.accounts;
            let attributions =
                CheckAttributions::new((*chain, view), &state.named, (intel, policy), today);
            (state, attributions)
        };
        OtherAttributions(self.0.iter().map(of_chain).collect())
    }
}

/// The other chains with the attributions of their accounts.
pub(super) struct OtherAttributions<'a>(Vec<(&'a CheckState, CheckAttributions<'a>)>);

/// The deposits that a check joined to receipts, with the chains on which they are.
pub(super) struct JoinedDeposits {
    /// Revisions of the chains with deposits, each behind a `+`.
    pub(super) revision: String,
    /// True if the ledgers of one of them are of earlier lists and labels.
    pub(super) is_outdated: bool,
}

impl OtherAttributions<'_> {
    /// Joins the receipts of a subject from bridges to their deposits.
    pub(super) fn join<'a>(
        &'a self,
        of: AccountSubject<'a>,
        own: &AccountPayments,
        revision: impl Fn(ChainId, &CheckState) -> String,
    ) -> (BridgedAttributions<'a>, JoinedDeposits) {
        let chains = self.0.iter().map(|(state, attributions)| {
            let view: &dyn AccountView = &*state.accounts;
            OtherChain { view, attributions, until: state.recorded.tip.time }
        });
        let mut joined = JoinedReceipts::search(of, own, chains.collect());
        // A deposit that could not be read may have been another possible one.
        if self.0.iter().any(|(state, _)| state.accounts.check().is_err()) {
            joined = JoinedReceipts::default();
        }
        let with_deposits: Vec<_> =
            joined.chains_of_deposits().filter_map(|index| self.0.get(index)).collect();
        let revisions = with_deposits.iter().map(|(state, attributions)| {
            let revision = revision(attributions.chain, state);
            format!("+{revision}")
        });
        let deposits = JoinedDeposits {
            revision: revisions.collect(),
            is_outdated: with_deposits.iter().any(|(state, _)| state.is_outdated),
        };
        (BridgedAttributions { own: of.attributions, joined }, deposits)
    }
}

#[cfg(test)]
mod tests;
