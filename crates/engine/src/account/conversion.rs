//! Receipts in exchange for another asset (`docs/model/accounts.md`, "Conversions").
//!
//! The money of a pool is that of many people, so that a breakdown by the pool's balance would launder: stolen coins that
//! are swapped once would be clean. Until conversions are resolved, what came in exchange for another asset is a
//! conversion: shown, and benign to nobody.

use crate::ledger::OwnerNumber;

use super::step::{AssetNumber, Movement};

/// Who gave and got which assets within one transaction, fees aside.
#[derive(Debug, Default)]
pub struct Exchanges {
    /// Accounts that gave an asset.
    gave: Vec<(OwnerNumber, AssetNumber)>,
    /// Accounts that got an asset.
    got: Vec<(OwnerNumber, AssetNumber)>,
}

impl Exchanges {
    /// The exchanges of a transaction. Transfers of unlisted tokens count, transfers of nothing do not.
    pub(super) fn of(movements: &[Movement]) -> Self {
        let moved =
            movements.iter().filter(|movement| movement.is_payment() && movement.amount > 0);
        let mut exchanges = Self::default();
        for Movement { from, to, asset, .. } in moved {
            exchanges.gave.push((*from, *asset));
            exchanges.got.push((*to, *asset));
        }
        // A transaction with one asset exchanges nothing.
        let mut assets = exchanges.gave.iter().map(|(_, asset)| asset);
        let first = assets.next();
        if assets.all(|asset| Some(asset) == first) {
            return Self::default();
        }
        exchanges
    }

    /// True if a payment came in exchange for another asset: the receiver gave one, or, of a payment by another account than
    /// the transaction's sender, the payer got one or the sender gave one to have the payer pay. Without a known sender,
    /// anybody else who gave one counts.
    pub(super) fn is_conversion(
        &self,
        (payer, receiver): (OwnerNumber, OwnerNumber),
        asset: AssetNumber,
        initiator: Option<OwnerNumber>,
    ) -> bool {
        let other = |of: &[(OwnerNumber, AssetNumber)], account: &dyn Fn(OwnerNumber) -> bool| {
            of.iter().any(|(owner, given)| *given != asset && account(*owner))
        };
        if other(&self.gave, &|owner| owner == receiver) {
            return true;
        }
        match initiator {
            // Whatever the sender got beside, such as a worthless token: its own payment keeps its history.
            Some(initiator) if initiator == payer => false,
            Some(initiator) => {
                other(&self.got, &|owner| owner == payer)
                    || other(&self.gave, &|owner| owner == initiator)
            }
            None => {
                other(&self.got, &|owner| owner == payer)
                    || other(&self.gave, &|owner| owner != payer)
            }
        }
    }
}
