//! Paths that show where a subject's money came from (`docs/model/accounts.md` B13). A path changes no verdict.

use super::{
    ends::ends_money,
    origin::OriginCode,
    shares::WHOLE,
    step::Payment,
    unit::FineSum,
    view::{AccountAttributions, AccountView},
};
use crate::evidence::{FlowPath, PathStep, StepLabel};

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
    let mut records = MOST_RECORDS;
    let mut at = from.clone();
    while steps.len() < MOST_HOPS {
        let attribution = attributions.of_account(at.from);
        let party = attribution.as_ref().and_then(|it| it.end.as_ref()).filter(|it| ends_money(it));
        steps.push(PathStep {
            transaction: named(view, &at),
            address: view
                .address(at.from)
                .and_then(|address| address.on(view.chain()))
                .map(|address| address.as_str().to_owned()),
            time: view.time(at.transaction),
            amount: Some(at.amount.to_string()),
            asset: view.scored(at.asset).map(|asset| asset.id.asset.text(view.chain())),
            place: view
                .transfer_place(&at)
                .and_then(|place| place.published)
                .map(|place| place.to_string()),
            label: party.map(|party| StepLabel {
                category: party.category,
                entity: party.entity.as_deref().map(str::to_owned),
                tier: party.tier,
                confidence: party.confidence,
                listed: party.listed,
            }),
        });
        if party.is_some() {
            return Some(FlowPath { amount, steps });
        }
        at = largest_before(view, &at, origin, &mut records)?;
    }
    None
}

/// The payment to the payer of `after`, before it and in its asset, with the largest sum of an origin; of the newest ones,
/// if there are more than may still be read.
fn largest_before(
    view: &dyn AccountView,
    after: &Payment,
    origin: OriginCode,
    records: &mut usize,
) -> Option<Payment> {
    let mut largest: Option<(FineSum, Payment)> = None;
    let read = view.payments_before(after.from, after.asset, after.transaction, *records);
    *records = records.saturating_sub(read.len());
    for payment in read.into_iter().filter(|payment| payment.to == after.from) {
        let share = payment.shares.known().iter().find(|share| share.origin == origin);
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

/// The identifier of a payment's transaction as its chain writes it.
pub(super) fn named(view: &dyn AccountView, payment: &Payment) -> String {
    super::transaction_text(view.chain(), view.txid(payment.transaction))
}
