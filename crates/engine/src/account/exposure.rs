//! Origins of all money that an account received, and of the money that it holds, by asset.

use std::collections::BTreeMap;

use ruint::aliases::U256;

use super::{
    AssetNumber, ScoredAsset,
    ledger::AccountLedger,
    origin::{MoneyOrigin, OriginCode},
    shares::{OriginShare, WHOLE},
    view::AccountView,
};
use crate::ledger::OwnerNumber;

/// The money of an account in one asset.
#[derive(Clone, Debug)]
pub struct AssetExposure {
    /// The asset.
    pub asset: &'static ScoredAsset,
    /// Sum of all that the account received, in base units; of each transaction, what it received on balance.
    pub received: U256,
    /// Balance in base units; `None` for a party at which money ends.
    pub balance: Option<u128>,
    /// The origins, those that are known first; the shares of each kind sum to the whole.
    pub origins: Vec<OriginExposure>,
}

/// One origin of an account's money in an asset. Shares are units of 2^-63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginExposure {
    /// The origin; `None` for money of unknown origin.
    pub origin: Option<MoneyOrigin>,
    /// Fewest hops to a party of the origin; `None` for money of unknown origin.
    pub hops: Option<u8>,
    /// Share of all that the account received.
    pub received: u64,
    /// The same share, decayed by each hop but the first.
    pub decayed: u64,
    /// Share of the balance.
    pub held: u64,
}

/// Returns the money of an account by asset, in the order of the scored assets of the chain.
#[must_use]
pub fn exposures(view: &dyn AccountView, owner: OwnerNumber) -> Vec<AssetExposure> {
    let mut assets: BTreeMap<AssetNumber, Sums> = BTreeMap::new();
    let own = view.payments(owner, usize::MAX).payments.into_iter();
    for payment in own.filter(|payment| payment.to == owner) {
        let sums = assets.entry(payment.asset).or_default();
        sums.received = sums.received.saturating_add(U256::from(payment.amount));
        for share in payment.shares.known() {
            sums.receive(share.after(payment.hop), payment.amount);
        }
    }
    for (asset, ledger) in view.ledgers(owner) {
        assets.entry(asset).or_default().hold(&ledger);
    }
    let scored = assets.into_iter().filter_map(|(number, sums)| {
        let exposure = sums.exposure(view.scored(number)?);
        (!exposure.origins.is_empty()).then_some(exposure)
    });
    scored.collect()
}

/// Sums of one asset.
#[derive(Debug, Default)]
struct Sums {
    received: U256,
    balance: Option<u128>,
    origins: BTreeMap<OriginCode, OriginSums>,
}

/// Sums of one origin: base units times 2^63, and the share of the balance.
#[derive(Clone, Copy, Debug)]
struct OriginSums {
    hops: u8,
    received: U256,
    decayed: U256,
    held: u64,
}

impl Sums {
    fn at(&mut self, share: OriginShare) -> &mut OriginSums {
        let new = OriginSums { hops: u8::MAX, received: U256::ZERO, decayed: U256::ZERO, held: 0 };
        let sums = self.origins.entry(share.origin).or_insert(new);
        sums.hops = sums.hops.min(share.hops);
        sums
    }

    fn receive(&mut self, share: OriginShare, amount: u128) {
        let of = |share: u64| U256::from(amount) * U256::from(share);
        let sums = self.at(share);
        sums.received = sums.received.saturating_add(of(share.far));
        sums.decayed = sums.decayed.saturating_add(of(share.near));
    }

    fn hold(&mut self, ledger: &AccountLedger) {
        self.balance = Some(ledger.balance);
        for share in ledger.shares.known() {
            self.at(*share).held = share.far;
        }
    }

    fn exposure(self, asset: &'static ScoredAsset) -> AssetExposure {
        let Self { received, balance, origins } = self;
        let share = |sum: U256| {
            let share = sum.checked_div(received).unwrap_or(U256::ZERO);
            u64::try_from(share).map_or(WHOLE, |share| share.min(WHOLE))
        };
        let known = origins.into_iter().map(|(code, sums)| OriginExposure {
            origin: Some(code.origin()),
            hops: Some(sums.hops),
            received: share(sums.received),
            decayed: share(sums.decayed),
            held: sums.held,
        });
        let mut origins: Vec<OriginExposure> = known.collect();
        let rest = |of: fn(&OriginExposure) -> u64, has_any: bool| {
            let known = origins.iter().map(of).fold(0, u64::saturating_add);
            if has_any { WHOLE.saturating_sub(known) } else { 0 }
        };
        let unknown = rest(|origin| origin.received, received > U256::ZERO);
        let held = rest(|origin| origin.held, balance.is_some_and(|balance| balance > 0));
        if unknown > 0 || held > 0 {
            let (received, decayed) = (unknown, unknown);
            origins.push(OriginExposure { origin: None, hops: None, received, decayed, held });
        }
        AssetExposure { asset, received, balance, origins }
    }
}
