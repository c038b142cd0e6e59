//! The assessment of facts. `docs/model` defines the model; the modules implement it step by step.

mod accounts;
mod association;
mod attribution;
mod behavior;
mod bounds;
mod bridged;
mod claims;
mod cluster;
mod combine;
mod contracts;
mod contributions;
mod coverage;
mod decisive;
mod ended;
mod flows;
mod histories;
mod labels;
mod listings;
mod planned;
mod rank;
mod ranked;
mod references;
mod sentence;
mod transfer;
mod usd;
mod verdict;

use std::collections::BTreeSet;

use assay_address::{CanonicalAddress, UnownedKind};
pub use attribution::{attribute, carried_freeze};
use claims::{Claim, Upstreams};
pub use coverage::{assess_never_fetched, assess_sources, assess_tip};
pub use flows::{rules, united_parts};
use histories::Unread;
pub use histories::{histories_suffice, is_decided_by_lists};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use labels::LabelEvidence;
pub use planned::assess_planned;
use rank::Rank;
pub use transfer::assess_transfer;

use crate::{
    assessment::{
        Activity, ActivityCounts, ActivityStatus, Amount, Assessment, Conflict, ConflictResolution,
        Coverage, CoverageStatus, EvidenceReference, FurtherItems, ScoringComponent, VerdictReason,
        Warning,
    },
    evidence::{AccountLimits, ActivityFacts, AssetActivity, ChainState, Direction, Tier},
    facts::Facts,
    fixed::Fraction,
    policy::{FixedRule, Policy, RuleVerdict},
    score::Score,
    taxonomy::{Category, RISKY_FROM},
};

/// Version of the risk model that this crate implements. The version changes whenever the same facts and policy could
/// give another assessment.
pub const MODEL_VERSION: &str = "2.6";

/// Assesses one address by the facts about it.
///
/// The function is pure: the same arguments give the same assessment on every machine. The time decides only staleness,
/// expiry and the last 90 days.
#[must_use]
pub fn assess(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    now: Timestamp,
) -> Assessment {
    assess_with(subject, facts, policy, now, OtherFunds::default())
}

/// Findings about other funds than those of the address.
#[derive(Default)]
struct OtherFunds {
    /// Rules that fire on them.
    rules: Vec<MinimumScore>,
    /// Data without which a rule cannot be evaluated on them.
    missing: Option<verdict::MissingData>,
}

/// Assesses one address, with findings about other funds than those of the address.
fn assess_with(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    now: Timestamp,
    other_funds: OtherFunds,
) -> Assessment {
    let (today, unowned) = (facts.day(now), subject.unowned_kind());
    let mut listings = listings::assess(subject, facts, policy, today);
    let mut upstreams = Upstreams::of(&facts.labels);
    let labels = labels::assess(facts, &mut upstreams, policy, today, unowned);
    let association = if unowned.is_none() {
        association::assess(facts, &mut upstreams, policy, today, labels.service.is_some())
    } else {
        listings.decide_nothing();
        association::Findings::default()
    };
    let ordered = flows::OrderedFlows::of(&facts.chain, policy);
    let flows = flows::Flows::new(&ordered, policy);
    let searched = coverage::assess(subject, facts, policy, now);

    // An address that moves other people's money is assessed by its own category, not by its
    // payers. An address that nobody controls is not assessed by those who pay it.
    let is_service = labels.service.is_some() || unowned.is_some();
    let behavior = behavior::assess(subject.chain(), facts, policy, is_service);
    let mut warnings = listings.warnings;
    warnings.extend(association.warnings);
    warnings.extend(flows.warnings(labels.service.is_some()));
    warnings.extend(about_the_address(facts, unowned, is_service));
    let mut minimum_scores = listings.minimum_scores;
    minimum_scores.extend(association.minimum_scores);
    minimum_scores.extend(other_funds.rules);
    let mut terms: Vec<Term<'_>> = listings.terms;
    terms.extend(labels.terms);
    terms.extend(association.terms);
    let mut categories: BTreeSet<Category> = terms.iter().filter_map(Term::category).collect();
    let mut shown = Vec::new();
    if is_service {
        shown.extend(flows.components());
    } else {
        minimum_scores.extend(flows.minimum_scores(policy));
        minimum_scores.extend(flows.severe_held(policy));
        minimum_scores.extend(accounts::minimum_scores(facts, policy));
    }
    let none = flows::Flows::default();
    let counted_flows = if is_service { &none } else { &flows };

    let combined = combine::combine(
        terms,
        behavior.terms,
        counted_flows,
        policy,
        &labels.conflicts.capped_tiers,
    );
    let mut missing: Vec<_> = searched.missing.into_iter().chain(other_funds.missing).collect();
    // Flows of a service belong to its customers.
    let mut remarks = Vec::new();
    if !is_service {
        let about = (subject, facts, policy, now);
        add_flow_limits(&flows, about, (&mut missing, &mut remarks));
    }
    let outcome = verdict::decide(combined, shown, minimum_scores, &missing, policy);
    categories.extend(&outcome.categories);

    let mut reasons = listings.reasons;
    reasons.extend(association.reasons.into_iter().chain(labels.reasons).chain(outcome.reasons));
    if reasons.is_empty() {
        let minor = minor_findings(&outcome.components, &labels.conflicts.shown);
        let code = if minor.is_empty() { "no_findings" } else { "minor_findings" };
        let message = no_findings(&minor, &searched.coverage, &remarks);
        reasons.push(VerdictReason { code, message });
    }
    reasons.extend(remarks);
    let transaction_patterns = behavior::with_contributions(behavior.views, &outcome.components);

    let mut assessment = Assessment {
        blockchain: subject.chain(),
        address: subject.as_str().to_owned(),
        transfer: None,
        risk_score: outcome.score,
        risk_level: outcome.level,
        verdict: outcome.verdict,
        complete: missing.is_empty() && !reasons.iter().any(histories::is_partly_read),
        reasons,
        entity: listings.entity.or(labels.entity),
        further: FurtherItems {
            labels: labels.views.further,
            conflicts: labels.conflicts.further,
            sanctions: listings.views.further,
        }
        .unless_none(),
        labels: labels.views.items,
        conflicts: labels.conflicts.shown,
        sanctions: listings.views.items,
        scoring_components: outcome.components,
        decisive: outcome.decisive,
        exposure: flows.exposure(is_service),
        contracts: contracts::shown(facts, subject.chain()),
        associated_wallets: association.wallets,
        transaction_patterns,
        activity: activity(&facts.chain),
        warnings,
        coverage: searched.coverage,
        sources: searched.sources,
        scope: searched.scope,
        environment: facts.environment,
        data_revision: facts.data_revision.clone(),
        model_version: MODEL_VERSION.to_owned(),
        policy_revision: policy.revision().to_string(),
        valid_until: valid_until(facts, today, searched.holds_until),
        categories,
    };
    usd::fill(&mut assessment, &facts.prices, today);
    assessment
}

/// Adds the reasons against an `allow`, and the remarks, that the limits of the flows give.
fn add_flow_limits(
    flows: &flows::Flows<'_>,
    (subject, facts, policy, now): (&CanonicalAddress, &Facts, &Policy, Timestamp),
    (missing, remarks): (&mut Vec<verdict::MissingData>, &mut Vec<VerdictReason>),
) {
    let limits = accounts::limits(facts);
    remarks.extend(flows.mostly_untraced());
    let read = histories::of(facts);
    if read.is_none() {
        remarks.extend(flows.trace_limits());
    }
    remarks.extend(limits.map(AccountLimits::remarks).unwrap_or_default());
    missing.extend(flows.untraced(policy));
    missing.extend(flows.unread_beyond(policy));
    missing.extend(flows.conversions());
    missing.extend(limits.and_then(AccountLimits::missing));
    match read.and_then(|read| histories::unread(subject, facts, policy, (read, now))) {
        Some(Unread::Little(reason)) => remarks.push(reason),
        Some(Unread::Much(much)) => missing.push(much),
        None => {}
    }
}

/// Findings that are no reason for the verdict: risky funds and patterns with little or no weight, and labels that
/// stronger evidence contradicts.
fn minor_findings(components: &[ScoringComponent], conflicts: &[Conflict]) -> Vec<String> {
    let is_risky = |component: &&ScoringComponent| {
        component.severity.is_some_and(|severity| severity >= RISKY_FROM)
    };
    let found = components.iter().filter(is_risky).map(|component| component.detail.clone());
    let overruled = conflicts
        .iter()
        .filter(|conflict| conflict.resolution == ConflictResolution::RiskyOverruled)
        .map(|conflict| {
            let Conflict { risky_category, risky_source, benign_source, .. } = conflict;
            format!("labelled {risky_category} by {risky_source}, contradicted by {benign_source}")
        });
    first_few(found.chain(overruled))
}

/// Number of parties or findings that a sentence names.
const MOST_NAMED: usize = 3;

/// The first distinct items, followed by the number of further items.
fn first_few(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut few: Vec<String> = Vec::new();
    for one in all {
        if !few.contains(&one) {
            few.push(one);
        }
    }
    let more = few.len().saturating_sub(MOST_NAMED);
    few.truncate(MOST_NAMED);
    if more > 0 {
        few.push(format!("{more} more"));
    }
    few
}

/// The message for an answer with no findings, or minor ones only. The message names the minor findings, the sources
/// that were not checked, and the remarks on untraced funds.
fn no_findings(minor: &[String], coverage: &Coverage, remarks: &[VerdictReason]) -> String {
    let Coverage { sanctions, labels, association, exposure, behavior } = coverage;
    let unchecked: Vec<&str> = [
        (sanctions, "sanctions lists"),
        (labels, "labels"),
        (association, "associated addresses"),
        (exposure, "flows of funds"),
        (behavior, "behavior patterns"),
    ]
    .into_iter()
    .filter(|(block, _)| {
        matches!(block.status, CoverageStatus::NotAssessed | CoverageStatus::Unavailable)
    })
    .map(|(_, name)| name)
    .collect();
    let mut message = if minor.is_empty() {
        "no adverse findings in the sources checked".to_owned()
    } else {
        format!("no findings that lead to a review; found: {}", minor.join("; "))
    };
    if !unchecked.is_empty() {
        message.push_str("; not checked: ");
        message.push_str(&unchecked.join(", "));
    }
    for remark in remarks {
        message.push_str("; ");
        message.push_str(&remark.message);
    }
    message
}

/// A piece of evidence other than flows of money.
#[derive(Debug)]
struct Term<'f> {
    rank: Rank,
    /// Standalone score.
    standalone_risk: Fraction,
    /// The claim, if several pieces of evidence may state the same claim: such pieces count once, with the highest of
    /// the scores that count.
    claim: Option<Claim>,
    evidence: TermEvidence<'f>,
}

/// The evidence of a term.
#[derive(Debug)]
enum TermEvidence<'f> {
    /// A label: its component is written only if it is shown.
    Label(LabelEvidence<'f>),
    /// Other evidence, with its component.
    Component(Box<ScoringComponent>),
}

impl From<ScoringComponent> for TermEvidence<'_> {
    fn from(component: ScoringComponent) -> Self {
        Self::Component(Box::new(component))
    }
}

/// The properties of a term that the score depends on.
#[derive(Clone, Copy, Debug)]
struct Strength {
    rank: Rank,
    standalone_risk: Fraction,
    claim: Option<Claim>,
}

impl Term<'_> {
    const fn strength(&self) -> Strength {
        let Self { rank, standalone_risk, claim, .. } = self;
        Strength { rank: *rank, standalone_risk: *standalone_risk, claim: *claim }
    }

    fn into_component(self) -> ScoringComponent {
        match self.evidence {
            TermEvidence::Label(label) => label.component(self.standalone_risk),
            TermEvidence::Component(component) => *component,
        }
    }

    fn category(&self) -> Option<Category> {
        match &self.evidence {
            TermEvidence::Label(label) => Some(label.label.category),
            TermEvidence::Component(component) => component.category,
        }
    }
}

/// A minimum score rule that fired.
#[derive(Clone, Debug)]
struct MinimumScore {
    /// Identifier of the rule.
    rule: String,
    /// The score to which the rule raises a lower score.
    score: Score,
    reason: VerdictReason,
    /// Strength of the evidence, if the rule names it.
    tier: Option<Tier>,
    /// The measured funds, if the rule measures funds.
    measured: Option<MeasuredFunds>,
    evidence: Vec<EvidenceReference>,
}

impl MinimumScore {
    /// A rule that every policy has: such a rule raises the score to the review threshold.
    fn fixed(
        rule: FixedRule,
        message: String,
        evidence: Vec<EvidenceReference>,
        policy: &Policy,
    ) -> Self {
        Self {
            rule: rule.id.to_owned(),
            score: policy.minimum_score(RuleVerdict::Review, false),
            reason: VerdictReason { code: rule.id, message },
            tier: None,
            measured: None,
            evidence,
        }
    }
}

/// The funds that a rule measured.
#[derive(Clone, Debug)]
struct MeasuredFunds {
    direction: Direction,
    share: String,
    amount: Amount,
}

/// Warning about listed or labelled addresses that look like the subject: they share the first and last characters that
/// wallets show.
fn look_alike(facts: &Facts) -> Option<Warning> {
    let first = facts.look_alikes.first()?;
    if !facts.listings.is_empty() || !facts.labels.is_empty() {
        return None;
    }
    let others = match facts.look_alikes.len() {
        1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    Some(Warning {
        code: "look_alike",
        message: format!(
            "shares its first {} and last {} characters with {}{others} ({}): poisoning imitates \
             addresses so; compare every character",
            first.first, first.last, first.address, first.what
        ),
    })
}

/// Warnings about the address itself, which has a kind if nobody controls it, and about its chain.
fn about_the_address(facts: &Facts, unowned: Option<UnownedKind>, is_service: bool) -> Warnings {
    let about = match unowned {
        Some(kind) => Some(nobody_controls(kind)),
        None => look_alike(facts),
    };
    let of_account = accounts::limits(facts).into_iter().flat_map(AccountLimits::warnings);
    let of_account = of_account.chain(contracts::warning(facts, is_service));
    about.into_iter().chain(differing_branches(facts)).chain(of_account).collect()
}

/// Warning that nobody controls the address.
fn nobody_controls(kind: UnownedKind) -> Warning {
    Warning {
        code: "unowned_address",
        message: format!(
            "nobody controls this address: it is {}; its labels and listings are shown, and decide \
             nothing",
            kind.in_words()
        ),
    }
}

/// Warning that the chain's servers have different blocks.
fn differing_branches(facts: &Facts) -> Option<Warning> {
    let differing = facts.differing_branches?;
    let above = match differing.last_common {
        Some(height) => format!(" above block {height}"),
        None => String::new(),
    };
    let used = match (&facts.chain, differing.is_decided) {
        (ChainState::Followed(_), true) => "the answer rests on those of the majority",
        _ => "no branch has a majority, so that none is relied on",
    };
    let message = format!("chain servers have different blocks{above}: {used}");
    Some(Warning { code: "chain_branches_differ", message })
}

/// Warnings of an assessment.
type Warnings = Vec<Warning>;

fn activity(chain: &ChainState) -> Activity {
    let (status, facts) = match chain {
        ChainState::Followed(facts) if facts.activity.is_some() => {
            (ActivityStatus::Seen, facts.activity.as_ref())
        }
        // An incomplete history does not show if the address was ever seen.
        ChainState::Followed(facts) if !facts.flows.complete => (ActivityStatus::NotAssessed, None),
        ChainState::Followed(_) => (ActivityStatus::None, None),
        ChainState::NotFollowed | ChainState::Unavailable(_) => (ActivityStatus::NotAssessed, None),
    };
    Activity {
        status,
        first_seen: facts.map(|facts| facts.first_seen),
        last_seen: facts.map(|facts| facts.last_seen),
        counts: facts.map(|facts| ActivityCounts {
            transfers_in: facts.transfers_in,
            transfers_out: facts.transfers_out,
        }),
        r#in: amounts(facts, |asset| asset.received),
        out: amounts(facts, |asset| asset.sent),
        balance: amounts(facts, |asset| asset.balance),
    }
}

fn amounts(facts: Option<&ActivityFacts>, of: impl Fn(&AssetActivity) -> u128) -> Vec<Amount> {
    let assets = facts.into_iter().flat_map(|facts| &facts.amounts);
    assets
        .map(|asset| Amount {
            value: of(asset).to_string(),
            asset: asset.asset.clone(),
            usd: None,
            price_day: None,
        })
        .collect()
}

/// The first moment at which the assessment would change although no data changes.
fn valid_until(facts: &Facts, today: Date, sources: Option<Timestamp>) -> Option<Timestamp> {
    let members = || facts.cluster.iter().flat_map(|cluster| &cluster.members);
    let counterparties = || facts.counterparties.strongest.iter();
    let possible_owners = || facts.possible_owners.iter();
    let listings = facts
        .listings
        .iter()
        .chain(facts.same_key.iter().flat_map(|other| &other.listings))
        .chain(members().flat_map(|member| &member.listings))
        .chain(possible_owners().flat_map(|other| &other.listings))
        .chain(counterparties().flat_map(|other| &other.listings));
    let labels = facts
        .labels
        .iter()
        .chain(facts.same_key.iter().flat_map(|other| &other.labels))
        .chain(members().flat_map(|member| &member.labels))
        .chain(possible_owners().flat_map(|other| &other.labels))
        .chain(counterparties().flat_map(|other| &other.labels));
    let label_days = labels.flat_map(|label| [label.valid_from, label.valid_until]).flatten();
    let tomorrow = match facts.chain {
        ChainState::Followed(_) => today.tomorrow().ok(),
        ChainState::NotFollowed | ChainState::Unavailable(_) => None,
    };
    let turn = listings
        .flat_map(|listing| listing.turning_days(today))
        .chain(label_days.filter(|day| *day > today))
        .chain(tomorrow)
        .min()
        .and_then(|day| day.to_zoned(TimeZone::UTC).ok())
        .map(|midnight| midnight.timestamp());
    [turn, sources].into_iter().flatten().min()
}
