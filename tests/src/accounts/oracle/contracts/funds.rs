//! Money with its origins as sums: money is divided and added without rounding.

use std::collections::BTreeMap;

use assay_engine::account::{MoneyOrigin, OriginCode};
use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::super::{Exact, money::decay};

/// Bits of the least share that is kept (B3.3).
const LEAST_SHARE_BITS: u32 = 40;
/// Sums with denominators of more bits are rounded after a transaction.
const MOST_BITS: u64 = 256;
/// Bits of a rounded sum below one base unit.
const ROUNDED_BITS: u32 = 200;

/// The part of an origin in money, in the unit of the amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Undecayed.
    pub far: Exact,
    /// Decayed by hops.
    pub near: Exact,
}

/// An amount with its parts by origin; the rest is of unknown origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Funds {
    /// The amount, in base units of an asset or in dollars.
    pub amount: Exact,
    /// Parts of known origins.
    pub parts: BTreeMap<OriginCode, Part>,
}

impl Funds {
    pub(super) fn none() -> Self {
        Self::unknown(Exact::zero())
    }

    pub(super) const fn unknown(amount: Exact) -> Self {
        Self { amount, parts: BTreeMap::new() }
    }

    pub(super) fn wholly(origin: MoneyOrigin, amount: Exact) -> Self {
        let part = Part { far: amount.clone(), near: amount.clone() };
        Self { amount, parts: BTreeMap::from([(origin.into(), part)]) }
    }

    /// The same shares in another unit, or of a part of the amount.
    pub(super) fn times(&self, factor: &Exact) -> Self {
        let part = |part: &Part| Part { far: &part.far * factor, near: &part.near * factor };
        let parts = self.parts.iter().map(|(origin, it)| (*origin, part(it)));
        Self { amount: &self.amount * factor, parts: parts.collect() }
    }

    /// An amount with the same shares.
    pub(super) fn shared_by(&self, amount: &Exact) -> Self {
        if self.amount.is_zero() {
            return Self::unknown(amount.clone());
        }
        self.times(&(amount / &self.amount))
    }

    /// The funds of a payment from a ledger: the amount that the ledger lacks is unknown (B4.1).
    pub(super) fn payment(&self, amount: &Exact) -> Self {
        if *amount <= self.amount {
            return self.shared_by(amount);
        }
        Self { amount: amount.clone(), parts: self.parts.clone() }
    }

    /// Pays an amount: the shares of the rest stay.
    pub(super) fn pay(&mut self, amount: &Exact) {
        let rest = &self.amount - amount;
        *self = if rest > Exact::zero() { self.shared_by(&rest) } else { Self::none() };
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.amount += &other.amount;
        for (origin, part) in &other.parts {
            let known = self.part_mut(*origin);
            known.far += &part.far;
            known.near += &part.near;
        }
    }

    /// The funds after a hop (B4.2).
    pub(super) fn after_hop(&self) -> Self {
        let mut funds = self.clone();
        for part in funds.parts.values_mut() {
            part.near *= decay();
        }
        funds
    }

    pub(super) fn part_mut(&mut self, origin: OriginCode) -> &mut Part {
        let nothing = || Part { far: Exact::zero(), near: Exact::zero() };
        self.parts.entry(origin).or_insert_with(nothing)
    }

    pub(super) fn far(&self, origin: OriginCode) -> Exact {
        self.parts.get(&origin).map_or_else(Exact::zero, |part| part.far.clone())
    }

    /// The undecayed sum of severe origins.
    pub(super) fn severe(&self) -> Exact {
        self.sum(OriginCode::is_severe)
    }

    /// The undecayed sum of known origins that are not severe.
    pub(super) fn benign(&self) -> Exact {
        self.sum(|origin| !origin.is_severe())
    }

    fn sum(&self, is_counted: impl Fn(OriginCode) -> bool) -> Exact {
        let counted = self.parts.iter().filter(|(origin, _)| is_counted(**origin));
        counted.map(|(_, part)| &part.far).sum()
    }

    /// The share of severe origins.
    pub(super) fn severe_share(&self) -> Exact {
        if self.amount.is_zero() { Exact::zero() } else { self.severe() / &self.amount }
    }

    /// Scales the undecayed parts of some origins so that their sum changes from one to another.
    pub(super) fn scale(
        &mut self,
        is_scaled: impl Fn(OriginCode) -> bool,
        (from, to): (&Exact, &Exact),
    ) {
        if from.is_zero() {
            return;
        }
        let factor = to / from;
        for (_, part) in self.parts.iter_mut().filter(|(origin, _)| is_scaled(**origin)) {
            part.far *= &factor;
        }
    }

    /// Lowers benign parts so that all parts are within the amount.
    pub(super) fn displace_benign(&mut self) {
        let benign = self.benign();
        let surplus = self.severe() + &benign - &self.amount;
        if surplus > Exact::zero() {
            let rest = (&benign - surplus).max(Exact::zero());
            self.scale(|origin| !origin.is_severe(), (&benign, &rest));
        }
    }

    /// The funds without shares below the least one (B3.3), with parts within the amount (B4.3).
    pub(super) fn bounded(mut self) -> Self {
        let least = &self.amount / (BigInt::one() << LEAST_SHARE_BITS);
        self.parts.retain(|_, part| part.far >= least && !part.far.is_zero());
        self.displace_benign();
        let surplus = self.severe() - &self.amount;
        if let Some(largest) = self.parts.values_mut().max_by(|one, other| one.far.cmp(&other.far))
            && surplus > Exact::zero()
        {
            largest.far -= surplus;
        }
        for part in self.parts.values_mut() {
            part.near = part.near.clone().min(part.far.clone()).max(Exact::zero());
        }
        self
    }

    /// Rounds sums with long denominators.
    pub(super) fn round(&mut self) {
        round(&mut self.amount);
        for part in self.parts.values_mut() {
            round(&mut part.far);
            round(&mut part.near);
        }
    }
}

fn round(sum: &mut Exact) {
    if sum.denom().bits() > MOST_BITS {
        let unit = BigInt::one() << ROUNDED_BITS;
        *sum = Exact::new((&*sum * &unit).floor().to_integer(), unit);
    }
}

/// True if a rest is too little of an amount to be told apart (C2).
pub(super) fn is_tiny(rest: &Exact, amount: &Exact) -> bool {
    rest * (BigInt::one() << 32_u32) <= *amount
}
