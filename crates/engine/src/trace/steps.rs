//! The steps of paths as an answer shows them: each with its time, the amount that the party moved, and the party's
//! label.

use assay_address::ChainId;
use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::attribution::Attributions;
use crate::{
    evidence::{Direction, PathStep, StepLabel},
    ledger::{ENTRIES_PER_TRANSACTION, OwnerNumber, TransactionNumber},
    reading::{ChainView, TransactionRead, ViewError, own::read_own},
    trace::attribution::is_listed,
};

/// Describes the steps of a direction's paths. The reader reads each transaction once more, from the view of the trace.
pub(super) struct StepReader<'v> {
    pub(super) chain: ChainId,
    pub(super) direction: Direction,
    pub(super) subject: OwnerNumber,
    pub(super) view: &'v dyn ChainView,
    pub(super) attributions: &'v dyn Attributions,
    /// Number of entries that were read of each of the subject's own transactions.
    own_entries: FxHashMap<TransactionNumber, u32>,
    /// Transactions by number, the subject's own transactions separately, because of these a different number of
    /// entries is read.
    known: FxHashMap<(TransactionNumber, bool), StepTransaction>,
    read: TransactionRead,
}

/// The data of a transaction that its steps show.
struct StepTransaction {
    id: String,
    time: Timestamp,
    /// Amounts by owner, in base units, of the side that the direction leads to.
    amounts: FxHashMap<OwnerNumber, u128>,
}

impl<'v> StepReader<'v> {
    pub(super) fn new(
        chain: ChainId,
        direction: Direction,
        subject: OwnerNumber,
        view: &'v dyn ChainView,
        attributions: &'v dyn Attributions,
        own_entries: FxHashMap<TransactionNumber, u32>,
    ) -> Self {
        let (known, read) = (FxHashMap::default(), TransactionRead::default());
        Self { chain, direction, subject, view, attributions, own_entries, known, read }
    }

    /// Describes a step over a transaction to an owner; `None` stands for newly mined coins and fees. The first step of
    /// a path is over one of the subject's own transactions.
    pub(super) fn show(
        &mut self,
        transaction: TransactionNumber,
        owner: Option<OwnerNumber>,
        is_first: bool,
    ) -> Result<PathStep, ViewError> {
        let label = match owner {
            Some(owner) if owner != self.subject => self.label(owner)?,
            _ => None,
        };
        let address = match owner {
            Some(owner) => self.view.owner(owner)?.address(self.chain),
            None => None,
        };
        let StepTransaction { id, time, amounts } = self.transaction(transaction, is_first)?;
        let amount = owner.and_then(|owner| amounts.get(&owner)).map(ToString::to_string);
        let address = address.map(|address| address.to_string());
        Ok(PathStep {
            blockchain: None,
            via: Vec::new(),
            transaction: id.clone(),
            address,
            time: *time,
            amount,
            asset: None,
            place: None,
            label,
        })
    }

    fn transaction(
        &mut self,
        number: TransactionNumber,
        is_first: bool,
    ) -> Result<&StepTransaction, ViewError> {
        let key = (number, is_first);
        if !self.known.contains_key(&key) {
            let (view, direction, attributions) = (self.view, self.direction, self.attributions);
            if let Some(most) = self.own_entries.get(&number).filter(|_| is_first) {
                let mut is_listed = |owner| is_listed(view, attributions, owner);
                read_own(view, (number, direction), *most, &mut is_listed, &mut self.read)?;
            } else {
                view.read(number, direction, ENTRIES_PER_TRANSACTION, &mut self.read)?;
            }
            let mut amounts: FxHashMap<OwnerNumber, u128> = FxHashMap::default();
            for entry in &self.read.entries {
                *amounts.entry(entry.owner).or_default() += u128::from(entry.value);
            }
            let id = self.view.txid(number)?.to_string();
            self.known.insert(key, StepTransaction { id, time: self.read.time, amounts });
        }
        self.known.get(&key).ok_or_else(|| ViewError::new("a step that was just read is gone"))
    }

    fn label(&self, owner: OwnerNumber) -> Result<Option<StepLabel>, ViewError> {
        let Some(attribution) = self.attributions.of_owner(owner, self.view)? else {
            return Ok(None);
        };
        if let Some(end) = &attribution.end {
            return Ok(Some(StepLabel {
                category: end.category,
                entity: end.entity.as_deref().map(str::to_owned),
                tier: end.tier,
                confidence: end.confidence,
                listed: end.listed,
            }));
        }
        // Of equal ones the first.
        let riskiest =
            attribution.carried.iter().rev().max_by_key(|label| {
                u32::from(label.severity) * u32::from(label.confidence.percent())
            });
        Ok(riskiest.map(|label| StepLabel {
            category: label.category,
            entity: label.entity.as_deref().map(str::to_owned),
            tier: label.tier,
            confidence: label.confidence,
            listed: false,
        }))
    }
}
