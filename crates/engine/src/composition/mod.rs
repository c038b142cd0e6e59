//! Compositions: the shares of a transaction's funds by origin, computed before anybody asks.
//!
//! All outputs of a transaction have the same composition (haircut method), which follows from the inputs. A
//! composition is therefore computed once, forward, in the order of the chain. An input of an owner at which traces end
//! counts entirely as funds of that party; any other input has the composition of the transaction that created it; a
//! coinbase consists of new coins and of the fees of its block. The remaining share is unknown: the graph shows no
//! attributed party among the origins of these funds.
//!
//! - `origin`: origins of funds
//! - `passed`: severe labels that funds passed
//! - `mixture`: the composition of a transaction from its inputs
//! - `encoding`: compositions as bytes
//! - `dictionary`: neighboring compositions in fewer bytes, with a shared dictionary of origins

use crate::{ledger::CoinShare, taxonomy::Category};

mod dictionary;
mod encoding;
mod mixture;
mod origin;
mod passed;
#[cfg(test)]
mod tests;

pub use dictionary::OriginDictionary;
pub use mixture::Mixture;
pub use origin::Origin;
pub use passed::PassedLabel;

/// The origins of an amount of funds, with their shares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Composition {
    /// The sorted origins, each with a share of at least [`CoinShare::LEAST`]. The shares sum to at most the whole; the
    /// origin of the rest is unknown.
    origins: Vec<(Origin, CoinShare)>,
    /// The share that passed a joint transaction, whatever its origin.
    mixed: CoinShare,
    /// The share that passed an owner with a risky label that is too weak to end a trace, whatever its origin.
    labelled: CoinShare,
    /// Severe labels that are too weak to end a trace, by category, each with the share that passed an owner with such a
    /// label, whatever its origin: at most four, those with the largest shares.
    passed: Vec<(PassedLabel, CoinShare)>,
}

impl Composition {
    /// The origins, with their shares.
    #[must_use]
    pub fn origins(&self) -> impl ExactSizeIterator<Item = (Origin, CoinShare)> + '_ {
        self.origins.iter().copied()
    }

    /// The share of one origin.
    #[must_use]
    pub fn share(&self, origin: Origin) -> CoinShare {
        let found = self.origins.binary_search_by_key(&origin, |(known, _)| *known);
        let found = found.ok().and_then(|place| self.origins.get(place));
        found.map_or(CoinShare::NOTHING, |(_, share)| *share)
    }

    /// The share that passed a joint transaction.
    #[must_use]
    pub const fn mixed(&self) -> CoinShare {
        self.mixed
    }

    /// The share that passed an owner with a risky label that is too weak to end a trace.
    #[must_use]
    pub const fn labelled(&self) -> CoinShare {
        self.labelled
    }

    /// The severe labels that are too weak to end a trace, each with the share that passed an owner with such a label.
    #[must_use]
    pub fn passed(&self) -> impl ExactSizeIterator<Item = (PassedLabel, CoinShare)> + Clone + '_ {
        self.passed.iter().copied()
    }

    /// The share that passed a severe label of a category.
    #[must_use]
    pub fn share_passed(&self, category: Category) -> CoinShare {
        let found = self.passed.iter().find(|(label, _)| label.category == category);
        found.map_or(CoinShare::NOTHING, |(_, share)| *share)
    }

    /// The composition with shares that sum to at most the whole: the least severe origins are reduced.
    #[must_use]
    pub fn riskiest_first(mut self) -> Self {
        let severity = |origin: &Origin| match origin {
            Origin::Party(category, _) => category.info().severity,
            Origin::Mining => 0,
        };
        let mut order: Vec<usize> = (0..self.origins.len()).collect();
        order.sort_by_key(|index| {
            let severity = self.origins.get(*index).map(|(origin, _)| severity(origin));
            std::cmp::Reverse(severity)
        });
        let mut left = CoinShare::WHOLE;
        for index in order {
            if let Some((_, share)) = self.origins.get_mut(index) {
                *share = (*share).min(left);
                left = left.less(*share);
            }
        }
        self.origins.retain(|(_, share)| !share.is_nothing());
        self
    }

    /// The share without a known origin.
    #[must_use]
    pub fn unknown(&self) -> CoinShare {
        let known = self.origins.iter().map(|(_, share)| share.units()).sum();
        CoinShare::WHOLE.less(CoinShare::from_units(known))
    }

    /// True if no origin and no other share is known.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.origins.is_empty()
            && self.passed.is_empty()
            && self.mixed.is_nothing()
            && self.labelled.is_nothing()
    }
}
