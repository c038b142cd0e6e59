//! Origins beyond the transactions at which a trace towards sources stops: the composition (breakdown of the funds by
//! origin) of such a transaction divides the funds that wait there (`docs/model/trace.md` T11).
//!
//! The distance of these origins is not known, so their funds count as fully decayed: these funds count only for
//! categories whose weight does not decay. To explain the result, the largest amounts are followed to one of the
//! parties.
//!
//! A composition does not depend on the subject: funds that a subject sent in a circle keep the composition with which
//! they first came. A trace with much returned funds therefore does not stop earlier because of compositions, and does
//! not divide the remaining funds by compositions.

use super::{
    direction::DirectionalTrace,
    ends::{PartyPath, TraceStop},
    flow::{Flow, Flows},
    path::{PathId, PathTransaction, Route},
};
use crate::{
    composition::{Composition, Origin},
    evidence::{Direction, FlowEnd, LabelDistance, ListingPeriod, UnresolvedReason},
    ledger::{
        CoinShare, ENTRIES_PER_TRANSACTION, Mass, OwnerNumber, TransactionNumber, mass::share,
    },
    reading::{ChainView, LookupResult, TransactionEntry, TransactionRead, ViewError, Waypoint},
};
use jiff::{Timestamp, tz::TimeZone};

/// Number of flow parts of a direction whose paths are followed beyond the trace, the largest first.
const MOST_WAYS: usize = 4;
/// Most inputs that are read to follow these paths.
const MOST_INPUTS: usize = 20_000;

impl DirectionalTrace<'_> {
    /// Ends funds at a waypoint at which the trace stops. If the composition of the transaction is known, the
    /// composition divides the funds, except if the trace stopped at its limits after much of the funds returned.
    pub(super) fn stop_at(
        &mut self,
        view: &dyn ChainView,
        waypoint: Waypoint,
        reason: UnresolvedReason,
        flows: &Flows,
    ) -> Result<(), ViewError> {
        let is_divided = reason != UnresolvedReason::TraceLimit || !self.ends.has_much_returned();
        if let Waypoint::Transaction(transaction) = waypoint
            && is_divided
            && let Some(composition) = self.composition_at(view, Some(waypoint))?
        {
            self.divide(transaction, &composition, flows);
            return Ok(());
        }
        for (key, flow) in flows.iter() {
            self.end_waited(FlowEnd::Unresolved(reason), key, flow);
        }
        Ok(())
    }

    /// True if the trace may stop before passing its `number`th transaction, if that transaction's composition is
    /// known.
    pub(super) fn may_stop_at(&self, number: u64) -> bool {
        self.direction == Direction::Source
            && number > u64::from(self.rules.source_transactions)
            && !self.ends.has_much_returned()
    }

    /// The composition (breakdown by origin) of the funds at a waypoint, if the composition is known.
    pub(super) fn composition_at(
        &self,
        view: &dyn ChainView,
        waypoint: Option<Waypoint>,
    ) -> Result<Option<Composition>, ViewError> {
        match (self.direction, waypoint) {
            (Direction::Source, Some(Waypoint::Transaction(number))) => view.composition(number),
            _ => Ok(None),
        }
    }

    /// Divides funds that wait at a transaction by the transaction's composition (breakdown of its funds by origin).
    pub(super) fn divide(
        &mut self,
        transaction: TransactionNumber,
        composition: &Composition,
        flows: &Flows,
    ) {
        for (key, flow) in flows.iter() {
            let mut rest = flow.mass;
            for (origin, share) in composition.origins() {
                let part = part(flow, share);
                rest = rest.less(part.mass);
                let part = Flow { decayed: Mass::default(), ..part };
                self.ends.further(origin, (key, &part), transaction);
            }
            let unknown = Flow { mass: rest, decayed: flow.decayed.at_most(rest), ..flow.clone() };
            self.end_waited(FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), key, &unknown);
        }
    }

    /// Follows the largest amounts beyond the transactions at which the trace stopped, one path for each origin, within
    /// a budget.
    pub(super) fn find_further(&mut self, view: &dyn ChainView) -> Result<(), ViewError> {
        let mut ends = std::mem::replace(&mut self.ends, super::ends::Ends::new(0));
        let (mut ways, mut budget) = (0, MOST_INPUTS);
        let mut read = std::mem::take(&mut self.read);
        let found = ends.find_further(|origin, stop| {
            ways += 1;
            if ways > MOST_WAYS {
                return Ok(None);
            }
            self.path_to_party(view, origin, stop, (&mut read, &mut budget))
        });
        self.ends = ends;
        self.read = read;
        found
    }

    /// Follows the largest amount of an origin from the transaction at which the trace stopped to a party.
    fn path_to_party(
        &mut self,
        view: &dyn ChainView,
        origin: Origin,
        stop: TraceStop,
        (read, budget): (&mut TransactionRead, &mut usize),
    ) -> Result<Option<PartyPath>, ViewError> {
        let TraceStop { mut transaction, mut path, mut amount } = stop;
        loop {
            view.read(transaction, self.direction, ENTRIES_PER_TRANSACTION, read)?;
            let LookupResult::Transaction { position, .. } =
                view.look_up(Waypoint::Transaction(transaction))?
            else {
                return Ok(None);
            };
            let passed = PathTransaction { transaction, position };
            let sources = self.sources(view, origin, read)?;
            let Some(rest) = budget.checked_sub(sources.len().max(1)) else { return Ok(None) };
            *budget = rest;
            let sum = sources.iter().map(|source| source.weight).fold(0, u128::saturating_add);
            // Of equal ones the first.
            let most = sources.iter().rev().max_by_key(|source| source.weight);
            let Some(most) = most.filter(|source| source.weight > 0) else { return Ok(None) };
            amount = share(amount, most.weight, sum);
            let longer: PathId = self.paths.step(path, passed, most.through);
            path = Some(longer);
            match most.leads_to {
                LeadsTo::Party(owner) => {
                    let attribution = self.attributions.of_owner(owner, view)?;
                    let end = attribution.and_then(|attribution| attribution.end.clone());
                    let party = end.and_then(|end| end.entity);
                    return Ok(Some(PartyPath { path: longer, amount, party }));
                }
                LeadsTo::Transaction(next) => transaction = next,
            }
        }
    }

    /// The sources of a transaction's funds of one origin.
    fn sources(
        &self,
        view: &dyn ChainView,
        origin: Origin,
        read: &TransactionRead,
    ) -> Result<Vec<Source>, ViewError> {
        let mut sources = Vec::with_capacity(read.entries.len() + read.fee_payers.len());
        let of = |transaction, value| {
            let composition = view.composition(transaction)?;
            let share = composition.map_or(CoinShare::NOTHING, |it| it.share(origin));
            Ok::<_, ViewError>(share.of_amount(scale(value)))
        };
        for entry in &read.entries {
            let TransactionEntry { index, value, owner, leads_to } = *entry;
            let through = Some((owner, index));
            if let Some(party) = self.origin_of(view, owner, read.time)? {
                let weight = if party == origin { scale(value) } else { 0 };
                sources.push(Source { weight, through, leads_to: LeadsTo::Party(owner) });
            } else if let Some(Waypoint::Transaction(transaction)) = leads_to {
                let (weight, leads_to) =
                    (of(transaction, value)?, LeadsTo::Transaction(transaction));
                sources.push(Source { weight, through, leads_to });
            }
        }
        for payer in &read.fee_payers {
            let leads_to = LeadsTo::Transaction(payer.transaction);
            let weight = of(payer.transaction, payer.fee)?;
            sources.push(Source { weight, through: None, leads_to });
        }
        Ok(sources)
    }

    /// The origin (of compositions) that an owner stands for; `None` if traces continue at the owner.
    fn origin_of(
        &self,
        view: &dyn ChainView,
        owner: OwnerNumber,
        moved_at: Timestamp,
    ) -> Result<Option<Origin>, ViewError> {
        let attribution = self.attributions.of_owner(owner, view)?;
        let Some(end) = attribution.as_ref().and_then(|it| it.end.as_ref()) else {
            return Ok(None);
        };
        let moved_on = moved_at.to_zoned(TimeZone::UTC).date();
        let period = end.listed_on.map(|listed_on| ListingPeriod::of_movement(moved_on, listed_on));
        Ok(Some(Origin::Party(end.category, period)))
    }
}

/// Scales an amount so that the amount's smallest shares are integers.
fn scale(value: u64) -> u128 {
    u128::from(value) << 32
}

/// A share of a flow.
fn part(flow: &Flow, share: CoinShare) -> Flow {
    let mass = flow.mass.part(share);
    let carried = flow.carried.iter().map(|distance| LabelDistance {
        decayed: distance.decayed.part(share).at_most(mass),
        ..*distance
    });
    Flow {
        mass,
        decayed: flow.decayed.part(share),
        hops: flow.hops,
        carried: carried.collect(),
        route: Route { amount: share.of_amount(flow.route.amount), ..flow.route },
    }
}

/// A source of a transaction's funds of one origin: an input, or a fee.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// Amount of the origin's funds from this source, for comparison with other sources.
    weight: u128,
    /// Owner and index of the input; `None` for a fee.
    through: Option<(OwnerNumber, u32)>,
    leads_to: LeadsTo,
}

#[derive(Clone, Copy, Debug)]
enum LeadsTo {
    /// A party at which traces end.
    Party(OwnerNumber),
    /// The transaction that created the output or paid the fee.
    Transaction(TransactionNumber),
}
