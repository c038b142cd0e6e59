//! The ends of flows: parts of a direction, each with its largest paths.

use std::{collections::BTreeMap, sync::Arc};

use jiff::tz::TimeZone;

use super::{
    attribution::{AttributedEnd, CarriedLabel},
    mass::{Mass, split},
    state::{PathId, Paths, Route, State},
};
use crate::{
    chain::ChainId,
    evidence::{FlowEnd, FlowPart, FlowPath, ListingSplit, PathStep, Tier},
    score::Confidence,
};

/// The key of a part: flows with equal keys are one part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndKey {
    end: FlowEnd,
    entity: Option<Arc<str>>,
    hops: u8,
    tier: Tier,
    confidence: Confidence,
    listed: bool,
    solicited: bool,
    carried: Vec<CarriedLabel>,
}

/// The flows that reached one end.
#[derive(Debug, Default)]
struct Reached {
    mass: Mass,
    /// Amounts that moved before the party was listed, and since; 0 if it is not listed or the day is
    /// unknown.
    before_listing: u128,
    since_listing: u128,
    /// The list that names the party: of several parties of one name, the list of the first one.
    listed_by: Option<Arc<str>>,
    /// Amount per path.
    routes: BTreeMap<PathId, u128>,
}

impl Reached {
    /// The largest paths, at most `kept`.
    fn largest(&self, kept: usize, paths: &Paths) -> Vec<Route> {
        let route = |(path, amount): (&PathId, &u128)| Route { path: *path, amount: *amount };
        let mut routes: Vec<Route> = self.routes.iter().map(route).collect();
        routes.sort_by(|a, b| paths.order(a, b));
        routes.truncate(kept);
        routes
    }

    /// Parts of `amount` that moved before the listing and since; `None` if that is not known of
    /// all of it.
    fn listing(&self, amount: u128) -> Option<ListingSplit> {
        let dated = [self.before_listing, self.since_listing];
        if dated == [0, 0] || dated.into_iter().fold(0, u128::saturating_add) < self.mass.total() {
            return None;
        }
        match *split(amount, &dated) {
            [before, since] => Some(ListingSplit { before, since }),
            _ => None,
        }
    }
}

/// Everything that ended.
#[derive(Debug)]
pub(super) struct Ends {
    reached: BTreeMap<EndKey, Reached>,
    /// Paths that are kept of one part.
    paths_kept: usize,
}

impl Ends {
    pub(super) const fn keeping(paths_kept: usize) -> Self {
        Self { reached: BTreeMap::new(), paths_kept }
    }

    /// Adds money that reached an attributed party.
    pub(super) fn attributed(
        &mut self,
        end: &AttributedEnd,
        hops: u8,
        solicited: bool,
        carried: &[CarriedLabel],
        state: &State,
    ) {
        let key = EndKey {
            end: FlowEnd::Attributed(end.category),
            entity: end.entity.clone(),
            hops,
            tier: end.tier,
            confidence: end.confidence,
            listed: end.listed,
            solicited,
            carried: carried.to_vec(),
        };
        let reached = self.add(key, state.mass, Some(state.route));
        if reached.listed_by.is_none() {
            reached.listed_by.clone_from(&end.listed_by);
        }
        if let Some(listed_on) = end.listed_on {
            let moved_on = state.moved_at.to_zoned(TimeZone::UTC).date();
            let side = if moved_on < listed_on {
                &mut reached.before_listing
            } else {
                &mut reached.since_listing
            };
            *side = side.saturating_add(state.mass.total());
        }
    }

    /// Adds a flow that ended at no attributed party.
    pub(super) fn plain(
        &mut self,
        end: FlowEnd,
        hops: u8,
        solicited: bool,
        carried: &[CarriedLabel],
        mass: Mass,
        route: Route,
    ) {
        if !mass.is_zero() {
            self.add(plain_key(end, hops, solicited, carried), mass, Some(route));
        }
    }

    /// Adds an amount of the subject without a single transaction: its balance, at 0 hops, and the
    /// parts that were not read.
    pub(super) fn aggregate(&mut self, end: FlowEnd, hop: u8, mass: Mass) {
        if !mass.is_zero() {
            self.add(plain_key(end, hop, true, &[]), mass, None);
        }
    }

    fn add(&mut self, key: EndKey, mass: Mass, route: Option<Route>) -> &mut Reached {
        let reached = self.reached.entry(key).or_default();
        reached.mass += mass;
        if let Some(Route { path, amount }) = route {
            let taken = reached.routes.entry(path).or_default();
            *taken = taken.saturating_add(amount);
        }
        reached
    }

    /// The parts in base units. They sum to `whole`, and the recent amounts to the recent total. Parts of
    /// less than one base unit are left out.
    pub(super) fn into_parts(self, whole: u128, paths: &Paths, chain: ChainId) -> Vec<FlowPart> {
        let masses: Vec<Mass> = self.reached.values().map(|reached| reached.mass).collect();
        let recent_masses: Vec<u128> = masses.iter().map(|mass| mass.recent).collect();
        let earlier_masses: Vec<u128> = masses.iter().map(|mass| mass.earlier).collect();
        let recent_whole =
            Mass::unscaled(recent_masses.iter().copied().fold(0, u128::saturating_add));
        let recent = split(recent_whole, &recent_masses);
        let earlier = split(whole.saturating_sub(recent_whole), &earlier_masses);
        let amounts = recent.into_iter().zip(earlier);
        let kept = self.paths_kept;
        let parts = self.reached.into_iter().zip(amounts);
        parts
            .filter(|(_, (recent, earlier))| *recent > 0 || *earlier > 0)
            .map(|((key, reached), (recent, earlier))| {
                let amount = earlier.saturating_add(recent);
                let routes = reached.largest(kept, paths);
                FlowPart {
                    recent,
                    listing: reached.listing(amount),
                    listed_by: reached.listed_by.as_deref().map(str::to_owned),
                    ..part(key, &routes, amount, paths, chain)
                }
            })
            .collect()
    }
}

fn plain_key(end: FlowEnd, hops: u8, solicited: bool, carried: &[CarriedLabel]) -> EndKey {
    EndKey {
        end,
        entity: None,
        hops,
        tier: match end {
            FlowEnd::Unresolved(_) => Tier::Behavior,
            FlowEnd::Coinjoin(_) => Tier::Heuristic,
            // Facts of the chain itself.
            _ => Tier::OnChainProof,
        },
        confidence: match end {
            FlowEnd::Coinjoin(kind) => kind.confidence(),
            _ => Confidence::CERTAIN,
        },
        listed: false,
        solicited,
        carried: carried.to_vec(),
    }
}

fn part(key: EndKey, routes: &[Route], amount: u128, paths: &Paths, chain: ChainId) -> FlowPart {
    let paths: Vec<FlowPath> = routes
        .iter()
        .map(|route| FlowPath {
            // Rounded apart from the part, it must not exceed it.
            amount: Mass::unscaled(route.amount).min(amount),
            steps: paths
                .steps(route.path)
                .into_iter()
                .map(|(transaction, owner)| PathStep {
                    transaction: transaction.to_string(),
                    address: owner
                        .and_then(|owner| owner.address(chain))
                        .map(|address| address.to_string()),
                })
                .collect(),
        })
        .collect();
    let mut transactions: Vec<String> = Vec::new();
    for step in paths.iter().flat_map(|path| &path.steps) {
        if !transactions.contains(&step.transaction) {
            transactions.push(step.transaction.clone());
        }
    }
    FlowPart {
        entity: key.entity.map(|entity| entity.to_string()),
        hops: key.hops,
        tier: key.tier,
        confidence: key.confidence,
        listed: key.listed,
        solicited: key.solicited,
        carried: key.carried,
        transactions,
        paths,
        ..FlowPart::plain(key.end, amount)
    }
}
