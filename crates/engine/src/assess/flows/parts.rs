//! What each part of a flow is worth by itself, and which parts count.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use crate::{
    evidence::{Direction, FlowEnd, FlowPart, Ledger, Tier},
    fixed::{Fraction, Power, apportion},
    policy::{AmountCurve, Policy, UNRESOLVED_SEVERITY},
    score::Confidence,
    taxonomy::Category,
};

/// Shares are shown in millionths.
pub(super) const SHARE_WHOLE: u64 = 1_000_000;

/// The flows of one ledger in one direction.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// The ledger's place among the subject's ledgers.
    pub(super) ledger: usize,
    pub(super) direction: Direction,
    /// What amounts count.
    pub(super) unit: String,
    pub(super) decimals: u8,
    /// What amounts of the unit mean, where policy says so.
    pub(super) curve: Option<AmountCurve>,
    pub(super) parts: Vec<Part>,
}

/// A part with its risk.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) flow: FlowPart,
    /// In millionths of its direction's whole; all shares sum exactly to the whole.
    pub(super) share: u64,
    pub(super) severity: u8,
    /// `severity x confidence x decay`, to the power 2.5.
    pub(super) power: Power,
    /// `false` for unasked-for money that policy lets pass.
    pub(super) counted: bool,
}

impl Way {
    pub(super) fn judge(
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
        let let_pass = unasked_below(ceiling, &flows);
        let parts = flows.into_iter().zip(shares).map(|(flow, share)| {
            let severity = severity(flow.end, policy);
            let risk: Fraction = policy.risk(severity, flow.confidence, flow.hops);
            let counted = flow.solicited || !let_pass.contains(&flow.end.category());
            Part { flow, share, severity, power: risk.power_2_5(), counted }
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

/// All parts in one order, whatever order they came in; what is unresolved for the same reason is one
/// part, at one hop and of the weakest tier.
fn in_order(parts: &[FlowPart]) -> Vec<FlowPart> {
    let mut ordered: Vec<FlowPart> = Vec::new();
    let mut unresolved: BTreeMap<FlowEnd, FlowPart> = BTreeMap::new();
    for part in parts {
        if !matches!(part.end, FlowEnd::Unresolved(_)) {
            ordered.push(part.clone());
            continue;
        }
        match unresolved.entry(part.end) {
            Entry::Vacant(entry) => {
                entry.insert(FlowPart {
                    end: part.end,
                    entity: None,
                    hops: 1,
                    tier: Tier::Behaviour,
                    confidence: Confidence::CERTAIN,
                    amount: part.amount,
                    recent: part.recent,
                    listed: false,
                    solicited: true,
                    transactions: vec![],
                });
            }
            Entry::Occupied(mut entry) => {
                let sum = entry.get_mut();
                sum.amount = sum.amount.saturating_add(part.amount);
                sum.recent = sum.recent.saturating_add(part.recent);
            }
        }
    }
    ordered.sort_by(|a, b| {
        b.amount
            .cmp(&a.amount)
            .then_with(|| (a.end, a.hops, &a.entity).cmp(&(b.end, b.hops, &b.entity)))
            .then_with(|| (a.tier, b.confidence, b.recent).cmp(&(b.tier, a.confidence, a.recent)))
            .then_with(|| (b.listed, b.solicited).cmp(&(a.listed, a.solicited)))
            .then_with(|| a.transactions.cmp(&b.transactions))
    });
    ordered.extend(unresolved.into_values());
    ordered
}

/// The categories whose unasked-for money is, in sum, no more than `ceiling`.
fn unasked_below(ceiling: u128, parts: &[FlowPart]) -> BTreeSet<Option<Category>> {
    let mut sums: BTreeMap<Option<Category>, u128> = BTreeMap::new();
    for part in parts.iter().filter(|part| !part.solicited) {
        let sum = sums.entry(part.end.category()).or_default();
        *sum = sum.saturating_add(part.amount);
    }
    sums.into_iter().filter(|(_, sum)| *sum <= ceiling).map(|(category, _)| category).collect()
}
