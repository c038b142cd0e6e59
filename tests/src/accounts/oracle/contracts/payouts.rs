//! C6: what a contract's payment is made of.

use std::{cmp::Reverse, collections::BTreeMap};

use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::{
    super::Exact,
    booking::Booking,
    funds::{Funds, is_tiny},
    sources::{LAST_RANK, Source, is_severe_lot},
    state::{Account, AssetIndex, Layer},
};

/// Severe shares that differ by less are equal: 2^-40.
const SHARE_BITS: u32 = 40;
/// The integers of an engine may be below an exact share by this much: 2^-56.
const ROUNDING_BITS: u32 = 56;

/// A payout.
#[derive(Debug)]
pub(super) struct Payout {
    /// At the receiver, after the hop.
    pub(super) funds: Funds,
    /// The values of lots in other assets that were used.
    pub(super) used: BTreeMap<AssetIndex, Exact>,
}

/// A payout while its sources are used.
struct Draft {
    coin: AssetIndex,
    amount: Exact,
    needed: Exact,
    funds: Funds,
    used: BTreeMap<AssetIndex, Exact>,
}

impl Booking<'_> {
    /// The payout of a contract. `paid` is the payment in the proportions of the contract's ledger.
    pub(super) fn payout(
        &mut self,
        (contract, receiver): (Account, Account),
        coin: AssetIndex,
        paid: &Funds,
    ) -> Payout {
        let amount = paid.amount.clone();
        let mut draft = Draft {
            coin,
            needed: amount.clone(),
            amount,
            funds: Funds::none(),
            used: BTreeMap::new(),
        };
        let sources = self.sources(contract, receiver);
        let mut put_in = self.values.amount(coin, &self.state.put_in(receiver, contract));
        for rank in 1..=LAST_RANK {
            for is_severe_only in [false, true] {
                let of_rank: Vec<&Source> = sources
                    .iter()
                    .filter(|it| (it.rank, it.is_severe_only) == (rank, is_severe_only))
                    .collect();
                if rank == 1 {
                    self.use_own(&of_rank, &mut put_in, &mut draft);
                }
                self.use_by_severity(&of_rank, &mut draft);
            }
        }
        if draft.is_covered() {
            draft.needed = Exact::zero();
        }
        let ledger = self.state.ledger(contract, coin);
        draft.add_excess(&ledger, paid, self.bought.get(&contract));
        draft.keep_capacity(&ledger);
        let funds = Funds { amount: draft.amount, ..draft.funds }.bounded();
        Payout { funds, used: draft.used }
    }

    /// Uses own lots up to the net value put in, those of the same asset first.
    fn use_own(&mut self, sources: &[&Source], put_in: &mut Exact, draft: &mut Draft) {
        for is_same in [true, false] {
            for source in sources {
                let lots = self.lots(source.place, Layer::Own);
                for coin in lots.into_keys() {
                    if (coin == draft.coin) == is_same {
                        let most = draft.needed.clone().min(put_in.clone());
                        *put_in -= self.use_lot(source, (Layer::Own, coin), most, draft);
                    }
                }
            }
        }
    }

    /// Uses lots, the greatest severe share first; ties: own, the same asset, the greatest value.
    fn use_by_severity(&mut self, sources: &[&Source], draft: &mut Draft) {
        let mut lots = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            for layer in &source.layers {
                for (coin, lot) in self.lots(source.place, *layer) {
                    if source.is_severe_only && !is_severe_lot(&lot) {
                        continue;
                    }
                    let severe = lot.severe_share()
                        + Exact::new(BigInt::one(), BigInt::one() << ROUNDING_BITS);
                    let severe = (severe * (BigInt::one() << SHARE_BITS)).floor();
                    let value = self.values.of(coin, &lot.amount);
                    let key =
                        (Reverse(severe), *layer, coin != draft.coin, Reverse(value), index, coin);
                    lots.push((key, *source, *layer, coin));
                }
            }
        }
        lots.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        for (_, source, layer, coin) in lots {
            let most = draft.needed.clone();
            self.use_lot(source, (layer, coin), most, draft);
        }
    }

    /// Uses a lot for up to an amount of the payout; returns the amount.
    fn use_lot(
        &mut self,
        source: &Source,
        (layer, coin): (Layer, AssetIndex),
        most: Exact,
        draft: &mut Draft,
    ) -> Exact {
        let lots = self.lots(source.place, layer);
        let Some(lot) = lots.get(&coin).filter(|_| !draft.is_covered() && !most.is_zero()) else {
            return Exact::zero();
        };
        let rate = self.values.unit(coin) / self.values.unit(draft.coin);
        let covered = (&lot.amount * &rate).min(most);
        let taken = &covered / rate;
        let money = lot.shared_by(&covered);
        draft.funds.add(&if source.is_hop { money.after_hop() } else { money });
        draft.needed -= &covered;
        if coin != draft.coin {
            let value = self.values.of(draft.coin, &covered);
            *draft.used.entry(coin).or_insert_with(Exact::zero) += value;
        }
        self.take_lot(source.place, (layer, coin), &taken);
        covered
    }
}

impl Draft {
    fn is_covered(&self) -> bool {
        is_tiny(&self.needed, &self.amount)
    }

    /// Adds what no source explains, with the shares of what is left in the contract's ledger.
    fn add_excess(&mut self, ledger: &Funds, paid: &Funds, bought: Option<&Funds>) {
        let excess = self.needed.clone();
        if excess.is_zero() {
            return;
        }
        let left = (&ledger.amount - (&self.amount - &excess)).max(excess.clone());
        let mut added = Funds::none();
        for (origin, part) in &ledger.parts {
            let rest = (&part.far - self.funds.far(*origin)).max(Exact::zero());
            added.part_mut(*origin).far = (rest * &excess / &left).min(excess.clone());
        }
        // Of severe money at least its share in what the contract bought.
        if let Some(bought) = bought {
            for (origin, part) in bought.parts.iter().filter(|(origin, _)| origin.is_severe()) {
                let far = &part.far / &bought.amount * &excess;
                let known = added.part_mut(*origin);
                known.far = known.far.clone().max(far);
            }
        }
        // Only its benign part is near.
        for (origin, part) in paid.shared_by(&excess).after_hop().parts {
            if !origin.is_severe() {
                added.part_mut(origin).near = part.near;
            }
        }
        self.funds.add(&added);
        self.funds.amount.clone_from(&self.amount);
        self.funds.displace_benign();
    }

    /// Nobody takes out more clean money than there is.
    fn keep_capacity(&mut self, ledger: &Funds) {
        let severe_held = ledger.severe();
        let severe = self.funds.severe();
        let clean_held = &ledger.amount - &severe_held;
        let short = &self.amount - clean_held - &severe;
        if severe_held.is_zero() || short <= Exact::zero() {
            return;
        }
        let room = &self.amount - severe;
        self.funds.scale(|origin| !origin.is_severe(), (&room, &(&room - &short)));
        for (origin, part) in ledger.parts.iter().filter(|(origin, _)| origin.is_severe()) {
            self.funds.part_mut(*origin).far += &short * &part.far / &severe_held;
        }
    }
}
