//! The breakdown of what a contract pays (`docs/model/accounts.md` C6): the receiver's own history first, then what is left in
//! the contract; and never more clean money than there is.

use ruint::aliases::U256;

use super::{
    super::{
        AccountLedger, AssetNumber, LedgerBook,
        shares::{Hop, Shares},
    },
    exchange::is_tiny,
    holding::{Layer, Lot},
    masses::{Masses, whole},
    sources::{LAST_RANK, SEVERE_LOTS, Source},
    transaction::Transaction,
    value::{Value, part},
};
use crate::ledger::OwnerNumber;

/// A payout.
#[derive(Debug)]
pub(super) struct Payout {
    /// Breakdown at the receiver, after the hop.
    pub(super) shares: Shares,
    /// Part of the amount that returns what the receiver put in.
    pub(super) returned: u128,
    /// Part of the amount that no source explains.
    pub(super) excess: u128,
    /// Sources in other assets that were used.
    pub(super) used: Used,
}

/// The values of lots in other assets that a payout used.
#[derive(Clone, Debug, Default)]
pub(super) struct Used(pub(super) Vec<(AssetNumber, Value)>);

/// A payout while its sources are used.
struct Draft {
    asset: AssetNumber,
    amount: u128,
    needed: u128,
    returned: u128,
    masses: Masses,
    used: Used,
}

impl<B: LedgerBook> Transaction<'_, B> {
    /// The payout of an amount that a contract pays a receiver. `paid` is the breakdown of all that it pays of the asset. Of a
    /// conversion, only severe lots are its sources.
    pub(super) fn payout(
        &mut self,
        (contract, receiver): (OwnerNumber, OwnerNumber),
        (asset, amount): (AssetNumber, u128),
        (paid, is_conversion): (&Shares, bool),
    ) -> Payout {
        let sources = self.sources((contract, receiver), is_conversion);
        let mut draft = Draft {
            asset,
            amount,
            needed: amount,
            returned: 0,
            masses: Masses::default(),
            used: Used::default(),
        };
        let put_in =
            self.book.states().tie(receiver, contract).map_or(Value::ZERO, |tie| tie.put_in);
        let limit = self.about.values.amount(asset, put_in);
        for rank in 1..=LAST_RANK {
            for is_severe_only in [false, true] {
                if is_tiny(draft.needed, amount) {
                    break;
                }
                let same = |source: &&Source| {
                    source.rank == rank && source.is_severe_only == is_severe_only
                };
                let of_rank: Vec<Source> = sources.iter().filter(same).copied().collect();
                if rank == 1 && !is_severe_only {
                    self.use_own(&of_rank, limit, &mut draft);
                }
                self.use_rank(&of_rank, &mut draft);
            }
        }
        if is_tiny(draft.needed, amount) {
            draft.needed = 0;
        }
        let ledger = self.book.ledger(contract, asset).cloned().unwrap_or_default();
        draft.add_excess(&ledger, paid, self.bought_by(contract));
        draft.keep_capacity(&ledger);
        let shares = draft.masses.over(U256::from(amount));
        Payout { shares, returned: draft.returned, excess: draft.needed, used: draft.used }
    }

    /// Uses what the receiver put in itself, as far as it put in more than it got, the same asset first.
    fn use_own(&mut self, sources: &[Source], mut limit: u128, draft: &mut Draft) {
        for is_same in [true, false] {
            for source in sources {
                let lots = self.lots(source.kind, Layer::Own).cloned().unwrap_or_default();
                for lot in lots.all() {
                    if (lot.asset == draft.asset) == is_same && limit > 0 {
                        let most = draft.needed.min(limit);
                        limit -= self.use_lot_for(*source, Layer::Own, lot, most, draft);
                    }
                }
            }
        }
    }

    /// Uses the sources of a rank, the greatest severe share first.
    fn use_rank(&mut self, sources: &[Source], draft: &mut Draft) {
        let mut candidates = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            for layer in source.layers {
                let lots = self.lots(source.kind, *layer).map_or(&[][..], |lots| lots.all());
                for lot in lots {
                    let severe = lot.shares.severe();
                    if source.is_severe_only && severe <= SEVERE_LOTS {
                        continue;
                    }
                    // Differences below the least share that is kept are rounding.
                    let severe = std::cmp::Reverse(severe >> 23);
                    let value = std::cmp::Reverse(self.about.values.value(lot.asset, lot.amount));
                    let key = (severe, *layer, lot.asset != draft.asset, value, index, lot.asset);
                    candidates.push((key, *source, *layer, lot.clone()));
                }
            }
        }
        candidates.sort_by_key(|(key, ..)| *key);
        for (_, source, layer, lot) in candidates {
            let needed = draft.needed;
            self.use_lot_for(source, layer, &lot, needed, draft);
        }
    }

    /// Uses a lot for up to an amount. Returns the amount.
    fn use_lot_for(
        &mut self,
        source: Source,
        layer: Layer,
        lot: &Lot,
        most: u128,
        draft: &mut Draft,
    ) -> u128 {
        if is_tiny(draft.needed, draft.amount) {
            return 0;
        }
        let values = self.about.values;
        let (taken, paid) = if lot.asset == draft.asset {
            let taken = lot.amount.min(most);
            (taken, taken)
        } else {
            let wanted = values.amount(lot.asset, values.value(draft.asset, most));
            let taken = lot.amount.min(wanted);
            (taken, values.amount(draft.asset, values.value(lot.asset, taken)))
        };
        if taken == 0 || paid == 0 {
            return 0;
        }
        draft.masses.add(&lot.shares, U256::from(paid), source.by);
        if layer == Layer::Own && source.by == Hop::Counted {
            draft.returned += paid;
        }
        self.use_lot(source.kind, layer, lot.asset, taken);
        draft.needed = draft.needed.saturating_sub(paid);
        if lot.asset != draft.asset {
            let value = values.value(draft.asset, paid);
            match draft.used.0.iter_mut().find(|(asset, _)| *asset == lot.asset) {
                Some((_, sum)) => *sum = sum.saturating_add(value),
                None => draft.used.0.push((lot.asset, value)),
            }
        }
        paid
    }
}

impl Draft {
    /// Adds what no source explains: of what is left in the contract's ledger, and of severe money at least the part of what the
    /// contract bought in the transaction. It is never near.
    fn add_excess(
        &mut self,
        ledger: &AccountLedger,
        paid: &Shares,
        bought: Option<&(Masses, Value)>,
    ) {
        let excess = self.needed;
        if excess == 0 {
            return;
        }
        let (held, excess_units) = (Masses::of(&ledger.shares, ledger.balance), U256::from(excess));
        let left = ledger.balance.saturating_sub(self.amount - excess).max(excess);
        let mut added = Masses::default();
        for mass in &held.0 {
            let rest = mass.far.saturating_sub(self.masses.far(mass.origin));
            let far =
                part(rest, excess_units, U256::from(left), mass.is_severe()).min(whole(excess));
            added.mass(mass.origin, mass.hops.saturating_add(1)).far = far;
        }
        if let Some((severe, value)) = bought {
            for mass in &severe.0 {
                let share = part(mass.far, U256::from(1), *value, true);
                let far = share.saturating_mul(excess_units);
                let known = added.mass(mass.origin, mass.hops.saturating_add(1));
                known.far = known.far.max(far);
            }
        }
        for mass in &added.0 {
            let into = self.masses.mass(mass.origin, mass.hops);
            into.far = into.far.saturating_add(mass.far);
        }
        let surplus = self.masses.total().saturating_sub(whole(self.amount));
        if !surplus.is_zero() {
            let benign = self.masses.benign();
            self.masses.scale_benign(benign.saturating_sub(surplus), benign);
        }
        self.masses.add_near(&without_severe_near(paid), excess_units);
    }

    /// Nobody takes out more clean money than there is.
    fn keep_capacity(&mut self, ledger: &AccountLedger) {
        if ledger.balance == 0 {
            return;
        }
        let held = Masses::of(&ledger.shares, ledger.balance);
        let severe_held = held.severe();
        let clean = whole(ledger.balance).saturating_sub(severe_held);
        let severe = self.masses.severe();
        let shortfall = whole(self.amount).saturating_sub(clean).saturating_sub(severe);
        if shortfall.is_zero() || severe_held.is_zero() {
            return;
        }
        let room = whole(self.amount).saturating_sub(severe);
        self.masses.scale_benign(room.saturating_sub(shortfall), room);
        for mass in held.0.iter().filter(|mass| mass.is_severe()) {
            let into = self.masses.mass(mass.origin, mass.hops.saturating_add(1));
            let more = part(shortfall, mass.far, severe_held, true);
            into.far = into.far.saturating_add(more);
        }
        let displaced = part(shortfall, U256::from(1), whole(1), true);
        let displaced = u128::try_from(displaced).unwrap_or(u128::MAX);
        self.returned = self.returned.saturating_sub(displaced);
    }
}

/// A breakdown after a hop from a contract without a known source: of severe money nothing is near.
fn without_severe_near(paid: &Shares) -> Shares {
    paid.after(Hop::FromPayer).map(|share| {
        let near = if share.origin.is_severe() { 0 } else { share.near };
        super::super::shares::OriginShare { near, ..share }
    })
}
