//! An upper bound of the weight of an owner's received funds, from its history and the compositions (breakdowns of
//! funds by origin) of the owner's transactions: no trace finds a larger weight. If even the bound does not change a
//! verdict, no trace is needed.
//!
//! Each origin counts like a direct counterparty with the strongest evidence, and funds that passed a label or a joint
//! transaction count as if they carried every category. The bound exists only for owners that never spent, because
//! compositions do not show destinations.

use std::collections::BTreeMap;

use assay_address::ChainId;
use jiff::civil::Date;

use super::subject::recent_since;
use crate::{
    composition::{Composition, Origin},
    evidence::{
        CarriedLabel, CarriedPart, DirectionFlows, FlowEnd, FlowFacts, FlowPart, LabelDistance,
        Ledger, Tier, UnresolvedReason,
    },
    ledger::{CoinShare, Mass, OwnHistory, TransactionNumber},
    policy::Policy,
    reading::ViewError,
    score::Confidence,
    taxonomy::Category,
};

/// The flows of an owner on a day at their largest weight, within the precision of compositions. `largest_dust` is the
/// largest dust payment of the trace ([`TraceRules::largest_dust`](super::TraceRules::largest_dust)). `None` if there
/// is no bound: because of the policy ([`is_bounded`]), because the owner spent, because its history is incomplete, or
/// because a composition is not known.
///
/// # Errors
///
/// Returns an error if `composition`, which looks up the composition of a transaction, fails.
pub fn flows_at_most(
    chain: ChainId,
    history: &OwnHistory,
    policy: &Policy,
    (today, largest_dust): (Date, u128),
    mut composition: impl FnMut(TransactionNumber) -> Result<Option<Composition>, ViewError>,
) -> Result<Option<FlowFacts>, ViewError> {
    let received: u128 = history.incoming.iter().map(|own| own.income(own.inputs)).sum();
    let is_whole = received == history.statistics.received;
    // A smaller part of a direct counterparty may be missing in a composition: it must be dust.
    let is_all_kept = CoinShare::LEAST.of_amount(received) <= largest_dust;
    if !is_bounded(policy)
        || history.statistics.sent > 0
        || !history.outgoing.is_empty()
        || !is_whole
        || !is_all_kept
    {
        return Ok(None);
    }
    let since = recent_since(today);
    let mut origins: BTreeMap<Origin, Mass> = BTreeMap::new();
    let (mut whole, mut marked) = (Mass::default(), Mass::default());
    for own in &history.incoming {
        let Some(made_of) = composition(own.number)? else { return Ok(None) };
        let mass = Mass::from_base_units(own.income(own.inputs), own.time >= since);
        for (origin, share) in made_of.origins() {
            *origins.entry(origin).or_default() += mass.part(share);
        }
        marked += mass.part(made_of.mixed()) + mass.part(made_of.labelled());
        whole += mass;
    }
    let known = origins.values().fold(Mass::default(), |sum, mass| sum + *mass);
    let unknown = whole.less(known);
    if marked.at_most(unknown) != marked {
        // Which of the known origins passed a label is not known.
        return Ok(None);
    }
    let unknown = unknown.less(marked);
    let parts = origins.into_iter().map(|(origin, mass)| part(end(origin), mass)).chain([
        part(FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), unknown),
        FlowPart {
            carried: every_label(policy, marked),
            ..part(FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), marked)
        },
    ]);
    let source = DirectionFlows {
        parts: parts.filter(|part| !part.mass.is_zero()).collect(),
        transactions: 0,
    };
    let info = chain.info();
    let ledger = Ledger {
        unit: info.native().code.to_owned(),
        decimals: info.native().decimals,
        left_out_decimals: 0,
        source,
        destination: DirectionFlows { parts: vec![part(FlowEnd::Unspent, whole)], transactions: 0 },
        // All that was received is held.
        held: DirectionFlows::default(),
        of_accounts: false,
    };
    Ok(Some(FlowFacts { complete: true, ledgers: vec![ledger], ..FlowFacts::default() }))
}

/// True if the bound can be computed under a policy: the policy attributes owners like the default policy, by which
/// compositions are computed, and sets no limits for untraced or unread funds, which only a trace can measure.
#[must_use]
pub fn is_bounded(policy: &Policy) -> bool {
    policy.spec().minimum_traced.is_none()
        && policy.spec().maximum_unread.is_none()
        && policy.has_default_severities()
}

/// Funds of an endpoint as if the endpoint were a direct counterparty, listed if the endpoint's category is sanctions.
/// Amounts are rounded up.
fn part(end: FlowEnd, mass: Mass) -> FlowPart {
    let amount = Mass::unscaled_up(mass.total());
    FlowPart {
        tier: Tier::OfficialList,
        recent: Mass::unscaled_up(mass.recent),
        mass,
        decayed: mass,
        listed: end == FlowEnd::Attributed(Category::Sanctions),
        ..FlowPart::plain(end, amount)
    }
}

const fn end(origin: Origin) -> FlowEnd {
    match origin {
        Origin::Party(category, _) => FlowEnd::Attributed(category),
        Origin::Mining => FlowEnd::Mining,
    }
}

/// A label of every category, which all of the funds passed.
fn every_label(policy: &Policy, mass: Mass) -> Vec<CarriedPart> {
    let labels = Category::ALL.iter().map(|category| CarriedPart {
        label: CarriedLabel {
            tier: Tier::OfficialList,
            category: *category,
            confidence: Confidence::CERTAIN,
            severity: policy.severity(*category),
            entity: None,
            coinjoin: None,
        },
        distance: LabelDistance { hops: 1, decayed: mass },
    });
    labels.collect()
}
