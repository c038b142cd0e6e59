//! Evaluation of labels: decides which labels count, which contradict each other, and if the address is a service.

mod candidates;
mod conflicts;
mod evidence;

use std::collections::BTreeSet;

use assay_address::UnownedKind;
use jiff::civil::Date;

pub(super) use candidates::LabelContext;
use candidates::{Candidate, ResolvedLabels, resolve_labels, strongest_of_each};
pub(super) use conflicts::Conflicts;
pub(super) use evidence::{LabelEvidence, LabeledParty};

use super::{
    Term,
    bounds::{Room, Shown},
    claims::Upstreams,
};
use crate::{
    assessment::{AssessedLabel, Entity, LabelStatus, VerdictReason},
    evidence::{CarriedLabel, Tier},
    facts::Facts,
    policy::Policy,
    taxonomy::Category,
    trace::{AttributedEnd, Attribution},
};

/// Bytes of the texts of the labels that an answer shows.
const LABEL_TEXTS: usize = 64 * 1024;

/// Bytes of the texts of the reasons that labels give.
const REASON_TEXTS: usize = 16 * 1024;

pub(super) struct Findings<'f> {
    pub(super) views: Shown<AssessedLabel>,
    pub(super) conflicts: Conflicts,
    pub(super) terms: Vec<Term<'f>>,
    pub(super) reasons: Vec<VerdictReason>,
    /// The category that makes the address a service.
    pub(super) service: Option<Category>,
    pub(super) entity: Option<Entity>,
}

/// Assesses the labels of the subject, which has a kind if nobody controls it.
pub(super) fn assess<'f>(
    facts: &'f Facts,
    upstreams: &mut Upstreams<'_>,
    policy: &Policy,
    today: Date,
    unowned: Option<UnownedKind>,
) -> Findings<'f> {
    let known = LabelContext {
        listings: &facts.listings,
        labels: &facts.labels,
        cluster: facts.cluster.as_ref().filter(|_| unowned.is_none()),
        sources: &facts.sources,
        is_unowned: unowned.is_some(),
    };
    let ResolvedLabels { candidates, conflicts } = resolve_labels(known, upstreams, policy, today);
    let counted = || candidates.iter().filter(|candidate| candidate.counts());
    let service = if conflicts.risky_counts { None } else { service(counted()) };
    Findings {
        terms: counted()
            .map(|candidate| candidate.evidence().term(candidate.upstream, policy))
            .collect(),
        reasons: reasons(counted().filter(|it| it.is_risky()).map(Candidate::evidence)),
        entity: counted().min_by_key(|candidate| candidate.tier).and_then(entity),
        views: views(&candidates),
        conflicts,
        service,
    }
}

/// Attribution of an address on a path by its labels: a trace ends at the address, or carries the labels on.
///
/// A trace ends at an address that an investigation or stronger evidence attributes to a service or to a risky
/// category. Community reports end no trace, however many agree: two anonymous reports about a thief's address would hide
/// the money behind it. Of several labels that end a trace the riskiest counts, so a riskier label never lowers a score.
/// Other risky labels are carried on: of one tier and category only the strongest can weigh.
pub(super) fn attribute(known: LabelContext<'_>, policy: &Policy, today: Date) -> Attribution {
    let mut upstreams = Upstreams::of(known.labels);
    let settled = resolve_labels(known, &mut upstreams, policy, today);
    // In the order of their scores.
    let counted = || settled.candidates.iter().filter(|candidate| candidate.counts());
    let end = counted().find(|candidate| {
        candidate.tier.at_least(Tier::Investigation)
            && (candidate.label.category.info().service || candidate.is_risky())
    });
    let others = counted()
        .filter(|candidate| candidate.is_risky())
        .filter(|candidate| end.is_none_or(|end| !std::ptr::eq(*candidate, end)));
    let carried = strongest_of_each(others).into_iter().map(|candidate| CarriedLabel {
        tier: candidate.tier,
        category: candidate.label.category,
        confidence: candidate.confidence,
        severity: candidate.severity,
        entity: candidate.label.entity.clone(),
        coinjoin: None,
    });
    Attribution {
        carried: carried.collect(),
        end: end.map(|Candidate { label, tier, confidence, .. }| AttributedEnd {
            category: label.category,
            entity: label.entity.clone(),
            tier: *tier,
            confidence: *confidence,
            listed: false,
            listed_by: None,
            listed_on: None,
        }),
        is_unowned: false,
    }
}

/// The reasons of labels, the first ones one by one.
pub(super) fn reasons<'f>(labels: impl Iterator<Item = LabelEvidence<'f>>) -> Vec<VerdictReason> {
    let Shown { items, further } =
        Room::for_texts(REASON_TEXTS).first(labels, LabelEvidence::text_bytes);
    let mut reasons: Vec<VerdictReason> = items.iter().map(LabelEvidence::reason).collect();
    if further > 0 {
        let message = format!("further labels: {further}");
        reasons.push(VerdictReason { code: "further_labels", message });
    }
    reasons
}

/// The service category of the address, attributed by an investigation or stronger evidence.
fn service<'c, 'f: 'c>(mut counted: impl Iterator<Item = &'c Candidate<'f>>) -> Option<Category> {
    let attributed = counted.find(|candidate| {
        candidate.label.category.info().service && candidate.tier.at_least(Tier::Investigation)
    });
    attributed.map(|candidate| candidate.label.category)
}

fn entity(candidate: &Candidate<'_>) -> Option<Entity> {
    let label = &candidate.label;
    let name = label.entity.clone()?;
    Some(Entity {
        id: format!("{}:{name}", label.source),
        name: name.to_string(),
        category: label.category,
        is_vasp: label.category.info().vasp,
        country: None,
    })
}

/// The own labels that an answer shows: those that count first, then in the order of their statuses.
fn views(candidates: &[Candidate<'_>]) -> Shown<AssessedLabel> {
    let own = || candidates.iter().filter(|it| it.inherited.is_none()).enumerate();
    let statuses: BTreeSet<LabelStatus> = own().map(|(_, candidate)| candidate.status).collect();
    let in_order = statuses.iter().flat_map(|status| own().filter(|(_, it)| it.status == *status));
    let mut room = Room::for_texts(LABEL_TEXTS);
    let mut shown: Vec<(usize, &Candidate<'_>)> =
        in_order.take_while(|(_, candidate)| room.take(text_bytes(candidate))).collect();
    shown.sort_unstable_by_key(|(place, _)| *place);
    let further = own().count().saturating_sub(shown.len());
    Shown {
        items: shown.into_iter().map(|(_, candidate)| view(candidate)).collect(),
        further: u64::try_from(further).unwrap_or(u64::MAX),
    }
}

fn text_bytes(candidate: &Candidate<'_>) -> usize {
    let label = candidate.label;
    let optional = [&label.entity, &label.author, &label.term, &label.reason, &label.reference];
    let texts = optional.into_iter().flatten().map(|text| text.len());
    label.upstream.len() + texts.sum::<usize>()
}

fn view(candidate: &Candidate<'_>) -> AssessedLabel {
    let label = candidate.label;
    AssessedLabel {
        category: label.category,
        entity: label.entity.clone(),
        tier: candidate.tier,
        confidence: label.confidence,
        source: label.source.clone(),
        upstream: label.upstream.clone(),
        author: label.author.clone(),
        term: label.term.clone(),
        reason: label.reason.clone(),
        reference: label.reference.clone(),
        valid_from: label.valid_from,
        valid_until: label.valid_until,
        status: candidate.status,
    }
}
