//! Claims on contracts (`docs/model/accounts.md` C5): what was paid in and brought no token.

use rustc_hash::FxHashMap;

use super::{
    super::{ContractFactKind, LedgerBook, shares::Hop},
    backing::Contributors,
    holding::{Held, Layer, Lot},
    sources::SEVERE_LOTS,
    transaction::{PaidLot, Transaction},
    value::{Value, dollars, part_of},
};
use crate::ledger::OwnerNumber;

/// Claims of a smaller value, in US dollars, are not kept unless they are severe.
const LEAST_CLAIM: u64 = 1;
/// Bits below which what is left of a lot is nothing.
const NOTHING: u32 = 20;

impl<B: LedgerBook> Transaction<'_, B> {
    /// Keeps claims for what accounts paid to contracts, less what became others' tokens.
    pub(super) fn keep_claims(&mut self, contributors: &Contributors) {
        let mut paid = std::mem::take(&mut self.paid);
        let mut payers: FxHashMap<OwnerNumber, usize> = FxHashMap::default();
        for paid in &paid {
            let next = payers.len();
            payers.entry(paid.payer).or_insert(next);
        }
        // Payer by payer, in the order in which they paid.
        paid.sort_by_key(|paid| payers.get(&paid.payer).copied());
        for paid in paid {
            if self.is_pool(paid.to) {
                self.keep_claim(&paid, contributors);
            }
        }
    }

    /// Keeps the claims of one lot. If events name accounts, a severe lot is a claim of each of them, and of the payer: a name
    /// beside it would hide it otherwise.
    fn keep_claim(&mut self, paid: &PaidLot, contributors: &Contributors) {
        let PaidLot { payer, to: contract, lot } = paid;
        let named = self.named_by(*contract, ContractFactKind::Beneficiary);
        let is_severe = lot.shares.severe() > SEVERE_LOTS;
        let beneficiaries = match named.first() {
            Some(_) if is_severe => {
                let payer = Some(*payer).filter(|payer| !named.contains(payer));
                named.into_iter().chain(payer).collect()
            }
            Some(first) if !named.contains(payer) => vec![*first],
            Some(_) | None => vec![*payer],
        };
        for beneficiary in beneficiaries.into_iter().filter(|it| *it != OwnerNumber::NOBODY) {
            self.keep_claim_of(beneficiary, paid, contributors);
        }
    }

    fn keep_claim_of(
        &mut self,
        beneficiary: OwnerNumber,
        PaidLot { payer, to: contract, lot }: &PaidLot,
        contributors: &Contributors,
    ) {
        let mut lot = lot.clone();
        let is_severe = lot.shares.severe() > SEVERE_LOTS;
        let gets_token = self.given.is_receiver(*payer);
        let is_for_other = beneficiary != *payer;
        if gets_token && !is_for_other && !is_severe {
            return;
        }
        if !is_for_other && !is_severe {
            let used = contributors.most_used(*payer);
            let all = contributors.value(*payer);
            if !used.is_zero() && !all.is_zero() {
                let became_others = part_of(lot.amount, used.min(all), all);
                let left = lot.amount - became_others.min(lot.amount);
                if left <= lot.amount >> NOTHING {
                    return;
                }
                lot.amount = left;
            }
        }
        let value: Value = self.about.values.value(lot.asset, lot.amount);
        if value <= dollars(LEAST_CLAIM) && lot.shares.severe() == 0 {
            return;
        }
        let (layer, by) =
            if is_for_other { (Layer::Came, Hop::FromPayer) } else { (Layer::Own, Hop::Counted) };
        let repaid = if gets_token && !is_for_other {
            None
        } else {
            self.last_backed(beneficiary, *contract)
        };
        let claim = Held::Claim(*contract);
        if let Some(token) = repaid {
            self.add_lot((beneficiary, token), layer, &lot, by);
        }
        if repaid.is_none() || is_severe {
            self.add_claim((beneficiary, claim), layer, &lot, by);
        }
    }

    fn add_claim(&mut self, of: (OwnerNumber, Held), layer: Layer, lot: &Lot, by: Hop) {
        self.book.states_mut().holding_mut(of.0, of.1).is_backed = true;
        self.add_lot(of, layer, lot, by);
    }

    /// The token that was backed last at a contract, of those that an account still has.
    fn last_backed(&self, owner: OwnerNumber, contract: OwnerNumber) -> Option<Held> {
        let backed = self.book.states().tie(owner, contract).map_or(&[][..], |tie| &tie.backed);
        let has =
            |held: &&Held| self.book.states().holding(owner, **held).is_some_and(|it| it.units > 0);
        backed.iter().rev().find(has).copied()
    }
}
