//! Payments for assets without a price (`docs/model/accounts.md` B16): nobody can tell which part of them is an exchange.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{super::AssetNumber, Circumstances, NettedTransaction, exchange::Flow, value::Value};
use crate::ledger::OwnerNumber;

/// One of so many parts of a payment, by order of worth, is the least for which it may be paid.
const PARTS: u64 = 100;

/// Who gave and got what within a transaction in which an asset without a price moves.
#[derive(Debug)]
pub(super) struct Unpriced<'t> {
    about: Circumstances<'t>,
    gave: Amounts,
    got: Amounts,
    /// All that was given of each scored asset.
    given: Vec<(AssetNumber, u128)>,
}

/// Amounts by account.
#[derive(Debug, Default)]
struct Amounts {
    scored: FxHashMap<OwnerNumber, Vec<(AssetNumber, u128)>>,
    /// Accounts that moved tokens outside the table.
    tokens: FxHashSet<OwnerNumber>,
}

impl<'t> Unpriced<'t> {
    /// The payments of a transaction; `None` if all of its scored assets have a price.
    pub(super) fn of(netted: &NettedTransaction, about: Circumstances<'t>) -> Option<Self> {
        if netted.scored.iter().all(|(asset, _)| about.values.is_priced(*asset)) {
            return None;
        }
        let mut found =
            Self { about, gave: Amounts::default(), got: Amounts::default(), given: Vec::new() };
        for (asset, edge) in &netted.scored {
            found.gave.add(edge.from, *asset, edge.amount);
            found.got.add(edge.to, *asset, edge.amount);
            if edge.from != OwnerNumber::NOBODY {
                add(&mut found.given, *asset, edge.amount);
            }
        }
        let tokens = || netted.tokens.iter().map(|(_, edge)| edge);
        let is_somebody = |owner: &OwnerNumber| *owner != OwnerNumber::NOBODY;
        found.gave.tokens = tokens().map(|edge| edge.from).filter(is_somebody).collect();
        found.got.tokens = tokens().map(|edge| edge.to).filter(is_somebody).collect();
        Some(found)
    }

    /// True for a payment of or for an asset without a price: the receiver gave something for it, or, of a payment by another
    /// account than the transaction's sender, the payer got something or the sender gave something. Without a known sender,
    /// anybody else who gave something counts.
    pub(super) fn is_conversion(&self, flow: &Flow) -> bool {
        let (payer, receiver) = (flow.from, flow.to);
        if self.about.ends.get(payer).is_some() {
            return false;
        }
        let gave = |owner: OwnerNumber| self.has(&self.gave, owner, flow);
        let got = |owner: OwnerNumber| self.has(&self.got, owner, flow);
        let is_for_other = || match self.about.initiator {
            Some(initiator) if initiator == payer => false,
            Some(initiator) => got(payer) || gave(initiator),
            None => got(payer) || self.others_gave(flow),
        };
        gave(receiver) || is_for_other()
    }

    /// True if an account moved something that a payment may be for.
    fn has(&self, amounts: &Amounts, owner: OwnerNumber, flow: &Flow) -> bool {
        self.counts_tokens(flow) && amounts.tokens.contains(&owner)
            || amounts.of(owner).iter().any(|(asset, amount)| self.counts(*asset, *amount, flow))
    }

    /// True if another account than the payer gave something that a payment may be for.
    fn others_gave(&self, flow: &Flow) -> bool {
        let own = self.gave.of(flow.from);
        let of_payer = |asset: AssetNumber| {
            own.iter().find(|(of, _)| *of == asset).map_or(0, |(_, amount)| *amount)
        };
        self.counts_tokens(flow) && self.gave.tokens.iter().any(|owner| *owner != flow.from)
            || self.given.iter().any(|(asset, amount)| {
                self.counts(*asset, amount.saturating_sub(of_payer(*asset)), flow)
            })
    }

    /// True if tokens outside the table may have been given for a payment.
    fn counts_tokens(&self, flow: &Flow) -> bool {
        !self.about.values.is_priced(flow.asset)
    }

    /// True if an amount of another asset may have been given for a payment: one of both has no price, and the amount is no
    /// crumb beside the payment.
    fn counts(&self, asset: AssetNumber, amount: u128, flow: &Flow) -> bool {
        let values = self.about.values;
        let is_priced = values.is_priced(asset) && values.is_priced(flow.asset);
        let least = values.value(flow.asset, flow.amount) / Value::from(PARTS);
        asset != flow.asset && amount > 0 && !is_priced && values.value(asset, amount) >= least
    }
}

impl Amounts {
    fn add(&mut self, owner: OwnerNumber, asset: AssetNumber, amount: u128) {
        if owner != OwnerNumber::NOBODY {
            add(self.scored.entry(owner).or_default(), asset, amount);
        }
    }

    fn of(&self, owner: OwnerNumber) -> &[(AssetNumber, u128)] {
        self.scored.get(&owner).map_or(&[], Vec::as_slice)
    }
}

fn add(sums: &mut Vec<(AssetNumber, u128)>, asset: AssetNumber, amount: u128) {
    match sums.iter_mut().find(|(known, _)| *known == asset) {
        Some((_, sum)) => *sum = sum.saturating_add(amount),
        None => sums.push((asset, amount)),
    }
}
