//! One transaction while what contracts hold is followed: what is known about it as a whole.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    super::{
        AssetNumber, ContractFactKind, LedgerBook, MoneyEnd,
        shares::{Hop, Shares},
    },
    Circumstances,
    exchange::{Flow, Trade},
    given::GivenTokens,
    holding::{Held, Lot},
    masses::Masses,
    value::Value,
};
use crate::ledger::OwnerNumber;

/// An account that an event of a contract names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The contract.
    pub contract: OwnerNumber,
    /// [`ContractFactKind::Beneficiary`] or [`ContractFactKind::Holder`].
    pub kind: ContractFactKind,
    /// The account.
    pub account: OwnerNumber,
}

/// Things backed at one contract that an account remembers when they are more than twice as many.
const MOST_BACKED: usize = 128;

/// A lot that an account paid within the transaction.
#[derive(Clone, Debug)]
pub(super) struct PaidLot {
    pub(super) payer: OwnerNumber,
    pub(super) to: OwnerNumber,
    pub(super) lot: Lot,
}

/// One transaction while it is booked.
pub(super) struct Transaction<'t, B> {
    pub(super) about: Circumstances<'t>,
    pub(super) given: GivenTokens,
    /// The accounts that new units of tokens went to.
    pub(super) minted: FxHashSet<OwnerNumber>,
    /// Those of them without code that have severe lots, in the order of the transaction.
    pub(super) minted_with_severe: Vec<OwnerNumber>,
    /// Purchases of accounts by exchanges: the severe money of what was given for them, and their value.
    bought: FxHashMap<OwnerNumber, (Masses, Value)>,
    /// Values of payments, by payer and receiver.
    pub(super) incoming: FxHashMap<(OwnerNumber, OwnerNumber), Value>,
    pub(super) paid: Vec<PaidLot>,
    pub(super) book: &'t mut B,
}

impl<'t, B: LedgerBook> Transaction<'t, B> {
    /// A transaction of which nothing is booked.
    pub(super) fn new(about: Circumstances<'t>, book: &'t mut B) -> Self {
        Self {
            about,
            given: GivenTokens::default(),
            minted: FxHashSet::default(),
            minted_with_severe: Vec::new(),
            bought: FxHashMap::default(),
            incoming: FxHashMap::default(),
            paid: Vec::new(),
            book,
        }
    }

    /// True if money ends at an account, or nobody has it.
    pub(super) fn is_end(&self, owner: OwnerNumber) -> bool {
        owner == OwnerNumber::NOBODY || self.about.ends.get(owner).is_some()
    }

    /// True for an account whose tokens are followed: also a severe party, which hands on what its money bought.
    pub(super) fn holds_tokens(&self, owner: OwnerNumber) -> bool {
        let of_end = |end: MoneyEnd| end.is_severe();
        owner != OwnerNumber::NOBODY && self.about.ends.get(owner).is_none_or(of_end)
    }

    /// True for an account with code at which money does not end.
    pub(super) fn is_pool(&self, owner: OwnerNumber) -> bool {
        !self.is_end(owner) && self.book.states().is_contract(owner)
    }

    /// True for a flow that can be a part of an exchange: its asset has a price, and money ends at neither side. A severe or
    /// listed party trades with contracts as everybody does.
    pub(super) fn may_trade(&self, flow: &Flow) -> bool {
        let (one, other) = (flow.from, flow.to);
        let may =
            |owner: OwnerNumber, neighbor: OwnerNumber| {
                owner != OwnerNumber::NOBODY
                    && self.about.ends.get(owner).is_none_or(|end| {
                        end.is_severe() && self.book.states().is_contract(neighbor)
                    })
            };
        self.about.values.is_priced(flow.asset) && may(one, other) && may(other, one)
    }

    /// The accounts that events of a contract name, each once.
    pub(super) fn named_by(
        &self,
        contract: OwnerNumber,
        kind: ContractFactKind,
    ) -> Vec<OwnerNumber> {
        let mut accounts = Vec::new();
        for named in self.about.named.iter().filter(|it| it.contract == contract && it.kind == kind)
        {
            if !accounts.contains(&named.account) {
                accounts.push(named.account);
            }
        }
        accounts
    }

    /// The breakdown of what an account pays of an asset within the transaction.
    pub(super) fn shares_of(&self, owner: OwnerNumber, asset: AssetNumber, amount: u128) -> Shares {
        if let Some(end) = self.about.ends.get(owner) {
            return self.about.ends.shares(end, self.about.day);
        }
        let ledger = self.book.ledger(owner, asset);
        ledger.map_or(Shares::UNKNOWN, |ledger| ledger.shares_of(amount))
    }

    /// Pays an amount from a ledger in proportion.
    pub(super) fn take(&mut self, owner: OwnerNumber, asset: AssetNumber, amount: u128) {
        if !self.is_end(owner) {
            self.book.ledger_mut(owner, asset).pay(amount);
        }
    }

    /// The hop from a payer.
    pub(super) fn hop(&self, payer: OwnerNumber) -> Hop {
        if self.is_end(payer) { Hop::FromEnd } else { Hop::FromPayer }
    }

    /// Notes that what a holder has is backed at a contract, as the last one.
    pub(super) fn remember(&mut self, holder: OwnerNumber, contract: OwnerNumber, held: Held) {
        let tie = self.book.states_mut().tie_mut(holder, contract);
        tie.backed.retain(|known| *known != held);
        tie.backed.push(held);
        let is_full = tie.backed.len() > 2 * MOST_BACKED;
        self.book.states_mut().holding_mut(holder, held).is_backed = true;
        if is_full {
            self.forget_least(holder, contract);
        }
    }

    /// Keeps the most valuable of what a holder has that is backed at a contract.
    fn forget_least(&mut self, holder: OwnerNumber, contract: OwnerNumber) {
        let value = |held: Held| {
            let holding = self.book.states().holding(holder, held);
            holding.map_or(Value::ZERO, |holding| holding.value(self.about.values))
        };
        let backed = self.book.states().tie(holder, contract).map_or(&[][..], |tie| &tie.backed);
        let mut kept: Vec<(usize, Held, Value)> =
            backed.iter().enumerate().map(|(index, held)| (index, *held, value(*held))).collect();
        kept.sort_by_key(|(_, _, value)| Reverse(*value));
        kept.truncate(MOST_BACKED);
        kept.sort_by_key(|(index, ..)| *index);
        let backed = kept.into_iter().map(|(_, held, _)| held).collect();
        self.book.states_mut().tie_mut(holder, contract).backed = backed;
    }

    /// Lowers what a holder put into a contract on balance.
    pub(super) fn lower_put_in(&mut self, holder: OwnerNumber, contract: OwnerNumber, by: Value) {
        if self.book.states().tie(holder, contract).is_some_and(|tie| !tie.put_in.is_zero()) {
            let tie = self.book.states_mut().tie_mut(holder, contract);
            tie.put_in = tie.put_in.saturating_sub(by);
        }
    }

    /// Notes what a member of an exchange bought, and the breakdown of what was given for it.
    pub(super) fn note_trade(&mut self, trade: &Trade, shares: &Shares) {
        let (asset, amount) = trade.got;
        let value = self.about.values.value(asset, amount);
        let (masses, sum) = self.bought.entry(trade.member).or_default();
        masses.add(&shares.severe_only(), value, Hop::Counted);
        *sum = sum.saturating_add(value);
    }

    /// The severe money of what an account got by exchanges, and the value of all that it got.
    pub(super) fn bought_by(&self, member: OwnerNumber) -> Option<&(Masses, Value)> {
        self.bought.get(&member).filter(|(_, value)| !value.is_zero())
    }
}
