//! Payouts of bridges and the deposits that they belong to (`docs/model/accounts.md` B18): pairs of one account on two chains.
//!
//! A pair is joined only if no other one is possible: a wrong pair would give the account another's history.

use std::collections::BTreeMap;

use assay_address::ChainId;
use jiff::{SignedDuration, Timestamp};
use ruint::aliases::U256;

use super::ScoredAsset;

/// Longest time between a deposit and its payout.
pub const BRIDGE_TIME: SignedDuration = SignedDuration::from_hours(24);
/// Least part of a deposit that is paid out, in percent: the rest is the bridge's fee.
const LEAST_PAID_PERCENT: u64 = 99;

/// A payment of one account into a bridge, or of a bridge to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgePayment {
    /// The chain.
    pub chain: ChainId,
    /// The asset.
    pub asset: &'static ScoredAsset,
    /// Amount in base units.
    pub amount: u128,
    /// Time of its block.
    pub time: Timestamp,
}

impl BridgePayment {
    /// True if this payout may belong to a deposit: on another chain, in an asset of the same ticker, at most 24 hours later,
    /// with at least 99 % of its amount and not more than all of it.
    #[must_use]
    pub fn may_pay_out(&self, deposit: &Self) -> bool {
        let later = self.time.duration_since(deposit.time);
        let is_in_time = !later.is_negative() && later <= BRIDGE_TIME;
        if !is_in_time || !self.is_part_of(deposit) {
            return false;
        }
        let (paid, given) = self.in_same_units(deposit);
        paid * U256::from(100) >= given * U256::from(LEAST_PAID_PERCENT)
    }

    /// True if this payout is on another chain than a deposit, in an asset of the same ticker, and not more than it.
    #[must_use]
    pub fn is_part_of(&self, deposit: &Self) -> bool {
        let (paid, given) = self.in_same_units(deposit);
        self.chain != deposit.chain && self.asset.ticker == deposit.asset.ticker && paid <= given
    }

    /// The amounts of this payment and another one in the same units: the same amount has other base units on a chain with other
    /// decimals.
    fn in_same_units(&self, other: &Self) -> (U256, U256) {
        let decimals = self.asset.decimals.max(other.asset.decimals);
        (self.in_decimals(decimals), other.in_decimals(decimals))
    }

    /// The amount with so many decimals, at least as many as those of the asset.
    fn in_decimals(&self, decimals: u8) -> U256 {
        let more = decimals.saturating_sub(self.asset.decimals);
        U256::from(self.amount) * U256::from(10).pow(U256::from(more))
    }
}

/// Returns the pairs of a payout and a deposit, by their positions, of which neither has another possible partner. All payments
/// are of one account.
#[must_use]
pub fn unique_pairs(payouts: &[BridgePayment], deposits: &[BridgePayment]) -> Vec<(usize, usize)> {
    let mut by_ticker: BTreeMap<&str, Vec<(Timestamp, usize)>> = BTreeMap::new();
    for (index, deposit) in deposits.iter().enumerate() {
        by_ticker.entry(deposit.asset.ticker).or_default().push((deposit.time, index));
    }
    for of_ticker in by_ticker.values_mut() {
        of_ticker.sort_unstable();
    }
    let mut payouts_of = vec![0_u32; deposits.len()];
    let mut only: Vec<(usize, usize)> = Vec::new();
    for (index, payout) in payouts.iter().enumerate() {
        let of_ticker = by_ticker.get(payout.asset.ticker).map(Vec::as_slice).unwrap_or_default();
        let earliest = payout.time.saturating_sub(BRIDGE_TIME).unwrap_or(Timestamp::MIN);
        let first = of_ticker.partition_point(|(time, _)| *time < earliest);
        let in_time = of_ticker.iter().skip(first).take_while(|(time, _)| *time <= payout.time);
        let possible = in_time.map(|(_, deposit)| *deposit).filter(|deposit| {
            deposits.get(*deposit).is_some_and(|deposit| payout.may_pay_out(deposit))
        });
        let possible: Vec<usize> = possible.collect();
        for deposit in &possible {
            if let Some(count) = payouts_of.get_mut(*deposit) {
                *count += 1;
            }
        }
        if let [deposit] = possible[..] {
            only.push((index, deposit));
        }
    }
    only.retain(|(_, deposit)| payouts_of.get(*deposit) == Some(&1));
    only
}

#[cfg(test)]
mod tests;
