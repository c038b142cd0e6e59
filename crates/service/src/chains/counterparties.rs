//! The strongest counterparties of a subject, from its history.

use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

use assay_address::CanonicalAddress;
use assay_engine::{
    evidence::{AddressLabels, Direction, Listing},
    facts::{Counterparties, Counterparty},
    ledger::{OwnHistory, OwnerNumber, ReadLimits, TransactionNumber},
    reading::{ChainView, TransactionEntry, TransactionRead, ViewError, entries_of_each, read_own},
    trace::Attributions,
    utxo::TransactionKind,
};
use jiff::Timestamp;
use ruint::aliases::U256;

use super::attributed_owners::{AttributionInputs, ViewAttributions};

/// Number of strongest counterparties in an answer, in addition to the funders and the listed ones.
const STRONGEST: usize = 10;
/// Number of listed counterparties in an answer, in addition to the strongest.
const LISTED: usize = 10;
/// Number of addresses in an answer that made the first payment.
const FUNDERS: usize = 3;
/// Number of transactions in an answer for each counterparty.
const TRANSACTIONS: usize = 5;

/// Amount that one transaction moved between the subject and another owner.
#[derive(Clone, Copy, Debug)]
struct CounterpartyPayment {
    party: OwnerNumber,
    transaction: TransactionNumber,
    time: Timestamp,
    direction: Direction,
    amount: u128,
}

/// All payments of the subject with one owner.
#[derive(Clone, Debug)]
struct CounterpartyTotal {
    owner: OwnerNumber,
    /// Range of the owner's payments among the payments with all owners.
    payments: Range<usize>,
    amount: u128,
    is_funder: bool,
}

/// Returns the addresses outside the subject's cluster that paid the subject or were paid by the subject: the funders,
/// the strongest others, and further listed addresses, with their listings and labels.
///
/// Counterparties are ordered by the sum of the amounts of both directions, then by first appearance on the chain. The
/// amount of a transaction is split over the inputs, or outputs and fee, of other owners in proportion to their value,
/// rounded down. A coinbase and a CoinJoin have no counterparties. Funders made the first payment; the first payment of
/// a history that was read in part is unknown.
pub(super) fn counterparties(
    view: &dyn ChainView,
    owner: OwnerNumber,
    (history, limits): (&OwnHistory, ReadLimits),
    attributions: &ViewAttributions<'_>,
) -> Result<Counterparties, ViewError> {
    let (mut payments, funders) = payments(view, owner, (history, limits), attributions)?;
    payments.sort_by_key(|payment| payment.party);
    let cluster = view.cluster_of(owner)?;
    let mut parties = Vec::new();
    let mut at = 0;
    for same in payments.chunk_by(|a, b| a.party == b.party) {
        let payments = at..at + same.len();
        at = payments.end;
        let Some(CounterpartyPayment { party, .. }) = same.first() else { continue };
        if view.cluster_of(*party)? != cluster {
            let amount = same.iter().fold(0, |sum: u128, it| sum.saturating_add(it.amount));
            let is_funder = funders.contains(party);
            parties.push(CounterpartyTotal { owner: *party, payments, amount, is_funder });
        }
    }
    parties.sort_unstable_by_key(|party| {
        (Reverse(party.is_funder), Reverse(party.amount), party.owner)
    });
    let found = u64::try_from(parties.len()).unwrap_or(u64::MAX);
    let AttributionInputs { chain, intel, .. } = *attributions.inputs();
    let (mut shown, mut others, mut listed) = (Vec::new(), 0, 0);
    for party in parties {
        let is_among_strongest = party.is_funder || others < STRONGEST;
        if !is_among_strongest
            && (listed == LISTED || !attributions.is_attributed(party.owner, view)?)
        {
            continue;
        }
        // Scripts and pools have no address, and nobody is no party.
        let owner = view.owner(party.owner)?;
        let Some(address) = owner.address(chain).filter(|_| owner.unowned_kind().is_none()) else {
            continue;
        };
        let listings = intel.listings_of(&address);
        if !is_among_strongest && listings.is_empty() {
            continue;
        }
        listed += usize::from(!is_among_strongest);
        others += usize::from(!party.is_funder);
        let of_party = payments.get(party.payments).unwrap_or_default();
        let labels = intel.labels().labels_of(&address);
        shown.extend(counterparty(view, of_party, address, party.is_funder, labels, listings)?);
    }
    Ok(Counterparties { strongest: shown, found })
}

/// Returns the payments with other owners in the order of the history, and the funders.
fn payments(
    view: &dyn ChainView,
    owner: OwnerNumber,
    (history, limits): (&OwnHistory, ReadLimits),
    attributions: &ViewAttributions<'_>,
) -> Result<(Vec<CounterpartyPayment>, Vec<OwnerNumber>), ViewError> {
    let mut is_listed = |other| {
        let attribution = attributions.of_owner(other, view)?;
        Ok(attribution.as_ref().and_then(|it| it.end.as_ref()).is_some_and(|end| end.listed))
    };
    let mut payments = Vec::new();
    let mut read = TransactionRead::default();
    let mut incomes = 0;
    let mut first: Option<(TransactionKind, Vec<TransactionEntry>)> = None;
    let sides =
        [(Direction::Source, &history.incoming), (Direction::Destination, &history.outgoing)];
    for (direction, own) in sides {
        let most = entries_of_each(view, own, direction, limits)?;
        for (own, most) in own.iter().zip(most) {
            read_own(view, (own.number, direction), most, &mut is_listed, &mut read)?;
            let (amount, whole) = match direction {
                Direction::Source => {
                    (own.income(own.inputs), read.inputs.total.saturating_sub(own.sent))
                }
                Direction::Destination => (
                    own.spending(own.inputs),
                    read.outputs.total.saturating_sub(own.received) + read.fee(),
                ),
            };
            if direction == Direction::Source && amount > 0 {
                incomes += 1;
                first.get_or_insert_with(|| (read.kind, read.entries.clone()));
            }
            if read.kind == TransactionKind::Payment {
                let (transaction, time) = (read.number, read.time);
                let shares = shares(&read.entries, owner, amount, whole);
                payments.extend(shares.map(|(party, amount)| CounterpartyPayment {
                    party,
                    transaction,
                    time,
                    direction,
                    amount,
                }));
            }
        }
    }
    let funders = match first {
        Some((TransactionKind::Payment, entries))
            if incomes >= history.statistics.transactions_in =>
        {
            funders(entries, owner)
        }
        _ => vec![],
    };
    Ok((payments, funders))
}

/// Splits an amount over other owners by the value of their entries on one side of the transaction.
fn shares(
    entries: &[TransactionEntry],
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

/// Returns the owners of the largest inputs of the first payment.
fn funders(mut inputs: Vec<TransactionEntry>, owner: OwnerNumber) -> Vec<OwnerNumber> {
    inputs.sort_by_key(|entry| (Reverse(entry.value), entry.index));
    let mut owners = Vec::new();
    for other in inputs.iter().map(|entry| entry.owner) {
        if other != owner && !owners.contains(&other) && owners.len() < FUNDERS {
            owners.push(other);
        }
    }
    owners
}

/// Describes a counterparty for an answer; `None` without payments.
fn counterparty(
    view: &dyn ChainView,
    payments: &[CounterpartyPayment],
    address: CanonicalAddress,
    is_funder: bool,
    labels: AddressLabels,
    listings: Vec<Listing>,
) -> Result<Option<Counterparty>, ViewError> {
    let times = || payments.iter().map(|payment| payment.time);
    let (Some(first_seen), Some(last_seen)) = (times().min(), times().max()) else {
        return Ok(None);
    };
    let total = |direction| {
        let of_direction = payments.iter().filter(|payment| payment.direction == direction);
        of_direction.fold(0, |sum: u128, payment| sum.saturating_add(payment.amount))
    };
    let mut amounts: BTreeMap<TransactionNumber, u128> = BTreeMap::new();
    for payment in payments {
        *amounts.entry(payment.transaction).or_default() += payment.amount;
    }
    let mut largest: Vec<(TransactionNumber, u128)> = amounts.into_iter().collect();
    largest.sort_by_key(|(number, amount)| (Reverse(*amount), *number));
    let transactions = largest.iter().take(TRANSACTIONS).map(|(number, _)| view.txid(*number));
    let transactions = transactions.map(|txid| Ok::<_, ViewError>(txid?.to_string()));
    Ok(Some(Counterparty {
        freezes: Vec::new(),
        labels,
        listings,
        address,
        is_funder,
        received: total(Direction::Source),
        sent: total(Direction::Destination),
        by_asset: Vec::new(),
        role: None,
        transactions: transactions.collect::<Result<_, _>>()?,
        first_seen,
        last_seen,
    }))
}
