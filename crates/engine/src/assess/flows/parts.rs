//! The score of each part of a flow by itself, and the choice of parts that count.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    evidence::{Direction, FlowEnd, FlowPart, Ledger, Tier},
    fixed::{Fraction, Power, apportion},
    policy::{AmountCurve, Policy, UNRESOLVED_SEVERITY},
    score::Confidence,
    taxonomy::Category,
    trace::attribution::CarriedLabel,
};

/// Shares are shown in millionths.
pub(super) const SHARE_WHOLE: u64 = 1_000_000;

/// The flows of one ledger in one direction.
#[derive(Clone, Debug)]
pub(super) struct DirectionalFlows {
    /// The ledger's place among the subject's ledgers.
    pub(super) ledger: usize,
    pub(super) direction: Direction,
    /// Unit of the amounts.
    pub(super) unit: String,
    pub(super) decimals: u8,
    /// Significance of amounts of the unit, if the policy defines it.
    pub(super) curve: Option<AmountCurve>,
    pub(super) parts: Vec<Part>,
}

/// A part with its risk.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) flow: FlowPart,
    /// In millionths of its direction's whole; all shares sum exactly to the whole.
    pub(super) share: u64,
    /// Claims by which it can be assessed: its endpoint first, then the labels on its path.
    pub(super) claims: Vec<PartClaim>,
    /// `false` for unsolicited money within the policy's limit.
    pub(super) counted: bool,
}

/// One thing that a part can be assessed as.
#[derive(Clone, Debug)]
pub(super) struct PartClaim {
    pub(super) category: Option<Category>,
    pub(super) entity: Option<String>,
    pub(super) tier: Tier,
    pub(super) confidence: Confidence,
    pub(super) hops: u8,
    pub(super) severity: u8,
    /// `severity x confidence x decay`, to the power 2.5.
    pub(super) power: Power,
}

impl Part {
    fn assess(flow: FlowPart, share: u64, counted: bool, policy: &Policy) -> Self {
        let standalone_risk = |severity, confidence, hops| {
            let risk: Fraction = policy.risk(severity, confidence, hops);
            risk.power_2_5()
        };
        let severity = severity(flow.end, policy);
        let end = PartClaim {
            category: flow.end.category(),
            entity: flow.entity.clone(),
            tier: flow.tier,
            confidence: flow.confidence,
            hops: flow.hops.max(1),
            severity,
            power: standalone_risk(severity, flow.confidence, flow.hops),
        };
        let carried = flow.carried.iter().map(|label| {
            let severity = policy.severity(label.category);
            PartClaim {
                category: Some(label.category),
                entity: label.entity.as_deref().map(str::to_owned),
                tier: label.tier,
                confidence: label.confidence,
                hops: label.hops.max(1),
                severity,
                power: standalone_risk(severity, label.confidence, label.hops),
            }
        });
        let claims = std::iter::once(end).chain(carried).collect();
        Self { flow, share, claims, counted }
    }

    /// True if it can carry risk at all.
    pub(super) fn is_risk(&self) -> bool {
        self.claims.iter().any(|claim| claim.severity > 0)
    }

    /// The claim that counts, among those that `takes` accepts: the one with the highest score, and
    /// between equals the endpoint itself, or the stronger tier.
    pub(super) fn strongest(&self, takes: impl Fn(&PartClaim) -> bool) -> Option<&PartClaim> {
        let accepted = self.claims.iter().filter(|claim| takes(claim));
        accepted.reduce(|best, claim| if claim.power > best.power { claim } else { best })
    }
}

impl DirectionalFlows {
    pub(super) fn assess(
        index: usize,
        ledger: &Ledger,
        direction: Direction,
        policy: &Policy,
    ) -> Self {
        let curve = policy.amounts(&ledger.unit).cloned();
        let flows = in_order(&ledger.direction(direction).parts);
        let amounts: Vec<u128> = flows.iter().map(|flow| flow.amount).collect();
        let shares = apportion(SHARE_WHOLE, &amounts);
        let ceiling = curve.as_ref().map_or(0, |curve| curve.unsolicited_ceiling(ledger.decimals));
        let not_scored = unsolicited_within(ceiling, &flows);
        let parts = flows.into_iter().zip(shares).map(|(flow, share)| {
            let counted = flow.solicited || !not_scored.contains(&flow.end.category());
            Part::assess(flow, share, counted, policy)
        });
        Self {
            ledger: index,
            direction,
            unit: ledger.unit.clone(),
            decimals: ledger.decimals,
            parts: parts.collect(),
            curve,
        }
    }
}

fn severity(end: FlowEnd, policy: &Policy) -> u8 {
    match (end, end.category()) {
        (FlowEnd::Unresolved(_), _) => UNRESOLVED_SEVERITY,
        (_, Some(category)) => policy.severity(category),
        (_, None) => 0,
    }
}

/// All parts in one order that does not depend on the order of the input; unresolved parts with the
/// same reason are one part, at one hop and of the weakest tier, separated by carried labels and by
/// solicitation.
fn in_order(parts: &[FlowPart]) -> Vec<FlowPart> {
    let mut ordered: Vec<FlowPart> = Vec::new();
    let mut unresolved: BTreeMap<(FlowEnd, bool, &[CarriedLabel]), FlowPart> = BTreeMap::new();
    for part in parts {
        if !matches!(part.end, FlowEnd::Unresolved(_)) {
            ordered.push(part.clone());
            continue;
        }
        let sum =
            unresolved.entry((part.end, part.solicited, &part.carried)).or_insert_with(|| {
                FlowPart {
                    solicited: part.solicited,
                    carried: part.carried.clone(),
                    ..FlowPart::plain(part.end, 0)
                }
            });
        sum.amount = sum.amount.saturating_add(part.amount);
        sum.recent = sum.recent.saturating_add(part.recent);
        sum.paths.extend(part.paths.iter().cloned());
    }
    ordered.sort_by(|a, b| {
        b.amount
            .cmp(&a.amount)
            .then_with(|| (a.end, a.hops, &a.entity).cmp(&(b.end, b.hops, &b.entity)))
            .then_with(|| (a.tier, b.confidence, b.recent).cmp(&(b.tier, a.confidence, a.recent)))
            .then_with(|| (b.listed, b.solicited).cmp(&(a.listed, a.solicited)))
            .then_with(|| a.carried.cmp(&b.carried))
            .then_with(|| a.transactions.cmp(&b.transactions))
    });
    ordered.extend(unresolved.into_values());
    ordered
}

/// The categories whose unsolicited money is, in sum, no more than `ceiling`.
fn unsolicited_within(ceiling: u128, parts: &[FlowPart]) -> BTreeSet<Option<Category>> {
    let mut sums: BTreeMap<Option<Category>, u128> = BTreeMap::new();
    for part in parts.iter().filter(|part| !part.solicited) {
        let sum = sums.entry(part.end.category()).or_default();
        *sum = sum.saturating_add(part.amount);
    }
    sums.into_iter().filter(|(_, sum)| *sum <= ceiling).map(|(category, _)| category).collect()
}
