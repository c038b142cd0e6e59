//! Paths that show where a subject's money came from (`docs/model/accounts.md` B13). A path changes no verdict.

use super::{
    bridge_search::BridgeDeposit,
    ends::ends_money,
    origin::OriginCode,
    shares::WHOLE,
    step::{AssetNumber, MovementKind, Payment},
    unit::FineSum,
    view::{AccountAttributions, AccountView},
};
use crate::{
    evidence::{FlowPath, PathStep, StepLabel, StepVia},
    ledger::{OwnerNumber, TransactionNumber},
};

/// Most payments that a search for a path reads.
const MOST_RECORDS: usize = 300;
/// Most hops of a path.
const MOST_HOPS: usize = 64;

/// Searches backwards from a payment for the payer of its money of one origin: at each account, the payment before with the
/// largest sum of the origin. `None` if the search reaches no party within its budget.
pub(super) fn path_back(
    view: &dyn AccountView,
    attributions: &dyn AccountAttributions,
    from: &Payment,
    origin: OriginCode,
    amount: u128,
) -> Option<FlowPath> {
    let mut steps = Vec::new();
    let mut search = Search { view, attributions, origin, records: MOST_RECORDS };
    let mut at = from.clone();
    while steps.len() < MOST_HOPS {
        let mut step = step_of(view, attributions, &at);
        if let Some(deposit) = attributions.deposit_of(&at) {
            steps.push(step);
            steps.extend(behind_bridge(deposit, origin, amount));
            return Some(FlowPath { amount, steps });
        }
        if step.label.is_some() {
            steps.push(step);
            return Some(FlowPath { amount, steps });
        }
        at = search.payment_behind(&at, &mut step.via)?;
        steps.push(step);
    }
    None
}

/// The steps behind a receipt that was joined to its deposit: at least the deposit.
fn behind_bridge(deposit: BridgeDeposit<'_>, origin: OriginCode, amount: u128) -> Vec<PathStep> {
    let BridgeDeposit { chain, payment, .. } = deposit;
    let path = path_back(chain.view, chain.attributions, payment, origin, amount);
    let steps = path.map(|path| path.steps);
    let mut steps = steps.unwrap_or_else(|| vec![step_of(chain.view, chain.attributions, payment)]);
    for step in &mut steps {
        step.blockchain = Some(chain.view.chain().to_string());
    }
    steps
}

/// The step of a payment, with the payer and its label if money ends at it.
fn step_of(
    view: &dyn AccountView,
    attributions: &dyn AccountAttributions,
    payment: &Payment,
) -> PathStep {
    let attribution = attributions.of_account(payment.from);
    let party = attribution.as_ref().and_then(|it| it.end.as_ref()).filter(|it| ends_money(it));
    PathStep {
        blockchain: None,
        transaction: named(view, payment),
        address: address(view, payment.from),
        time: view.time(payment.transaction),
        amount: Some(payment.amount.to_string()),
        asset: view.scored(payment.asset).map(|asset| asset.id.asset.text(view.chain())),
        place: view
            .transfer_place(payment)
            .and_then(|place| place.published)
            .map(|place| place.to_string()),
        label: party.map(|party| StepLabel {
            category: party.category,
            entity: party.entity.as_deref().map(str::to_owned),
            tier: party.tier,
            confidence: party.confidence,
            listed: party.listed,
        }),
        via: Vec::new(),
    }
}

/// A search for earlier payments of one origin.
struct Search<'v> {
    view: &'v dyn AccountView,
    attributions: &'v dyn AccountAttributions,
    origin: OriginCode,
    /// Payments that may still be read.
    records: usize,
}

impl Search<'_> {
    /// The payment by which the payer of `after` got its money. Contracts that left the payer its own money in between are
    /// added to `via`, the first one first.
    fn payment_behind(&mut self, after: &Payment, via: &mut Vec<StepVia>) -> Option<Payment> {
        let account = after.from;
        let (mut assets, mut before) = (vec![after.asset], after.transaction);
        let mut is_exchanged = false;
        loop {
            let mut found = None;
            for asset in assets {
                found = self.largest_before(account, asset, before);
                if found.is_some() {
                    break;
                }
            }
            let found = found?;
            if let Some(last) = via.last_mut().filter(|_| is_exchanged) {
                let gave = self.view.scored(found.asset);
                last.gave = gave.map(|asset| asset.id.asset.text(self.view.chain()));
            }
            if !found.kind.is_own_money() {
                via.reverse();
                return Some(found);
            }
            assets = self.assets_behind(&found);
            via.push(StepVia {
                address: address(self.view, found.from)?,
                entity: self.attributions.name_of(found.from).as_deref().map(str::to_owned),
                transaction: named(self.view, &found),
                gave: None,
            });
            is_exchanged = found.kind == MovementKind::Exchange;
            before = found.transaction;
        }
    }

    /// The assets in which an account had its own money before a contract exchanged it or gave it back.
    fn assets_behind(&self, own: &Payment) -> Vec<AssetNumber> {
        if own.kind == MovementKind::Exchange {
            let all = self.view.payments_of_transaction(own.transaction).into_iter();
            let gave = all.filter(|it| it.kind == MovementKind::Exchange && it.from == own.to);
            let mut assets: Vec<AssetNumber> = gave.map(|payment| payment.asset).collect();
            assets.dedup();
            return assets;
        }
        let others = self.view.ledgers(own.to).into_iter().map(|(asset, _)| asset);
        std::iter::once(own.asset).chain(others.filter(|asset| *asset != own.asset)).collect()
    }

    /// The payment to an account, before a transaction and in an asset, with the largest sum of the origin; of the newest
    /// ones, if there are more than may still be read.
    fn largest_before(
        &mut self,
        account: OwnerNumber,
        asset: AssetNumber,
        before: TransactionNumber,
    ) -> Option<Payment> {
        let mut largest: Option<(FineSum, Payment)> = None;
        let read = self.view.payments_before(account, asset, before, self.records);
        self.records = self.records.saturating_sub(read.len());
        for payment in read.into_iter().filter(|payment| payment.to == account) {
            let share = payment.shares.known().iter().find(|share| share.origin == self.origin);
            let Some(share) = share else { continue };
            // Amounts of one asset are compared: their unit does not matter.
            let sum = FineSum::of_units(crate::ledger::mass::share(
                payment.amount,
                share.far.into(),
                WHOLE.into(),
            ));
            if largest.as_ref().is_none_or(|(known, _)| *known < sum) {
                largest = Some((sum, payment));
            }
        }
        largest.map(|(_, payment)| payment)
    }
}

/// The address of an account as its chain writes it.
pub(super) fn address(view: &dyn AccountView, owner: OwnerNumber) -> Option<String> {
    let address = view.address(owner)?.on(view.chain())?;
    Some(address.as_str().to_owned())
}

/// The identifier of a payment's transaction as its chain writes it.
pub(super) fn named(view: &dyn AccountView, payment: &Payment) -> String {
    super::transaction_text(view.chain(), view.txid(payment.transaction))
}
