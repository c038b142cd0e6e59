//! The strongest counterparties of a subject, from its history.

use std::{cmp::Reverse, collections::BTreeMap};

use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    facts::{Counterparties, Counterparty},
    utxo::{History, HistoryEntry, ScriptOwner, TransactionKind, TransactionSide, Txid},
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;
use ruint::aliases::U256;

/// Counterparties that an answer shows besides the funders.
const STRONGEST: usize = 10;
/// Addresses that an answer shows as those of the first payment.
const FUNDERS: usize = 3;
/// Transactions that are shown of a counterparty.
const TRANSACTIONS: usize = 5;

/// The money between the subject and one address.
#[derive(Default)]
struct Dealings {
    received: u128,
    sent: u128,
    /// Each transaction with its time and amount.
    transactions: BTreeMap<Txid, (Timestamp, u128)>,
    is_funder: bool,
}

/// An address with the money between the subject and it.
pub(super) struct Party {
    pub(super) owner: ScriptOwner,
    dealings: Dealings,
}

/// The addresses that paid the subject or were paid by it: the funders, then by the amounts of both directions
/// together, then in the order of their bytes.
///
/// The amount of a transaction is split over the inputs, or outputs and fee, of other owners in proportion to
/// their value, rounded down. A coinbase and a CoinJoin have no counterparties. Funders are those of the
/// first payment; of a longer history than was read, the first payment is not known.
pub(super) fn parties(owner: &ScriptOwner, history: &History) -> Vec<Party> {
    let mut by_owner: BTreeMap<ScriptOwner, Dealings> = BTreeMap::new();
    for entry in payments(&history.incoming) {
        let view = &entry.transaction;
        let amount = entry.received - entry.change();
        let whole = view.inputs.total.saturating_sub(entry.sent);
        for (other, share) in shares(&view.inputs, owner, amount, whole) {
            let dealings = by_owner.entry(other.clone()).or_default();
            dealings.received += share;
            dealings.count(entry, share);
        }
    }
    for entry in payments(&history.outgoing) {
        let view = &entry.transaction;
        let amount = entry.sent - entry.change();
        let whole = view.outputs.total.saturating_sub(entry.received) + view.fee();
        for (other, share) in shares(&view.outputs, owner, amount, whole) {
            let dealings = by_owner.entry(other.clone()).or_default();
            dealings.sent += share;
            dealings.count(entry, share);
        }
    }
    for funder in funders(history, owner) {
        if let Some(dealings) = by_owner.get_mut(&funder) {
            dealings.is_funder = true;
        }
    }
    let has_address =
        |owner: &ScriptOwner| !matches!(owner, ScriptOwner::Script(_) | ScriptOwner::Pool(_));
    let mut all: Vec<Party> = by_owner
        .into_iter()
        .filter(|(owner, _)| has_address(owner))
        .map(|(owner, dealings)| Party { owner, dealings })
        .collect();
    // Of equal amounts, the order of owners stays.
    all.sort_by_key(|Party { dealings, .. }| {
        let amount = dealings.received.saturating_add(dealings.sent);
        (Reverse(dealings.is_funder), Reverse(amount))
    });
    all
}

/// The funders and the strongest others, with their listings and labels.
pub(super) fn strongest(
    parties: Vec<Party>,
    chain: ChainId,
    intel: &IntelSnapshot,
) -> Counterparties {
    let found = u64::try_from(parties.len()).unwrap_or(u64::MAX);
    let funders = parties.iter().filter(|party| party.dealings.is_funder).count();
    let shown = parties.into_iter().take(funders + STRONGEST);
    let shown =
        shown.filter_map(|party| party.dealings.counterparty(party.owner.address(chain)?, intel));
    Counterparties { strongest: shown.collect(), found }
}

/// The entries in which it shows who paid whom.
fn payments(entries: &[HistoryEntry]) -> impl Iterator<Item = &HistoryEntry> {
    entries.iter().filter(|entry| entry.transaction.kind == TransactionKind::Payment)
}

/// The shares of other owners in an amount, by the value of their entries on one side.
fn shares<'a>(
    side: &'a TransactionSide,
    owner: &'a ScriptOwner,
    amount: u128,
    whole: u128,
) -> impl Iterator<Item = (&'a ScriptOwner, u128)> {
    let others = side.largest.iter().filter(move |entry| entry.output.owner != *owner);
    others
        .filter_map(move |entry| {
            let product = U256::from(amount) * U256::from(entry.output.value);
            let share = u128::try_from(product.checked_div(U256::from(whole))?).ok()?;
            Some((&entry.output.owner, share.min(amount)))
        })
        .filter(|(_, share)| *share > 0)
}

/// The owners of the largest inputs of the first payment. None if the history was not read as a whole.
fn funders(history: &History, owner: &ScriptOwner) -> Vec<ScriptOwner> {
    let incoming = || history.incoming.iter().filter(|entry| entry.received > entry.change());
    let count = u64::try_from(incoming().count()).unwrap_or(u64::MAX);
    if count < history.statistics.transactions_in {
        return Vec::new();
    }
    let first = incoming().min_by_key(|entry| (entry.transaction.height, entry.transaction.txid));
    let Some(first) = first.filter(|it| it.transaction.kind == TransactionKind::Payment) else {
        return Vec::new();
    };
    let mut owners: Vec<ScriptOwner> = Vec::new();
    for entry in &first.transaction.inputs.largest {
        let other = &entry.output.owner;
        if other != owner && !owners.contains(other) && owners.len() < FUNDERS {
            owners.push(other.clone());
        }
    }
    owners
}

impl Dealings {
    fn count(&mut self, entry: &HistoryEntry, amount: u128) {
        let view = &entry.transaction;
        let known = self.transactions.entry(view.txid).or_insert((view.time, 0));
        known.1 += amount;
    }

    fn counterparty(
        self,
        address: CanonicalAddress,
        intel: &IntelSnapshot,
    ) -> Option<Counterparty> {
        let times = || self.transactions.values().map(|(time, _)| *time);
        let (first_seen, last_seen) = (times().min()?, times().max()?);
        let mut largest: Vec<_> = self.transactions.iter().collect();
        largest.sort_by_key(|(txid, (time, amount))| (Reverse(*amount), *time, **txid));
        Some(Counterparty {
            labels: intel.labels().of(&address),
            listings: intel.listings_of(&address),
            address,
            is_funder: self.is_funder,
            received: self.received,
            sent: self.sent,
            transactions: largest.iter().take(TRANSACTIONS).map(|it| it.0.to_string()).collect(),
            first_seen,
            last_seen,
        })
    }
}
