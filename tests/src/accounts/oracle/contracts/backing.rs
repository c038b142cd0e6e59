//! C4: what backs the tokens that accounts got.

use std::collections::BTreeMap;

use num_traits::Zero;

use super::{
    super::Exact,
    booking::Booking,
    funds::Funds,
    state::{Account, AssetIndex, Held, Layer, NOBODY, Token},
};

/// Money that an account put in.
#[derive(Clone, Debug)]
struct Contribution {
    layer: Layer,
    coin: AssetIndex,
    funds: Funds,
    /// The contract that it was paid to; `None` for a layer of a given token.
    contract: Option<Account>,
}

/// All that an account put in.
#[derive(Debug)]
struct Contributor {
    account: Account,
    all: Vec<Contribution>,
    value: Exact,
}

/// All contributions of a transaction.
#[derive(Debug, Default)]
pub(super) struct Contributors {
    all: Vec<Contributor>,
    /// Values that became others', by payer and token.
    became_others: BTreeMap<(Account, Token), Exact>,
}

impl Contributors {
    fn get(&self, account: Account) -> Option<&Contributor> {
        self.all.iter().find(|it| it.account == account)
    }

    fn value(&self, account: Account) -> Exact {
        self.get(account).map_or_else(Exact::zero, |it| it.value.clone())
    }

    fn add(&mut self, account: Account, contribution: Contribution, value: Exact) {
        if let Some(known) = self.all.iter_mut().find(|it| it.account == account) {
            known.all.push(contribution);
            known.value += value;
        } else {
            self.all.push(Contributor { account, all: vec![contribution], value });
        }
    }

    /// The part of what an account put in that became others', by the token of which most did.
    pub(super) fn part_of_others(&self, account: Account) -> Exact {
        let all = self.value(account);
        let became = self.became_others.iter().filter(|((payer, _), _)| *payer == account);
        let most = became.map(|(_, value)| value.clone()).max();
        match most {
            Some(most) if !all.is_zero() => most.min(all.clone()) / all,
            _ => Exact::zero(),
        }
    }
}

impl Booking<'_> {
    /// Backs the tokens that accounts got, by token and sender.
    pub(super) fn back_tokens(&mut self) -> Contributors {
        self.lower_by_given();
        let mut contributors = self.contributors();
        let mut groups: Vec<(Token, Account)> = Vec::new();
        for given in self.given.iter().filter(|it| self.holds_tokens(it.to)) {
            if !groups.contains(&(given.token, given.from)) {
                groups.push((given.token, given.from));
            }
        }
        let mut backed: Vec<(Account, Token)> = Vec::new();
        for group in groups {
            self.back_group(group, &mut contributors, &mut backed);
        }
        contributors
    }

    /// Handing tokens on lowers the net value that their holder put in where they are backed.
    fn lower_by_given(&mut self) {
        for given in &self.given {
            let value = given.holding.value(Layer::Own, &self.values);
            if self.holds_tokens(given.from) && !value.is_zero() {
                for contract in self.state.backers_of(given.from, Held::Token(given.token)) {
                    self.state.add_put_in(given.from, contract, &-value.clone());
                }
            }
        }
    }

    /// The lots that accounts paid to contracts, and what payouts left in the layers of the tokens that they gave.
    fn contributors(&self) -> Contributors {
        let mut contributors = Contributors::default();
        let gets_token = |account: Account| self.given.iter().any(|it| it.to == account);
        let has_code = |account: Account| self.state.contracts.contains(&account);
        for lot in &self.paid {
            // Who pays a person for a token put that in, too.
            if self.is_pool(lot.to) || gets_token(lot.payer) {
                let contribution = Contribution {
                    layer: Layer::Own,
                    coin: lot.coin,
                    funds: lot.funds.clone(),
                    contract: Some(lot.to).filter(|it| has_code(*it)),
                };
                let value = self.values.of(lot.coin, &lot.funds.amount);
                contributors.add(lot.payer, contribution, value);
            }
        }
        for given in self.given.iter().filter(|it| self.holds_tokens(it.from)) {
            if !gets_token(given.from) && given.to != NOBODY && !has_code(given.to) {
                continue;
            }
            for (layer, coin, funds) in given.holding.all() {
                let value = self.values.of(coin, &funds.amount);
                let contribution = Contribution { layer, coin, funds, contract: None };
                contributors.add(given.from, contribution, value);
            }
        }
        contributors
    }

    /// Backs the units of a token that a sender handed out.
    fn back_group(
        &mut self,
        (token, sender): (Token, Account),
        contributors: &mut Contributors,
        backed: &mut Vec<(Account, Token)>,
    ) {
        let mut units: Vec<(Account, Exact)> = Vec::new();
        for given in self.given.iter().filter(|it| (it.token, it.from) == (token, sender)) {
            match units.iter_mut().find(|(receiver, _)| *receiver == given.to) {
                _ if !self.holds_tokens(given.to) => {}
                Some((_, sum)) => *sum += &given.units,
                None => units.push((given.to, given.units.clone())),
            }
        }
        let all_units: Exact = units.iter().map(|(_, units)| units).sum();
        let of = |account: Account| {
            let found = units.iter().find(|(receiver, _)| *receiver == account);
            found.map_or_else(Exact::zero, |(_, units)| units.clone())
        };
        let payers: Vec<Account> = contributors.all.iter().map(|it| it.account).collect();
        let is_payer = |it: &Account| *it != sender || !of(*it).is_zero();
        let payers: Vec<Account> = payers.into_iter().filter(is_payer).collect();
        let pool: Exact = payers.iter().map(|it| contributors.value(*it)).sum();
        let fair = |account: Account| &pool * of(account) / &all_units;
        let over = |value: Exact| value.max(Exact::zero());
        let surpluses: Vec<(Account, Exact)> =
            payers.iter().map(|it| (*it, over(contributors.value(*it) - fair(*it)))).collect();
        let surplus: Exact = surpluses.iter().map(|(_, surplus)| surplus).sum();
        for (receiver, _) in &units {
            let held = Held::Token(token);
            let mut value = contributors.value(*receiver);
            let lack = over(fair(*receiver) - &value);
            if !backed.contains(&(*receiver, token)) {
                backed.push((*receiver, token));
                self.back_with((*receiver, held), contributors.get(*receiver), None);
            }
            if !lack.is_zero() && !surplus.is_zero() {
                for (payer, part) in &surpluses {
                    let became = &lack * part / &surplus;
                    let part = &became / contributors.value(*payer);
                    self.back_with((*receiver, held), contributors.get(*payer), Some(&part));
                    *contributors
                        .became_others
                        .entry((*payer, token))
                        .or_insert_with(Exact::zero) += became;
                }
                value += lack;
            }
            self.hand_over((token, sender, *receiver), &value);
            if contributors.get(*receiver).is_none() && sender != NOBODY {
                for contract in self.state.backers_of(sender, held) {
                    self.state.remember(*receiver, contract, held);
                }
            }
        }
    }

    /// Backs a token with what its receiver put in, or with a part of what another one did.
    fn back_with(
        &mut self,
        (receiver, held): (Account, Held),
        contributor: Option<&Contributor>,
        part_of_other: Option<&Exact>,
    ) {
        if part_of_other.is_some_and(Zero::is_zero) {
            return;
        }
        for Contribution { layer, coin, funds, contract } in
            contributor.into_iter().flat_map(|it| &it.all)
        {
            let (layer, funds) = match part_of_other {
                Some(part) => (Layer::Came, funds.times(part).after_hop()),
                None => (*layer, funds.clone()),
            };
            self.state.holding_mut(receiver, held).add(layer, *coin, &funds, &self.values);
            if let Some(contract) = contract {
                self.state.remember(receiver, *contract, held);
            }
        }
    }

    /// Hands units over. If their layers are worth more than what backs them already, the difference comes along.
    fn hand_over(&mut self, (token, sender, receiver): (Token, Account, Account), value: &Exact) {
        let mut handed = Vec::new();
        let mut carried = Exact::zero();
        for given in
            self.given.iter().filter(|it| (it.token, it.from, it.to) == (token, sender, receiver))
        {
            carried += given.holding.whole_value(&self.values);
            handed.push((given.units.clone(), given.holding.all()));
        }
        let part = if carried > *value { (&carried - value) / carried } else { Exact::zero() };
        let into = self.state.holding_mut(receiver, Held::Token(token));
        for (units, lots) in handed {
            for (_, coin, funds) in lots {
                into.add(Layer::Came, coin, &funds.times(&part).after_hop(), &self.values);
            }
            into.units += units;
        }
    }
}
