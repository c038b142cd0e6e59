//! The facts that the payments of a subject give, however they were read.

use assay_engine::{
    account::{
        AccountPayments, AccountSubject, UnfollowedTransfer, Valuation, lookalikes_of,
        unfollowed_transfers,
    },
    evidence::{ActivityFacts, BehaviorFacts, FlowFacts},
    facts::Counterparties,
    patterns::{
        accounts::{AccountPatternSubject, account_behavior},
        rules::SHOWN,
    },
    trace::TraceRules,
};

use super::{associates::associates, attributions::CheckAttributions, lookalikes::add_lookalikes};

/// Facts about a subject by its payments.
pub(in crate::chains) struct PaymentFacts {
    pub(in crate::chains) flows: FlowFacts,
    pub(in crate::chains) activity: Option<ActivityFacts>,
    pub(in crate::chains) counterparties: Counterparties,
    pub(in crate::chains) behavior: BehaviorFacts,
    /// Transfers that move no ledger.
    pub(in crate::chains) unfollowed: Vec<UnfollowedTransfer>,
}

impl PaymentFacts {
    /// The facts about an account that never appeared.
    pub(in crate::chains) fn of_nobody() -> Self {
        Self {
            flows: FlowFacts { complete: true, ..FlowFacts::default() },
            activity: None,
            counterparties: Counterparties::default(),
            behavior: BehaviorFacts::without_transactions(),
            unfollowed: Vec::new(),
        }
    }

    /// The facts about a subject by its own payments.
    pub(in crate::chains) fn of(
        of: AccountSubject<'_>,
        own: &AccountPayments,
        (attributions, rules): (&CheckAttributions<'_>, TraceRules),
    ) -> Self {
        let AccountSubject { view, owner, prices, .. } = of;
        let mut flows = of.flows(own);
        let unfollowed = unfollowed_transfers(view, owner);
        let lookalikes = lookalikes_of(view, (owner, &own.payments), &unfollowed, prices);
        if let Some(limits) = &mut flows.account {
            add_lookalikes(view, &lookalikes, limits);
        }
        flows.contracts = Some(Box::new(of.contract_use(&own.payments, &unfollowed)));
        let behavior = account_behavior(AccountPatternSubject {
            account: of,
            own,
            unfollowed: &unfollowed,
            lookalikes: &lookalikes,
            is_contract: &|account| view.is_contract(account),
            rules: rules.patterns,
            shown: SHOWN,
        });
        let mut values = Valuation::new(prices);
        let of_owner = (owner, own.payments.as_slice());
        let counterparties = associates(view, of_owner, attributions, &mut values);
        let activity = of.activity(own);
        Self { flows, activity, counterparties, behavior, unfollowed }
    }
}
