//! The ledgers of accounts, and their tokens and claims with what backs them.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::account::AccountAddress;
use num_traits::{One, Zero};

use super::{super::Exact, funds::Funds, values::Values};

/// An account. Nobody has new units before they are made, and destroyed ones after.
pub(super) type Account = AccountAddress;
pub(super) const NOBODY: Account = AccountAddress::ZERO;

/// A scored asset, by its position in the table.
pub(super) type AssetIndex = usize;
/// A token outside the table, by the order in which the chain first had it.
pub(super) type Token = usize;

/// Most assets of a layer (C4).
const MOST_COINS: usize = 8;

/// Something that an account has beside scored assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    Token(Token),
    Claim(Account),
}

/// A layer of a token or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    Own,
    Came,
}

pub(super) const LAYERS: [Layer; 2] = [Layer::Own, Layer::Came];

/// The lots of a layer, by asset.
pub(super) type Lots = BTreeMap<AssetIndex, Funds>;

/// A token or claim with what backs it.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    pub(super) units: Exact,
    /// True for a claim, and for a token that its holder got for what it put in.
    pub(super) is_backed: bool,
    lots: [Lots; 2],
}

impl Default for Holding {
    fn default() -> Self {
        Self { units: Exact::zero(), is_backed: false, lots: [Lots::new(), Lots::new()] }
    }
}

impl Holding {
    pub(super) const fn lots(&self, layer: Layer) -> &Lots {
        &self.lots[layer as usize]
    }

    /// All lots with their layers.
    pub(super) fn all(&self) -> Vec<(Layer, AssetIndex, Funds)> {
        let of = |layer: &Layer| {
            let layer = *layer;
            self.lots(layer).iter().map(move |(coin, lot)| (layer, *coin, lot.clone()))
        };
        LAYERS.iter().flat_map(of).collect()
    }

    pub(super) fn is_live(&self) -> bool {
        LAYERS.iter().any(|layer| !self.lots(*layer).is_empty())
    }

    /// The value of a layer.
    pub(super) fn value(&self, layer: Layer, values: &Values) -> Exact {
        self.lots(layer).iter().map(|(coin, lot)| values.of(*coin, &lot.amount)).sum()
    }

    pub(super) fn whole_value(&self, values: &Values) -> Exact {
        LAYERS.iter().map(|layer| self.value(*layer, values)).sum()
    }

    /// Adds a lot. Less than one base unit is no lot.
    pub(super) fn add(&mut self, layer: Layer, coin: AssetIndex, funds: &Funds, values: &Values) {
        if funds.amount < Exact::one() {
            return;
        }
        let lots = &mut self.lots[layer as usize];
        merge(lots, coin, funds);
        if lots.len() > MOST_COINS {
            let value = |(coin, lot): (&AssetIndex, &Funds)| (values.of(*coin, &lot.amount), *coin);
            let (worth, least) = lots.iter().map(value).min().expect("lots");
            let (_, greatest) = lots.iter().map(value).max().expect("lots");
            let folded = lots.remove(&least).expect("a lot");
            merge(lots, greatest, &folded.shared_by(&values.amount(greatest, &worth)));
        }
    }

    /// Takes an amount of a lot.
    pub(super) fn take(&mut self, layer: Layer, coin: AssetIndex, amount: &Exact) {
        let lots = &mut self.lots[layer as usize];
        if let Some(lot) = lots.get_mut(&coin) {
            lot.pay(amount);
        }
        lots.retain(|_, lot| lot.amount >= Exact::one());
    }

    /// Splits off units with their part of the layers.
    pub(super) fn split(&mut self, units: &Exact) -> Self {
        let part = if *units >= self.units { Exact::one() } else { units / self.units.clone() };
        let mut given = Self { units: units.clone(), ..Self::default() };
        for (layer, coin, lot) in self.all() {
            let split = lot.times(&part);
            self.take(layer, coin, &split.amount);
            if split.amount >= Exact::one() {
                merge(&mut given.lots[layer as usize], coin, &split);
            }
        }
        self.units = (&self.units - units).max(Exact::zero());
        given
    }

    fn round(&mut self) {
        self.lots.iter_mut().flat_map(Lots::values_mut).for_each(Funds::round);
    }
}

fn merge(lots: &mut Lots, coin: AssetIndex, funds: &Funds) {
    let lot = lots.entry(coin).or_insert_with(Funds::none);
    lot.add(funds);
    *lot = lot.clone().bounded();
}

/// The dealings of a holder with a contract.
#[derive(Clone, Debug)]
pub(super) struct Tie {
    /// The net value that the holder put in.
    pub(super) put_in: Exact,
    /// The holder's tokens and claims that are backed there, the last one last.
    pub(super) backed: Vec<Held>,
}

/// All accounts between two transactions.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) contracts: BTreeSet<Account>,
    ledgers: BTreeMap<(Account, AssetIndex), Funds>,
    holdings: BTreeMap<(Account, Held), Holding>,
    ties: BTreeMap<(Account, Account), Tie>,
}

impl State {
    pub(super) fn ledger(&self, account: Account, coin: AssetIndex) -> Funds {
        self.ledgers.get(&(account, coin)).cloned().unwrap_or_else(Funds::none)
    }

    pub(super) fn ledger_mut(&mut self, account: Account, coin: AssetIndex) -> &mut Funds {
        self.ledgers.entry((account, coin)).or_insert_with(Funds::none)
    }

    pub(super) fn holding(&self, account: Account, held: Held) -> Option<&Holding> {
        self.holdings.get(&(account, held))
    }

    pub(super) fn holding_mut(&mut self, account: Account, held: Held) -> &mut Holding {
        self.holdings.entry((account, held)).or_default()
    }

    /// All that an account has beside scored assets.
    pub(super) fn holdings_of(&self, account: Account) -> Vec<Held> {
        let all = self.holdings.keys().filter(|(owner, _)| *owner == account);
        all.map(|(_, held)| *held).collect()
    }

    pub(super) fn put_in(&self, holder: Account, contract: Account) -> Exact {
        self.ties.get(&(holder, contract)).map_or_else(Exact::zero, |tie| tie.put_in.clone())
    }

    /// Raises or lowers the net value that a holder put in, to zero at least.
    pub(super) fn add_put_in(&mut self, holder: Account, contract: Account, value: &Exact) {
        let tie = self.tie_mut(holder, contract);
        tie.put_in = (&tie.put_in + value).max(Exact::zero());
    }

    /// The tokens and claims of a holder that are backed at a contract, the last one last.
    pub(super) fn backed_at(&self, holder: Account, contract: Account) -> Vec<Held> {
        self.ties.get(&(holder, contract)).map(|tie| tie.backed.clone()).unwrap_or_default()
    }

    /// The contracts at which something of a holder is backed.
    pub(super) fn backers_of(&self, holder: Account, held: Held) -> Vec<Account> {
        let ties = self.ties.iter().filter(|((of, _), _)| *of == holder);
        let ties = ties.filter(|(_, tie)| tie.backed.contains(&held));
        ties.map(|((_, contract), _)| *contract).collect()
    }

    /// Notes that something of a holder is backed at a contract, as the last one.
    pub(super) fn remember(&mut self, holder: Account, contract: Account, held: Held) {
        let backed = &mut self.tie_mut(holder, contract).backed;
        backed.retain(|known| *known != held);
        backed.push(held);
        self.holding_mut(holder, held).is_backed = true;
    }

    fn tie_mut(&mut self, holder: Account, contract: Account) -> &mut Tie {
        let none = || Tie { put_in: Exact::zero(), backed: Vec::new() };
        self.ties.entry((holder, contract)).or_insert_with(none)
    }

    /// Drops holdings that tell nothing, after a transaction: of a person's token that nothing backs, units are not kept.
    pub(super) fn finish(&mut self) {
        let Self { contracts, ledgers, holdings, ties } = self;
        holdings.retain(|(owner, _), holding| {
            let has_units = !holding.units.is_zero();
            holding.is_live() || has_units && (holding.is_backed || contracts.contains(owner))
        });
        for ((holder, _), tie) in ties.iter_mut() {
            tie.backed.retain(|held| holdings.contains_key(&(*holder, *held)));
        }
        holdings.values_mut().for_each(Holding::round);
        ledgers.values_mut().for_each(Funds::round);
    }
}
