//! Origins beyond the transactions at which a trace towards sources stops: the composition (breakdown of the funds by
//! origin) of such a transaction divides the funds that wait there (`docs/model/trace.md` T11).
//!
//! The distance of these origins is not known, so their funds count as fully decayed: these funds count only for
//! categories whose weight does not decay. To explain the result, the largest amounts are followed to one of the
//! parties.
//!
//! A composition does not depend on the subject: funds that a subject sent in a circle keep the composition with which
//! they first came. A trace with much returned funds therefore does not stop earlier because of compositions.

use super::{
    direction::DirectionalTrace,
    ends::{PartyPath, TraceStop},
    flow::{Flow, FlowKey, Flows},
    path::{PathId, PathTransaction, Route},
    side::Side,
};
use crate::{
    composition::{Composition, Mixture, Origin, PassedLabel},
    evidence::{
        CarriedLabel, Direction, FlowEnd, LabelDistance, ListingPeriod, Tier, UnresolvedReason,
    },
    ledger::{
        CoinShare, ENTRIES_PER_TRANSACTION, Mass, OwnerNumber, TransactionNumber, mass::share,
    },
    reading::{
        ChainView, FeePayer, LookupResult, TransactionEntry, TransactionRead, ViewError, Waypoint,
    },
    score::Confidence,
    taxonomy::Category,
    utxo::TransactionKind,
};
use jiff::{Timestamp, tz::TimeZone};

/// Number of flow parts of a direction whose paths are followed beyond the trace, the largest first.
const MOST_WAYS: usize = 4;
/// Transactions inside the subject's cluster that a trace passes, as a multiple of those that it passes of others.
const WITHIN_CLUSTER_TIMES: u64 = 4;
/// Most inputs that are read to follow these paths.
const MOST_INPUTS: usize = 20_000;

impl DirectionalTrace<'_> {
    /// Ends funds at a waypoint at which the trace stops. If the composition of the transaction is known, the
    /// composition divides the funds.
    pub(super) fn stop_at(
        &mut self,
        view: &dyn ChainView,
        waypoint: Waypoint,
        reason: UnresolvedReason,
        flows: &Flows,
    ) -> Result<(), ViewError> {
        if let Waypoint::Transaction(transaction) = waypoint
            && let Some(composition) = self.composition_at(view, Some(waypoint))?
        {
            self.divide(Some(transaction), &composition, flows);
            return Ok(());
        }
        for (key, flow) in flows.iter() {
            self.end_waited(FlowEnd::Unresolved(reason), key, flow);
        }
        Ok(())
    }

    /// True if the trace may stop before passing its `number`th transaction, if that transaction's composition is
    /// known. `is_of_subject` is true for a transaction that funds reached that have not left the subject's cluster.
    pub(super) fn may_stop_at(&self, number: u64, is_of_subject: bool) -> bool {
        let most = u64::from(self.rules.source_transactions);
        let most = if is_of_subject { most.saturating_mul(WITHIN_CLUSTER_TIMES) } else { most };
        self.direction == Direction::Source && number > most && !self.ends.has_much_returned()
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

    /// Divides funds by a composition (breakdown of funds by origin): that of the transaction `stop`, at which they wait,
    /// or of a part of a transaction's funds, to which no path leads.
    pub(super) fn divide(
        &mut self,
        stop: Option<TransactionNumber>,
        composition: &Composition,
        flows: &Flows,
    ) {
        let marked = MarkedShares::of(composition);
        for (key, flow) in flows.iter() {
            let mut rest = flow.clone();
            for MarkedShare { origin, labels, share } in &marked.0 {
                let (mut part, mut key) = (part(flow, *share), *key);
                rest.mass = rest.mass.less(part.mass);
                for (distance, part) in rest.carried.iter_mut().zip(&part.carried) {
                    distance.decayed = distance.decayed.less(part.decayed);
                }
                if !labels.is_empty() {
                    self.carry_on(labels, LabelDistance::BEYOND, &mut key, &mut part);
                }
                match origin {
                    Some(origin) => {
                        let part = Flow { decayed: Mass::default(), ..part };
                        self.ends.further(*origin, (&key, &part), stop);
                    }
                    None => self.end_unknown(&key, &part),
                }
            }
            rest.decayed = rest.decayed.at_most(rest.mass);
            for distance in &mut rest.carried {
                distance.decayed = distance.decayed.at_most(rest.mass);
            }
            self.end_unknown(key, &rest);
        }
    }

    fn end_unknown(&mut self, key: &FlowKey, flow: &Flow) {
        self.end_waited(FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), key, flow);
    }

    /// The composition (breakdown by origin) of the funds of a transaction that a side does not follow: of fees that are
    /// too small, or of inputs that were not read. It is what the transaction's composition leaves after the inputs, or
    /// fees, that are followed. `None` if there are no such funds or the transaction's composition is not known.
    pub(super) fn composition_of_rest(
        &self,
        view: &dyn ChainView,
        transaction: &TransactionRead,
        side: &Side,
    ) -> Result<Option<Composition>, ViewError> {
        let rest = side.not_followed();
        if self.direction == Direction::Destination || rest == 0 {
            return Ok(None);
        }
        let Some(whole) = view.composition(transaction.number)? else { return Ok(None) };
        let mut mixture = Mixture::default();
        let is_coinbase = transaction.kind == TransactionKind::Coinbase;
        let total = if is_coinbase { side.sum() } else { transaction.inputs.total };
        mixture.add_composition(&whole, u64::try_from(total).unwrap_or(u64::MAX));
        for TransactionEntry { owner, value, leads_to, .. } in &transaction.entries {
            let mut made_of = None;
            if let Some(origin) = self.origin_of(view, *owner, transaction.time)? {
                mixture.remove_origin(origin, *value);
            } else if let Some(Waypoint::Transaction(made_by)) = leads_to {
                made_of = view.composition(*made_by)?;
            }
            if let Some(made_of) = &made_of {
                mixture.remove_composition(made_of, *value);
            }
            if let Some(attribution) = self.attributions.of_owner(*owner, view)? {
                let passed = PassedLabel::of(&attribution.carried);
                mixture.remove_labelled(*value, &passed, made_of.as_ref());
            }
        }
        mixture.remove_origin(Origin::Mining, side.mined());
        for FeePayer { transaction, fee } in &side.fee_payers {
            if let Some(made_of) = view.composition(*transaction)? {
                mixture.remove_composition(&made_of, *fee);
            }
        }
        // The subject's own unread inputs are in the composition and not in the rest.
        Ok(Some(mixture.finish(rest, false).riskiest_first()))
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

/// The shares of a composition (breakdown by origin) with the labels that their funds passed.
struct MarkedShares(Vec<MarkedShare>);

/// A share of one origin whose funds passed the same labels.
struct MarkedShare {
    /// `None` for the unknown origin.
    origin: Option<Origin>,
    labels: Vec<CarriedLabel>,
    share: CoinShare,
}

impl MarkedShares {
    /// A composition does not tell which origins' funds passed a label. No trace finds funds of more risk than if the
    /// labels were passed by the least risky funds, and by different funds: the shares are laid out by risk, the unknown
    /// one first, and so are the labels over them, the riskiest first. The unknown share without a label is left out.
    fn of(composition: &Composition) -> Self {
        let severity = |origin: &Option<Origin>| match origin {
            Some(Origin::Party(category, _)) => category.info().severity,
            Some(Origin::Mining) | None => 0,
        };
        let mut shares = vec![(None, composition.unknown())];
        shares.extend(composition.origins().map(|(origin, share)| (Some(origin), share)));
        shares.sort_by_key(|(origin, _)| severity(origin));
        let labels = labels_of(composition);
        let mut marked = Vec::new();
        let mut from = CoinShare::NOTHING;
        for (origin, share) in shares {
            let to = from.plus(share);
            // The ends of the labels within this share.
            let mut ends: Vec<CoinShare> = labels.iter().flat_map(LaidLabel::ends).collect();
            ends.retain(|end| from < *end && *end < to);
            ends.push(to);
            ends.sort_unstable();
            ends.dedup();
            for end in ends {
                let labels: Vec<CarriedLabel> = labels
                    .iter()
                    .filter(|laid| laid.covers(from))
                    .map(|laid| laid.label.clone())
                    .collect();
                let share = end.less(from);
                if origin.is_some() || !labels.is_empty() {
                    marked.push(MarkedShare { origin, labels, share });
                }
                from = end;
            }
        }
        Self(marked)
    }
}

/// A label with the range of shares that it covers, which goes on at nothing after the whole.
struct LaidLabel {
    label: CarriedLabel,
    from: CoinShare,
    share: CoinShare,
}

impl LaidLabel {
    fn to(&self) -> u64 {
        self.from.units() + self.share.units()
    }

    fn ends(&self) -> [CoinShare; 2] {
        let to = self.to();
        let beyond = to.checked_sub(CoinShare::WHOLE.units()).unwrap_or(to);
        [self.from, CoinShare::from_units(beyond)]
    }

    fn covers(&self, place: CoinShare) -> bool {
        let (at, whole) = (place.units(), CoinShare::WHOLE.units());
        (self.from.units()..self.to()).contains(&at) || at + whole < self.to()
    }
}

/// The labels of a composition (breakdown by origin), one after another, the riskiest first; joint transactions, whose
/// kind is not known, last.
fn labels_of(composition: &Composition) -> Vec<LaidLabel> {
    let mut passed: Vec<_> = composition.passed().collect();
    passed.sort_by_key(|(label, _)| std::cmp::Reverse(label.risk()));
    let passed = passed.into_iter().map(|(label, share)| {
        let severity = label.category.info().severity;
        (carried(label.tier, label.category, label.confidence, severity), share)
    });
    let severity = Category::Coinjoin.info().severity;
    let joint = carried(Tier::Heuristic, Category::Coinjoin, Confidence::CERTAIN, severity);
    let joint = Some((joint, composition.mixed())).filter(|(_, share)| !share.is_nothing());
    let mut from = 0;
    let laid = passed.chain(joint).map(|(label, share)| {
        let laid = LaidLabel { label, from: CoinShare::from_units(from), share };
        from = laid.to() % CoinShare::WHOLE.units();
        laid
    });
    laid.collect()
}

const fn carried(
    tier: Tier,
    category: Category,
    confidence: Confidence,
    severity: u8,
) -> CarriedLabel {
    CarriedLabel { tier, category, confidence, severity, entity: None, coinjoin: None }
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
