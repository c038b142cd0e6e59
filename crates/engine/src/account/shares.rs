//! Breakdowns of money by origin, and their exact mixing (`docs/model/accounts.md` B3, B4).
//!
//! Shares are units of 2^-63. Shares of severe origins are rounded up, all others down: severe money never becomes less
//! by rounding.

use std::{collections::BTreeMap, sync::Arc};

use ruint::aliases::U256;

use super::{
    history::{OriginSum, mean},
    origin::{MoneyOrigin, OriginCode},
};
use crate::ledger::mass;

/// The whole: one, in units of 2^-63.
pub const WHOLE: u64 = 1 << 63;

/// The decay of near shares at each hop, 2^(-2.5/2.4) in units of 2^-63, rounded down (the weight that flows of UTXO
/// chains lose by a hop).
pub(super) const DECAY: u64 = 4_480_400_269_473_703_975;

/// Shares below this part, 2^-40, are dropped.
const LEAST: u64 = 1 << 23;

/// Most entries of a breakdown. If more origins meet, the least benign share becomes unknown.
pub const MOST_ENTRIES: usize = 48;

/// The share of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OriginShare {
    /// The origin.
    pub origin: OriginCode,
    /// Fewest hops between the holder and a party of the origin; 1 is direct.
    pub hops: u8,
    /// The share, undecayed, in units of 2^-63.
    pub far: u64,
    /// The share, decayed by each hop but the first, in units of 2^-63; at most `far`.
    pub near: u64,
}

/// A breakdown of money by origin, sorted by origin. The rest to the whole is of unknown origin.
///
/// Breakdowns are shared: a payment and its receipt refer to the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shares(Option<Arc<[OriginShare]>>);

impl Shares {
    /// Money of unknown origin.
    pub const UNKNOWN: Self = Self(None);

    /// Money that is wholly of one origin.
    #[must_use]
    pub fn wholly(origin: MoneyOrigin) -> Self {
        let origin = OriginCode::from(origin);
        Self(Some(Arc::new([OriginShare { origin, hops: 1, far: WHOLE, near: WHOLE }])))
    }

    /// The breakdown with these shares, as it was stored; `None` for shares that are no breakdown.
    #[must_use]
    pub fn of_stored(shares: &[OriginShare]) -> Option<Self> {
        let is_sorted = shares.is_sorted_by(|one, next| one.origin < next.origin);
        let sum: u128 = shares.iter().map(|share| u128::from(share.far)).sum();
        let has_bounds = shares.iter().all(|share| share.far >= LEAST && share.near <= share.far);
        let is_breakdown = shares.len() <= MOST_ENTRIES && sum <= u128::from(WHOLE);
        match shares {
            [] => Some(Self::UNKNOWN),
            _ => (is_sorted && has_bounds && is_breakdown).then(|| Self(Some(shares.into()))),
        }
    }

    /// The mean breakdown of payments of so much in all, by the sums of their origins.
    #[must_use]
    pub(super) fn of_sums(amount: u128, origins: &BTreeMap<OriginCode, OriginSum>) -> Self {
        Self::of(origins.iter().map(|(code, sum)| mean(amount, *code, sum)).collect())
    }

    /// The shares of the known origins.
    #[must_use]
    pub fn known(&self) -> &[OriginShare] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The share of an origin, undecayed; 0 if the money has none of it.
    #[must_use]
    pub fn far(&self, origin: MoneyOrigin) -> u64 {
        let code = OriginCode::from(origin);
        self.known().iter().find(|share| share.origin == code).map_or(0, |share| share.far)
    }

    /// The sum of the shares of severe origins, undecayed.
    #[must_use]
    pub fn severe(&self) -> u64 {
        let severe = self.known().iter().filter(|share| share.origin.is_severe());
        severe.map(|share| share.far).fold(0, u64::saturating_add)
    }

    /// The breakdown of an amount of which only `known` has this breakdown and the rest is unknown.
    #[must_use]
    pub fn diluted(&self, known: u128, amount: u128) -> Self {
        if known >= amount {
            return self.clone();
        }
        let of = |share: u64, is_severe| part(share, known, amount, is_severe);
        let scaled = self.known().iter().map(|share| OriginShare {
            far: of(share.far, share.origin.is_severe()),
            near: of(share.near, false),
            ..*share
        });
        Self::of(scaled.collect())
    }

    /// The breakdown after a balance of this breakdown received an amount: the mixture of both, by their amounts.
    #[must_use]
    pub fn mixed(&self, balance: u128, received: &Self, amount: u128, by: Hop) -> Self {
        if balance == 0 {
            return received.after(by);
        }
        let weight = weight(amount, balance);
        let mut mixed = Vec::with_capacity(self.known().len() + received.known().len());
        let (mut own, mut new) =
            (self.known().iter().peekable(), received.known().iter().peekable());
        loop {
            let (held, got) = match (own.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => (own.next(), None),
                (Some(held), Some(got)) if held.origin == got.origin => (own.next(), new.next()),
                (Some(held), Some(got)) if held.origin < got.origin => (own.next(), None),
                (_, Some(_)) => (None, new.next()),
            };
            mixed.extend(mixture(held, got, weight, by));
        }
        Self::of(mixed)
    }

    /// The breakdown at the receiver of a payment.
    #[must_use]
    pub fn after(&self, by: Hop) -> Self {
        match by {
            Hop::FromEnd | Hop::Counted => self.clone(),
            Hop::FromPayer => self.map(|share| share.after(by)),
        }
    }

    /// The shares of severe origins.
    pub(super) fn severe_only(&self) -> Self {
        let severe = self.known().iter().filter(|share| share.origin.is_severe());
        Self::of(severe.copied().collect())
    }

    /// The breakdown of which severe origins stay, and all else is a conversion.
    pub(super) fn converted(&self) -> Self {
        let mut shares = self.severe_only().known().to_vec();
        let rest = WHOLE.saturating_sub(self.severe());
        let origin = OriginCode::from(MoneyOrigin::Conversion);
        shares.push(OriginShare { origin, hops: 1, far: rest, near: rest });
        shares.sort_unstable_by_key(|share| share.origin);
        Self::of(shares)
    }

    /// The breakdown with other shares.
    pub(super) fn map(&self, share: impl Fn(OriginShare) -> OriginShare) -> Self {
        Self::of(self.known().iter().map(|known| share(*known)).collect())
    }

    /// A breakdown whose sum and number of entries are within their limits.
    pub(super) fn of(mut shares: Vec<OriginShare>) -> Self {
        shares.retain(|share| share.far >= LEAST);
        limit_entries(&mut shares);
        limit_sum(&mut shares);
        // What was taken off a share may leave less than the least.
        shares.retain(|share| share.far >= LEAST);
        if shares.is_empty() { Self::UNKNOWN } else { Self(Some(shares.into())) }
    }
}

impl OriginShare {
    /// The share at the receiver of a payment.
    #[must_use]
    pub fn after(self, by: Hop) -> Self {
        Self { hops: by.hops(self.hops), near: by.near(self.near), ..self }
    }
}

/// The way in which money reached its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hop {
    /// Directly from a party at which traces end: undecayed.
    FromEnd,
    /// From any other payer: decayed by a hop.
    FromPayer,
    /// By a way whose hops the breakdown counts already.
    Counted,
}

impl Hop {
    const fn hops(self, before: u8) -> u8 {
        match self {
            Self::FromEnd | Self::Counted => before,
            Self::FromPayer => before.saturating_add(1),
        }
    }

    fn near(self, share: u64) -> u64 {
        match self {
            Self::FromEnd | Self::Counted => share,
            Self::FromPayer => shifted(u128::from(share) * u128::from(DECAY), false),
        }
    }
}

/// `floor(amount x 2^63 / (balance + amount))`.
fn weight(amount: u128, balance: u128) -> u64 {
    match balance.checked_add(amount) {
        Some(0) => 0,
        Some(total) => narrow(mass::share(WHOLE.into(), amount, total)),
        // Halves of both are close enough above 2^127 base units, which no supply reaches.
        None => narrow(mass::share(WHOLE.into(), amount / 2, balance / 2 + amount / 2)),
    }
}

/// One origin of a mixture; `None` if nothing of it is left.
fn mixture(
    held: Option<&OriginShare>,
    got: Option<&OriginShare>,
    weight: u64,
    by: Hop,
) -> Option<OriginShare> {
    let origin = held.or(got)?.origin;
    let (kept, weight) = (u128::from(WHOLE - weight), u128::from(weight));
    let sum = |held: u64, got: u64, up| {
        shifted(u128::from(held) * kept + u128::from(got) * weight, up).min(WHOLE)
    };
    let far = |share: Option<&OriginShare>| share.map_or(0, |share| share.far);
    let near = |share: Option<&OriginShare>| share.map_or(0, |share| share.near);
    let far = sum(far(held), far(got), origin.is_severe());
    let near = sum(near(held), by.near(near(got)), false).min(far);
    let hops = held.map(|held| held.hops).into_iter().chain(got.map(|got| by.hops(got.hops)));
    Some(OriginShare { origin, hops: hops.min().unwrap_or(u8::MAX), far, near })
}

/// A product in units of 2^-126, in units of 2^-63.
fn shifted(product: u128, up: bool) -> u64 {
    let down = product >> 63;
    let is_rounded = up && product & (u128::from(WHOLE) - 1) != 0;
    narrow(down + u128::from(is_rounded))
}

/// `share x known / amount`.
fn part(share: u64, known: u128, amount: u128, up: bool) -> u64 {
    let down = mass::share(share.into(), known, amount);
    // The quotient is exact only if nothing is left, which the product of the quotient tells.
    let is_exact =
        || U256::from(share) * U256::from(known) == U256::from(down) * U256::from(amount);
    narrow(if up && !is_exact() { down + 1 } else { down })
}

fn narrow(share: u128) -> u64 {
    u64::try_from(share).map_or(WHOLE, |share| share.min(WHOLE))
}

/// Takes what exceeds the whole off the largest benign share, or, without one, off the largest share.
fn limit_sum(shares: &mut [OriginShare]) {
    let sum: u128 = shares.iter().map(|share| u128::from(share.far)).sum();
    let mut excess = sum.saturating_sub(WHOLE.into());
    while excess > 0 {
        let has_benign = shares.iter().any(|share| !share.origin.is_severe() && share.far > 0);
        let largest = shares
            .iter_mut()
            .filter(|share| share.far > 0 && (!has_benign || !share.origin.is_severe()))
            .max_by_key(|share| (share.far, share.origin));
        let Some(largest) = largest else { return };
        let taken = largest.far.min(u64::try_from(excess).unwrap_or(u64::MAX));
        largest.far -= taken;
        largest.near = largest.near.min(largest.far);
        excess -= u128::from(taken);
    }
}

/// Drops the least benign shares, or, without them, the least shares, beyond the most entries.
fn limit_entries(shares: &mut Vec<OriginShare>) {
    while shares.len() > MOST_ENTRIES {
        let key = |share: &OriginShare| (share.origin.is_severe(), share.far, share.origin);
        let least = shares.iter().enumerate().min_by_key(|(_, share)| key(share));
        let Some((index, _)) = least else { return };
        shares.remove(index);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::taxonomy::Category;

    const STOLEN: MoneyOrigin = MoneyOrigin::Party(Category::StolenFunds, None);
    const EXCHANGE: MoneyOrigin = MoneyOrigin::Party(Category::Exchange, None);

    #[test]
    fn the_decay_is_the_power_of_the_model() {
        // 2^-63 x DECAY = 2^(-2.5/2.4), within a billionth.
        let exact = 2_f64.powf(-2.5 / 2.4);
        let billionths = u32::try_from((u128::from(DECAY) * 1_000_000_000) >> 63).unwrap();
        assert!((exact - f64::from(billionths) / 1e9).abs() < 1e-9, "{exact} {billionths}");
    }

    #[test]
    fn money_of_a_party_is_mixed_by_amounts() {
        let own = Shares::wholly(EXCHANGE).after(Hop::FromEnd);
        let mixed = own.mixed(300, &Shares::wholly(STOLEN), 100, Hop::FromEnd);
        assert_eq!(mixed.far(STOLEN), WHOLE / 4);
        assert_eq!(mixed.far(EXCHANGE), WHOLE / 4 * 3);
        let hop = Shares::UNKNOWN.mixed(0, &mixed, 400, Hop::FromPayer);
        assert_eq!(hop.far(STOLEN), WHOLE / 4);
        let decayed = hop.known().iter().find(|share| share.origin == STOLEN.into()).unwrap();
        assert_eq!(
            (decayed.hops, decayed.near),
            (2, shifted(u128::from(WHOLE / 4) * u128::from(DECAY), false))
        );
    }

    #[test]
    fn a_share_below_the_least_is_dropped_also_after_rounding() {
        // Two severe shares are rounded up at the cost of a benign one that is just large enough.
        let stolen = OriginShare { origin: STOLEN.into(), hops: 1, far: WHOLE / 3 + 1, near: 0 };
        let mixer = MoneyOrigin::Party(Category::Mixer, None);
        let other = OriginShare { origin: mixer.into(), far: WHOLE - stolen.far, ..stolen };
        let mut severe = vec![stolen, other];
        severe.sort_unstable_by_key(|share| share.origin);
        let held = Shares::of(severe);
        for more in 0..64 {
            let balance = (1 << 40) - 1 + more;
            let kept = held.mixed(balance, &Shares::wholly(EXCHANGE), 1, Hop::FromEnd);
            assert_eq!(Shares::of_stored(kept.known()), Some(kept.clone()), "{balance}");
        }
    }

    fn product(share: u64, amount: u128) -> U256 {
        U256::from(share) * U256::from(amount)
    }

    proptest! {
        #[test]
        fn a_mixture_keeps_the_mass_of_severe_money(
            held in 0..=WHOLE, got in 0..=WHOLE, balance in 0..1_u128 << 100, amount in 1..1_u128 << 100,
        ) {
            let entry = |far| Shares::of(vec![
                OriginShare { origin: STOLEN.into(), hops: 1, far, near: far },
                OriginShare { origin: EXCHANGE.into(), hops: 1, far: WHOLE - far, near: WHOLE - far },
            ]);
            let (held, got) = (entry(held), entry(got));
            let mixed = held.mixed(balance, &got, amount, Hop::FromPayer);
            let sum: u128 = mixed.known().iter().map(|share| u128::from(share.far)).sum();
            prop_assert!(sum <= u128::from(WHOLE));
            let exact = product(held.far(STOLEN), balance) + product(got.far(STOLEN), amount);
            let ours = product(mixed.far(STOLEN), balance + amount);
            prop_assert!(ours.abs_diff(exact) <= product(2, balance + amount));
            prop_assert!(mixed.known().iter().all(|share| share.near <= share.far));
        }
    }
}
