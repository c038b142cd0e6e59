//! Exposure parts, which are the result of a trace: endpoints of money, with amounts (`docs/model/trace.md` T13, T14).

use std::collections::BTreeMap;

use assay_engine::{
    evidence::{
        CarriedLabel, CarriedPart, Direction, FlowDistance, FlowEnd, FlowPart, FlowPath,
        ListingPeriod, Solicitation, Tier, UnresolvedReason,
    },
    score::Confidence,
    taxonomy::Category,
    trace::AttributedEnd,
};
use num_bigint::BigUint;

use super::{
    Case,
    amounts::{Mass, SCALE_BITS, by_largest_remainder, small},
    flow::{Flow, Labels},
    ledger::Ledger,
    outstanding::Turnovers,
    paths::{Steps, to_flow_path},
    trace::{DirectionTrace, OwnEntries},
};

/// Kind of an endpoint of money, in the order of exposure parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Party(Category),
    Mining,
    /// The subject's own balance.
    Balance,
    Unspent,
    Fee,
    /// An output of the subject.
    Returned,
    /// An output that nobody can spend.
    Destroyed,
    Unresolved(UnresolvedReason),
}

impl End {
    /// Converts to the engine's type.
    const fn to_engine(self) -> FlowEnd {
        match self {
            Self::Party(category) => FlowEnd::Attributed(category),
            Self::Mining => FlowEnd::Mining,
            Self::Balance | Self::Unspent => FlowEnd::Unspent,
            Self::Fee => FlowEnd::Fee,
            Self::Returned => FlowEnd::Returned,
            Self::Destroyed => FlowEnd::Destroyed,
            Self::Unresolved(reason) => FlowEnd::Unresolved(reason),
        }
    }
}

/// A party at which money ends.
#[derive(Clone, Debug)]
pub(super) struct Party {
    category: Category,
    entity: Option<String>,
    tier: Tier,
    confidence: Confidence,
    listed: bool,
}

impl Party {
    pub(super) fn pool(name: &str) -> Self {
        Self {
            category: Category::PrivacyProtocol,
            entity: Some(name.to_owned()),
            tier: Tier::OnChainProof,
            confidence: Confidence::CERTAIN,
            listed: false,
        }
    }
}

impl From<AttributedEnd> for Party {
    fn from(end: AttributedEnd) -> Self {
        Self {
            category: end.category,
            entity: end.entity.as_deref().map(str::to_owned),
            tier: end.tier,
            confidence: end.confidence,
            listed: end.listed,
        }
    }
}

/// Key of an exposure part; its fields define the order of parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) end: End,
    pub(super) entity: Option<String>,
    /// `false`, for direct exposure, comes first.
    pub(super) indirect: bool,
    pub(super) tier: Tier,
    pub(super) confidence: Confidence,
    pub(super) listed: bool,
    pub(super) solicitation: Solicitation,
    pub(super) moved: MoveTime,
    pub(super) carried: Vec<CarriedLabel>,
}

/// Time at which money of an exposure part moved, relative to the day on which its endpoint was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MoveTime {
    NotListed,
    Undated,
    Before,
    Since,
}

/// Money with the same endpoint.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) mass: Mass,
    pub(super) decayed: Mass,
    hops: u16,
    labels: Labels,
    /// Smallest number of days between a movement of the money and the later listing.
    days_before_listing: Option<u32>,
    paths: BTreeMap<Steps, BigUint>,
}

/// The exposure parts of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts(pub(super) BTreeMap<Key, Part>);

impl DirectionTrace<'_> {
    /// Adds money that ends at a party.
    pub(super) fn end_at_party(
        &mut self,
        party: Party,
        (moved, days): (MoveTime, Option<u32>),
        is_direct: bool,
        flow: Flow,
    ) {
        let Party { category, entity, tier, confidence, listed } = party;
        let key = Key {
            end: End::Party(category),
            entity,
            indirect: !is_direct,
            tier,
            confidence,
            listed,
            solicitation: flow.solicitation,
            moved,
            carried: flow.labels.keys().cloned().collect(),
        };
        self.parts.add(key, days, flow);
    }

    /// Adds money that ends without a party.
    pub(super) fn end_without_party(&mut self, end: End, is_direct: bool, flow: Flow) {
        let tier = match end {
            End::Unresolved(_) => Tier::Behavior,
            _ => Tier::OnChainProof,
        };
        let key = Key {
            end,
            entity: None,
            indirect: !is_direct,
            tier,
            confidence: Confidence::CERTAIN,
            listed: false,
            solicitation: flow.solicitation,
            moved: MoveTime::NotListed,
            carried: flow.labels.keys().cloned().collect(),
        };
        self.parts.add(key, None, flow);
    }
}

impl Parts {
    /// Adds money that ended, unless it is zero.
    fn add(&mut self, key: Key, days_before_listing: Option<u32>, flow: Flow) {
        if flow.mass.is_zero() {
            return;
        }
        let is_balance = key.end == End::Balance;
        let part = self.0.entry(key).or_insert_with(|| Part {
            mass: Mass::default(),
            decayed: Mass::default(),
            hops: u16::MAX,
            labels: Labels::new(),
            days_before_listing: None,
            paths: BTreeMap::new(),
        });
        part.mass.add(&flow.mass);
        part.decayed.add(&flow.decayed);
        // Money that ends with another owner of the subject's cluster is at one hop.
        let least = u16::from(!is_balance);
        part.hops = part.hops.min(flow.hops).max(least);
        for (label, met) in flow.labels {
            match part.labels.get_mut(&label) {
                Some(known) => known.add(&met),
                None => {
                    part.labels.insert(label, met);
                }
            }
        }
        part.days_before_listing = match (part.days_before_listing, days_before_listing) {
            (Some(known), Some(other)) => Some(known.min(other)),
            (known, other) => known.or(other),
        };
        // The subject's balance, and amounts that were not read, have no path.
        if !flow.path.steps.is_empty() {
            *part.paths.entry(flow.path.steps).or_default() += flow.path.amount;
        }
    }

    /// The recent and the earlier amount of each part in base units.
    fn in_base_units(&self) -> Vec<(u128, u128)> {
        let recent = base_units(self.0.values().map(|part| &part.mass.recent.units).collect());
        let earlier = base_units(self.0.values().map(|part| &part.mass.earlier.units).collect());
        recent.into_iter().zip(earlier).collect()
    }

    /// Amount of each part in base units.
    pub(super) fn amounts(&self) -> BTreeMap<&Key, u128> {
        let amounts = self.in_base_units().into_iter().map(|(recent, earlier)| recent + earlier);
        self.0.keys().zip(amounts).collect()
    }

    /// The parts in base units.
    pub(super) fn flows(
        &self,
        case: &Case,
        ledger: &Ledger<'_>,
        side: (Direction, &OwnEntries),
        turnovers: &Turnovers,
    ) -> Vec<FlowPart> {
        let outstanding = |key: &Key, amount: u128| {
            let End::Party(category) = key.end else { return None };
            let (all, most) = turnovers.get(&(category, key.entity.clone()))?;
            let is_net = !key.indirect && most < all;
            is_net.then(|| small(BigUint::from(amount) * *most / *all))
        };
        let flow = |((key, part), (recent, earlier)): ((&Key, &Part), (u128, u128))| FlowPart {
            end: key.end.to_engine(),
            entity: key.entity.clone(),
            party_of_path: None,
            distance: FlowDistance::Hops(part.hops),
            is_direct: !key.indirect,
            tier: key.tier,
            confidence: key.confidence,
            amount: recent + earlier,
            recent,
            outstanding: outstanding(key, recent + earlier),
            mass: part.mass.to_engine(),
            decayed: part.decayed.to_engine(),
            listed: key.listed,
            listed_by: None,
            solicitation: key.solicitation,
            carried: part
                .labels
                .iter()
                .map(|(label, met)| CarriedPart { label: label.clone(), distance: met.to_engine() })
                .collect(),
            listing_period: match key.moved {
                MoveTime::NotListed | MoveTime::Undated => None,
                MoveTime::Before => Some(ListingPeriod::Before),
                MoveTime::Since => Some(ListingPeriod::Since),
            },
            days_before_listing: part.days_before_listing,
            transactions: Vec::new(),
            paths: part.paths(recent + earlier, case, ledger, side),
            assets: std::collections::BTreeMap::new(),
        };
        let flows = self.0.iter().zip(self.in_base_units()).map(flow);
        let mut flows: Vec<FlowPart> = flows.filter(|flow| flow.amount > 0).collect();
        for flow in &mut flows {
            for step in flow.paths.iter().flat_map(|path| &path.steps) {
                if !flow.transactions.contains(&step.transaction) {
                    flow.transactions.push(step.transaction.clone());
                }
            }
        }
        flows
    }
}

impl Part {
    /// The largest paths, together at most as large as the part; the largest path gets the rest from rounding.
    fn paths(
        &self,
        amount: u128,
        case: &Case,
        ledger: &Ledger<'_>,
        side: (Direction, &OwnEntries),
    ) -> Vec<FlowPath> {
        let mut largest: Vec<(&Steps, &BigUint)> = self.paths.iter().collect();
        // Sorting keeps the order of equals.
        largest.sort_by_key(|(_, amount)| std::cmp::Reverse(*amount));
        let rounded = |(steps, taken): (_, &BigUint)| (steps, small(taken >> SCALE_BITS));
        let mut paths: Vec<(&Steps, u128)> = largest.into_iter().map(rounded).collect();
        let lost = amount.saturating_sub(paths.iter().map(|(_, taken)| taken).sum());
        if let Some((_, largest)) = paths.first_mut()
            && lost <= self.paths.len() as u128
        {
            *largest += lost;
        }
        paths.truncate(case.rules.paths_per_part);
        let mut left = amount;
        let paths = paths.into_iter().map(|(steps, taken)| {
            let taken = taken.min(left);
            left -= taken;
            to_flow_path(steps, taken, (case, ledger, side))
        });
        paths.collect()
    }
}

/// Rounds amounts to base units so that their sum is kept.
fn base_units(amounts: Vec<&BigUint>) -> Vec<u128> {
    let weights: Vec<BigUint> = amounts.into_iter().cloned().collect();
    let whole: BigUint = weights.iter().sum::<BigUint>() >> SCALE_BITS;
    by_largest_remainder(&whole, &weights).into_iter().map(small).collect()
}
