//! The ends of flows: parts of a direction, each with its largest paths (`docs/model/trace.md` T13, T14).

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashSet},
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
        CarriedPart, Distance, FlowDistance, FlowEnd, FlowPart, FlowPath, ListingPeriod,
        PartyListing, Solicitation, Tier,
    },
    ledger::{Mass, TransactionNumber, mass::split},
    reading::ViewError,
    score::Confidence,
    taxonomy::Category,
};

/// The key of a part: flows with equal keys are one part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndKey {
    end: FlowEnd,
    place: Place,
    entity: Option<Arc<str>>,
    is_indirect: bool,
    tier: Tier,
    confidence: Confidence,
    listed: bool,
    solicitation: Solicitation,
    listing_period: Option<ListingPeriod>,
    carried: LabelSet,
}

/// Where money ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// With the subject: its own balance, which is no output downstream.
    AtSubject,
    /// Where the trace went.
    OnTheWay,
    /// Further: it follows from what a transaction is made of at which the trace stopped.
    Further,
}

/// A flow at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedFlow<'f> {
    pub(super) key: &'f FlowKey,
    pub(super) flow: &'f Flow,
    /// True if it came there by the first hop.
    pub(super) is_direct: bool,
}

/// The flows that reached one end.
#[derive(Debug, Default)]
struct Reached {
    mass: Mass,
    decayed: Mass,
    /// Fewest hops.
    hops: Option<u16>,
    /// The distance of each carried label.
    carried: Vec<Distance>,
    /// The fewest days before the listing on which money moved.
    days_before_listing: Option<u32>,
    /// The entry that names the party: of several parties of one name, the first one in the order of lists.
    listed_by: Option<Arc<PartyListing>>,
    /// Amounts by paths, several of one path.
    routes: Vec<(PathId, u128)>,
    /// Where most of what follows from the transactions stopped at which the trace did.
    stop: Option<Stop>,
    /// The party at the end of the path that was found from there.
    party_of_path: Option<Arc<str>>,
}

/// Money of one origin at a transaction at which the trace stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) transaction: TransactionNumber,
    /// The path to it.
    pub(super) path: Option<PathId>,
    /// The amount in the unit of a trace.
    pub(super) amount: u128,
}

impl Reached {
    /// Adds a flow over at least so many hops.
    fn add(&mut self, flow: &Flow, least_hops: u16) {
        let hops = flow.hops.max(least_hops);
        self.mass += flow.mass;
        self.decayed += flow.decayed;
        self.hops = Some(self.hops.map_or(hops, |fewest| fewest.min(hops)));
        if self.carried.is_empty() {
            self.carried.clone_from(&flow.carried);
        } else {
            for (distance, other) in self.carried.iter_mut().zip(&flow.carried) {
                distance.add(*other);
            }
        }
    }

    /// The largest paths, at most `kept`, with their amounts in base units: together at most `amount`, that of the part.
    /// What is left of it by rounding, at most one unit for each path, belongs to the largest one.
    fn largest(&mut self, kept: usize, amount: u128, paths: &Paths) -> Vec<Route> {
        self.routes.sort_unstable_by_key(|(path, _)| *path);
        let of_one_path = self.routes.chunk_by(|(path, _), (next, _)| path == next);
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

/// The way of money from a transaction at which the trace stopped to a party.
#[derive(Debug)]
pub(super) struct Found {
    /// The whole path.
    pub(super) path: PathId,
    /// The amount that took it, in the unit of a trace.
    pub(super) amount: u128,
    /// The party's name.
    pub(super) party: Option<Arc<str>>,
}

/// Everything that ended.
#[derive(Debug)]
pub(super) struct Ends {
    reached: BTreeMap<EndKey, Reached>,
    /// Paths that are kept of one part.
    paths_kept: usize,
    /// All money that ended, and that which returned to the subject.
    ended: u128,
    returned: u128,
}

/// So much has returned if it is more than one in so many parts of the money that ended.
const MUCH_ONE_IN: u128 = 10;

impl Ends {
    pub(super) const fn keeping(paths_kept: usize) -> Self {
        Self { reached: BTreeMap::new(), paths_kept, ended: 0, returned: 0 }
    }

    /// True if more than a tenth of the money that ended so far has returned to the subject.
    pub(super) const fn has_much_returned(&self) -> bool {
        self.returned.saturating_mul(MUCH_ONE_IN) > self.ended
    }

    /// Adds money that reached an attributed party by a transaction at `moved_at`.
    pub(super) fn attributed(
        &mut self,
        end: &AttributedEnd,
        ended: &EndedFlow<'_>,
        moved_at: Timestamp,
    ) {
        let moved_on = moved_at.to_zoned(TimeZone::UTC).date();
        let key = EndKey {
            end: FlowEnd::Attributed(end.category),
            place: Place::OnTheWay,
            entity: end.entity.clone(),
            is_indirect: !ended.is_direct,
            tier: end.tier,
            confidence: end.confidence,
            listed: end.listed,
            solicitation: ended.key.solicitation,
            listing_period: end.listed_on.map(|listed_on| ListingPeriod::of(moved_on, listed_on)),
            carried: ended.key.carried,
        };
        let reached = self.add(key, ended.flow);
        let lists = reached.listed_by.take().into_iter().chain(end.listed_by.clone());
        reached.listed_by = lists.min();
        let days = end.listed_on.and_then(|listed_on| days_between(moved_on, listed_on));
        reached.days_before_listing = reached.days_before_listing.into_iter().chain(days).min();
    }

    /// Adds money of one origin that waited at the transaction `stop`. Its distance is not known: all of it has
    /// decayed.
    pub(super) fn further(
        &mut self,
        origin: Origin,
        ended: &EndedFlow<'_>,
        stop: TransactionNumber,
    ) {
        if ended.flow.mass.is_zero() {
            return;
        }
        let (end, listing_period) = match origin {
            Origin::Party(category, period) => (FlowEnd::Attributed(category), period),
            Origin::Mining => (FlowEnd::Mining, None),
        };
        let EndedFlow { key, flow, .. } = ended;
        let key = EndKey {
            place: Place::Further,
            // The weakest attribution at which traces end.
            tier: if origin == Origin::Mining { Tier::OnChainProof } else { Tier::Investigation },
            listed: listing_period.is_some() || end == FlowEnd::Attributed(Category::Sanctions),
            listing_period,
            ..plain_key(end, true, key.solicitation, key.carried)
        };
        let reached = self.reached.entry(key).or_default();
        reached.add(flow, 1);
        let amount = flow.mass.total();
        if reached.stop.is_none_or(|known| known.amount < amount) {
            reached.stop = Some(Stop { transaction: stop, path: flow.route.path, amount });
        }
    }

    /// Adds a flow that ended at no attributed party.
    pub(super) fn plain(&mut self, end: FlowEnd, ended: &EndedFlow<'_>) {
        if !ended.flow.mass.is_zero() {
            let EndedFlow { key, flow, is_direct } = ended;
            self.add(plain_key(end, !is_direct, key.solicitation, key.carried), flow);
        }
    }

    /// Adds an amount of the subject without a single transaction: its balance, at 0 hops, and the
    /// parts that were not read.
    pub(super) fn aggregate(&mut self, end: FlowEnd, hops: u16, mass: Mass) {
        if !mass.is_zero() {
            let key = plain_key(end, false, Solicitation::Solicited, LabelSet::EMPTY);
            let place = if hops > 0 { Place::OnTheWay } else { Place::AtSubject };
            let key = EndKey { place, ..key };
            self.add(key, &Flow { hops, ..Flow::of(mass) });
        }
    }

    fn add(&mut self, key: EndKey, flow: &Flow) -> &mut Reached {
        let has_moved = key.place != Place::AtSubject;
        let amount = flow.mass.total();
        self.ended = self.ended.saturating_add(amount);
        if key.end == FlowEnd::Returned {
            self.returned = self.returned.saturating_add(amount);
        }
        let reached = self.reached.entry(key).or_default();
        // Another address of the subject's own cluster is an end in its own right.
        reached.add(flow, u16::from(has_moved));
        if let Route { path: Some(path), amount } = flow.route {
            reached.routes.push((path, amount));
        }
        reached
    }

    /// Passes those of which money stopped on its way to `find`, the largest amounts first, and keeps the path and the
    /// party that it finds.
    pub(super) fn find_further(
        &mut self,
        mut find: impl FnMut(Origin, Stop) -> Result<Option<Found>, ViewError>,
    ) -> Result<(), ViewError> {
        let mut stopped: Vec<(Origin, Stop, &mut Reached)> = Vec::new();
        for (key, reached) in &mut self.reached {
            if let (Some(stop), FlowEnd::Attributed(category)) = (reached.stop, key.end) {
                stopped.push((Origin::Party(category, key.listing_period), stop, reached));
            }
        }
        stopped.sort_by_key(|(origin, stop, _)| (std::cmp::Reverse(stop.amount), *origin));
        for (origin, stop, reached) in stopped {
            if let Some(found) = find(origin, stop)? {
                reached.routes.push((found.path, found.amount));
                reached.party_of_path = found.party;
            }
        }
        Ok(())
    }

    /// The parts in base units, of a direction that passed so many transactions. They sum to `whole`, and the recent
    /// amounts to the recent total. Parts of less than one base unit are left out.
    pub(super) fn into_parts(
        self,
        whole: u128,
        passed: u32,
        (paths, labels): (&Paths, &LabelSets),
        steps: &mut StepReader<'_>,
    ) -> Result<Vec<FlowPart>, ViewError> {
        let mut reached: Vec<(EndKey, Reached)> = self.reached.into_iter().collect();
        reached.sort_by(|(a, _), (b, _)| order(a, b, labels));
        let recent_masses: Vec<u128> =
            reached.iter().map(|(_, reached)| reached.mass.recent).collect();
        let earlier_masses: Vec<u128> =
            reached.iter().map(|(_, reached)| reached.mass.earlier).collect();
        let recent_whole =
            Mass::unscaled(recent_masses.iter().copied().fold(0, u128::saturating_add));
        let recent = split(recent_whole, &recent_masses);
        let earlier = split(whole.saturating_sub(recent_whole), &earlier_masses);
        let mut parts = Vec::new();
        for ((key, mut reached), (recent, earlier)) in
            reached.into_iter().zip(recent.into_iter().zip(earlier))
        {
            if recent == 0 && earlier == 0 {
                continue;
            }
            let amount = earlier.saturating_add(recent);
            let routes = reached.largest(self.paths_kept, amount, paths);
            let carried = labels.labels(key.carried).iter().cloned().zip(reached.carried);
            let carried = carried.map(|(label, distance)| CarriedPart { label, distance });
            parts.push(FlowPart {
                recent,
                mass: reached.mass,
                decayed: reached.decayed,
                distance: if key.place == Place::Further {
                    FlowDistance::Further(passed)
                } else {
                    FlowDistance::Hops(reached.hops.unwrap_or_default())
                },
                party_of_path: reached.party_of_path.as_deref().map(str::to_owned),
                carried: carried.collect(),
                days_before_listing: reached.days_before_listing,
                listed_by: reached.listed_by,
                ..part(key, &routes, amount, paths, steps)?
            });
        }
        Ok(parts)
    }
}

/// The order of parts, the labels that they carry last.
fn order(a: &EndKey, b: &EndKey, labels: &LabelSets) -> Ordering {
    let without = |key: &EndKey| EndKey { carried: LabelSet::EMPTY, ..key.clone() };
    let carried = |key: &EndKey| labels.labels(key.carried).to_vec();
    without(a).cmp(&without(b)).then_with(|| carried(a).cmp(&carried(b)))
}

/// The days from one day to a later one; `None` if it is not later.
fn days_between(from: Date, to: Date) -> Option<u32> {
    let days = u32::try_from(from.duration_until(to).as_hours() / 24).ok()?;
    (days > 0).then_some(days)
}

fn plain_key(
    end: FlowEnd,
    is_indirect: bool,
    solicitation: Solicitation,
    carried: LabelSet,
) -> EndKey {
    EndKey {
        end,
        place: Place::OnTheWay,
        entity: None,
        is_indirect,
        tier: match end {
            FlowEnd::Unresolved(_) => Tier::Behavior,
            // Facts of the chain itself.
            _ => Tier::OnChainProof,
        },
        confidence: Confidence::CERTAIN,
        listed: false,
        solicitation,
        listing_period: None,
        carried,
    }
}

fn part(
    key: EndKey,
    routes: &[Route],
    amount: u128,
    paths: &Paths,
    steps: &mut StepReader<'_>,
) -> Result<FlowPart, ViewError> {
    let mut path = |route: &Route| {
        let passed = route.path.map(|path| paths.steps(path)).into_iter().flatten();
        let shown = passed
            .enumerate()
            .map(|(index, (transaction, owner))| steps.show(transaction, owner, index == 0));
        let steps = shown.collect::<Result<_, ViewError>>()?;
        Ok(FlowPath { amount: route.amount, steps })
    };
    let paths = routes.iter().map(&mut path).collect::<Result<Vec<FlowPath>, ViewError>>()?;
    let mut transactions: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for step in paths.iter().flat_map(|path| &path.steps) {
        if known.insert(&step.transaction) {
            transactions.push(step.transaction.clone());
        }
    }
    Ok(FlowPart {
        entity: key.entity.map(|entity| entity.to_string()),
        is_direct: !key.is_indirect,
        tier: key.tier,
        confidence: key.confidence,
        listed: key.listed,
        solicitation: key.solicitation,
        listing_period: key.listing_period,
        transactions,
        paths,
        ..FlowPart::plain(key.end, amount)
    })
}
