//! The composition (breakdown by origin) of all money that an owner received.

use assay_engine::{
    composition::{Composition, Mixture},
    ledger::OwnerNumber,
    utxo::ScriptOwner,
};

use super::{super::Reader, CompositionReader};
use crate::GraphError;

/// The composition (breakdown by origin) of all money that an owner received.
#[derive(Clone, Debug)]
pub struct OwnerExposure {
    /// The owner.
    pub owner: ScriptOwner,
    /// Total received, net of change, in base units.
    pub received: u128,
    /// Origins of the received money. Amounts of transactions without a computed composition (origin breakdown) count
    /// as of unknown origin.
    pub composition: Composition,
}

impl CompositionReader {
    /// Computes the composition (breakdown by origin) of all money that an owner received over its lifetime; `None` if
    /// the owner received only change. Each transaction is weighted by the amount that the owner received, net of
    /// change.
    ///
    /// # Errors
    ///
    /// Returns an error if a store fails, or if no owner has the number.
    pub fn exposure(
        &self,
        reader: &Reader<'_>,
        owner: OwnerNumber,
    ) -> Result<Option<OwnerExposure>, GraphError> {
        let mut mixture = Mixture::default();
        let mut received = 0;
        for own in reader.incoming(owner.0)? {
            let income =
                own.income(reader.known_transaction(own.number.0)?.head().input_total.into());
            received += income;
            if let Some(composition) = self.composition(own.number)? {
                // Sums of shares stay below 2^128 for any amount of a chain.
                mixture.add_composition(&composition, u64::try_from(income).unwrap_or(u64::MAX));
            }
        }
        if received == 0 {
            return Ok(None);
        }
        let composition = mixture.finish(received, false);
        Ok(Some(OwnerExposure { owner: reader.owner(owner.0)?, received, composition }))
    }
}
