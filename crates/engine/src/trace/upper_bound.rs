//! What the money that an owner received can weigh at most, by its history and by what its transactions are made of: no
//! trace finds more. Where even that decides nothing, nothing needs to be traced.
//!
//! Each origin counts as if it were a direct counterparty of the strongest evidence, and money that passed a label or a
//! joint transaction as if it carried every category. It is known only of owners that never spent: no composition tells
//! where money goes.

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

/// The flows of an owner on a day at their largest weight, within the precision of compositions and given the largest
/// payment that is dust ([`TraceRules::largest_dust`](super::TraceRules::largest_dust)); `None` if they are not known:
/// because of the policy ([`is_bounded`]), because it spent, because its history was not read as a whole, or because
/// nobody knows what a transaction is made of.
///
/// # Errors
///
/// Returns an error if `composition`, which finds what a transaction is made of, fails.
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
        source,
        destination: DirectionFlows { parts: vec![part(FlowEnd::Unspent, whole)], transactions: 0 },
    };
    Ok(Some(FlowFacts { complete: true, ledgers: vec![ledger], compositions: None }))
}

/// True if flows at their largest weight are known under a policy: it attributes every owner as the default policy
/// does, by which compositions are computed, and does not ask how much of the money was traced or left unread, which
/// nobody knows without a trace.
#[must_use]
pub fn is_bounded(policy: &Policy) -> bool {
    policy.spec().minimum_traced.is_none()
        && policy.spec().maximum_unread.is_none()
        && policy.has_default_severities()
}

/// Money of an end as if it were a direct counterparty, listed if it is sanctioned. Amounts are rounded up.
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

/// A label of every category, met by all of the money.
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
