//! What the money that each owner received is made of.

use assay_engine::{
    composition::{Composition, Mixture},
    ledger::OwnerNumber,
    utxo::ScriptOwner,
};

use super::{super::Reader, CompositionReader};
use crate::GraphError;

/// What the money that an owner received is made of.
#[derive(Clone, Debug)]
pub struct OwnerExposure {
    /// The owner.
    pub owner: ScriptOwner,
    /// All that it received, net of change, in base units.
    pub received: u128,
    /// The origins of that. An amount of a transaction whose composition is not computed yet is unknown.
    pub composition: Composition,
}

impl CompositionReader {
    /// What the money that an owner received is made of, over its whole life; `None` if it received nothing but its own
    /// change. Each transaction counts with what the owner received by it, net of change.
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
