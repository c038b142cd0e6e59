//! Addresses that may belong to the subject's owner, by single payments of the subject: change, and inputs that were
//! spent together with the subject's where the payment may be a `PayJoin`.
//!
//! Each link is between two addresses. Answers show links; clusters, scores and traces do not use them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use assay_address::ChainId;
use assay_engine::{
    evidence::Direction,
    facts::PossibleOwner,
    ledger::{OwnHistory, OwnTransaction, OwnerNumber, TransactionNumber},
    reading::{ChainView, TransactionEntry, TransactionRead, ViewError, Waypoint},
    score::Confidence,
    utxo::{
        OutPoint, Transaction, TransactionKind, TxInput, TxOut,
        cluster::{LinkKind, Links, links},
    },
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

/// Number of transactions of the subject that are read in each direction, those with the largest amounts.
const TRANSACTIONS: usize = 20;
/// Largest number of possible owners in an answer.
const SHOWN: usize = 20;
/// Number of transactions in an answer for each possible owner.
const TRANSACTIONS_SHOWN: usize = 5;
/// Largest number of inputs of a payment that is read.
const MOST_INPUTS: u32 = 100;
/// Largest number of outputs of a payment that is read: more than payments with identifiable change have.
const MOST_OUTPUTS: u32 = 50;

/// Returns the addresses that may belong to the subject's owner, by falling confidence, then by first appearance on the
/// chain. Addresses of the subject's cluster are left out, because they do belong to its owner.
///
/// # Errors
///
/// Returns an error if the store behind the view fails.
pub fn possible_owners(
    view: &dyn ChainView,
    subject: OwnerNumber,
    history: &OwnHistory,
    (chain, intel): (ChainId, &IntelSnapshot),
) -> Result<Vec<PossibleOwner>, ViewError> {
    let mut linked: BTreeMap<OwnerNumber, OwnerLinks> = BTreeMap::new();
    for number in transactions(history) {
        let Some(payment) = Payment::read(view, number, chain)? else { continue };
        for (owner, kind, confidence) in payment.linked_with(subject) {
            linked.entry(owner).or_default().add((kind, confidence), (number, payment.time));
        }
    }
    let cluster = view.cluster_of(subject)?;
    let mut linked: Vec<(OwnerNumber, OwnerLinks)> = linked.into_iter().collect();
    linked.sort_by_key(|(owner, it)| {
        (Reverse(it.surest.map(|(_, confidence)| confidence.percent())), *owner)
    });
    let mut shown = Vec::new();
    for (owner, OwnerLinks { surest, payments }) in linked {
        let Some((by, confidence)) = surest else { continue };
        if shown.len() == SHOWN || view.cluster_of(owner)? == cluster {
            continue;
        }
        let Some(address) = view.owner(owner)?.address(chain) else { continue };
        let (Some((_, first_seen)), Some((_, last_seen))) = (payments.first(), payments.last())
        else {
            continue;
        };
        let transactions =
            payments.iter().take(TRANSACTIONS_SHOWN).map(|(number, _)| view.txid(*number));
        let transactions = transactions.map(|txid| Ok::<_, ViewError>(txid?.to_string()));
        shown.push(PossibleOwner {
            labels: intel.labels().labels_of(&address),
            listings: intel.listings_of(&address),
            address,
            by,
            confidence,
            transactions: transactions.collect::<Result<_, _>>()?,
            first_seen: *first_seen,
            last_seen: *last_seen,
        });
    }
    Ok(shown)
}

/// Returns the transactions with the largest amounts for the subject, in the order of the chain.
fn transactions(history: &OwnHistory) -> BTreeSet<TransactionNumber> {
    let largest = |own: &[OwnTransaction], moved: fn(&OwnTransaction) -> u128| {
        let mut own: Vec<_> = own.iter().map(|own| (Reverse(moved(own)), own.number)).collect();
        own.sort_unstable();
        own.into_iter().take(TRANSACTIONS).map(|(_, number)| number).collect::<Vec<_>>()
    };
    let incoming = largest(&history.incoming, |own| own.received);
    incoming.into_iter().chain(largest(&history.outgoing, |own| own.sent)).collect()
}

/// Links of an owner with the subject.
#[derive(Clone, Debug, Default)]
struct OwnerLinks {
    surest: Option<(LinkKind, Confidence)>,
    payments: Vec<(TransactionNumber, Timestamp)>,
}

impl OwnerLinks {
    fn add(&mut self, link: (LinkKind, Confidence), payment: (TransactionNumber, Timestamp)) {
        let is_surer = |known: (_, Confidence)| link.1.percent() > known.1.percent();
        if self.surest.is_none_or(is_surer) {
            self.surest = Some(link);
        }
        if self.payments.last().is_none_or(|last| *last != payment) {
            self.payments.push(payment);
        }
    }
}

/// A payment with its links.
struct Payment {
    time: Timestamp,
    inputs: Vec<OwnerNumber>,
    /// Owner of the change, with the confidence that the output is change.
    change: Option<(OwnerNumber, Confidence)>,
    /// Confidence that all inputs have one owner; `None` if clusters already join the inputs.
    spent_together: Option<Confidence>,
}

impl Payment {
    /// Reads a transaction; `None` if it is no payment, too large, or links nothing.
    fn read(
        view: &dyn ChainView,
        number: TransactionNumber,
        chain: ChainId,
    ) -> Result<Option<Self>, ViewError> {
        let Some(first_new) = view.first_new_owner(number)? else { return Ok(None) };
        let mut read = TransactionRead::default();
        view.read(number, Direction::Destination, MOST_OUTPUTS, &mut read)?;
        let is_whole = read.outputs.count <= u64::from(MOST_OUTPUTS)
            && (1..=u64::from(MOST_INPUTS)).contains(&read.inputs.count);
        if read.kind != TransactionKind::Payment || !is_whole {
            return Ok(None);
        }
        let (time, outputs) = (read.time, std::mem::take(&mut read.entries));
        view.read(number, Direction::Source, MOST_INPUTS, &mut read)?;
        if read.entries.len() as u64 != read.inputs.count {
            // Some inputs are not known.
            return Ok(None);
        }
        let made = |entry: &TransactionEntry| {
            Ok::<_, ViewError>(TxOut { owner: view.owner(entry.owner)?, value: entry.value })
        };
        let txid = view.txid(number)?;
        let mut inputs = Vec::with_capacity(read.entries.len());
        for entry in &read.entries {
            // Links do not depend on where an input was made.
            let outpoint = OutPoint { txid, index: entry.index };
            inputs.push(TxInput::new(outpoint, Some(made(entry)?)));
        }
        let outputs_made = outputs.iter().map(made).collect::<Result<_, _>>()?;
        let transaction = Transaction { txid, kind: read.kind, inputs, outputs: outputs_made };
        let mut is_mixed = false;
        let mut origin = TransactionRead::default();
        for entry in &read.entries {
            if let Some(Waypoint::Transaction(made)) = entry.leads_to {
                view.read(made, Direction::Destination, 0, &mut origin)?;
                is_mixed |= matches!(origin.kind, TransactionKind::Coinjoin(_));
            }
        }
        let is_new = |index: usize| outputs.get(index).is_some_and(|it| it.owner >= first_new);
        let Links { change, spent_together } = links(&transaction, chain, time, is_mixed, is_new);
        let change = change.and_then(|it| Some((outputs.get(it.output)?.owner, it.confidence())));
        let inputs = read.entries.iter().map(|entry| entry.owner).collect();
        Ok(Some(Self { time, inputs, change, spent_together }))
    }

    /// Returns the owners that the payment links with `subject`, each once for each kind of link.
    fn linked_with(&self, subject: OwnerNumber) -> BTreeSet<(OwnerNumber, LinkKind, Confidence)> {
        let is_payer = self.inputs.contains(&subject);
        let others = || self.inputs.iter().copied().filter(|owner| *owner != subject);
        let mut linked = BTreeSet::new();
        match self.change {
            Some((owner, confidence)) if is_payer => {
                linked.insert((owner, LinkKind::Change, confidence));
            }
            Some((owner, confidence)) if owner == subject => {
                linked.extend(others().map(|other| (other, LinkKind::Change, confidence)));
            }
            _ => {}
        }
        if let Some(confidence) = self.spent_together.filter(|_| is_payer) {
            linked.extend(others().map(|other| (other, LinkKind::SpentTogether, confidence)));
        }
        linked
    }
}
