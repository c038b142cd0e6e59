//! What ended where: parts of a direction, each with its largest paths.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use jiff::tz::TimeZone;

use super::{
    attribution::{AttributedEnd, CarriedLabel},
    mass::{Mass, split},
    state::{PathId, Paths, State},
};
use crate::{
    chain::ChainId,
    evidence::{FlowEnd, FlowPart, FlowPath, ListingSplit, PathStep, Tier, UnresolvedReason},
    score::Confidence,
};

/// What tells parts apart.
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

/// What reached one end.
#[derive(Debug, Default)]
struct Reached {
    mass: Mass,
    /// What moved before the party was listed, and since; nothing where it is not listed or the day is
    /// not known.
    before_listing: u128,
    since_listing: u128,
    /// The largest amounts first, each with its path.
    largest: Vec<(Reverse<u128>, PathId)>,
}

impl Reached {
    fn largest_first(mut self, kept: usize) -> Self {
        self.largest.sort();
        self.largest.truncate(kept);
        self
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

    /// Money that reached somebody known.
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
        let reached = self.add(key, state.mass, Some(state.path));
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

    /// Money that ended at nobody in particular.
    pub(super) fn plain(
        &mut self,
        end: FlowEnd,
        hops: u8,
        solicited: bool,
        carried: &[CarriedLabel],
        mass: Mass,
        path: PathId,
    ) {
        if !mass.is_zero() {
            self.add(plain_key(end, hops, solicited, carried), mass, Some(path));
        }
    }

    /// Money of transactions of the subject that were not read.
    pub(super) fn unread(&mut self, mass: Mass) {
        let end = FlowEnd::Unresolved(UnresolvedReason::Budget);
        if !mass.is_zero() {
            self.add(plain_key(end, 1, true, &[]), mass, None);
        }
    }

    /// Money that the subject holds.
    pub(super) fn held(&mut self, mass: Mass) {
        if !mass.is_zero() {
            self.add(plain_key(FlowEnd::Held, 1, true, &[]), mass, None);
        }
    }

    fn add(&mut self, key: EndKey, mass: Mass, path: Option<PathId>) -> &mut Reached {
        let reached = self.reached.entry(key).or_default();
        reached.mass += mass;
        if let Some(path) = path {
            // Paths are numbered in one order, so that equal amounts are kept in that order.
            reached.largest.push((Reverse(mass.total()), path));
            if reached.largest.len() > 4 * self.paths_kept.max(1) {
                reached.largest.sort();
                reached.largest.truncate(self.paths_kept);
            }
        }
        reached
    }

    /// The parts in base units. They sum to `whole`, and so do the recent ones to the recent whole.
    pub(super) fn into_parts(self, whole: u128, paths: &Paths, chain: ChainId) -> Vec<FlowPart> {
        let masses: Vec<Mass> = self.reached.values().map(|reached| reached.mass).collect();
        let recent_masses: Vec<u128> = masses.iter().map(|mass| mass.recent).collect();
        let earlier_masses: Vec<u128> = masses.iter().map(|mass| mass.earlier).collect();
        let recent_whole = Mass::unscaled(recent_masses.iter().sum());
        let recent = split(recent_whole, &recent_masses);
        let earlier = split(whole.saturating_sub(recent_whole), &earlier_masses);
        let amounts = recent.into_iter().zip(earlier);
        let paths_kept = self.paths_kept;
        self.reached
            .into_iter()
            .zip(amounts)
            .map(|((key, reached), (recent, earlier))| {
                let amount = earlier.saturating_add(recent);
                let reached = reached.largest_first(paths_kept);
                part(key, &reached, (amount, recent), paths, chain)
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
            FlowEnd::Unresolved(_) => Tier::Behaviour,
            FlowEnd::Coinjoin(_) => Tier::Heuristic,
            // What the chain itself shows.
            _ => Tier::Cryptographic,
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

fn part(
    key: EndKey,
    reached: &Reached,
    (amount, recent): (u128, u128),
    paths: &Paths,
    chain: ChainId,
) -> FlowPart {
    let paths: Vec<FlowPath> = reached
        .largest
        .iter()
        .map(|(Reverse(mass), path)| FlowPath {
            amount: Mass::unscaled(*mass),
            steps: paths
                .steps(*path)
                .into_iter()
                .map(|(transaction, holder)| PathStep {
                    transaction: transaction.to_string(),
                    address: holder
                        .and_then(|holder| holder.address(chain))
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
    let dated = [reached.before_listing, reached.since_listing];
    let listing = match *split(amount, &dated) {
        [before, since] if dated != [0, 0] => Some(ListingSplit { before, since }),
        _ => None,
    };
    FlowPart {
        end: key.end,
        entity: key.entity.map(|entity| entity.to_string()),
        hops: key.hops,
        tier: key.tier,
        confidence: key.confidence,
        amount,
        recent,
        listed: key.listed,
        solicited: key.solicited,
        carried: key.carried,
        listing,
        transactions,
        paths,
    }
}
