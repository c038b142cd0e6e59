//! Reads transactions of other owners that are connected with the owner's transactions, within a budget.
//!
//! A search stops at a transaction that the view has not read yet and requests it; the whole search is repeated when
//! the view has read that transaction. The result of a search therefore depends only on the chain's data in the view.

use std::rc::Rc;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    activity::{Activity, OwnTransaction},
    rules::PASSED_ENTRIES,
};
use crate::{
    evidence::Direction,
    ledger::{OwnerNumber, TransactionNumber},
    reading::{
        ChainView, LookupResult, ReadRequest, TransactionEntry, TransactionRead, ViewError,
        Waypoint,
    },
    trace::Attributions,
    utxo::TransactionKind,
};

/// A transaction with all inputs and outputs; a side (inputs or outputs) with too many entries is empty.
#[derive(Debug)]
pub(super) struct Payment {
    pub(super) number: TransactionNumber,
    pub(super) position: u64,
    pub(super) time: Timestamp,
    pub(super) kind: TransactionKind,
    /// Number of inputs, known or not.
    pub(super) inputs_count: u64,
    pub(super) inputs_total: u128,
    pub(super) inputs: Vec<TransactionEntry>,
    pub(super) outputs: Vec<TransactionEntry>,
    /// False if a side has too many entries, and is empty for that.
    pub(super) has_all_entries: bool,
}

impl Payment {
    /// The owner of all inputs; `None` if there are several owners, or unknown owners.
    pub(super) fn payer(&self) -> Option<OwnerNumber> {
        let first = self.inputs.first()?.owner;
        let is_one = self.inputs.len() as u64 == self.inputs_count
            && self.inputs.iter().all(|input| input.owner == first);
        is_one.then_some(first)
    }

    /// The outputs with a value.
    pub(super) fn paid(&self) -> impl Iterator<Item = &TransactionEntry> {
        self.outputs.iter().filter(|output| output.value > 0)
    }
}

/// A budget of transactions to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) left: u32,
}

/// Reads transactions that are connected with the owner's transactions, each once.
pub(super) struct NeighborReader<'v> {
    pub(super) view: &'v dyn ChainView,
    attributions: &'v dyn Attributions,
    known: FxHashMap<TransactionNumber, Rc<Payment>>,
    /// Transactions of the owner, which do not count for the budget.
    own: FxHashSet<TransactionNumber>,
    /// Transactions and outputs that the view has not read yet.
    pub(super) missing: ReadRequest,
    /// Number of transactions of other owners that were read.
    pub(super) read: u64,
    /// False if a limit of the search was reached.
    pub(super) is_whole: bool,
    /// False if the view does not know the activity of other owners.
    pub(super) has_activity_of_others: bool,
}

impl<'v> NeighborReader<'v> {
    /// Begins with the transactions of the owner.
    pub(super) fn new(
        view: &'v dyn ChainView,
        attributions: &'v dyn Attributions,
        activity: &Activity,
    ) -> Self {
        let known = activity.transactions.iter().map(|own| (own.number, payment(own)));
        Self {
            view,
            attributions,
            known: known.collect(),
            own: activity.transactions.iter().map(|own| own.number).collect(),
            missing: ReadRequest::default(),
            read: 0,
            is_whole: true,
            has_activity_of_others: true,
        }
    }

    /// Reads a transaction; `None` if the transaction cannot be read now.
    pub(super) fn payment(
        &mut self,
        number: TransactionNumber,
        budget: &mut Budget,
    ) -> Result<Option<Rc<Payment>>, ViewError> {
        if let Some(known) = self.known.get(&number) {
            return Ok(Some(Rc::clone(known)));
        }
        match self.view.look_up(Waypoint::Transaction(number))? {
            LookupResult::Transaction { .. } => {}
            LookupResult::Unread => {
                self.missing.push(Waypoint::Transaction(number));
                self.is_whole = false;
                return Ok(None);
            }
            LookupResult::Nothing | LookupResult::Failed => {
                self.is_whole = false;
                return Ok(None);
            }
        }
        let Some(rest) = budget.left.checked_sub(1) else {
            self.is_whole = false;
            return Ok(None);
        };
        budget.left = rest;
        self.read += 1;
        let mut read = TransactionRead::default();
        self.view.read(number, Direction::Source, 0, &mut read)?;
        let (inputs_count, outputs_count) = (read.inputs.count, read.outputs.count);
        let mut side = |direction, count| {
            if count > PASSED_ENTRIES {
                return Ok(Vec::new());
            }
            self.view.read(number, direction, u32::MAX, &mut read)?;
            Ok::<_, ViewError>(std::mem::take(&mut read.entries))
        };
        let inputs = side(Direction::Source, inputs_count)?;
        let outputs = side(Direction::Destination, outputs_count)?;
        let payment = Rc::new(Payment {
            number,
            position: read.position,
            time: read.time,
            kind: read.kind,
            inputs_count,
            inputs_total: read.inputs.total,
            has_all_entries: inputs_count.max(outputs_count) <= PASSED_ENTRIES,
            inputs,
            outputs,
        });
        self.known.insert(number, Rc::clone(&payment));
        Ok(Some(payment))
    }

    /// The transaction that spends an output; `None` if the output is unspent or the transaction cannot be read now.
    pub(super) fn spender(
        &mut self,
        output: &TransactionEntry,
        budget: &mut Budget,
    ) -> Result<Option<Rc<Payment>>, ViewError> {
        let Some(waypoint) = output.leads_to else { return Ok(None) };
        match self.view.look_up(waypoint)? {
            LookupResult::Transaction { number, .. } => self.payment(number, budget),
            LookupResult::Nothing => Ok(None),
            LookupResult::Failed => {
                self.is_whole = false;
                Ok(None)
            }
            LookupResult::Unread => {
                self.missing.push(waypoint);
                self.is_whole = false;
                Ok(None)
            }
        }
    }

    /// The transaction that created the output that an input spends; `None` if that transaction is not known or cannot
    /// be read now.
    pub(super) fn origin(
        &mut self,
        input: &TransactionEntry,
        budget: &mut Budget,
    ) -> Result<Option<Rc<Payment>>, ViewError> {
        match input.leads_to {
            Some(Waypoint::Transaction(number)) => self.payment(number, budget),
            Some(Waypoint::Output(_)) | None => Ok(None),
        }
    }

    /// True if lists or labels attribute the owner to a party at which traces end.
    pub(super) fn is_attributed(&self, owner: OwnerNumber) -> Result<bool, ViewError> {
        let attribution = self.attributions.of_owner(owner, self.view)?;
        Ok(attribution.as_ref().is_some_and(|it| it.end.is_some()))
    }

    /// True if lists or labels attribute the owner to a service, which moves other people's funds.
    pub(super) fn is_service(&self, owner: OwnerNumber) -> Result<bool, ViewError> {
        let attribution = self.attributions.of_owner(owner, self.view)?;
        let end = attribution.as_ref().and_then(|it| it.end.as_ref());
        Ok(end.is_some_and(|end| end.category.info().service))
    }

    /// True for a transaction of the owner.
    pub(super) fn is_own(&self, number: TransactionNumber) -> bool {
        self.own.contains(&number)
    }

    /// The transactions that were read, the owner's transactions included.
    pub(super) fn payments(&self) -> impl Iterator<Item = &Rc<Payment>> {
        self.known.values()
    }
}

fn payment(own: &OwnTransaction) -> Rc<Payment> {
    let side = |entries: &[TransactionEntry]| {
        if entries.len() as u64 > PASSED_ENTRIES { Vec::new() } else { entries.to_vec() }
    };
    Rc::new(Payment {
        number: own.number,
        position: own.position,
        time: own.time,
        kind: own.coins.kind,
        inputs_count: own.coins.inputs_count,
        inputs_total: own.coins.inputs_total,
        inputs: side(&own.coins.inputs),
        outputs: side(&own.coins.outputs),
        has_all_entries: own.coins.inputs.len().max(own.coins.outputs.len()) as u64
            <= PASSED_ENTRIES,
    })
}
