//! Tokens that accounts gave within a transaction, found by giver and receiver.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{super::AssetNumber, holding::Holding};
use crate::ledger::OwnerNumber;

/// Units of a token that an account gave within the transaction, with their layers.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) from: OwnerNumber,
    pub(super) to: OwnerNumber,
    pub(super) asset: AssetNumber,
    /// The layers; what payouts use of them is taken off.
    pub(super) holding: Holding,
    pub(super) units: u128,
}

/// All tokens that were given within the transaction, in its order.
#[derive(Debug, Default)]
pub(super) struct GivenTokens {
    all: Vec<Given>,
    /// Positions of what each account gave and money backs.
    by_giver: FxHashMap<OwnerNumber, Vec<usize>>,
    /// Positions of what each account got and money backs.
    by_receiver: FxHashMap<OwnerNumber, Vec<usize>>,
    receivers: FxHashSet<OwnerNumber>,
}

impl GivenTokens {
    pub(super) fn push(&mut self, given: Given) {
        let position = self.all.len();
        let of_giver = self.by_giver.entry(given.from).or_default();
        self.receivers.insert(given.to);
        if given.holding.is_live() {
            of_giver.push(position);
            self.by_receiver.entry(given.to).or_default().push(position);
        }
        self.all.push(given);
    }

    pub(super) fn all(&self) -> &[Given] {
        &self.all
    }

    pub(super) fn get(&self, position: usize) -> Option<&Given> {
        self.all.get(position)
    }

    pub(super) fn get_mut(&mut self, position: usize) -> Option<&mut Given> {
        self.all.get_mut(position)
    }

    /// True if an account gave a token.
    pub(super) fn is_giver(&self, owner: OwnerNumber) -> bool {
        self.by_giver.contains_key(&owner)
    }

    /// True if an account got a token.
    pub(super) fn is_receiver(&self, owner: OwnerNumber) -> bool {
        self.receivers.contains(&owner)
    }

    /// Positions of the backed tokens that an account gave.
    pub(super) fn of_giver(&self, owner: OwnerNumber) -> &[usize] {
        self.by_giver.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Positions of the backed tokens that a contract got, then of those that were destroyed.
    pub(super) fn to_or_destroyed(&self, contract: OwnerNumber) -> impl Iterator<Item = usize> {
        let of = |owner| self.by_receiver.get(&owner).map_or(&[][..], Vec::as_slice);
        of(contract).iter().chain(of(OwnerNumber::NOBODY)).copied()
    }
}
