//! C6: the sources of a payout, by rank.

use std::collections::BTreeMap;

use assay_engine::account::ContractFactKind;
use num_bigint::BigInt;
use num_traits::Zero;

use super::{
    super::Exact,
    booking::Booking,
    funds::Funds,
    state::{Account, AssetIndex, Held, LAYERS, Layer, Lots, NOBODY},
};

/// The last rank of sources.
pub(super) const LAST_RANK: u8 = 8;

/// The place of a source's lots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LotSource {
    /// A token that was given within the transaction, by its position.
    Given(usize),
    /// Something that an account holds.
    Held(Account, Held),
}

/// A source of a payout.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) place: LotSource,
    pub(super) layers: Vec<Layer>,
    pub(super) rank: u8,
    /// True if only severe lots count.
    pub(super) is_severe_only: bool,
    /// True if its money comes a hop further.
    pub(super) is_hop: bool,
}

/// True for a lot of which more than a hundredth is severe.
pub(super) fn is_severe_lot(lot: &Funds) -> bool {
    lot.severe_share() > Exact::new(BigInt::from(1), BigInt::from(100))
}

impl Booking<'_> {
    /// The sources of a payout of a contract to a receiver.
    pub(super) fn sources(&mut self, contract: Account, receiver: Account) -> Vec<Source> {
        let mut sources = self.of_receiver(contract, receiver);
        let gave_backed = sources.iter().any(|it| it.rank == 1 && self.is_live_given(it.place));
        for source in sources.iter_mut().filter(|source| source.rank == 3) {
            source.is_severe_only = gave_backed;
        }
        let by_others = self.given_by_others(contract, receiver);
        let has_others = !by_others.is_empty();
        for source in by_others {
            sources.push(Source { rank: 2, is_severe_only: true, ..source.clone() });
            sources.push(source);
        }
        let named = self.named_by(contract, ContractFactKind::Holder);
        for other in named.iter().filter(|it| **it != receiver) {
            sources.extend(self.at_contract(contract, *other, gave_backed));
        }
        let initiator = self.initiator.filter(|it| *it != receiver && !named.contains(it));
        if let Some(initiator) = initiator {
            let is_severe_only = gave_backed || has_others || !named.is_empty();
            sources.extend(self.at_contract(contract, initiator, is_severe_only));
        }
        let is_live = |source: &Source| {
            source.layers.iter().any(|layer| !self.lots(source.place, *layer).is_empty())
        };
        let is_explained = !named.is_empty() || sources.iter().any(is_live);
        self.add_from_anywhere((contract, receiver), is_explained, &mut sources);
        sources
    }

    /// The receiver's given tokens and claim, and its tokens that are backed at the contract.
    fn of_receiver(&self, contract: Account, receiver: Account) -> Vec<Source> {
        let source = |place, rank| Source {
            place,
            layers: LAYERS.to_vec(),
            rank,
            is_severe_only: false,
            is_hop: false,
        };
        let mut sources = Vec::new();
        for (index, _) in self.given.iter().enumerate().filter(|(_, it)| it.from == receiver) {
            sources.push(source(LotSource::Given(index), 1));
        }
        sources.push(source(LotSource::Held(receiver, Held::Claim(contract)), 1));
        for held in self.state.backed_at(receiver, contract) {
            sources.push(source(LotSource::Held(receiver, held), 3));
        }
        sources
    }

    fn is_live_given(&self, place: LotSource) -> bool {
        matches!(place, LotSource::Given(index) if self.given[index].holding.is_live())
    }

    /// The claim and the tokens that another account has at the contract.
    fn at_contract(&self, contract: Account, other: Account, is_severe_only: bool) -> Vec<Source> {
        let backed = self.state.backed_at(other, contract).into_iter();
        let all = [Held::Claim(contract)].into_iter().chain(backed);
        let source = |held| Source {
            place: LotSource::Held(other, held),
            layers: LAYERS.to_vec(),
            rank: 3,
            is_severe_only,
            is_hop: true,
        };
        all.map(source).collect()
    }

    /// Tokens that others gave to the contract or destroyed, if these carry more than the contract pays their givers.
    fn given_by_others(&self, contract: Account, receiver: Account) -> Vec<Source> {
        let is_other = |giver: Account, to: Account| {
            giver != receiver
                && giver != contract
                && self.holds_tokens(giver)
                && (to == contract || to == NOBODY)
        };
        let mut carried: BTreeMap<Account, Exact> = BTreeMap::new();
        for given in self.given.iter().filter(|it| is_other(it.from, it.to)) {
            *carried.entry(given.from).or_insert_with(Exact::zero) +=
                given.holding.whole_value(&self.values);
        }
        let nothing = Exact::zero();
        carried.retain(|giver, value| {
            *value > *self.paid_values.get(&(contract, *giver)).unwrap_or(&nothing)
        });
        let given = self.given.iter().enumerate();
        let counted =
            given.filter(|(_, it)| is_other(it.from, it.to) && carried.contains_key(&it.from));
        let source = |(index, _)| Source {
            place: LotSource::Given(index),
            layers: LAYERS.to_vec(),
            rank: 4,
            is_severe_only: false,
            is_hop: true,
        };
        counted.map(source).collect()
    }

    /// Adds claims and tokens that are backed anywhere. Without another source, they count as backed at the contract from
    /// now on.
    fn add_from_anywhere(
        &mut self,
        (contract, receiver): (Account, Account),
        is_explained: bool,
        sources: &mut Vec<Source>,
    ) {
        let minted: Vec<Account> =
            self.given.iter().filter(|it| it.from == NOBODY).map(|it| it.to).collect();
        let gave_token = self.given.iter().any(|given| given.from == receiver);
        let mut owners = vec![receiver];
        owners.extend(self.initiator);
        if !gave_token {
            let is_person = |it: &Account| !self.is_end(*it) && !self.state.contracts.contains(it);
            owners.extend(minted.iter().copied().filter(is_person));
        }
        for (index, owner) in owners.iter().copied().enumerate() {
            if owners[..index].contains(&owner) {
                continue;
            }
            let is_stranger = owner != receiver && Some(owner) != self.initiator;
            let is_severe_only = is_explained || is_stranger;
            let is_minted = minted.contains(&owner);
            for held in self.state.holdings_of(owner) {
                let place = LotSource::Held(owner, held);
                let holding = self.state.holding(owner, held).expect("a holding").clone();
                let is_severe = holding.all().iter().any(|(.., lot)| is_severe_lot(lot));
                let is_known = sources.iter().any(|source| source.place == place);
                if is_known || !holding.is_backed || is_severe_only && !is_severe {
                    continue;
                }
                let layers = if is_minted { &LAYERS[..] } else { &LAYERS[..1] };
                let live = layers.iter().filter(|layer| !holding.lots(**layer).is_empty());
                for layer in live {
                    if !is_explained {
                        self.state.remember(owner, contract, held);
                    }
                    let rank = if owner == receiver { 5 } else { 6 };
                    let rank = if *layer == Layer::Came { rank + 2 } else { rank };
                    let layers = vec![*layer];
                    let is_hop = owner != receiver;
                    sources.push(Source { place, layers, rank, is_severe_only, is_hop });
                }
            }
        }
    }

    pub(super) fn lots(&self, place: LotSource, layer: Layer) -> Lots {
        match place {
            LotSource::Given(index) => self.given[index].holding.lots(layer).clone(),
            LotSource::Held(owner, held) => {
                let holding = self.state.holding(owner, held);
                holding.map(|it| it.lots(layer).clone()).unwrap_or_default()
            }
        }
    }

    pub(super) fn take_lot(
        &mut self,
        place: LotSource,
        (layer, coin): (Layer, AssetIndex),
        amount: &Exact,
    ) {
        match place {
            LotSource::Given(index) => self.given[index].holding.take(layer, coin, amount),
            LotSource::Held(owner, held) => {
                self.state.holding_mut(owner, held).take(layer, coin, amount);
            }
        }
    }
}
