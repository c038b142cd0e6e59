//! Backing of tokens (`docs/model/accounts.md` C4): what accounts put in backs the tokens that they get, by value.

use ruint::aliases::U256;

use super::{
    super::{AssetNumber, LedgerBook, shares::Hop},
    holding::{Held, Holding, Layer, Lot, Lots},
    transaction::Transaction,
    value::{Value, part_of, product_over},
};
use crate::ledger::OwnerNumber;

/// Money that an account put in within the transaction.
#[derive(Clone, Debug)]
struct Contribution {
    lot: Lot,
    layer: Layer,
    /// The contract that it was paid to; `None` for layers of given tokens.
    contract: Option<OwnerNumber>,
}

/// The contributions of an account.
#[derive(Debug)]
struct Contributor {
    owner: OwnerNumber,
    all: Vec<Contribution>,
    value: Value,
}

/// The contributors of a transaction, in the order in which they paid.
#[derive(Debug, Default)]
pub(super) struct Contributors {
    all: Vec<Contributor>,
    /// The value that of a payer's contributions became others', by token and payer.
    pub(super) used: Vec<(AssetNumber, OwnerNumber, Value)>,
}

impl Contributors {
    /// The value that an account put in.
    pub(super) fn value(&self, owner: OwnerNumber) -> Value {
        self.get(owner).map_or(Value::ZERO, |contributor| contributor.value)
    }

    /// The most that became others' of what an account put in, for one token.
    pub(super) fn most_used(&self, owner: OwnerNumber) -> Value {
        let of_owner = self.used.iter().filter(|(_, payer, _)| *payer == owner);
        of_owner.map(|(.., value)| *value).max().unwrap_or_default()
    }

    fn get(&self, owner: OwnerNumber) -> Option<&Contributor> {
        self.all.iter().find(|contributor| contributor.owner == owner)
    }

    fn add(&mut self, owner: OwnerNumber, contribution: Contribution, value: Value) {
        match self.all.iter_mut().find(|contributor| contributor.owner == owner) {
            Some(known) => {
                known.all.push(contribution);
                known.value = known.value.saturating_add(value);
            }
            None => self.all.push(Contributor { owner, all: vec![contribution], value }),
        }
    }

    fn note_used(&mut self, token: AssetNumber, payer: OwnerNumber, value: Value) {
        let known =
            self.used.iter_mut().find(|(asset, owner, _)| (*asset, *owner) == (token, payer));
        match known {
            Some((.., sum)) => *sum = sum.saturating_add(value),
            None => self.used.push((token, payer, value)),
        }
    }
}

/// Units of a token from one sender, by receiver in the order of the transaction.
struct Handout {
    token: AssetNumber,
    sender: OwnerNumber,
    receivers: Vec<(OwnerNumber, u128, Vec<usize>)>,
}

impl<B: LedgerBook> Transaction<'_, B> {
    /// Backs the tokens that accounts got.
    pub(super) fn back_tokens(&mut self) -> Contributors {
        self.lower_by_given();
        let mut contributors = self.contributors();
        let mut done: Vec<(OwnerNumber, AssetNumber)> = Vec::new();
        for handout in self.handouts() {
            self.back(&handout, &mut contributors, &mut done);
        }
        contributors
    }

    /// Lowers what accounts put in where they give what it backs.
    fn lower_by_given(&mut self) {
        for index in 0..self.given.len() {
            let Some(handed) = self.given.get(index) else { continue };
            let (owner, held) = (handed.from, Held::Token(handed.asset));
            let value = handed.holding.own.value(self.about.values);
            if !self.holds_tokens(owner) || value.is_zero() {
                continue;
            }
            for contract in self.book.states().ties_of(owner) {
                let tie = self.book.states().tie(owner, contract);
                if tie.is_some_and(|tie| tie.backed.contains(&held)) {
                    self.lower_put_in(owner, contract, value);
                }
            }
        }
    }

    /// The contributions of each account: lots that it paid to contracts, and layers of the tokens that it gave, as payouts left them.
    fn contributors(&self) -> Contributors {
        let mut contributors = Contributors::default();
        let gets_tokens = |owner: OwnerNumber| self.given.iter().any(|given| given.to == owner);
        for paid in &self.paid {
            if self.is_pool(paid.to) || gets_tokens(paid.payer) {
                let contract = self.book.states().is_contract(paid.to).then_some(paid.to);
                let contribution =
                    Contribution { lot: paid.lot.clone(), layer: Layer::Own, contract };
                let value = self.about.values.value(paid.lot.asset, paid.lot.amount);
                contributors.add(paid.payer, contribution, value);
            }
        }
        for given in self.given.iter().filter(|given| self.holds_tokens(given.from)) {
            let is_put_in = gets_tokens(given.from)
                || given.to == OwnerNumber::NOBODY
                || self.book.states().is_contract(given.to);
            if !is_put_in {
                continue;
            }
            for layer in Layer::BOTH {
                for lot in given.holding.layer(layer).all() {
                    let contribution = Contribution { lot: lot.clone(), layer, contract: None };
                    let value = self.about.values.value(lot.asset, lot.amount);
                    contributors.add(given.from, contribution, value);
                }
            }
        }
        contributors
    }

    /// The tokens that were handed out, by token and sender.
    fn handouts(&self) -> Vec<Handout> {
        let mut handouts: Vec<Handout> = Vec::new();
        for (index, given) in self.given.iter().enumerate() {
            if !self.holds_tokens(given.to) {
                continue;
            }
            let key = (given.asset, given.from);
            let position = handouts.iter().position(|it| (it.token, it.sender) == key);
            let position = position.unwrap_or_else(|| {
                let (token, sender) = key;
                handouts.push(Handout { token, sender, receivers: Vec::new() });
                handouts.len() - 1
            });
            let Some(handout) = handouts.get_mut(position) else { continue };
            match handout.receivers.iter_mut().find(|(owner, ..)| *owner == given.to) {
                Some((_, units, indexes)) => {
                    *units = units.saturating_add(given.units);
                    indexes.push(index);
                }
                None => handout.receivers.push((given.to, given.units, vec![index])),
            }
        }
        handouts
    }

    /// Backs the tokens of a handout: everybody by what he put in; and who put in less than his part of what all put in, by
    /// what others put in beyond theirs.
    fn back(
        &mut self,
        handout: &Handout,
        contributors: &mut Contributors,
        done: &mut Vec<(OwnerNumber, AssetNumber)>,
    ) {
        let Handout { token, sender, receivers } = handout;
        let all_units =
            receivers.iter().fold(0_u128, |sum, (_, units, _)| sum.saturating_add(*units));
        let is_receiver = |owner: OwnerNumber| receivers.iter().any(|(it, ..)| *it == owner);
        // Who hands the token out is no payer for it.
        let payers: Vec<(OwnerNumber, Value)> = contributors
            .all
            .iter()
            .filter(|it| it.owner != *sender || is_receiver(it.owner))
            .map(|it| (it.owner, it.value))
            .collect();
        let pool = payers.iter().fold(Value::ZERO, |sum, (_, value)| sum.saturating_add(*value));
        let fair = |owner: OwnerNumber| {
            let units =
                receivers.iter().find(|(it, ..)| *it == owner).map_or(0, |(_, units, _)| *units);
            super::value::part(pool, U256::from(units), U256::from(all_units), false)
        };
        let surpluses: Vec<(OwnerNumber, Value)> = payers
            .iter()
            .map(|(owner, value)| (*owner, value.saturating_sub(fair(*owner))))
            .filter(|(_, surplus)| !surplus.is_zero())
            .collect();
        let all_surplus =
            surpluses.iter().fold(Value::ZERO, |sum, (_, it)| sum.saturating_add(*it));
        for (receiver, _, indexes) in receivers {
            let held = Held::Token(*token);
            let own_value = contributors.value(*receiver);
            let is_contributor = contributors.get(*receiver).is_some();
            if !done.contains(&(*receiver, *token)) {
                done.push((*receiver, *token));
                let own = contributors.get(*receiver).map_or(&[][..], |it| &it.all).to_vec();
                for Contribution { lot, layer, contract } in own {
                    self.add_lot((*receiver, held), layer, &lot, Hop::Counted);
                    if let Some(contract) = contract {
                        self.remember(*receiver, contract, held);
                    }
                }
            }
            let mut backed = own_value;
            let lack = fair(*receiver).saturating_sub(own_value);
            if !lack.is_zero() && !all_surplus.is_zero() {
                for (payer, surplus) in surpluses.iter().filter(|(payer, _)| payer != receiver) {
                    let value = super::value::part(lack, *surplus, all_surplus, false);
                    contributors.note_used(*token, *payer, value);
                    self.add_of_other(
                        (*receiver, held),
                        (lack, *surplus, all_surplus),
                        contributors.get(*payer),
                    );
                }
                backed = backed.saturating_add(lack);
            }
            self.hand_over((*receiver, held), indexes, backed);
            if !is_contributor && *sender != OwnerNumber::NOBODY {
                self.remember_as(*sender, *receiver, held);
            }
        }
    }

    /// Adds the part of a payer's contributions by which a receiver's tokens are backed.
    fn add_of_other(
        &mut self,
        (receiver, held): (OwnerNumber, Held),
        (lack, surplus, all_surplus): (Value, Value, Value),
        payer: Option<&Contributor>,
    ) {
        let Some(payer) = payer else { return };
        for Contribution { lot, contract, .. } in &payer.all {
            let amount = U256::from(lot.amount);
            let amount = product_over([amount, lack, surplus], [all_surplus, payer.value], false);
            let lot = Lot { amount: u128::try_from(amount).unwrap_or(u128::MAX), ..lot.clone() };
            self.add_lot((receiver, held), Layer::Came, &lot, Hop::FromPayer);
            if let Some(contract) = contract {
                self.remember(receiver, *contract, held);
            }
        }
    }

    /// Hands units over. Of layers that are worth more than what backs the token already, the difference comes along.
    fn hand_over(
        &mut self,
        (receiver, held): (OwnerNumber, Held),
        indexes: &[usize],
        backed: Value,
    ) {
        let handed = indexes.iter().filter_map(|index| self.given.get(*index));
        let handed: Vec<(u128, Holding)> =
            handed.map(|given| (given.units, given.holding.clone())).collect();
        let values = handed.iter().map(|(_, holding)| holding.value(self.about.values));
        let value = values.fold(Value::ZERO, Value::saturating_add);
        let more = value.saturating_sub(backed);
        for (units, holding) in handed {
            if !more.is_zero() {
                let layers = Layer::BOTH.iter().flat_map(|layer| holding.layer(*layer).all());
                for lot in layers {
                    let lot = Lot { amount: part_of(lot.amount, more, value), ..lot.clone() };
                    self.add_lot((receiver, held), Layer::Came, &lot, Hop::FromPayer);
                }
            }
            let into = self.book.states_mut().holding_mut(receiver, held);
            into.units = into.units.saturating_add(units);
        }
    }

    /// Remembers for a receiver where the sender's tokens are backed.
    fn remember_as(&mut self, sender: OwnerNumber, receiver: OwnerNumber, held: Held) {
        for contract in self.book.states().ties_of(sender) {
            let is_backed = self
                .book
                .states()
                .tie(sender, contract)
                .is_some_and(|it| it.backed.contains(&held));
            if is_backed {
                self.remember(receiver, contract, held);
            }
        }
    }

    /// Adds a lot to a layer after a hop.
    pub(super) fn add_lot(
        &mut self,
        (owner, held): (OwnerNumber, Held),
        layer: Layer,
        lot: &Lot,
        by: Hop,
    ) {
        if lot.amount > 0 {
            let values = self.about.values;
            let lots: &mut Lots = self.book.states_mut().holding_mut(owner, held).layer_mut(layer);
            lots.add(lot, by, values);
        }
    }
}
