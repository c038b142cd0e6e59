//! Tokens and claims with what backs them (`docs/model/accounts.md` C4, C5).

use ruint::aliases::U256;

use super::{
    super::{
        AssetNumber,
        shares::{Hop, Shares},
    },
    value::{DayValues, Value},
};
use crate::ledger::OwnerNumber;

/// Most assets of a layer: the least by value is folded into the greatest.
const MOST_ASSETS: usize = 8;

/// Scored money that backs a token or a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lot {
    /// The scored asset.
    pub asset: AssetNumber,
    /// Amount in base units.
    pub amount: u128,
    /// Breakdown of the amount.
    pub shares: Shares,
}

/// Lots by asset, at most one of each, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lots(Vec<Lot>);

impl Lots {
    /// The lots as they were stored; `None` for lots that are none.
    #[must_use]
    pub fn of_stored(lots: Vec<Lot>) -> Option<Self> {
        let is_sorted = lots.is_sorted_by(|one, next| one.asset < next.asset);
        let is_valid = lots.iter().all(|lot| lot.amount > 0 && lot.asset.is_scored());
        (is_sorted && is_valid && lots.len() <= MOST_ASSETS).then_some(Self(lots))
    }

    /// The lots.
    #[must_use]
    pub fn all(&self) -> &[Lot] {
        &self.0
    }

    /// True if nothing backs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a lot after a hop.
    pub(super) fn add(&mut self, lot: &Lot, by: Hop, values: &DayValues) {
        self.merge(lot, by);
        while self.0.len() > MOST_ASSETS {
            let key = |lot: &Lot| (values.value(lot.asset, lot.amount), lot.asset);
            let least = self.0.iter().map(key).enumerate().min_by_key(|(_, key)| *key);
            let Some((index, (value, _))) = least else { return };
            let least = self.0.remove(index);
            let Some((_, greatest)) = self.0.iter().map(key).max() else { return };
            let amount = values.amount(greatest, value).max(1);
            self.merge(&Lot { asset: greatest, amount, shares: least.shares }, Hop::Counted);
        }
    }

    fn merge(&mut self, lot: &Lot, by: Hop) {
        if lot.amount == 0 {
            return;
        }
        match self.0.binary_search_by_key(&lot.asset, |known| known.asset) {
            Ok(index) => {
                if let Some(known) = self.0.get_mut(index) {
                    known.shares = known.shares.mixed(known.amount, &lot.shares, lot.amount, by);
                    known.amount = known.amount.saturating_add(lot.amount);
                }
            }
            Err(index) => self.0.insert(index, Lot { shares: lot.shares.after(by), ..*lot }),
        }
    }

    /// Takes an amount of a lot, which keeps its breakdown.
    pub(super) fn take(&mut self, asset: AssetNumber, amount: u128) {
        for lot in self.0.iter_mut().filter(|lot| lot.asset == asset) {
            lot.amount = lot.amount.saturating_sub(amount);
        }
        self.0.retain(|lot| lot.amount > 0);
    }

    /// Splits off a part; all of it if `part` is the whole or more.
    fn split(&mut self, (part, whole): (u128, u128)) -> Self {
        if part >= whole {
            return std::mem::take(self);
        }
        let of = |amount: u128| super::value::part_of(amount, U256::from(part), U256::from(whole));
        let parts: Vec<Lot> = self
            .0
            .iter()
            .map(|lot| Lot { amount: of(lot.amount), ..lot.clone() })
            .filter(|lot| lot.amount > 0)
            .collect();
        for lot in &parts {
            self.take(lot.asset, lot.amount);
        }
        Self(parts)
    }

    /// The value of all lots.
    pub(super) fn value(&self, values: &DayValues) -> Value {
        let all = self.0.iter().map(|lot| values.value(lot.asset, lot.amount));
        all.fold(Value::ZERO, Value::saturating_add)
    }
}

/// A layer of a holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// Money that the holder put in himself.
    Own,
    /// Money that came to him from others.
    Came,
}

impl Layer {
    pub(super) const BOTH: [Self; 2] = [Self::Own, Self::Came];
}

/// A token or a claim: a thing that an account holds beside scored assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Held {
    /// Units of a token outside the table of scored assets.
    Token(AssetNumber),
    /// A claim on what a contract holds.
    Claim(OwnerNumber),
}

/// A token or claim of an account, with what backs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Units of the token, as far as they are known; 0 for a claim.
    pub units: u128,
    /// True for a claim, and for a token that the account was given for what it put in somewhere.
    pub is_backed: bool,
    /// Money that the account put in itself.
    pub own: Lots,
    /// Money that came from others.
    pub came: Lots,
}

impl Holding {
    /// True if the holding tells nothing. Of a person's token that no money backs, the units say nothing, unless it was backed
    /// and can be repaid; a pool hands its units out together with backed ones.
    pub(super) const fn is_empty(&self, is_contract: bool) -> bool {
        !self.is_live() && (self.units == 0 || !(self.is_backed || is_contract))
    }

    pub(super) const fn layer(&self, layer: Layer) -> &Lots {
        match layer {
            Layer::Own => &self.own,
            Layer::Came => &self.came,
        }
    }

    pub(super) const fn layer_mut(&mut self, layer: Layer) -> &mut Lots {
        match layer {
            Layer::Own => &mut self.own,
            Layer::Came => &mut self.came,
        }
    }

    /// True if money backs the holding.
    pub(super) const fn is_live(&self) -> bool {
        !self.own.is_empty() || !self.came.is_empty()
    }

    /// Splits off units with their part of the layers. Of units that are not known, the layers go along wholly.
    pub(super) fn split(&mut self, units: u128) -> Self {
        let part = (units, self.units);
        let (own, came) = (self.own.split(part), self.came.split(part));
        self.units = self.units.saturating_sub(units);
        Self { units, is_backed: false, own, came }
    }

    pub(super) fn value(&self, values: &DayValues) -> Value {
        self.own.value(values).saturating_add(self.came.value(values))
    }
}

/// The dealings of a holder with a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tie {
    /// The net value that the holder put in, in 10^-36 US dollars of the days.
    pub put_in: U256,
    /// The holder's tokens, and claims on other contracts, that are backed at the contract: the last one last.
    pub backed: Vec<Held>,
}

impl Tie {
    /// True if the tie tells nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.put_in.is_zero() && self.backed.is_empty()
    }
}
