//! The flow parts of one direction in an order of their own, without distinctions that change no score.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet, btree_map::Entry},
};

use super::parts::{is_of_sender, is_risky};
use crate::{
    evidence::{
        CarriedLabel, Direction, DirectionFlows, FlowDistance, FlowEnd, FlowPart, Ledger,
        ListingPeriod, Solicitation, Tier,
    },
    policy::{Policy, Role},
    score::Confidence,
};

/// The flow parts of one ledger in one direction, sorted so that the order of the facts does not matter.
#[derive(Clone, Debug)]
pub(super) struct OrderedParts<'f> {
    /// Index of the ledger among the subject's ledgers.
    pub(super) index: usize,
    pub(super) ledger: &'f Ledger,
    pub(super) direction: Direction,
    pub(super) parts: Vec<Cow<'f, FlowPart>>,
    /// Number of transactions that the trace passed, besides the subject's own.
    pub(super) transactions: u32,
}

impl<'f> OrderedParts<'f> {
    pub(super) fn of(
        index: usize,
        ledger: &'f Ledger,
        direction: Direction,
        policy: &Policy,
    ) -> Self {
        Self::with(index, ledger, (direction, ledger.direction(direction)), policy)
    }

    /// The origins of the coins that the subject holds.
    pub(super) fn of_held(index: usize, ledger: &'f Ledger, policy: &Policy) -> Self {
        Self::with(index, ledger, (Direction::Source, &ledger.held), policy)
    }

    fn with(
        index: usize,
        ledger: &'f Ledger,
        (direction, flows): (Direction, &'f DirectionFlows),
        policy: &Policy,
    ) -> Self {
        let parts = in_order(&flows.parts, policy);
        Self { index, ledger, direction, parts, transactions: flows.transactions }
    }
}

/// Sorts the flow parts so that the order of the input does not matter. Unresolved flow parts with the same reason,
/// carried labels and solicitation become one part, at one hop and of the weakest tier.
fn in_order<'f>(parts: &'f [FlowPart], policy: &Policy) -> Vec<Cow<'f, FlowPart>> {
    let mut ordered: Vec<Cow<'_, FlowPart>> = Vec::new();
    let mut unresolved: BTreeMap<(FlowEnd, Solicitation, Vec<CarriedLabel>), FlowPart> =
        BTreeMap::new();
    for part in united_parts(parts, policy) {
        if !matches!(part.end, FlowEnd::Unresolved(_)) {
            ordered.push(part);
            continue;
        }
        let labels = part.carried.iter().map(|carried| carried.label.clone()).collect();
        match unresolved.entry((part.end, part.solicitation, labels)) {
            Entry::Occupied(mut sum) => sum.get_mut().add_unresolved(&part),
            Entry::Vacant(place) => {
                place.insert(FlowPart {
                    recent: part.recent,
                    mass: part.mass,
                    decayed: part.mass,
                    solicitation: part.solicitation,
                    carried: part.carried.clone(),
                    paths: part.paths.clone(),
                    assets: part.assets.clone(),
                    ..FlowPart::plain(part.end, part.amount)
                });
            }
        }
    }
    ordered.sort_by(|a, b| {
        b.amount
            .cmp(&a.amount)
            .then_with(|| {
                (a.end, a.distance, &a.entity, b.decayed)
                    .cmp(&(b.end, b.distance, &b.entity, a.decayed))
            })
            .then_with(|| (a.tier, b.confidence, b.recent).cmp(&(b.tier, a.confidence, a.recent)))
            .then_with(|| {
                let key = |part: &FlowPart| (part.listed, part.solicitation, part.listing_period);
                key(b).cmp(&key(a))
            })
            .then_with(|| a.carried.cmp(&b.carried))
            .then_with(|| a.transactions.cmp(&b.transactions))
    });
    ordered.extend(unresolved.into_values().map(Cow::Owned));
    ordered
}

/// Unites flow parts that differ only in a solicitation without effect under a policy.
#[must_use]
pub fn united_parts<'f>(parts: &'f [FlowPart], policy: &Policy) -> Vec<Cow<'f, FlowPart>> {
    let mut united: Vec<Cow<'_, FlowPart>> = Vec::with_capacity(parts.len());
    let mut added: Vec<FlowPart> = Vec::new();
    for part in parts {
        let solicitation = with_effect(part, policy);
        if solicitation == part.solicitation {
            united.push(Cow::Borrowed(part));
        } else {
            added.push(FlowPart { solicitation, ..part.clone() });
        }
    }
    if added.is_empty() {
        return united;
    }
    let known = united.iter().enumerate().rev().map(|(index, part)| (Attributes::of(part), index));
    let mut known: BTreeMap<Attributes, usize> = known.collect();
    for part in added {
        let attributes = Attributes::of(&part);
        if let Some(first) = known.get(&attributes).and_then(|index| united.get_mut(*index)) {
            first.to_mut().add_alike(part);
        } else {
            known.insert(attributes, united.len());
            united.push(Cow::Owned(part));
        }
    }
    united
}

/// The solicitation of a flow part as far as it has an effect: it does not matter whether somebody asked for benign
/// funds of some size, or if funds came back from a party that harms nobody.
fn with_effect(part: &FlowPart, policy: &Policy) -> Solicitation {
    let is_without_effect = match part.solicitation {
        Solicitation::Untouched => !is_risky(part, policy),
        Solicitation::PaidBack => !is_of_offender(part),
        Solicitation::Dust | Solicitation::Unsolicited | Solicitation::Solicited => false,
    };
    if is_without_effect { Solicitation::Solicited } else { part.solicitation }
}

/// True if a flow part came directly from a party of a category that harms payers.
fn is_of_offender(part: &FlowPart) -> bool {
    let carried = part.carried.iter().filter(|carried| is_of_sender(&carried.distance, part));
    let end = part.end.category().filter(|_| part.is_direct);
    let mut categories = carried.map(|carried| carried.label.category).chain(end);
    categories.any(|category| Role::HARMS_PAYERS.contains(&category))
}

/// Attributes by which flow parts differ.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Attributes {
    end: FlowEnd,
    distance: DistanceKind,
    entity: Option<String>,
    is_direct: bool,
    tier: Tier,
    confidence: Confidence,
    listed: bool,
    solicitation: Solicitation,
    listing_period: Option<ListingPeriod>,
    carried: Vec<CarriedLabel>,
}

/// Distances that no part mixes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum DistanceKind {
    AtSubject,
    OnTheWay,
    Further,
}

impl Attributes {
    fn of(part: &FlowPart) -> Self {
        Self {
            end: part.end,
            distance: match part.distance {
                FlowDistance::Hops(0) => DistanceKind::AtSubject,
                FlowDistance::Hops(_) => DistanceKind::OnTheWay,
                FlowDistance::Further(_) => DistanceKind::Further,
            },
            entity: part.entity.clone(),
            is_direct: part.is_direct,
            tier: part.tier,
            confidence: part.confidence,
            listed: part.listed,
            solicitation: part.solicitation,
            listing_period: part.listing_period,
            carried: part.carried.iter().map(|carried| carried.label.clone()).collect(),
        }
    }
}

/// Most paths of a flow part.
const MOST_PATHS: usize = 3;

impl FlowPart {
    /// Adds a flow part with the same attributes.
    fn add_alike(&mut self, other: Self) {
        if self.outstanding.or(other.outstanding).is_some() {
            let of = |part: &Self| part.outstanding.unwrap_or(part.amount);
            self.outstanding = Some(of(self).saturating_add(of(&other)));
        }
        self.add_assets(&other);
        self.amount = self.amount.saturating_add(other.amount);
        self.recent = self.recent.saturating_add(other.recent);
        self.mass += other.mass;
        self.decayed += other.decayed;
        self.distance = self.distance.min(other.distance);
        for (carried, other) in self.carried.iter_mut().zip(other.carried) {
            carried.distance.add(other.distance);
        }
        self.listed_by = self.listed_by.take().into_iter().chain(other.listed_by).min();
        let days = self.days_before_listing.into_iter().chain(other.days_before_listing);
        self.days_before_listing = days.min();
        self.party_of_path = self.party_of_path.take().or(other.party_of_path);
        self.paths.extend(other.paths);
        self.paths.sort_by_key(|path| std::cmp::Reverse(path.amount));
        self.paths.truncate(MOST_PATHS);
        let shown = self.paths.iter().flat_map(|path| &path.steps).map(|step| &step.transaction);
        let shown: Vec<String> = shown.cloned().collect();
        let all = std::mem::take(&mut self.transactions).into_iter().chain(other.transactions);
        let ids: Vec<String> = if shown.is_empty() { all.collect() } else { shown };
        let mut known = HashSet::new();
        self.transactions = ids.into_iter().filter(|id| known.insert(id.clone())).collect();
    }

    fn add_assets(&mut self, other: &Self) {
        for (ticker, amount) in &other.assets {
            let sum = self.assets.entry(ticker.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }

    /// Adds another unresolved flow part to this part, regardless of the distances.
    fn add_unresolved(&mut self, other: &Self) {
        self.add_assets(other);
        self.amount = self.amount.saturating_add(other.amount);
        self.recent = self.recent.saturating_add(other.recent);
        self.mass += other.mass;
        self.decayed += other.mass;
        for (carried, other) in self.carried.iter_mut().zip(&other.carried) {
            carried.distance.add(other.distance);
        }
        self.paths.extend(other.paths.iter().cloned());
    }
}
