//! Money by origin as masses: share times amount, exact until it is divided once.

use ruint::aliases::U256;

use super::{
    super::{
        origin::OriginCode,
        shares::{Hop, OriginShare, Shares, WHOLE},
    },
    value::part,
};

/// The money of one origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mass {
    pub(super) origin: OriginCode,
    /// Undecayed, in amounts times 2^63.
    pub(super) far: U256,
    /// Decayed by hops.
    pub(super) near: U256,
    /// Fewest hops.
    pub(super) hops: u8,
}

impl Mass {
    pub(super) const fn is_severe(&self) -> bool {
        self.origin.is_severe()
    }
}

/// Money by origin, sorted by origin.
#[derive(Clone, Debug, Default)]
pub(super) struct Masses(pub(super) Vec<Mass>);

impl Masses {
    /// The money of a breakdown in an amount.
    pub(super) fn of(shares: &Shares, amount: u128) -> Self {
        let mut masses = Self::default();
        masses.add(shares, U256::from(amount), Hop::Counted);
        masses
    }

    /// Adds a breakdown with a weight, after a hop.
    pub(super) fn add(&mut self, shares: &Shares, weight: U256, by: Hop) {
        if weight.is_zero() {
            return;
        }
        for share in shares.known() {
            let share = share.after(by);
            let of = |share: u64| weight.saturating_mul(U256::from(share));
            let mass = self.mass(share.origin, share.hops);
            mass.far = mass.far.saturating_add(of(share.far));
            mass.near = mass.near.saturating_add(of(share.near));
        }
    }

    /// Adds the decayed shares of a breakdown with a weight.
    pub(super) fn add_near(&mut self, shares: &Shares, weight: U256) {
        for share in shares.known() {
            let mass = self.mass(share.origin, share.hops);
            mass.near = mass.near.saturating_add(weight.saturating_mul(U256::from(share.near)));
        }
    }

    /// The money of an origin, for writing.
    pub(super) fn mass(&mut self, origin: OriginCode, hops: u8) -> &mut Mass {
        let found = self.0.binary_search_by_key(&origin, |mass| mass.origin);
        let index = found.unwrap_or_else(|index| {
            self.0.insert(index, Mass { origin, far: U256::ZERO, near: U256::ZERO, hops });
            index
        });
        #[expect(clippy::indexing_slicing, reason = "the index was found or inserted")]
        let mass = &mut self.0[index];
        mass.hops = mass.hops.min(hops);
        mass
    }

    /// The undecayed money of an origin.
    pub(super) fn far(&self, origin: OriginCode) -> U256 {
        let found = self.0.binary_search_by_key(&origin, |mass| mass.origin).ok();
        found.and_then(|index| self.0.get(index)).map_or(U256::ZERO, |mass| mass.far)
    }

    /// The undecayed money of all known origins.
    pub(super) fn total(&self) -> U256 {
        self.0.iter().fold(U256::ZERO, |sum, mass| sum.saturating_add(mass.far))
    }

    /// The undecayed money of severe origins.
    pub(super) fn severe(&self) -> U256 {
        let severe = self.0.iter().filter(|mass| mass.is_severe());
        severe.fold(U256::ZERO, |sum, mass| sum.saturating_add(mass.far))
    }

    /// The undecayed money of known origins that are not severe.
    pub(super) fn benign(&self) -> U256 {
        self.total().saturating_sub(self.severe())
    }

    /// Reduces the money of origins that are not severe to a part, rounded down.
    pub(super) fn scale_benign(&mut self, numerator: U256, divisor: U256) {
        for mass in self.0.iter_mut().filter(|mass| !mass.is_severe()) {
            mass.far = part(mass.far, numerator, divisor, false);
        }
    }

    /// The breakdown of a whole of this weight: severe origins are rounded up, others down.
    pub(super) fn over(&self, weight: U256) -> Shares {
        let share = |mass: U256, is_up: bool| {
            let share = part(mass, U256::from(1), weight, is_up);
            u64::try_from(share).map_or(WHOLE, |share| share.min(WHOLE))
        };
        let of = |mass: &Mass| {
            let far = share(mass.far, mass.is_severe());
            let near = share(mass.near, false).min(far);
            OriginShare { origin: mass.origin, hops: mass.hops, far, near }
        };
        Shares::of(self.0.iter().map(of).collect())
    }
}

/// The whole of an amount, in the unit of masses.
pub(super) fn whole(amount: u128) -> U256 {
    U256::from(amount) << 63
}
