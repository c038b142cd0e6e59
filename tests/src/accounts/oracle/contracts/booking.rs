//! One transaction while it is booked: what the rules know about it as a whole.

use std::collections::BTreeMap;

use assay_engine::account::{ContractFact, ContractFactKind, MoneyEnd, OriginCode};
use jiff::civil::Date;
use num_traits::Zero;

use super::{
    super::Exact,
    exchanges::{Flow, Trade},
    funds::Funds,
    state::{Account, AssetIndex, Holding, NOBODY, State, Token},
    values::Values,
};

/// Units of a token that an account gave, with what payouts left of their layers.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) from: Account,
    pub(super) to: Account,
    pub(super) token: Token,
    pub(super) units: Exact,
    pub(super) holding: Holding,
}

/// Money that an account paid of its own.
#[derive(Clone, Debug)]
pub(super) struct PaidLot {
    pub(super) payer: Account,
    pub(super) to: Account,
    pub(super) coin: AssetIndex,
    pub(super) funds: Funds,
}

/// A transaction while it is booked.
pub(super) struct Booking<'t> {
    pub(super) ends: &'t BTreeMap<Account, MoneyEnd>,
    pub(super) day: Date,
    pub(super) values: Values,
    pub(super) initiator: Option<Account>,
    pub(super) facts: &'t [ContractFact],
    pub(super) state: &'t mut State,
    /// All that each account pays of each asset, from its ledger as before the transaction.
    pub(super) payments: BTreeMap<(Account, AssetIndex), Funds>,
    pub(super) given: Vec<Given>,
    /// Money from exchanges by account and value, with the origins of the gifts that bought it.
    pub(super) bought: BTreeMap<Account, Funds>,
    /// Values of payments by payer and receiver.
    pub(super) paid_values: BTreeMap<(Account, Account), Exact>,
    pub(super) paid: Vec<PaidLot>,
}

impl Booking<'_> {
    /// True if no ledger is kept of an account.
    pub(super) fn is_end(&self, account: Account) -> bool {
        account == NOBODY || self.ends.contains_key(&account)
    }

    /// True for an account with code at which money does not end.
    pub(super) fn is_pool(&self, account: Account) -> bool {
        !self.is_end(account) && self.state.contracts.contains(&account)
    }

    fn is_severe_end(&self, account: Account) -> bool {
        self.ends.get(&account).is_some_and(|end| {
            OriginCode::from(end.origin(self.day)).is_severe() || end.listed_on.is_some()
        })
    }

    /// True for an account whose tokens have layers: those of severe ends move too (C4).
    pub(super) fn holds_tokens(&self, account: Account) -> bool {
        !self.is_end(account) || self.is_severe_end(account)
    }

    /// True for a flow that can be a part of an exchange (C2).
    pub(super) fn may_trade(&self, flow: &Flow) -> bool {
        let may = |one: Account, neighbor: Account| {
            !self.is_end(one) || self.is_severe_end(one) && self.state.contracts.contains(&neighbor)
        };
        may(flow.from, flow.to) && may(flow.to, flow.from)
    }

    /// The accounts that events of a contract name, each once.
    pub(super) fn named_by(&self, contract: Account, kind: ContractFactKind) -> Vec<Account> {
        let mut named = Vec::new();
        for fact in self.facts.iter().filter(|it| it.contract == contract && it.kind == kind) {
            if fact.account != NOBODY && !named.contains(&fact.account) {
                named.push(fact.account);
            }
        }
        named
    }

    /// The funds of a payment from what an account has now.
    pub(super) fn payment(&self, payer: Account, coin: AssetIndex, amount: &Exact) -> Funds {
        match self.ends.get(&payer) {
            Some(end) => Funds::wholly(end.origin(self.day), amount.clone()),
            None => self.state.ledger(payer, coin).payment(amount),
        }
    }

    /// The part of a flow's payer's payments that are of an amount.
    pub(super) fn of_payments(&self, flow: &Flow, amount: &Exact) -> Funds {
        self.payments[&(flow.from, flow.coin)].shared_by(amount)
    }

    pub(super) fn take(&mut self, payer: Account, coin: AssetIndex, amount: &Exact) {
        if !self.is_end(payer) {
            self.state.ledger_mut(payer, coin).pay(amount);
        }
    }

    pub(super) fn put(&mut self, receiver: Account, coin: AssetIndex, funds: &Funds) {
        if !self.is_end(receiver) && !funds.amount.is_zero() {
            let ledger = self.state.ledger_mut(receiver, coin);
            ledger.add(funds);
            *ledger = ledger.clone().bounded();
        }
    }

    /// Takes what the members of an exchange give, and returns what they get: their own money.
    pub(super) fn trade(&mut self, exchange: &[Trade]) -> Vec<(Account, AssetIndex, Funds)> {
        let mut receipts = Vec::new();
        for Trade { member, got: (coin, amount), gave: (given, given_amount) } in exchange {
            let others = exchange.iter().filter(|other| other.member != *member);
            let gifts = others.map(|other| &self.payments[&(other.member, other.gave.0)]);
            let bought_with =
                gifts.reduce(
                    |most, gift| {
                        if gift.severe_share() > most.severe_share() { gift } else { most }
                    },
                );
            let value = self.values.of(*coin, amount);
            let bought = bought_with.map_or_else(Funds::none, |gift| gift.shared_by(&value));
            self.bought.entry(*member).or_insert_with(Funds::none).add(&bought);
            self.take(*member, *given, given_amount);
            receipts.push((*member, *coin, self.payments[&(*member, *given)].shared_by(amount)));
        }
        receipts
    }

    /// Takes units of a token with their layers from the giver.
    pub(super) fn give(&mut self, token: Token, (from, to): (Account, Account), units: Exact) {
        let held = super::state::Held::Token(token);
        let mut holding = Holding::default();
        if self.holds_tokens(from) && self.state.holding(from, held).is_some() {
            holding = self.state.holding_mut(from, held).split(&units);
        }
        self.given.push(Given { from, to, token, units, holding });
    }
}
