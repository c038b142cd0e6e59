//! The sources of a payout, by rank (`docs/model/accounts.md` C6).

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    super::{
        AssetNumber, ContractFactKind, LedgerBook,
        shares::{Hop, WHOLE},
    },
    given::Given,
    holding::{Held, Holding, Layer, Lots},
    transaction::Transaction,
    value::Value,
};
use crate::ledger::OwnerNumber;

/// A severe share above this part, a hundredth, makes lots severe.
pub(super) const SEVERE_LOTS: u64 = WHOLE / 100;

/// The rank of the sources that come last.
pub(super) const LAST_RANK: u8 = 8;

/// A source of a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) kind: SourceKind,
    /// The layers that count.
    pub(super) layers: &'static [Layer],
    pub(super) rank: u8,
    /// True if only severe lots count.
    pub(super) is_severe_only: bool,
    /// The hop to the receiver.
    pub(super) by: Hop,
}

/// Kind of a source, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SourceKind {
    /// Units that were given within the transaction, by their position.
    Given(usize),
    /// Something that an account holds.
    Held(OwnerNumber, Held),
}

impl Source {
    const fn of(kind: SourceKind, rank: u8, by: Hop) -> Self {
        Self { kind, layers: &Layer::BOTH, rank, is_severe_only: false, by }
    }

    const fn at(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    const fn severe_only(self, is_severe_only: bool) -> Self {
        Self { is_severe_only, ..self }
    }
}

impl<B: LedgerBook> Transaction<'_, B> {
    /// The sources of what a contract pays to a receiver: of a conversion severe lots only, as nobody knows what it is.
    pub(super) fn sources(
        &mut self,
        (contract, receiver): (OwnerNumber, OwnerNumber),
        is_conversion: bool,
    ) -> Vec<Source> {
        let own = self.given.of_giver(receiver).iter();
        let mut sources: Vec<Source> =
            own.map(|index| Source::of(SourceKind::Given(*index), 1, Hop::Counted)).collect();
        let has_given = sources.iter().any(|source| self.is_live(*source));
        let claim =
            |owner| Source::of(SourceKind::Held(owner, Held::Claim(contract)), 1, Hop::Counted);
        if self.book.states().holding(receiver, Held::Claim(contract)).is_some() {
            sources.push(claim(receiver));
        }
        let given_by_others = self.given_by_others(contract, receiver);
        let has_others = !given_by_others.is_empty();
        // A name cannot hide severe money that another one gives.
        let severe = given_by_others.iter().map(|source| source.at(2).severe_only(true));
        sources.extend(severe);
        sources.extend(given_by_others);
        let own = self.backed_at(receiver, contract, 3, Hop::Counted);
        sources.extend(own.into_iter().map(|source| source.severe_only(has_given)));
        let named = self.named_by(contract, ContractFactKind::Holder);
        let is_named = !named.is_empty();
        let initiator =
            self.about.initiator.filter(|account| *account != receiver && !named.contains(account));
        let named = named.into_iter().filter(|account| *account != receiver);
        let is_severe_only = has_given || has_others || is_named;
        let others = named.map(|account| (account, has_given));
        for (other, is_severe_only) in others.chain(initiator.map(|it| (it, is_severe_only))) {
            if self.book.states().holding(other, Held::Claim(contract)).is_some() {
                let claim = Source { by: Hop::FromPayer, ..claim(other).at(3) };
                sources.push(claim.severe_only(is_severe_only));
            }
            let backed = self.backed_at(other, contract, 3, Hop::FromPayer);
            sources.extend(backed.into_iter().map(|source| source.severe_only(is_severe_only)));
        }
        let is_found =
            is_conversion || is_named || sources.iter().any(|source| self.is_live(*source));
        self.add_from_anywhere(contract, receiver, is_found, &mut sources);
        for source in &mut sources {
            source.is_severe_only |= is_conversion;
        }
        sources
    }

    /// The tokens and claims of an account that are backed at a contract.
    fn backed_at(
        &self,
        owner: OwnerNumber,
        contract: OwnerNumber,
        rank: u8,
        by: Hop,
    ) -> Vec<Source> {
        let backed = self.book.states().tie(owner, contract).map_or(&[][..], |tie| &tie.backed);
        let known =
            backed.iter().filter(|held| self.book.states().holding(owner, **held).is_some());
        known.map(|held| Source::of(SourceKind::Held(owner, *held), rank, by)).collect()
    }

    /// Tokens that others gave to the contract, or destroyed, as far as they carry more than their givers get.
    fn given_by_others(&self, contract: OwnerNumber, receiver: OwnerNumber) -> Vec<Source> {
        let others = self.given.to_or_destroyed(contract).filter_map(|index| {
            let given = self.given.get(index)?;
            let is_other = given.from != receiver && given.from != contract;
            (is_other && self.holds_tokens(given.from)).then_some((index, given))
        });
        let others: Vec<(usize, &Given)> = others.collect();
        let mut carried: FxHashMap<OwnerNumber, Value> = FxHashMap::default();
        for (_, given) in &others {
            let sum = carried.entry(given.from).or_default();
            *sum = sum.saturating_add(given.holding.value(self.about.values));
        }
        let is_more = |giver: OwnerNumber| {
            let got = self.incoming.get(&(contract, giver)).copied().unwrap_or_default();
            carried.get(&giver).is_some_and(|value| *value > got)
        };
        let more = others.into_iter().filter(|(_, given)| is_more(given.from));
        more.map(|(index, _)| Source::of(SourceKind::Given(index), 4, Hop::FromPayer)).collect()
    }

    /// Adds claims and tokens wherever they are backed: those of the receiver, of the initiator, and of accounts that new units
    /// of a token went to. Without another source, they count as backed at the contract from now on: a loan.
    fn add_from_anywhere(
        &mut self,
        contract: OwnerNumber,
        receiver: OwnerNumber,
        is_found: bool,
        sources: &mut Vec<Source>,
    ) {
        let initiator = self.about.initiator;
        let parties = [Some(receiver), initiator.filter(|it| *it != receiver)];
        let mut owners: Vec<OwnerNumber> = parties.into_iter().flatten().collect();
        // Anybody can make a token for anybody: of strangers, only severe lots count.
        if !self.given.is_giver(receiver) {
            let minted = self.minted_with_severe.iter().copied();
            owners.extend(minted.filter(|it| *it != receiver && Some(*it) != initiator));
        }
        let mut known: FxHashSet<SourceKind> = sources.iter().map(|it| it.kind).collect();
        for owner in owners {
            let is_minted = self.minted.contains(&owner);
            let (rank, by) =
                if owner == receiver { (5, Hop::Counted) } else { (6, Hop::FromPayer) };
            for held in self.book.states().holdings_of(owner) {
                let place = SourceKind::Held(owner, held);
                if !known.insert(place) {
                    continue;
                }
                let Some(holding) =
                    self.book.states().holding(owner, held).filter(|it| it.is_backed)
                else {
                    continue;
                };
                let counts = !holding.own.is_empty() || is_minted && !holding.came.is_empty();
                let is_stranger = owner != receiver && Some(owner) != self.about.initiator;
                let is_severe_only = is_found || is_stranger;
                if !counts || is_severe_only && !has_severe_lots(holding) {
                    continue;
                }
                let has_own = !holding.own.is_empty();
                let has_came = is_minted && !holding.came.is_empty();
                if !is_found {
                    self.remember(owner, contract, held);
                }
                let source = Source::of(place, rank, by).severe_only(is_severe_only);
                if has_own {
                    sources.push(Source { layers: &[Layer::Own], ..source });
                }
                if has_came {
                    sources.push(Source { layers: &[Layer::Came], ..source.at(rank + 2) });
                }
            }
        }
    }

    /// The layer of a source.
    pub(super) fn lots(&self, place: SourceKind, layer: Layer) -> Option<&Lots> {
        match place {
            SourceKind::Given(index) => Some(self.given.get(index)?.holding.layer(layer)),
            SourceKind::Held(owner, held) => {
                Some(self.book.states().holding(owner, held)?.layer(layer))
            }
        }
    }

    /// Takes an amount of a source's lot.
    pub(super) fn use_lot(
        &mut self,
        place: SourceKind,
        layer: Layer,
        asset: AssetNumber,
        amount: u128,
    ) {
        let lots = match place {
            SourceKind::Given(index) => match self.given.get_mut(index) {
                Some(given) => given.holding.layer_mut(layer),
                None => return,
            },
            SourceKind::Held(owner, held) => {
                self.book.states_mut().holding_mut(owner, held).layer_mut(layer)
            }
        };
        lots.take(asset, amount);
    }

    /// True if an account has a token or claim with severe lots.
    pub(super) fn has_severe_lots(&self, owner: OwnerNumber) -> bool {
        let state = self.book.states().of(owner);
        state.is_some_and(|state| state.holdings.values().any(has_severe_lots))
    }

    fn is_live(&self, source: Source) -> bool {
        let lots = source.layers.iter().filter_map(|layer| self.lots(source.kind, *layer));
        lots.into_iter().any(|lots| !lots.is_empty())
    }
}

/// True if a holding has severe lots.
fn has_severe_lots(holding: &Holding) -> bool {
    let lots = Layer::BOTH.iter().flat_map(|layer| holding.layer(*layer).all());
    lots.into_iter().any(|lot| lot.shares.severe() > SEVERE_LOTS)
}
