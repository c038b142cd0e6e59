//! C5: claims on contracts for what was paid in.

use assay_engine::account::ContractFactKind;
use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::{
    super::Exact,
    backing::Contributors,
    booking::{Booking, PaidLot},
    sources::is_severe_lot,
    state::{Account, Held, Layer, NOBODY},
};

/// Claims up to this value, in dollars, are not kept unless they are severe.
const LEAST_DOLLARS: u32 = 1;
/// A lot of which less than this part, 2^-20, did not become others' is no claim.
const NOTHING_BITS: u32 = 20;

impl Booking<'_> {
    /// Keeps the claims for all that was paid to contracts, payer by payer.
    pub(super) fn keep_claims(&mut self, contributors: &Contributors) {
        let mut payers: Vec<Account> = Vec::new();
        for lot in &self.paid {
            if !payers.contains(&lot.payer) {
                payers.push(lot.payer);
            }
        }
        let paid = std::mem::take(&mut self.paid);
        for payer in payers {
            for lot in paid.iter().filter(|it| it.payer == payer) {
                for holder in self.holders_of(lot) {
                    self.keep_claim(holder, lot, contributors);
                }
            }
        }
        self.paid = paid;
    }

    /// The accounts whose claim a lot is.
    fn holders_of(&self, lot: &PaidLot) -> Vec<Account> {
        if !self.is_pool(lot.to) {
            return Vec::new();
        }
        let mut named = self.named_by(lot.to, ContractFactKind::Beneficiary);
        if named.is_empty() {
            named.push(lot.payer);
        } else if is_severe_lot(&lot.funds) {
            if !named.contains(&lot.payer) {
                named.push(lot.payer);
            }
        } else if named.contains(&lot.payer) {
            named = vec![lot.payer];
        } else {
            named.truncate(1);
        }
        named.retain(|it| *it != NOBODY);
        named
    }

    fn keep_claim(&mut self, holder: Account, lot: &PaidLot, contributors: &Contributors) {
        let PaidLot { payer, to: contract, coin, funds } = lot;
        let (is_severe, is_own) = (is_severe_lot(funds), holder == *payer);
        let gets_token = self.given.iter().any(|it| it.to == *payer);
        if gets_token && is_own && !is_severe {
            return;
        }
        let mut funds = funds.clone();
        if is_own && !is_severe {
            let left = Exact::one() - contributors.part_of_others(*payer);
            if &left * (BigInt::one() << NOTHING_BITS) <= Exact::one() {
                return;
            }
            funds = funds.times(&left);
        }
        let is_small = self.values.of(*coin, &funds.amount) <= BigInt::from(LEAST_DOLLARS).into();
        if is_small && funds.severe().is_zero() {
            return;
        }
        let layer = if is_own { Layer::Own } else { Layer::Came };
        let funds = if is_own { funds } else { funds.after_hop() };
        let repaid = if gets_token && is_own { None } else { self.last_backed(holder, *contract) };
        if let Some(held) = repaid {
            self.state.holding_mut(holder, held).add(layer, *coin, &funds, &self.values);
        }
        if repaid.is_none() || is_severe {
            let claim = self.state.holding_mut(holder, Held::Claim(*contract));
            claim.is_backed = true;
            claim.add(layer, *coin, &funds, &self.values);
        }
    }

    /// The token that was backed last at a contract, of those that an account still has.
    fn last_backed(&self, holder: Account, contract: Account) -> Option<Held> {
        let backed = self.state.backed_at(holder, contract).into_iter().rev();
        let mut has_units = backed
            .filter(|held| self.state.holding(holder, *held).is_some_and(|it| !it.units.is_zero()));
        has_units.next()
    }
}
