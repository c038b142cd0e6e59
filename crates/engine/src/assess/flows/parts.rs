//! The standalone score of each part of a flow, and the selection of the parts that count for the score.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use ruint::aliases::U256;

use super::{
    basis::{Basis, Decay},
    ordered::OrderedParts,
};
use crate::{
    evidence::{
        CarriedLabel, CarriedPart, Direction, FlowDistance, FlowEnd, FlowPart, LabelDistance,
        Ledger, ListingPeriod, Solicitation, Tier,
    },
    fixed::{Power, apportion},
    ledger::{Mass, mass::share},
    policy::{AmountCurve, Policy, Role, UNRESOLVED_SEVERITY},
    score::Confidence,
    taxonomy::{Category, RISKY_FROM},
    utxo::coinjoin::CoinjoinKind,
};

/// A share of 100 %: answers show shares in millionths.
pub(in super::super) const SHARE_WHOLE: u64 = 1_000_000;

/// The flows of one ledger in one direction.
#[derive(Clone, Debug)]
pub(super) struct DirectionalFlows<'f> {
    /// Index of the ledger among the subject's ledgers.
    pub(super) ledger: usize,
    pub(super) direction: Direction,
    /// Unit of the amounts.
    pub(super) unit: &'f str,
    pub(super) decimals: u8,
    /// The ledger, for amounts in base units.
    pub(super) of_ledger: &'f Ledger,
    /// Significance of amounts of the unit, if the policy defines that significance.
    pub(super) curve: Option<&'f AmountCurve>,
    pub(super) parts: Vec<Part<'f>>,
    /// Number of transactions that the trace passed, besides the subject's own.
    pub(super) transactions: u32,
    /// Total of all funds that the subject received, without returned ones, in base units.
    pub(super) received: u128,
    is_of_accounts: bool,
}

/// A flow part with the part's risk.
#[derive(Clone, Debug)]
pub(super) struct Part<'f> {
    pub(super) flow: &'f FlowPart,
    /// Share of all funds of the direction, in millionths; all shares sum exactly to one.
    pub(super) share: u64,
    /// Claims by which the flow part can be assessed: the endpoint's first, then those of labels on the path. For
    /// returned funds, only claims that count for returned funds.
    pub(super) claims: Vec<PartClaim<'f>>,
    /// `false` for dust that is small in sum or not risky, and for unsolicited funds that the policy exempts.
    pub(super) counted: bool,
}

/// A claim by which a flow part can be assessed: an endpoint or a label on the path.
#[derive(Clone, Debug)]
pub(super) struct PartClaim<'f> {
    pub(super) category: Option<Category>,
    pub(super) entity: Option<&'f str>,
    pub(super) tier: Tier,
    pub(super) confidence: Confidence,
    /// The kind of joint transaction; `None` if the claim has another source.
    pub(super) coinjoin: Option<CoinjoinKind>,
    pub(super) distance: FlowDistance,
    pub(super) severity: u8,
    /// `severity x confidence`, to the power 2.5.
    pub(super) power: Power,
    /// The flow part's funds, decayed by the hops up to the party of the claim.
    pub(super) decayed: Mass,
    /// True if the claim is risky and nothing shows that the subject asked for the funds: such a claim leads to a review
    /// at most and is not recent.
    pub(super) is_unasked: bool,
    /// True if the funds came directly from the party, to which the subject had sent at least as much before.
    pub(super) is_paid_back: bool,
}

impl PartClaim<'_> {
    /// True for a claim about a party or label beyond the trace.
    pub(super) const fn is_beyond(&self) -> bool {
        matches!(self.distance, FlowDistance::Further(_))
    }

    /// True if funds passed a joint transaction. A label of the category beyond the trace stands for any of them.
    pub(super) fn is_joint(&self) -> bool {
        self.coinjoin.is_some() || self.category == Some(Category::Coinjoin) && self.is_beyond()
    }
}

impl<'f> Part<'f> {
    fn assess(
        flow: &'f FlowPart,
        share: u64,
        counted: bool,
        (direction, transactions): (Direction, u32),
        policy: &Policy,
    ) -> Self {
        // What a victim lost or got back, what moved before anybody listed the party, and what the subject did not ask
        // for leads to a review at most.
        let weakened = |claim: PartClaim<'f>, is_before: bool| {
            let role = |category| Role::towards(category, direction, claim.is_paid_back);
            let is_victim =
                claim.category.is_some_and(|category| role(category) == Role::PossibleVictim);
            let is_weak = is_victim || is_before || claim.is_unasked;
            let tier = if is_weak { claim.tier.weaker(Tier::Heuristic) } else { claim.tier };
            PartClaim { tier, ..claim }
        };
        let is_unasked = |is_risky| is_risky && flow.solicitation.is_unasked();
        let is_paid_back = |is_direct| is_direct && flow.solicitation == Solicitation::PaidBack;
        let power = |severity, confidence| policy.risk(severity, confidence).power_2_5();
        let severity = severity(flow.end, policy);
        let end = PartClaim {
            category: flow.end.category(),
            entity: flow.entity.as_deref(),
            tier: flow.tier,
            confidence: flow.confidence,
            coinjoin: None,
            distance: flow.distance.at_least_one(),
            severity,
            power: power(severity, flow.confidence),
            decayed: flow.decayed,
            is_unasked: is_unasked(flow.listed || is_risky_end(flow.end, policy)),
            is_paid_back: is_paid_back(flow.is_direct),
        };
        let end = weakened(end, flow.listing_period == Some(ListingPeriod::Before));
        let carried = flow.carried.iter().filter(|carried| counts_of(flow, carried, policy));
        let carried = carried.map(|CarriedPart { label, distance }| {
            let severity = policy.severity(label.category);
            let claim = PartClaim {
                category: Some(label.category),
                entity: label.entity.as_deref(),
                tier: label.tier,
                confidence: label.confidence,
                coinjoin: label.coinjoin,
                distance: if distance.is_beyond() {
                    FlowDistance::Further(transactions)
                } else {
                    FlowDistance::Hops(distance.hops.max(1))
                },
                severity,
                power: power(severity, label.confidence),
                decayed: distance.decayed,
                is_unasked: is_unasked(severity >= RISKY_FROM),
                is_paid_back: is_paid_back(is_of_sender(distance, flow)),
            };
            weakened(claim, false)
        });
        let claims = std::iter::once(end).chain(carried).collect();
        Self { flow, share, claims, counted }
    }

    /// True if the part is in the total of which shares are computed.
    pub(super) fn is_of_whole(&self) -> bool {
        self.flow.end != FlowEnd::Returned || self.claims.len() > 1
    }

    /// True if the part's endpoint or a label on the part's path is risky.
    pub(super) fn is_risky(&self) -> bool {
        self.claims.iter().any(|claim| claim.category.is_some() && claim.severity >= RISKY_FROM)
    }

    /// True for funds of risky or listed parties that came unasked and that the subject did not move since.
    pub(super) fn is_untouched(&self) -> bool {
        self.flow.solicitation.is_untouched() && self.claims.iter().any(|claim| claim.is_unasked)
    }

    fn is_risky_dust(&self) -> bool {
        self.flow.solicitation == Solicitation::Dust && self.is_of_whole() && self.is_risky()
    }

    /// True if any claim of the part has a severity above 0.
    pub(super) fn is_risk(&self) -> bool {
        self.claims.iter().any(|claim| claim.severity > 0)
    }

    /// The claim that counts, among the claims that `takes` accepts: the claim with the largest weight; of equal
    /// weights, the endpoint's claim or that of the stronger tier.
    pub(super) fn strongest(
        &self,
        basis: Basis,
        decay: Decay,
        takes: impl Fn(&PartClaim<'_>) -> bool,
    ) -> Option<&PartClaim<'f>> {
        let accepted = self.claims.iter().filter(|claim| takes(claim));
        let weight = |claim: &PartClaim<'_>| {
            U256::from(claim.power.units()) * U256::from(self.amount(claim, basis, decay))
        };
        accepted
            .map(|claim| (weight(claim), claim))
            .reduce(|best, claim| if claim.0 > best.0 { claim } else { best })
            .map(|(_, claim)| claim)
    }

    /// The claim by which an answer shows the part. A label beyond the trace is fully decayed: it counts as undecayed
    /// here.
    pub(super) fn shown_claim(&self) -> Option<&PartClaim<'f>> {
        let is_beyond = self.claims.iter().skip(1).any(PartClaim::is_beyond);
        let decay = if is_beyond { Decay::Below(RISKY_FROM) } else { Decay::All };
        self.strongest(Basis::Lifetime, decay, |_| true)
    }

    /// True if a claim is about a direct counterparty: no funds of the part are decayed.
    pub(super) fn is_direct(&self, claim: &PartClaim<'_>) -> bool {
        claim.decayed == self.flow.mass
    }

    /// The part of an amount of the flow part that was outstanding at most.
    pub(super) fn outstanding(&self, amount: u128) -> u128 {
        match self.flow.outstanding {
            Some(outstanding) => share(amount, outstanding, self.flow.amount).min(amount),
            None => amount,
        }
    }

    /// The amount that counts for a claim, in the unit of a trace; on the basis of amounts, in base units.
    pub(super) fn amount(&self, claim: &PartClaim<'_>, basis: Basis, decay: Decay) -> u128 {
        let mass = if decay.applies_to(claim.severity) { claim.decayed } else { self.flow.mass };
        match basis {
            Basis::Lifetime => mass.total(),
            Basis::Outstanding => self.outstanding(mass.total()),
            Basis::Recent | Basis::RecentOutstanding if claim.is_unasked => 0,
            Basis::Recent => mass.recent,
            Basis::RecentOutstanding => self.outstanding(mass.recent),
            // Only direct money: further away, an amount would not depend on the distance.
            Basis::Amount if self.is_direct(claim) => self.flow.amount,
            Basis::Amount => 0,
        }
    }
}

impl<'f> DirectionalFlows<'f> {
    /// True for flows on an account chain.
    pub(super) const fn is_of_accounts(&self) -> bool {
        self.is_of_accounts
    }

    pub(super) fn assess(ordered: &'f OrderedParts<'f>, policy: &'f Policy) -> Self {
        let OrderedParts { index, ledger, direction, parts: flows, transactions } = ordered;
        let direction = *direction;
        let transactions = *transactions;
        let curve = policy.amounts(&ledger.unit);
        let is_of_whole: Vec<bool> = flows.iter().map(|flow| is_of_whole(flow, policy)).collect();
        let of_whole = |amount: &dyn Fn(&FlowPart) -> u128| -> Vec<u128> {
            let flows = flows.iter().zip(&is_of_whole);
            flows.map(|(flow, is_of_whole)| if *is_of_whole { amount(flow) } else { 0 }).collect()
        };
        let shares = apportion(SHARE_WHOLE, &of_whole(&|flow| flow.amount));
        let outstanding = of_whole(&|flow| flow.outstanding.unwrap_or(flow.amount));
        let whole = outstanding.into_iter().fold(0, u128::saturating_add);
        let ceiling = curve.map_or(0, |curve| curve.unsolicited_ceiling(ledger.decimals));
        let let_pass = unsolicited_within(ceiling, whole, flows);
        let parts = flows.iter().zip(shares).zip(is_of_whole);
        let parts = parts.map(|((flow, share), is_of_whole)| {
            let counted = is_of_whole
                && match flow.solicitation {
                    Solicitation::Solicited | Solicitation::PaidBack | Solicitation::Untouched => {
                        true
                    }
                    Solicitation::Unsolicited => {
                        flow.listed || !let_pass.contains(&flow.end.category())
                    }
                    Solicitation::Dust => false,
                };
            Part::assess(flow, share, counted, (direction, transactions), policy)
        });
        let mut parts: Vec<Part<'_>> = parts.collect();
        let largest_dust = curve.map_or(0, |curve| curve.largest_dust(ledger.decimals));
        let payments =
            if ledger.is_of_accounts() { DUST_PAYMENTS_OF_ACCOUNTS } else { DUST_PAYMENTS_IN_ALL };
        if risky_without_request(&parts) > dust_ceiling(largest_dust, payments, whole) {
            for part in parts.iter_mut().filter(|part| part.is_risky_dust()) {
                part.counted = true;
            }
        }
        Self {
            ledger: *index,
            direction,
            unit: &ledger.unit,
            decimals: ledger.decimals,
            of_ledger: ledger,
            parts,
            transactions,
            received: ledger.source.received(),
            is_of_accounts: ledger.is_of_accounts(),
            curve,
        }
    }
}

/// True if a flow part is in the total of which shares are computed. Returned funds were counted when they first came;
/// they count again only by a label that they passed since.
fn is_of_whole(flow: &FlowPart, policy: &Policy) -> bool {
    flow.end != FlowEnd::Returned
        || flow.carried.iter().any(|carried| counts_of(flow, carried, policy))
}

/// True if a label on the path of a flow part counts for the score. For returned funds, only a label counts that
/// minimum score rules accept and whose severity does not decay with distance. Other labels on the way back do not make
/// the funds another party's.
fn counts_of(flow: &FlowPart, carried: &CarriedPart, policy: &Policy) -> bool {
    let CarriedLabel { tier, category, confidence, coinjoin, .. } = carried.label;
    flow.end != FlowEnd::Returned
        || coinjoin.is_none()
            && policy.severity(category) >= policy.spec().undecayed_from
            && policy.would_review(category, tier, confidence)
}

/// True if a list names the party at the endpoint of a flow part, or if the endpoint or a label on the path is risky.
pub(super) fn is_risky(flow: &FlowPart, policy: &Policy) -> bool {
    let carried = flow.carried.iter().map(|carried| carried.label.category);
    flow.listed
        || is_risky_end(flow.end, policy)
        || carried.into_iter().any(|category| policy.severity(category) >= RISKY_FROM)
}

fn is_risky_end(end: FlowEnd, policy: &Policy) -> bool {
    end.category().is_some_and(|category| policy.severity(category) >= RISKY_FROM)
}

/// True if a label belongs to a sender, or a receiver, of a direct payment.
pub(super) fn is_of_sender(distance: &LabelDistance, flow: &FlowPart) -> bool {
    distance.hops <= 1 && distance.decayed == flow.mass
}

fn severity(end: FlowEnd, policy: &Policy) -> u8 {
    match (end, end.category()) {
        (FlowEnd::Unresolved(_), _) => UNRESOLVED_SEVERITY,
        (_, Some(category)) => policy.severity(category),
        (_, None) => 0,
    }
}

/// Largest sum of risky dust and risky unsolicited funds of all senders that is not scored, as a multiple of the
/// largest dust payment.
const DUST_PAYMENTS_IN_ALL: u128 = 20;
/// The same multiple on account chains, where a payment costs cents: 100 US dollars.
const DUST_PAYMENTS_OF_ACCOUNTS: u128 = 100;

/// The sum of risky dust and risky unsolicited funds: funds whose endpoint is risky, or that passed an address with a
/// risky label.
fn risky_without_request(parts: &[Part<'_>]) -> u128 {
    let risky = parts.iter().filter(|part| part.is_of_whole() && part.is_risky());
    let is_without = |flow: &FlowPart| {
        matches!(flow.solicitation, Solicitation::Dust | Solicitation::Unsolicited)
    };
    let without = risky.filter(|part| is_without(part.flow));
    without.map(|part| part.flow.amount).fold(0, u128::saturating_add)
}

/// The largest sum of risky dust and risky unsolicited funds up to which dust is not scored: so many dust payments, or
/// 1 % of all funds.
fn dust_ceiling(largest_dust: u128, payments: u128, whole: u128) -> u128 {
    largest_dust.saturating_mul(payments).max(whole / UNSOLICITED_ONE_IN)
}

/// Unsolicited funds are exempt only if they are less than this fraction (1/100) of all funds.
const UNSOLICITED_ONE_IN: u128 = 100;

/// The categories whose unsolicited funds from unlisted parties sum to at most `ceiling` and less than 1 % of `whole`.
fn unsolicited_within(
    ceiling: u128,
    whole: u128,
    parts: &[Cow<'_, FlowPart>],
) -> BTreeSet<Option<Category>> {
    let mut sums: BTreeMap<Option<Category>, u128> = BTreeMap::new();
    let is_unsolicited =
        |part: &&Cow<'_, FlowPart>| part.solicitation == Solicitation::Unsolicited && !part.listed;
    for part in parts.iter().filter(is_unsolicited) {
        let sum = sums.entry(part.end.category()).or_default();
        *sum = sum.saturating_add(part.amount);
    }
    let is_little = |sum: u128| sum <= ceiling && sum.saturating_mul(UNSOLICITED_ONE_IN) < whole;
    sums.into_iter().filter(|(_, sum)| is_little(*sum)).map(|(category, _)| category).collect()
}
