//! Funds of a subject that parties which harm payers got without its doing (`docs/model/accounts.md` B12): payments in
//! transactions that others sent.

use std::collections::BTreeMap;

use super::{
    ends::ends_money,
    received::Valued,
    transaction_text,
    unit::{FineSum, MoneyUnit},
    view::{AccountAttributions, AccountView},
};
use crate::{
    evidence::TakenFunds, ledger::OwnerNumber, policy::Role, taxonomy::Category,
    trace::AttributedEnd,
};

/// Number of transactions that are named of a party.
const TRANSACTIONS: usize = 5;

/// Returns the funds that were taken from a subject, by party and unit.
///
/// Only an account that sends transactions itself is known to be no contract: contracts, such as pools and wallets of
/// several owners, pay in transactions of others by their nature.
pub(super) fn taken(
    view: &dyn AccountView,
    subject: OwnerNumber,
    payments: &[Valued<'_>],
    attributions: &dyn AccountAttributions,
) -> Vec<TakenFunds> {
    let outgoing = || payments.iter().filter(|valued| valued.payment.from == subject);
    if !outgoing().any(|valued| valued.payment.is_initiated == Some(true)) {
        return Vec::new();
    }
    let by_others = outgoing().filter(|valued| {
        let payment = valued.payment;
        payment.kind.is_payment() && payment.is_initiated == Some(false) && valued.dust.is_none()
    });
    let mut found: BTreeMap<(Category, OwnerNumber, MoneyUnit), Taken<'_, '_>> = BTreeMap::new();
    for valued in by_others {
        let attribution = attributions.of_account(valued.payment.to);
        let end = attribution.and_then(|it| it.end.clone());
        let is_harmful =
            |end: &AttributedEnd| ends_money(end) && Role::HARMS_PAYERS.contains(&end.category);
        if let Some(end) = end.filter(is_harmful) {
            let key = (end.category, valued.payment.to, valued.unit);
            let taken = found.entry(key).or_insert_with(|| Taken { end, payments: Vec::new() });
            taken.payments.push(valued);
        }
    }
    found.into_iter().map(|((_, _, unit), taken)| taken.funds(view, unit)).collect()
}

/// Payments to one party.
struct Taken<'v, 'p> {
    end: AttributedEnd,
    payments: Vec<&'v Valued<'p>>,
}

impl Taken<'_, '_> {
    fn funds(self, view: &dyn AccountView, unit: MoneyUnit) -> TakenFunds {
        let Self { end, mut payments } = self;
        let sum = payments
            .iter()
            .fold(FineSum::default(), |sum, valued| sum.plus(FineSum::whole(valued.value)));
        payments.sort_by_key(|valued| std::cmp::Reverse(valued.value));
        let mut transactions: Vec<String> = Vec::new();
        for valued in payments {
            let text = transaction_text(view.chain(), view.txid(valued.payment.transaction));
            if !transactions.contains(&text) && transactions.len() < TRANSACTIONS {
                transactions.push(text);
            }
        }
        TakenFunds {
            category: end.category,
            entity: end.entity,
            tier: end.tier,
            confidence: end.confidence,
            amount: sum.shown(unit),
            unit: unit.name(),
            decimals: unit.decimals(),
            transactions,
        }
    }
}
