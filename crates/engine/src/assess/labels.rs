//! Evaluation of labels: decides which labels count, which contradict each other, and if the address is a service.

use std::collections::{BTreeMap, BTreeSet};

use assay_address::{CanonicalAddress, UnownedKind};
use jiff::civil::Date;

use super::{
    Claim, Term,
    cluster::{self, InheritedLabel},
    ended::rests_on_ended_listings,
    references::{address_reference, transaction_reference},
};
use crate::{
    assessment::{
        AssessedLabel, ComponentKind, Conflict, ConflictResolution, Entity, EvidenceKind,
        EvidenceReference, LabelStatus, ScoringComponent, VerdictReason,
    },
    evidence::{CarriedLabel, Label, Listing, ListingStatus, SourceState, Tier},
    facts::{Cluster, Facts},
    policy::Policy,
    score::Score,
    taxonomy::{Category, RISKY_FROM},
    trace::{AttributedEnd, Attribution},
};

#[derive(Default)]
pub(super) struct Findings {
    pub(super) views: Vec<AssessedLabel>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) terms: Vec<Term>,
    pub(super) reasons: Vec<VerdictReason>,
    /// Tiers whose cap is lowered below the block threshold because labels of equal strength conflict.
    pub(super) capped_tiers: BTreeSet<Tier>,
    /// The category that makes the address a service.
    pub(super) service: Option<Category>,
    pub(super) entity: Option<Entity>,
}

/// A label that is being evaluated.
struct Candidate {
    label: Label,
    /// The member of the co-spend cluster from which the label is inherited.
    inherited: Option<InheritanceOrigin>,
    status: LabelStatus,
    severity: u8,
}

/// Origin of an inherited label: the member that has the label, and the co-spends that connect the member with the
/// subject.
#[derive(Clone)]
struct InheritanceOrigin {
    address: CanonicalAddress,
    transactions: Vec<String>,
}

/// Assesses the labels of the subject, which has a kind if nobody controls it.
pub(super) fn assess(
    facts: &Facts,
    policy: &Policy,
    today: Date,
    unowned: Option<UnownedKind>,
) -> Findings {
    let known = LabelContext {
        listings: &facts.listings,
        labels: &facts.labels,
        cluster: facts.cluster.as_ref().filter(|_| unowned.is_none()),
        sources: &facts.sources,
        is_unowned: unowned.is_some(),
    };
    let ResolvedLabels { candidates, conflicts, capped_tiers } =
        resolve_labels(known, policy, today);
    let contradicted =
        conflicts.iter().any(|conflict| conflict.resolution != ConflictResolution::RiskyOverruled);

    let counted = || candidates.iter().filter(|candidate| candidate.status == LabelStatus::InForce);
    let service = if contradicted { None } else { service(counted()) };
    Findings {
        terms: counted().map(|candidate| term(candidate, policy)).collect(),
        reasons: counted()
            .filter(|candidate| candidate.severity >= RISKY_FROM)
            .map(reason)
            .collect(),
        entity: counted().min_by_key(|candidate| candidate.label.tier).and_then(entity),
        views: candidates
            .iter()
            .filter(|candidate| candidate.inherited.is_none())
            .map(view)
            .collect(),
        conflicts,
        capped_tiers,
        service,
    }
}

/// Labels and related data of one address.
#[derive(Clone, Copy)]
pub(super) struct LabelContext<'a> {
    pub(super) listings: &'a [Listing],
    pub(super) labels: &'a [Label],
    pub(super) cluster: Option<&'a Cluster>,
    pub(super) sources: &'a [SourceState],
    /// True if nobody controls the address, so that no label of it counts.
    pub(super) is_unowned: bool,
}

/// Labels with their status, the strongest claims first.
struct ResolvedLabels {
    candidates: Vec<Candidate>,
    conflicts: Vec<Conflict>,
    capped_tiers: BTreeSet<Tier>,
}

fn resolve_labels(known: LabelContext<'_>, policy: &Policy, today: Date) -> ResolvedLabels {
    let passed_on = known.cluster.map(|cluster| {
        let own = (known.labels, known.listings);
        cluster::inherit(cluster, own, known.sources, policy, today).labels
    });
    let inherited =
        passed_on.into_iter().flatten().map(|InheritedLabel { label, from, transactions }| {
            (label, Some(InheritanceOrigin { address: from, transactions }))
        });
    let is_contract = known.labels.iter().any(|label| {
        let is_sure = label.tier.at_least(Tier::Investigation) && label.in_force(today);
        is_sure && label.category.is_contract()
    });
    let mut candidates: Vec<Candidate> = known
        .labels
        .iter()
        .map(|label| (label.clone(), None))
        .chain(inherited)
        .map(|(mut label, inherited)| {
            // Issuers freeze what users sent to a contract by mistake: that is no proof against the contract.
            let is_others = is_contract && label.category == Category::IssuerFrozen;
            let strongest = if is_others { Tier::Investigation } else { Tier::OnChainProof };
            label.tier = label.tier.weaker(strongest);
            let status = own_status(&label, known, today);
            let severity = policy.severity(label.category);
            Candidate { label, inherited, status, severity }
        })
        .collect();
    candidates.sort_by(|a, b| {
        let standalone_risk = |candidate: &Candidate| {
            u16::from(candidate.severity) * u16::from(candidate.label.confidence.percent())
        };
        let key = |candidate: &Candidate| (candidate.label.tier, candidate.label.category);
        (a.status.cmp(&b.status))
            .then_with(|| standalone_risk(b).cmp(&standalone_risk(a)))
            .then_with(|| key(a).cmp(&key(b)))
            .then_with(|| a.label.source.cmp(&b.label.source))
            .then_with(|| a.label.upstream.cmp(&b.label.upstream))
            .then_with(|| a.label.entity.cmp(&b.label.entity))
            .then_with(|| {
                let from = |it: &Candidate| it.inherited.as_ref().map(|it| it.address.clone());
                from(a).cmp(&from(b))
            })
    });
    mark_repeated(&mut candidates);
    mark_uncategorized(&mut candidates);
    let (conflicts, capped_tiers) = resolve_conflicts(&mut candidates);
    ResolvedLabels { candidates, conflicts, capped_tiers }
}

/// Attribution of an address on a path by its labels: a trace ends at the address, or carries the labels on.
///
/// A trace ends at an address that an investigation or stronger evidence attributes to a service or to a risky
/// category. Community reports end no trace, however many agree: two anonymous reports about a thief's address would hide
/// the money behind it. Of several labels that end a trace the riskiest counts, so a riskier label never lowers a score.
/// Other risky labels are carried on.
pub(super) fn attribute(known: LabelContext<'_>, policy: &Policy, today: Date) -> Attribution {
    let settled = resolve_labels(known, policy, today);
    // In the order of their scores.
    let counted: Vec<&Candidate> = settled
        .candidates
        .iter()
        .filter(|candidate| candidate.status == LabelStatus::InForce)
        .collect();
    let is_risky = |candidate: &Candidate| candidate.severity >= RISKY_FROM;
    let surely = |candidate: &&&Candidate| {
        candidate.label.tier.at_least(Tier::Investigation)
            && (candidate.label.category.info().service || is_risky(candidate))
    };
    let end = counted.iter().find(surely);
    let carried = counted
        .iter()
        .filter(|candidate| is_risky(candidate))
        .filter(|candidate| end.is_none_or(|end| !std::ptr::eq(**candidate, *end)))
        .map(|candidate| CarriedLabel {
            tier: candidate.label.tier,
            category: candidate.label.category,
            confidence: candidate.label.confidence,
            severity: candidate.severity,
            entity: candidate.label.entity.clone(),
            coinjoin: None,
        });
    Attribution {
        carried: carried.collect(),
        end: end.map(|Candidate { label, .. }| AttributedEnd {
            category: label.category,
            entity: label.entity.clone(),
            tier: label.tier,
            confidence: label.confidence,
            listed: false,
            listed_by: None,
            listed_on: None,
        }),
        is_unowned: false,
    }
}

/// Status that a label has regardless of other labels.
fn own_status(label: &Label, known: LabelContext<'_>, today: Date) -> LabelStatus {
    if !label.in_force(today) {
        return LabelStatus::NotInForce;
    }
    if known.is_unowned {
        return LabelStatus::Unowned;
    }
    let on_its_own = if rests_on_ended_listings(label, known.listings.iter(), today) {
        LabelStatus::ListingEnded
    } else {
        LabelStatus::InForce
    };
    let Some(list) = &label.cites_list else {
        return on_its_own;
    };
    if !known.sources.iter().any(|source| source.lists.contains(list)) {
        // The list itself is not loaded, so that the claim counts by itself.
        return on_its_own;
    }
    let listed = known.listings.iter().any(|listing| {
        listing.entry.list == *list && listing.status(today) == ListingStatus::Active
    });
    if listed { LabelStatus::Duplicate } else { LabelStatus::ContradictedByList }
}

/// Marks labels that repeat a claim of an earlier label, which is at least as strong: repeated claims do not count. An
/// inherited label never replaces an own label.
fn mark_repeated(candidates: &mut [Candidate]) {
    let (mut own, mut all): (BTreeMap<_, Tier>, BTreeMap<_, Tier>) = Default::default();
    for candidate in candidates {
        if candidate.status != LabelStatus::InForce {
            continue;
        }
        let claim = (candidate.label.category, candidate.label.upstream.clone());
        let tier = candidate.label.tier;
        let known = if candidate.inherited.is_some() { &all } else { &own };
        if known.get(&claim).is_some_and(|known| known.at_least(tier)) {
            candidate.status = LabelStatus::Duplicate;
            continue;
        }
        if candidate.inherited.is_none() {
            own.insert(claim.clone(), tier);
        }
        let strongest = all.entry(claim).or_insert(tier);
        *strongest = (*strongest).min(tier);
    }
}

/// Marks labels that name an owner without a category, and beside which another label gives the same name and a
/// category: such a label adds nothing to a claim that is at least as strong and as risky, and nothing to a claim of its
/// own upstream whose listing has ended.
fn mark_uncategorized(candidates: &mut [Candidate]) {
    let risk = |candidate: &Candidate| {
        u16::from(candidate.severity) * u16::from(candidate.label.confidence.percent())
    };
    let name = |candidate: &Candidate| {
        candidate.label.entity.as_deref().map(|name| name.trim().to_lowercase())
    };
    let statuses: Vec<Option<LabelStatus>> = candidates
        .iter()
        .map(|unnamed| {
            let is_plain = |it: &Candidate| it.label.category == Category::Uncategorized;
            if unnamed.status != LabelStatus::InForce
                || unnamed.inherited.is_some()
                || !is_plain(unnamed)
            {
                return None;
            }
            let own_name = name(unnamed)?;
            let mut same = candidates.iter().filter(|other| {
                !is_plain(other)
                    && other.inherited.is_none()
                    && name(other).as_ref() == Some(&own_name)
            });
            same.find_map(|other| match other.status {
                LabelStatus::InForce
                    if other.label.tier.at_least(unnamed.label.tier)
                        && risk(other) >= risk(unnamed) =>
                {
                    Some(LabelStatus::Duplicate)
                }
                LabelStatus::ListingEnded | LabelStatus::ContradictedByList
                    if other.label.upstream == unnamed.label.upstream =>
                {
                    Some(other.status)
                }
                _ => None,
            })
        })
        .collect();
    for (candidate, status) in candidates.iter_mut().zip(statuses) {
        candidate.status = status.unwrap_or(candidate.status);
    }
}

/// Resolves conflicts between risky and benign labels: the stronger tier counts; of equal tiers the risky label counts,
/// but its tier cannot block. Only an own label of tier investigation or stronger overrules another: anyone could hide a
/// label by a free report. An inherited label overrules no other label.
fn resolve_conflicts(candidates: &mut [Candidate]) -> (Vec<Conflict>, BTreeSet<Tier>) {
    let strongest_benign = candidates
        .iter()
        .filter(|candidate| {
            candidate.status == LabelStatus::InForce
                && candidate.inherited.is_none()
                && candidate.severity < RISKY_FROM
        })
        .min_by_key(|candidate| candidate.label.tier)
        .map(|candidate| candidate.label.clone());
    let (mut conflicts, mut capped) = (Vec::new(), BTreeSet::new());
    let Some(benign) = strongest_benign else {
        return (conflicts, capped);
    };
    let is_sure = benign.tier.at_least(Tier::Investigation);
    let risky = candidates.iter_mut().filter(|candidate| {
        candidate.status == LabelStatus::InForce
            && candidate.severity >= RISKY_FROM
            && (is_sure || candidate.inherited.is_none() && candidate.label.tier <= benign.tier)
    });
    for candidate in risky {
        let resolution = match candidate.label.tier.cmp(&benign.tier) {
            std::cmp::Ordering::Less => ConflictResolution::RiskyCounts,
            std::cmp::Ordering::Equal => {
                capped.insert(candidate.label.tier);
                ConflictResolution::RiskyCountsWithoutBlock
            }
            std::cmp::Ordering::Greater => {
                candidate.status = LabelStatus::Overruled;
                ConflictResolution::RiskyOverruled
            }
        };
        conflicts.push(Conflict {
            risky_category: candidate.label.category,
            risky_source: candidate.label.source.clone(),
            benign_category: benign.category,
            benign_source: benign.source.clone(),
            resolution,
        });
    }
    (conflicts, capped)
}

/// The service category of the address, attributed by an investigation or stronger evidence.
fn service<'a>(mut counted: impl Iterator<Item = &'a Candidate>) -> Option<Category> {
    let attributed = counted.find(|Candidate { label, .. }| {
        label.category.info().service && label.tier.at_least(Tier::Investigation)
    });
    attributed.map(|candidate| candidate.label.category)
}

fn term(candidate: &Candidate, policy: &Policy) -> Term {
    let Candidate { label, inherited, severity, .. } = candidate;
    let standalone_risk = policy.risk(*severity, label.confidence);
    let name = label.entity.as_deref().unwrap_or("name not known");
    // Benign claims of several parties agree, and do not add up to a risk.
    let claim = if *severity >= RISKY_FROM {
        Claim::Of(label.upstream.clone())
    } else {
        Claim::Benign(label.category)
    };
    let mut evidence = vec![reference(label)];
    let (kind, detail) = match inherited {
        Some(InheritanceOrigin { address, transactions }) => {
            evidence.push(address_reference(address));
            evidence.extend(transactions.iter().map(|txid| transaction_reference(txid)));
            let detail = format!(
                "same owner as {address}, as co-spends show; that address is labelled {}: {name}",
                label.category
            );
            (ComponentKind::Association, detail)
        }
        None => (ComponentKind::Ownership, format!("labelled {}: {name}", label.category)),
    };
    Term {
        rank: label.tier.into(),
        standalone_risk,
        claim: Some(claim),
        component: ScoringComponent {
            kind,
            standalone_score: Score::from_fraction(standalone_risk),
            detail,
            category: Some(label.category),
            entity: label.entity.as_deref().map(str::to_owned),
            tier: Some(label.tier),
            severity: Some(*severity),
            confidence: Some(label.confidence),
            source: Some(label.source.clone()),
            evidence,
            ..ScoringComponent::default()
        },
    }
}

/// A reference to the label that makes a claim.
pub(super) fn reference(label: &Label) -> EvidenceReference {
    EvidenceReference {
        kind: EvidenceKind::Label,
        reference: format!("{} ({})", label.source, label.upstream),
    }
}

fn reason(candidate: &Candidate) -> VerdictReason {
    let Label { category, entity, source, .. } = &candidate.label;
    let name = entity.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let labelled = format!("labelled {category}{name} by {source}");
    match &candidate.inherited {
        Some(InheritanceOrigin { address, .. }) => VerdictReason {
            code: "cluster_labeled",
            message: format!("same owner as {address}, as co-spends show; it is {labelled}"),
        },
        None => VerdictReason { code: "labeled", message: labelled },
    }
}

fn entity(candidate: &Candidate) -> Option<Entity> {
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

fn view(candidate: &Candidate) -> AssessedLabel {
    let label = candidate.label.clone();
    AssessedLabel {
        category: label.category,
        entity: label.entity,
        tier: label.tier,
        confidence: label.confidence,
        source: label.source,
        upstream: label.upstream,
        author: label.author,
        term: label.term,
        reason: label.reason,
        reference: label.reference,
        valid_from: label.valid_from,
        valid_until: label.valid_until,
        status: candidate.status,
    }
}
