//! Backing of tokens (`docs/model/accounts.md` C4): what accounts put in backs the tokens that they get, by value.

use std::cmp::Reverse;

use ruint::aliases::U256;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    super::{AssetNumber, LedgerBook, shares::Hop},
    holding::{Held, Holding, Layer, Lot, Lots},
    transaction::Transaction,
    value::{DayValues, Value, part, part_of, product_over},
};
use crate::ledger::OwnerNumber;

/// Most payers of a transaction that are told apart. More are taken together: each of them backs what others got in proportion.
const MOST_PAYERS: usize = 16;
/// Most contracts at which a token is backed by one transaction: those that got the most.
const MOST_CONTRACTS: usize = 64;

/// Money that an account, or all together, put in within the transaction.
#[derive(Clone, Debug, Default)]
struct Contribution {
    own: Lots,
    came: Lots,
    value: Value,
    /// The contracts that got it, with values, in order.
    contracts: Vec<(OwnerNumber, Value)>,
}

impl Contribution {
    fn layers(&self) -> impl Iterator<Item = (Layer, &Lot)> {
        let own = self.own.all().iter().map(|lot| (Layer::Own, lot));
        own.chain(self.came.all().iter().map(|lot| (Layer::Came, lot)))
    }

    fn add(&mut self, layer: Layer, lot: &Lot, values: &DayValues) {
        let lots = if layer == Layer::Own { &mut self.own } else { &mut self.came };
        lots.add(lot, Hop::Counted, values);
        self.value = self.value.saturating_add(values.value(lot.asset, lot.amount));
    }
}

/// The contributions of a transaction, in the order in which accounts paid.
#[derive(Debug, Default)]
pub(super) struct Contributors {
    all: Vec<(OwnerNumber, Contribution)>,
    positions: FxHashMap<OwnerNumber, usize>,
    /// All of them, if they are too many to be told apart.
    together: Option<Contribution>,
    value: Value,
    /// The value that of an account's contribution became others', by token.
    used: FxHashMap<(AssetNumber, OwnerNumber), Value>,
    /// The most that it became for one token.
    most_used: FxHashMap<OwnerNumber, Value>,
    /// The same of all contributions together, which [`OwnerNumber::NOBODY`] stands for.
    most_used_together: Value,
}

impl Contributors {
    /// The value that an account put in.
    pub(super) fn value(&self, owner: OwnerNumber) -> Value {
        self.get(owner).map_or(Value::ZERO, |contribution| contribution.value)
    }

    /// The most that became others' of what an account put in, for one token.
    pub(super) fn most_used(&self, owner: OwnerNumber) -> Value {
        let own = self.most_used.get(&owner).copied().unwrap_or_default();
        let of_all = part(self.most_used_together, self.value(owner), self.value, false);
        own.max(of_all)
    }

    fn get(&self, owner: OwnerNumber) -> Option<&Contribution> {
        self.all.get(*self.positions.get(&owner)?).map(|(_, contribution)| contribution)
    }

    fn get_mut(&mut self, owner: OwnerNumber) -> Option<&mut Contribution> {
        let next = self.all.len();
        let position = *self.positions.entry(owner).or_insert(next);
        if position == next {
            self.all.push((owner, Contribution::default()));
        }
        self.all.get_mut(position).map(|(_, contribution)| contribution)
    }

    fn add(&mut self, owner: OwnerNumber, layer: Layer, lot: &Lot, values: &DayValues) {
        if let Some(contribution) = self.get_mut(owner) {
            contribution.add(layer, lot, values);
        }
    }

    fn add_contract(&mut self, owner: OwnerNumber, contract: OwnerNumber, value: Value) {
        if let Some(contribution) = self.get_mut(owner) {
            contribution.contracts.push((contract, value));
        }
    }

    /// Completes what accounts put in.
    fn complete(&mut self, values: &DayValues) {
        for (_, contribution) in &mut self.all {
            contribution.contracts = greatest(&contribution.contracts);
            self.value = self.value.saturating_add(contribution.value);
        }
        if self.all.len() > MOST_PAYERS {
            let mut together = Contribution::default();
            for (_, contribution) in &self.all {
                for (layer, lot) in contribution.layers() {
                    together.add(layer, lot, values);
                }
                together.contracts.extend_from_slice(&contribution.contracts);
            }
            together.contracts = greatest(&together.contracts);
            self.together = Some(together);
        }
    }

    fn note_used(&mut self, token: AssetNumber, payer: OwnerNumber, value: Value) {
        let sum = self.used.entry((token, payer)).or_default();
        *sum = sum.saturating_add(value);
        let most = if payer == OwnerNumber::NOBODY {
            &mut self.most_used_together
        } else {
            self.most_used.entry(payer).or_default()
        };
        *most = (*most).max(*sum);
    }

    /// The contribution of an account, or, for nobody, of all.
    fn of(&self, payer: OwnerNumber) -> Option<&Contribution> {
        if payer == OwnerNumber::NOBODY { self.together.as_ref() } else { self.get(payer) }
    }
}

/// The contracts that got the most, in order, each once.
fn greatest(contracts: &[(OwnerNumber, Value)]) -> Vec<(OwnerNumber, Value)> {
    let mut positions: FxHashMap<OwnerNumber, usize> = FxHashMap::default();
    let mut sums: Vec<(OwnerNumber, Value)> = Vec::new();
    for (contract, value) in contracts {
        let next = sums.len();
        let position = *positions.entry(*contract).or_insert(next);
        match sums.get_mut(position) {
            Some((_, sum)) => *sum = sum.saturating_add(*value),
            None => sums.push((*contract, *value)),
        }
    }
    if sums.len() > MOST_CONTRACTS {
        sums.sort_by_key(|(_, value)| Reverse(*value));
        sums.truncate(MOST_CONTRACTS);
        sums.sort_by_key(|(contract, _)| positions.get(contract).copied());
    }
    sums
}

/// Units of a token from one sender, by receiver in the order of the transaction.
struct Handout {
    token: AssetNumber,
    sender: OwnerNumber,
    receivers: Vec<(OwnerNumber, u128, Vec<usize>)>,
    positions: FxHashMap<OwnerNumber, usize>,
}

impl Handout {
    /// The units of a receiver.
    fn units(&self, owner: OwnerNumber) -> Option<u128> {
        let position = self.positions.get(&owner)?;
        self.receivers.get(*position).map(|(_, units, _)| *units)
    }
}

/// Contributions beyond the payers' parts of a handout.
struct Surplus {
    of_payers: Vec<(OwnerNumber, Value)>,
    of_all: Value,
}

/// The contracts at which an account's tokens are backed.
type BackedAt = FxHashMap<Held, Vec<OwnerNumber>>;

impl<B: LedgerBook> Transaction<'_, B> {
    /// Backs the tokens that accounts got.
    pub(super) fn back_tokens(&mut self) -> Contributors {
        self.lower_by_given();
        let mut contributors = self.contributors();
        let mut done: FxHashSet<(OwnerNumber, AssetNumber)> = FxHashSet::default();
        let mut backed: FxHashMap<OwnerNumber, BackedAt> = FxHashMap::default();
        for handout in self.handouts() {
            let sender = handout.sender;
            if sender != OwnerNumber::NOBODY && !backed.contains_key(&sender) {
                backed.insert(sender, self.backed_by(sender));
            }
            let backed_at = backed.get(&sender);
            self.back(&handout, backed_at, &mut contributors, &mut done);
        }
        contributors
    }

    /// Lowers what accounts put in where they give what it backs.
    fn lower_by_given(&mut self) {
        let mut given: FxHashMap<OwnerNumber, FxHashMap<Held, Value>> = FxHashMap::default();
        for handed in self.given.all() {
            let value = handed.holding.own.value(self.about.values);
            if self.holds_tokens(handed.from) && !value.is_zero() {
                let of_owner = given.entry(handed.from).or_default();
                let sum = of_owner.entry(Held::Token(handed.asset)).or_default();
                *sum = sum.saturating_add(value);
            }
        }
        for (owner, given) in given {
            for contract in self.book.states().ties_of(owner) {
                let tie = self.book.states().tie(owner, contract);
                let backed = tie.map_or(&[][..], |tie| &tie.backed);
                let values = backed.iter().filter_map(|held| given.get(held));
                let value = values.fold(Value::ZERO, |sum, it| sum.saturating_add(*it));
                self.lower_put_in(owner, contract, value);
            }
        }
    }

    /// The contributions of each account: lots that it paid to contracts, and layers of the tokens that it gave, as payouts left them.
    fn contributors(&self) -> Contributors {
        let values = self.about.values;
        let mut contributors = Contributors::default();
        for paid in &self.paid {
            if self.is_pool(paid.to) || self.given.is_receiver(paid.payer) {
                contributors.add(paid.payer, Layer::Own, &paid.lot, values);
                if self.book.states().is_contract(paid.to) {
                    let value = values.value(paid.lot.asset, paid.lot.amount);
                    contributors.add_contract(paid.payer, paid.to, value);
                }
            }
        }
        for given in self.given.all().iter().filter(|given| self.holds_tokens(given.from)) {
            let is_put_in = self.given.is_receiver(given.from)
                || given.to == OwnerNumber::NOBODY
                || self.book.states().is_contract(given.to);
            if !is_put_in {
                continue;
            }
            for layer in Layer::BOTH {
                for lot in given.holding.layer(layer).all() {
                    contributors.add(given.from, layer, lot, values);
                }
            }
        }
        contributors.complete(values);
        contributors
    }

    /// The tokens that were handed out, by token and sender.
    fn handouts(&self) -> Vec<Handout> {
        let mut positions: FxHashMap<(AssetNumber, OwnerNumber), usize> = FxHashMap::default();
        let mut handouts: Vec<Handout> = Vec::new();
        for (index, given) in self.given.all().iter().enumerate() {
            if !self.holds_tokens(given.to) {
                continue;
            }
            let (token, sender) = (given.asset, given.from);
            let position = *positions.entry((token, sender)).or_insert_with(|| {
                let (receivers, positions) = (Vec::new(), FxHashMap::default());
                handouts.push(Handout { token, sender, receivers, positions });
                handouts.len() - 1
            });
            let Some(handout) = handouts.get_mut(position) else { continue };
            let next = handout.receivers.len();
            let receiver = *handout.positions.entry(given.to).or_insert(next);
            match handout.receivers.get_mut(receiver) {
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
        backed_at: Option<&BackedAt>,
        contributors: &mut Contributors,
        done: &mut FxHashSet<(OwnerNumber, AssetNumber)>,
    ) {
        let Handout { token, sender, receivers, .. } = handout;
        let all_units =
            receivers.iter().fold(0_u128, |sum, (_, units, _)| sum.saturating_add(*units));
        // Who hands the token out is no payer for it.
        let of_sender = contributors.value(*sender);
        let is_payer = handout.units(*sender).is_some();
        let pool =
            contributors.value.saturating_sub(if is_payer { Value::ZERO } else { of_sender });
        let fair = |owner: OwnerNumber| {
            let units = handout.units(owner).unwrap_or(0);
            part(pool, U256::from(units), U256::from(all_units), false)
        };
        let surplus = surplus(handout, contributors, fair);
        for (receiver, _, indexes) in receivers {
            let held = Held::Token(*token);
            let own_value = contributors.value(*receiver);
            let own = contributors.get(*receiver);
            let is_contributor = own.is_some();
            if let Some(own) = own.filter(|_| done.insert((*receiver, *token))) {
                for (layer, lot) in own.layers() {
                    self.add_lot((*receiver, held), layer, lot, Hop::Counted);
                }
                self.remember_all(*receiver, &own.contracts, held);
            }
            let mut backed = own_value;
            let lack = fair(*receiver).saturating_sub(own_value);
            if !lack.is_zero() && !surplus.of_all.is_zero() {
                for (payer, of_payer) in surplus.of_payers.iter().filter(|(it, _)| it != receiver) {
                    let value = part(lack, *of_payer, surplus.of_all, false);
                    contributors.note_used(*token, *payer, value);
                    self.add_of_other(
                        (*receiver, held),
                        (lack, *of_payer, surplus.of_all),
                        contributors.of(*payer),
                    );
                }
                backed = backed.saturating_add(lack);
            }
            self.hand_over((*receiver, held), indexes, backed);
            if !is_contributor {
                let contracts = backed_at.and_then(|backed| backed.get(&held));
                for contract in contracts.into_iter().flatten() {
                    self.remember(*receiver, *contract, held);
                }
            }
        }
    }

    /// Adds the part of a payer's contribution by which a receiver's tokens are backed.
    fn add_of_other(
        &mut self,
        (receiver, held): (OwnerNumber, Held),
        (lack, surplus, all_surplus): (Value, Value, Value),
        payer: Option<&Contribution>,
    ) {
        let Some(payer) = payer else { return };
        for (_, lot) in payer.layers() {
            let amount = U256::from(lot.amount);
            let amount = product_over([amount, lack, surplus], [all_surplus, payer.value], false);
            let lot = Lot { amount: u128::try_from(amount).unwrap_or(u128::MAX), ..lot.clone() };
            self.add_lot((receiver, held), Layer::Came, &lot, Hop::FromPayer);
        }
        self.remember_all(receiver, &payer.contracts, held);
    }

    fn remember_all(
        &mut self,
        holder: OwnerNumber,
        contracts: &[(OwnerNumber, Value)],
        held: Held,
    ) {
        for (contract, _) in contracts {
            self.remember(holder, *contract, held);
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

    /// The contracts at which what an account has is backed.
    fn backed_by(&self, owner: OwnerNumber) -> BackedAt {
        let mut backed = BackedAt::default();
        for contract in self.book.states().ties_of(owner) {
            let tie = self.book.states().tie(owner, contract);
            for held in tie.map_or(&[][..], |tie| &tie.backed) {
                backed.entry(*held).or_default().push(contract);
            }
        }
        backed
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

/// Finds the contributions beyond the payers' parts of a handout.
fn surplus(
    handout: &Handout,
    contributors: &Contributors,
    fair: impl Fn(OwnerNumber) -> Value,
) -> Surplus {
    let beyond = |owner: OwnerNumber, value: Value| value.saturating_sub(fair(owner));
    if contributors.together.is_some() {
        return Surplus {
            of_payers: vec![(OwnerNumber::NOBODY, contributors.value)],
            of_all: contributors.value,
        };
    }
    let payers = contributors.all.iter().map(|(owner, contribution)| (*owner, contribution.value));
    let payers = payers
        .filter(|(owner, _)| *owner != handout.sender || handout.units(handout.sender).is_some());
    let of_payers: Vec<(OwnerNumber, Value)> = payers
        .map(|(owner, value)| (owner, beyond(owner, value)))
        .filter(|(_, surplus)| !surplus.is_zero())
        .collect();
    let of_all = of_payers.iter().fold(Value::ZERO, |sum, (_, it)| sum.saturating_add(*it));
    Surplus { of_payers, of_all }
}
