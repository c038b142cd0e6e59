//! What the money of a transaction is made of: the origins of all of it, known before anybody asks.
//!
//! All outputs of a transaction are made of the same money (haircut), and what it is made of follows from the inputs:
//! so it is computed once, forward, in the order of the chain. An input whose owner is an end for traces counts wholly
//! as money of that party; any other input is made of what the transaction is made of that created it; a coinbase is
//! made of new coins and of the fees of its block. What is left is unknown: of no attributed party as far as the graph
//! reaches.
//!
//! - `origin`: where money comes from
//! - `mixture`: the composition of a transaction from its inputs
//! - `encoding`: compositions as bytes
//! - `dictionary`: neighbours as fewer bytes, which share a table of origins

use crate::ledger::CoinShare;
mod dictionary;
mod encoding;
mod mixture;
mod origin;
#[cfg(test)]
mod tests;

pub use dictionary::OriginDictionary;
pub use mixture::Mixture;
pub use origin::Origin;

/// The origins of an amount of money, with their shares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Composition {
    /// The origins in their order, each with a share of at least [`CoinShare::LEAST`]. Together at most the whole; the
    /// rest is unknown.
    origins: Vec<(Origin, CoinShare)>,
    /// The share that passed a joint transaction. It says how money came, not from whom.
    mixed: CoinShare,
    /// The share that passed an owner with a risky label that is too weak to end a trace. It says what traces may find on
    /// the way, whatever the origin.
    labelled: CoinShare,
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

    /// The share of no known origin.
    #[must_use]
    pub fn unknown(&self) -> CoinShare {
        let known = self.origins.iter().map(|(_, share)| share.units()).sum();
        CoinShare::WHOLE.less(CoinShare::from_units(known))
    }

    /// True if nothing is known.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.origins.is_empty() && self.mixed.is_nothing() && self.labelled.is_nothing()
    }
}
