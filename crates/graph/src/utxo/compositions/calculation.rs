//! Calculation of one transaction's composition (origin breakdown) from the compositions of the transactions that it
//! spends.

use std::sync::Arc;

use assay_engine::{
    composition::{Composition, Mixture, Origin},
    ledger::OwnerNumber,
    reading::FeePayer,
    utxo::TransactionKind,
};
use jiff::{civil::Date, tz::TimeZone};

use super::{
    super::{
        reader::Reader,
        record::{InputOrigin, StoredBlock, TransactionRecord},
    },
    OwnerAttribution, TraceEnds,
};
use crate::GraphError;

/// The computed composition (origin breakdown) of a transaction.
#[derive(Clone, Debug)]
pub(super) struct ComputedComposition {
    pub(super) composition: Arc<Composition>,
    /// The transaction that stores the composition (origin breakdown), which may be the transaction itself; `None` if
    /// no entry may refer to it.
    pub(super) holder: Option<u64>,
}

/// An input with known value and owner.
struct Input {
    value: u64,
    owner: OwnerNumber,
    made_by: Option<u64>,
}

/// A calculator of compositions (origin breakdowns), whose buffers are reused.
pub(super) struct CompositionCalculation<'g> {
    graph: &'g Reader<'g>,
    ends: &'g TraceEnds,
    mixture: Mixture,
    inputs: Vec<Input>,
    sources: Vec<ComputedComposition>,
    unknown: Arc<Composition>,
}

impl<'g> CompositionCalculation<'g> {
    pub(super) fn new(graph: &'g Reader<'g>, ends: &'g TraceEnds) -> Self {
        let (mixture, unknown) = (Mixture::default(), Arc::default());
        Self { graph, ends, mixture, inputs: Vec::new(), sources: Vec::new(), unknown }
    }

    /// Returns the composition (origin breakdown) of funds of unknown origin.
    pub(super) fn unknown(&self) -> ComputedComposition {
        ComputedComposition { composition: Arc::clone(&self.unknown), holder: None }
    }

    /// Computes the composition (origin breakdown) of a payment. `of` finds the composition of an earlier transaction.
    pub(super) fn payment(
        &mut self,
        record: &TransactionRecord<'_>,
        moved_on: Date,
        mut of: impl FnMut(u64) -> Result<ComputedComposition, GraphError>,
    ) -> Result<ComputedComposition, GraphError> {
        let head = record.head();
        let is_joint = matches!(head.kind, TransactionKind::Coinjoin(_));
        self.read_inputs(record)?;
        if let [Input { value, owner, made_by: Some(made_by) }] = *self.inputs
            && value > 0
            && value == head.input_total
            && !is_joint
            && self.ends.attribution_of(owner).is_nothing()
        {
            // One transaction is the only source of the money.
            let ComputedComposition { composition, holder } = of(made_by)?;
            return Ok(ComputedComposition {
                composition,
                holder: holder.or(Some(record.number())),
            });
        }
        self.sources.clear();
        for input in self.inputs.drain(..) {
            let OwnerAttribution { end, is_labelled, passed } =
                self.ends.attribution_of(input.owner);
            let mut marked = None;
            if let Some(end) = end {
                self.mixture.add_origin(end.origin(moved_on), input.value);
            } else if let Some(made_by) = input.made_by {
                let made = of(made_by)?;
                self.mixture.add_composition(&made.composition, input.value);
                marked = Some(Arc::clone(&made.composition));
                self.sources.push(made);
            }
            if *is_labelled {
                self.mixture.add_labelled(input.value, passed, marked.as_deref());
            }
        }
        let composition = self.mixture.finish(head.input_total.into(), is_joint);
        if composition.is_unknown() {
            return Ok(self.unknown());
        }
        let is_same =
            |made: &ComputedComposition| made.holder.is_some() && *made.composition == composition;
        if let Some(same) = self.sources.iter().position(is_same) {
            return Ok(self.sources.swap_remove(same));
        }
        Ok(ComputedComposition {
            composition: Arc::new(composition),
            holder: Some(record.number()),
        })
    }

    fn read_inputs(&mut self, record: &TransactionRecord<'_>) -> Result<(), GraphError> {
        self.inputs.clear();
        record.inputs(|input| {
            let Some(spent) = input.spent else { return };
            let made_by = match input.origin {
                InputOrigin::Recorded { transaction, .. } => Some(transaction),
                InputOrigin::Unrecorded(_) | InputOrigin::Pool => None,
            };
            let owner = OwnerNumber(spent.owner);
            self.inputs.push(Input { value: spent.value, owner, made_by });
        })
    }

    /// Computes the composition (origin breakdown) of a coinbase with `outputs` base units: the fees of its block, and
    /// new coins. `of` finds the composition of a payment in the block.
    pub(super) fn coinbase(
        &mut self,
        coinbase: u64,
        block: &StoredBlock,
        outputs: u128,
        mut of: impl FnMut(u64) -> Result<ComputedComposition, GraphError>,
    ) -> Result<ComputedComposition, GraphError> {
        let mut payers: Vec<FeePayer> = Vec::new();
        self.graph.fee_payers(block, &mut payers)?;
        let fees: u128 = payers.iter().map(|payer| u128::from(payer.fee)).sum();
        let mined = match outputs.saturating_sub(fees) {
            0 if fees == 0 => 1,
            mined => mined,
        };
        self.mixture.add_origin(Origin::Mining, u64::try_from(mined).unwrap_or(u64::MAX));
        for payer in payers {
            let made = of(payer.transaction.0)?;
            self.mixture.add_composition(&made.composition, payer.fee);
        }
        let composition = self.mixture.finish(fees + mined, false);
        Ok(ComputedComposition { composition: Arc::new(composition), holder: Some(coinbase) })
    }
}

/// The day of a block's time, in UTC.
pub(super) fn day_of(block: &StoredBlock) -> Date {
    block.block.time.to_zoned(TimeZone::UTC).date()
}
