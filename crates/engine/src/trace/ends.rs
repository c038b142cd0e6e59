//! The endpoints of flows: the flow parts of a direction, each with the paths of the largest amounts
//! (`docs/model/trace.md` T13, T14).

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashSet, btree_map::Entry},
    sync::Arc,
};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{
    attribution::AttributedEnd,
    flow::{Flow, FlowKey},
    label_sets::{LabelSet, LabelSets},
    path::{PathId, Paths, Route},
    steps::StepReader,
};
use crate::{
    composition::Origin,
    evidence::{
        CarriedPart, FlowDistance, FlowEnd, FlowPart, FlowPath, ListingPeriod, Solicitation, Tier,
    },
    ledger::{Mass, TransactionNumber, mass::split},
    reading::ViewError,
    score::Confidence,
    taxonomy::Category,
};

/// The key of a flow part: flows with equal keys are one flow part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndKey {
    end: FlowEnd,
    place: EndLocation,
    entity: Option<Arc<str>>,
    is_indirect: bool,
    tier: Tier,
    confidence: Confidence,
    listed: bool,
    solicitation: Solicitation,
    listing_period: Option<ListingPeriod>,
    carried: LabelSet,
}

/// Location of an endpoint: at the subject, on the way, or beyond the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EndLocation {
    /// The subject's own balance.
    AtSubject,
    /// A point that the trace reached.
    OnTheWay,
    /// A point beyond the trace, which follows from the composition (breakdown of the funds by origin) of a transaction
    /// at which the trace stopped.
    Further,
}

/// The paths of a flow part's funds to the part's endpoint.
#[derive(Debug, Default)]
struct Routes {
    /// Amounts by path; a path may occur several times.
    amounts: Vec<(PathId, u128)>,
    /// Of the transactions at which the trace stopped, the transaction with the largest amount for this flow part.
    stop: Option<TraceStop>,
}

/// Funds of one origin at a transaction at which the trace stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct TraceStop {
    pub(super) transaction: TransactionNumber,
    /// Path to the transaction.
    pub(super) path: Option<PathId>,
    /// The amount in the unit of a trace.
    pub(super) amount: u128,
}

impl Routes {
    /// The largest paths, at most `kept`, with their amounts in base units. The paths' amounts sum to at most `amount`,
    /// the amount of the flow part. The largest path gets the rounding difference, at most one unit for each path.
    fn largest(&mut self, kept: usize, amount: u128, paths: &Paths) -> Vec<Route> {
        self.amounts.sort_unstable_by_key(|(path, _)| *path);
        let of_one_path = self.amounts.chunk_by(|(path, _), (next, _)| path == next);
        let mut routes: Vec<Route> = of_one_path
            .filter_map(|amounts| {
                let amount = amounts.iter().fold(0_u128, |sum, (_, one)| sum.saturating_add(*one));
                amounts.first().map(|(path, _)| Route { path: Some(*path), amount })
            })
            .collect();
        let mut left = amount;
        for route in &routes {
            left = left.saturating_sub(Mass::unscaled(route.amount));
        }
        let rounded = if left <= routes.len() as u128 { left } else { 0 };
        let order = |a: &Route, b: &Route| paths.order(a, b);
        if kept > 0 && kept < routes.len() {
            routes.select_nth_unstable_by(kept, order);
        }
        routes.truncate(kept);
        routes.sort_by(order);
        let mut left = amount;
        let mut more = rounded;
        for route in &mut routes {
            route.amount = (Mass::unscaled(route.amount) + std::mem::take(&mut more)).min(left);
            left -= route.amount;
        }
        routes
    }
}

/// A path of funds from a transaction at which the trace stopped to a party.
#[derive(Debug)]
pub(super) struct PartyPath {
    /// The whole path.
    pub(super) path: PathId,
    /// Amount that took the path, in the unit of a trace.
    pub(super) amount: u128,
    /// The party's name.
    pub(super) party: Option<Arc<str>>,
}

/// All funds whose trace ended, as flow parts by endpoint.
#[derive(Debug)]
pub(super) struct Ends {
    /// The flow parts by key. Amounts in base units and paths are added when the trace is finished.
    parts: BTreeMap<EndKey, (FlowPart, Routes)>,
    /// The sets of labels that the funds carried.
    pub(super) labels: LabelSets,
    /// Number of paths that are kept of each flow part.
    paths_kept: usize,
    /// Total of all funds that ended; `returned` is the part that returned to the subject.
    ended: u128,
    returned: u128,
}

/// Lowest default severity of severe categories.
const SEVERE_FROM: u8 = 80;
/// Inverse of the fraction of ended funds above which much of the funds returned: a tenth.
const RETURNED_ONE_IN: u128 = 10;

impl Ends {
    pub(super) fn new(paths_kept: usize) -> Self {
        Self {
            parts: BTreeMap::new(),
            labels: LabelSets::default(),
            paths_kept,
            ended: 0,
            returned: 0,
        }
    }

    /// True if more than a tenth of the funds that ended so far returned to the subject.
    pub(super) const fn has_much_returned(&self) -> bool {
        self.returned.saturating_mul(RETURNED_ONE_IN) > self.ended
    }

    /// The sum of all severe funds: of those that ended at a party of a severe category, or passed a label of one.
    pub(super) fn severe(&self) -> u128 {
        let is_severe = |key: &EndKey| {
            let end = key.end.category().map_or(0, |category| category.info().severity);
            let labels = self.labels.labels(key.carried).iter().map(|label| label.severity);
            labels.chain([end]).max().is_some_and(|severity| severity >= SEVERE_FROM)
        };
        let severe = self.parts.iter().filter(|(key, _)| is_severe(key));
        severe.fold(0, |sum, (_, (part, _))| sum.saturating_add(part.mass.total()))
    }

    /// Adds funds that reached an attributed party by a transaction at `moved_at`; `is_direct` is true for the first
    /// hop.
    pub(super) fn attributed(
        &mut self,
        end: &AttributedEnd,
        (of, flow): (&FlowKey, &Flow),
        is_direct: bool,
        moved_at: Timestamp,
    ) {
        let moved_on = moved_at.to_zoned(TimeZone::UTC).date();
        let key = EndKey {
            entity: end.entity.clone(),
            tier: end.tier,
            confidence: end.confidence,
            listed: end.listed,
            listing_period: end
                .listed_on
                .map(|listed_on| ListingPeriod::of_movement(moved_on, listed_on)),
            ..EndKey::plain(FlowEnd::Attributed(end.category), of, is_direct)
        };
        let part = self.add(key, flow);
        // Of several parties of one name, the entry of the first one in the order of lists.
        part.listed_by = part.listed_by.take().into_iter().chain(end.listed_by.clone()).min();
        let days = end.listed_on.and_then(|listed_on| days_between(moved_on, listed_on));
        part.days_before_listing = part.days_before_listing.into_iter().chain(days).min();
    }

    /// Adds funds of one origin that waited at the transaction `stop`, or to which no path leads. The distance of such funds is not known, so the
    /// funds count as fully decayed.
    pub(super) fn further(
        &mut self,
        origin: Origin,
        (of, flow): (&FlowKey, &Flow),
        stop: Option<TransactionNumber>,
    ) {
        if flow.mass.is_zero() {
            return;
        }
        let (end, listing_period) = match origin {
            Origin::Party(category, period) => (FlowEnd::Attributed(category), period),
            Origin::Mining => (FlowEnd::Mining, None),
        };
        let key = EndKey {
            place: EndLocation::Further,
            // The weakest attribution at which traces end.
            tier: if origin == Origin::Mining { Tier::OnChainProof } else { Tier::Investigation },
            listed: listing_period.is_some() || end == FlowEnd::Attributed(Category::Sanctions),
            listing_period,
            ..EndKey::plain(end, of, false)
        };
        let (_, routes) = self.grow(key, flow);
        let amount = flow.mass.total();
        if let Some(transaction) = stop
            && routes.stop.is_none_or(|known| known.amount < amount)
        {
            routes.stop = Some(TraceStop { transaction, path: flow.route.path, amount });
        }
    }

    /// Adds a flow that ended without an attributed party; `is_direct` is true for the first hop.
    pub(super) fn add_unattributed(
        &mut self,
        end: FlowEnd,
        (of, flow): (&FlowKey, &Flow),
        is_direct: bool,
    ) {
        if !flow.mass.is_zero() {
            self.add(EndKey::plain(end, of, is_direct), flow);
        }
    }

    /// Adds an amount of the subject that belongs to no single transaction: its balance, at 0 hops, and transactions
    /// that were not read.
    pub(super) fn aggregate(&mut self, end: FlowEnd, hops: u16, mass: Mass) {
        if !mass.is_zero() {
            let of = FlowKey {
                owner: None,
                has_left: false,
                solicitation: Solicitation::Solicited,
                carried: LabelSet::EMPTY,
            };
            let place = if hops > 0 { EndLocation::OnTheWay } else { EndLocation::AtSubject };
            let key = EndKey { place, ..EndKey::plain(end, &of, true) };
            self.add(key, &Flow { hops, ..Flow::of(mass) });
        }
    }

    /// Adds a flow that was followed to its endpoint, with its path.
    fn add(&mut self, key: EndKey, flow: &Flow) -> &mut FlowPart {
        let amount = flow.mass.total();
        self.ended = self.ended.saturating_add(amount);
        if key.end == FlowEnd::Returned {
            self.returned = self.returned.saturating_add(amount);
        }
        let (part, routes) = self.grow(key, flow);
        if let Route { path: Some(path), amount } = flow.route {
            routes.amounts.push((path, amount));
        }
        part
    }

    /// Adds the funds of a flow to the flow part of a key, and returns the part.
    fn grow(&mut self, key: EndKey, flow: &Flow) -> &mut (FlowPart, Routes) {
        match self.parts.entry(key) {
            Entry::Occupied(known) => {
                let known = known.into_mut();
                let (part, _) = &mut *known;
                part.mass += flow.mass;
                part.decayed += flow.decayed;
                if let FlowDistance::Hops(fewest) = &mut part.distance {
                    // Another address of the subject's own cluster is an end in its own right.
                    *fewest = flow.hops.max(1).min(*fewest);
                }
                for (carried, distance) in part.carried.iter_mut().zip(&flow.carried) {
                    carried.distance.add(*distance);
                }
                known
            }
            Entry::Vacant(vacant) => {
                let part = vacant.key().part(flow, &self.labels);
                vacant.insert((part, Routes::default()))
            }
        }
    }

    /// Calls `find` for flow parts beyond the trace, the largest amounts first, and keeps the path and party that
    /// `find` returns.
    pub(super) fn find_further(
        &mut self,
        mut find: impl FnMut(Origin, TraceStop) -> Result<Option<PartyPath>, ViewError>,
    ) -> Result<(), ViewError> {
        let mut stopped: Vec<(Origin, TraceStop, &mut FlowPart, &mut Routes)> = Vec::new();
        for (part, routes) in self.parts.values_mut() {
            if let (Some(stop), FlowEnd::Attributed(category)) = (routes.stop, part.end) {
                let origin = Origin::Party(category, part.listing_period);
                stopped.push((origin, stop, part, routes));
            }
        }
        stopped.sort_by_key(|(origin, stop, ..)| (std::cmp::Reverse(stop.amount), *origin));
        for (origin, stop, part, routes) in stopped {
            if let Some(found) = find(origin, stop)? {
                routes.amounts.push((found.path, found.amount));
                part.party_of_path = found.party.as_deref().map(str::to_owned);
            }
        }
        Ok(())
    }

    /// The flow parts in base units, for a direction whose trace passed `transactions` transactions. The parts' amounts
    /// sum to `whole`, and the recent amounts to the recent total. Flow parts of less than one base unit are left out.
    pub(super) fn into_parts(
        self,
        whole: u128,
        passed: u32,
        paths: &Paths,
        steps: &mut StepReader<'_>,
    ) -> Result<Vec<FlowPart>, ViewError> {
        let mut ended: Vec<(EndKey, (FlowPart, Routes))> = self.parts.into_iter().collect();
        ended.sort_by(|(a, _), (b, _)| order(a, b, &self.labels));
        let masses = ended.iter().map(|(_, (part, _))| part.mass);
        let recent_masses: Vec<u128> = masses.clone().map(|mass| mass.recent).collect();
        let earlier_masses: Vec<u128> = masses.map(|mass| mass.earlier).collect();
        let recent_whole =
            Mass::unscaled(recent_masses.iter().copied().fold(0, u128::saturating_add));
        let recent = split(recent_whole, &recent_masses);
        let earlier = split(whole.saturating_sub(recent_whole), &earlier_masses);
        let mut parts = Vec::new();
        for ((_, (mut part, mut routes)), (recent, earlier)) in
            ended.into_iter().zip(recent.into_iter().zip(earlier))
        {
            if recent == 0 && earlier == 0 {
                continue;
            }
            part.amount = earlier.saturating_add(recent);
            part.recent = recent;
            if let FlowDistance::Further(transactions) = &mut part.distance {
                *transactions = passed;
            }
            let shown = routes.largest(self.paths_kept, part.amount, paths);
            part.paths =
                shown.iter().map(|route| path(route, paths, steps)).collect::<Result<_, _>>()?;
            let mut known = HashSet::new();
            let all = part.paths.iter().flat_map(|path| &path.steps);
            let ids = all.map(|step| &step.transaction).filter(|id| known.insert(*id));
            part.transactions = ids.cloned().collect();
            parts.push(part);
        }
        Ok(parts)
    }
}

/// Compares the keys of flow parts; carried labels decide last.
fn order(a: &EndKey, b: &EndKey, labels: &LabelSets) -> Ordering {
    let without = |key: &EndKey| EndKey { carried: LabelSet::EMPTY, ..key.clone() };
    let carried = |key: &EndKey| labels.labels(key.carried).to_vec();
    without(a).cmp(&without(b)).then_with(|| carried(a).cmp(&carried(b)))
}

/// The days from one day to a later day; `None` if the second day is not later.
fn days_between(from: Date, to: Date) -> Option<u32> {
    let days = u32::try_from(from.duration_until(to).as_hours() / 24).ok()?;
    (days > 0).then_some(days)
}

impl EndKey {
    /// The key of a flow that ended without an attributed party.
    fn plain(end: FlowEnd, of: &FlowKey, is_direct: bool) -> Self {
        Self {
            end,
            place: EndLocation::OnTheWay,
            entity: None,
            is_indirect: !is_direct,
            tier: match end {
                FlowEnd::Unresolved(_) => Tier::Behavior,
                // Facts of the chain itself.
                _ => Tier::OnChainProof,
            },
            confidence: Confidence::CERTAIN,
            listed: false,
            solicitation: of.solicitation,
            listing_period: None,
            carried: of.carried,
        }
    }

    /// A new flow part with the attributes of the part's first flow.
    fn part(&self, flow: &Flow, labels: &LabelSets) -> FlowPart {
        let labels = labels.labels(self.carried).iter().cloned();
        let carried = labels.zip(flow.carried.iter().copied());
        FlowPart {
            entity: self.entity.as_deref().map(str::to_owned),
            distance: match self.place {
                EndLocation::AtSubject => FlowDistance::Hops(0),
                EndLocation::OnTheWay => FlowDistance::Hops(flow.hops.max(1)),
                // How many transactions the trace passes is known at its end.
                EndLocation::Further => FlowDistance::Further(0),
            },
            is_direct: !self.is_indirect,
            tier: self.tier,
            confidence: self.confidence,
            mass: flow.mass,
            decayed: flow.decayed,
            listed: self.listed,
            solicitation: self.solicitation,
            carried: carried.map(|(label, distance)| CarriedPart { label, distance }).collect(),
            listing_period: self.listing_period,
            ..FlowPart::plain(self.end, 0)
        }
    }
}

/// A path as an answer shows it.
fn path(route: &Route, paths: &Paths, steps: &mut StepReader<'_>) -> Result<FlowPath, ViewError> {
    let passed = route.path.map(|path| paths.steps(path)).into_iter().flatten();
    let shown = passed
        .enumerate()
        .map(|(index, (transaction, owner))| steps.show(transaction, owner, index == 0));
    Ok(FlowPath { amount: route.amount, steps: shown.collect::<Result<_, ViewError>>()? })
}
