//! The strongest counterparties of a subject, from its history.

use std::{cmp::Reverse, collections::BTreeMap};

use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    evidence::Direction,
    facts::{Counterparties, Counterparty},
    reading::{
        ChainView, Entry, OwnHistory, OwnTransaction, OwnerNumber, TransactionNumber,
        TransactionRead, ViewError,
    },
    trace::ReadLimits,
    utxo::TransactionKind,
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;
use ruint::aliases::U256;
use rustc_hash::FxHashMap;

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
    transactions: BTreeMap<TransactionNumber, (Timestamp, u128)>,
    is_funder: bool,
}

impl Dealings {
    fn count(&mut self, transaction: &TransactionRead, amount: u128) {
        let known = self.transactions.entry(transaction.number).or_insert((transaction.time, 0));
        known.1 += amount;
    }
}

/// The addresses that paid the subject or were paid by it, without those of its own cluster: the funders and the
/// strongest others, with their listings and labels.
///
/// They are ordered by the amounts of both directions together, then as they appeared on the chain. The amount of a
/// transaction is split over the inputs, or outputs and fee, of other owners in proportion to their value, rounded
/// down. A coinbase and a CoinJoin have no counterparties. Funders are those of the first payment; of a longer history
/// than was read, the first payment is not known.
pub(super) fn counterparties(
    view: &dyn ChainView,
    owner: OwnerNumber,
    (history, limits): (&OwnHistory, ReadLimits),
    chain: ChainId,
    intel: &IntelSnapshot,
) -> Result<Counterparties, ViewError> {
    let dealings = dealings(view, owner, history, limits)?;
    let cluster = view.cluster_of(owner)?;
    let mut parties = Vec::with_capacity(dealings.len());
    for (party, dealings) in dealings {
        if view.cluster_of(party)? == cluster {
            continue;
        }
        // Scripts and pools have no address.
        if let Some(address) = view.owner(party)?.address(chain) {
            parties.push((party, address, dealings));
        }
    }
    parties.sort_by_key(|(party, _, dealings)| {
        let amount = dealings.received.saturating_add(dealings.sent);
        (Reverse(dealings.is_funder), Reverse(amount), *party)
    });
    let found = u64::try_from(parties.len()).unwrap_or(u64::MAX);
    let funders = parties.iter().filter(|(.., dealings)| dealings.is_funder).count();
    let mut strongest = Vec::new();
    for (_, address, dealings) in parties.into_iter().take(funders + STRONGEST) {
        strongest.extend(counterparty(view, address, &dealings, intel)?);
    }
    Ok(Counterparties { strongest, found })
}

fn dealings(
    view: &dyn ChainView,
    owner: OwnerNumber,
    history: &OwnHistory,
    limits: ReadLimits,
) -> Result<FxHashMap<OwnerNumber, Dealings>, ViewError> {
    let mut by_owner: FxHashMap<OwnerNumber, Dealings> = FxHashMap::default();
    let mut read = TransactionRead::default();
    let mut incomes = 0;
    let mut first: Option<(OwnTransaction, TransactionKind, Vec<Entry>)> = None;
    let most = limits.entries_per_transaction(history.incoming.len());
    for own in &history.incoming {
        view.read(own.number, Direction::Source, most, &mut read)?;
        let amount = own.income(read.inputs.total);
        if amount > 0 {
            incomes += 1;
            first.get_or_insert_with(|| (*own, read.kind, read.entries.clone()));
        }
        if read.kind == TransactionKind::Payment {
            let whole = read.inputs.total.saturating_sub(own.sent);
            for (other, share) in shares(&read.entries, owner, amount, whole) {
                let dealings = by_owner.entry(other).or_default();
                dealings.received += share;
                dealings.count(&read, share);
            }
        }
    }
    let most = limits.entries_per_transaction(history.outgoing.len());
    for own in &history.outgoing {
        view.read(own.number, Direction::Destination, most, &mut read)?;
        if read.kind == TransactionKind::Payment {
            let amount = own.spending(read.inputs.total);
            let whole = read.outputs.total.saturating_sub(own.received) + read.fee();
            for (other, share) in shares(&read.entries, owner, amount, whole) {
                let dealings = by_owner.entry(other).or_default();
                dealings.sent += share;
                dealings.count(&read, share);
            }
        }
    }
    if incomes >= history.statistics.transactions_in
        && let Some((_, TransactionKind::Payment, entries)) = first
    {
        for funder in funders(entries, owner) {
            if let Some(dealings) = by_owner.get_mut(&funder) {
                dealings.is_funder = true;
            }
        }
    }
    Ok(by_owner)
}

/// The shares of other owners in an amount, by the value of their entries on one side.
fn shares(
    entries: &[Entry],
    owner: OwnerNumber,
    amount: u128,
    whole: u128,
) -> impl Iterator<Item = (OwnerNumber, u128)> {
    let others = entries.iter().filter(move |entry| entry.owner != owner);
    others
        .filter_map(move |entry| {
            let product = U256::from(amount) * U256::from(entry.value);
            let share = u128::try_from(product.checked_div(U256::from(whole))?).ok()?;
            Some((entry.owner, share.min(amount)))
        })
        .filter(|(_, share)| *share > 0)
}

/// The owners of the largest inputs of the first payment.
fn funders(mut inputs: Vec<Entry>, owner: OwnerNumber) -> Vec<OwnerNumber> {
    inputs.sort_by_key(|entry| (Reverse(entry.value), entry.index));
    let mut owners = Vec::new();
    for other in inputs.iter().map(|entry| entry.owner) {
        if other != owner && !owners.contains(&other) && owners.len() < FUNDERS {
            owners.push(other);
        }
    }
    owners
}

fn counterparty(
    view: &dyn ChainView,
    address: CanonicalAddress,
    dealings: &Dealings,
    intel: &IntelSnapshot,
) -> Result<Option<Counterparty>, ViewError> {
    let times = || dealings.transactions.values().map(|(time, _)| *time);
    let (Some(first_seen), Some(last_seen)) = (times().min(), times().max()) else {
        return Ok(None);
    };
    let mut largest: Vec<_> = dealings.transactions.iter().collect();
    largest.sort_by_key(|(number, (_, amount))| (Reverse(*amount), **number));
    let transactions = largest.iter().take(TRANSACTIONS).map(|(number, _)| view.txid(**number));
    let transactions = transactions.map(|txid| Ok::<_, ViewError>(txid?.to_string()));
    let transactions = transactions.collect::<Result<_, _>>()?;
    Ok(Some(Counterparty {
        labels: intel.labels().of(&address),
        listings: intel.listings_of(&address),
        address,
        is_funder: dealings.is_funder,
        received: dealings.received,
        sent: dealings.sent,
        transactions,
        first_seen,
        last_seen,
    }))
}
