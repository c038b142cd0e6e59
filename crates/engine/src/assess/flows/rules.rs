//! Evaluation of the policy's minimum score rules on the flows of one direction.
//!
//! A rule sums up the flow parts that the rule's conditions select, and compares the sum with the rule's thresholds. A
//! share is the matching amount / (the matching amount + funds that match no alternative (condition group) of the
//! rule). Funds that match another alternative are left out of the denominator, so they never count as clean. More
//! matching funds therefore never stop a rule from firing (`docs/model/rules.md` R5.1). Of other funds that went round
//! with a counterparty, the greatest sum that was outstanding counts.

use std::cmp::Reverse;

use ruint::aliases::U256;

use crate::{
    assessment::RuleClaim,
    evidence::{Direction, Tier},
    policy::{Alternative, Policy, Role, Rule, RuleVerdict, Selection, Share},
};

/// Lowest confidence, in percent, of labels that count for a custom rule that names their category.
const NAMED_FROM: u8 = 50;

/// Funds of one direction with the same attributions, as rules evaluate them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFunds {
    /// Amount in base units.
    pub amount: u128,
    /// Part of the amount that moved in the last 90 days.
    pub recent: u128,
    /// Greatest part of the amount that was outstanding with the direct counterparty: as much counts in the shares of
    /// other funds. `None` if the whole amount counts.
    pub outstanding: Option<u128>,
    /// Part of the amount that moved since the party was listed; `None` if the listing's day is unknown or the party is
    /// not listed.
    pub since_listing: Option<u128>,
    /// `false` for funds that do not count for the score, such as small unsolicited ones.
    pub scored: bool,
    /// Attributions of the funds: that of the endpoint, and those of labels on the path.
    pub claims: Vec<RuleClaim>,
}

/// All funds of one direction, in one unit.
#[derive(Clone, Debug)]
pub struct RuleView<'a> {
    /// Direction of the funds.
    pub direction: Direction,
    /// Unit of the amounts.
    pub unit: &'a str,
    /// Decimals of the unit.
    pub decimals: u8,
    /// The funds.
    pub funds: Vec<RuleFunds>,
}

/// A rule that fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredRule {
    /// Sum of the funds that the rule selects, in base units.
    pub amount: u128,
    /// Share of the selected funds in all funds of the direction, in millionths; of other funds that went round, the
    /// greatest sum that was outstanding counts.
    pub share: u32,
    /// Indices of the selected funds in the view of all funds.
    pub funds: Vec<usize>,
    /// For each of the selected funds, the index of the claim by which the rule selects them: of several claims the
    /// riskiest.
    pub claims: Vec<usize>,
    /// True if the rule fires with evidence of the tier `investigation` or stronger alone.
    pub can_block: bool,
}

/// Evaluates a rule; `None` if the rule does not fire.
#[must_use]
pub fn evaluate(rule: &Rule, view: &RuleView<'_>, policy: &Policy) -> Option<FiredRule> {
    let evaluation = Evaluation { rule, view, policy };
    let alternatives = || {
        let any = |direction| direction == view.direction;
        rule.alternatives.iter().filter(move |alternative| alternative.direction.is_none_or(any))
    };
    let selected: Vec<Vec<Sum>> =
        alternatives().map(|alternative| evaluation.select(&alternative.selection)).collect();
    let other = evaluation.other(&selected);
    let (alternative, sums) = alternatives().zip(&selected).find(|(alternative, sums)| {
        evaluation.holds(alternative, &sums.iter().copied().sum(), &other)
    })?;
    let can_block = rule.verdict == RuleVerdict::Block
        && alternatives().any(|alternative| {
            let selection = alternative.selection.clone().strong();
            let sum = evaluation.select(&selection).into_iter().sum();
            evaluation.holds(alternative, &sum, &other)
        });
    let sum: Sum = sums.iter().copied().sum();
    let all = sum.amount.saturating_add(evaluation.other(std::slice::from_ref(sums)).amount);
    let taken = sums.iter().enumerate().filter(|(_, sum)| !sum.amount.is_zero());
    let funds: Vec<usize> = taken.map(|(index, _)| index).collect();
    let claims = funds.iter().filter_map(|index| view.funds.get(*index));
    Some(FiredRule {
        amount: u128::try_from(sum.amount).unwrap_or(u128::MAX),
        share: millionths(sum.amount, all),
        claims: claims.map(|funds| evaluation.selecting(&alternative.selection, funds)).collect(),
        funds,
        can_block,
    })
}

struct Evaluation<'a> {
    rule: &'a Rule,
    view: &'a RuleView<'a>,
    policy: &'a Policy,
}

/// An amount, with the part of it that moved in the last 90 days.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    amount: U256,
    recent: U256,
    /// Amount of the last 90 days that came unasked: it is neither in the share of recent funds nor in their total.
    unasked: U256,
}

impl Sum {
    fn of(funds: &RuleFunds) -> Self {
        Self {
            amount: U256::from(funds.amount),
            recent: U256::from(funds.recent),
            unasked: U256::ZERO,
        }
    }

    /// The larger of two amounts, and the larger of the amounts' recent parts, asked for or not.
    fn or(self, other: Self) -> Self {
        Self {
            amount: self.amount.max(other.amount),
            recent: self.moved_lately().max(other.moved_lately()),
            unasked: U256::ZERO,
        }
    }

    /// Amount of the last 90 days, asked for or not.
    fn moved_lately(self) -> U256 {
        self.recent.saturating_add(self.unasked)
    }

    /// The part of an amount of these funds that was outstanding at most.
    fn outstanding(self, funds: &RuleFunds) -> Self {
        let amount = U256::from(funds.amount);
        match funds.outstanding.map(U256::from) {
            Some(most) if most < amount => {
                let part = |of: U256| of.saturating_mul(most) / amount;
                Self { amount: part(self.amount), recent: part(self.recent), ..self }
            }
            _ => self,
        }
    }

    /// The amount as one that came unasked.
    fn as_unasked(self) -> Self {
        Self { recent: U256::ZERO, unasked: self.moved_lately(), ..self }
    }
}

impl std::iter::Sum for Sum {
    fn sum<I: Iterator<Item = Self>>(sums: I) -> Self {
        sums.fold(Self::default(), |all, sum| Self {
            amount: all.amount.saturating_add(sum.amount),
            recent: all.recent.saturating_add(sum.recent),
            unasked: all.unasked.saturating_add(sum.unasked),
        })
    }
}

impl Evaluation<'_> {
    /// For each entry of the view, the amount that a selection of conditions counts.
    fn select(&self, selection: &Selection) -> Vec<Sum> {
        let of = |funds: &RuleFunds| {
            let matching = || funds.claims.iter().filter(|claim| self.matches(selection, **claim));
            if !funds.scored || matching().next().is_none() {
                return Sum::default();
            }
            let sum = match funds.since_listing {
                Some(since) if selection.since_listing => {
                    let amount = since.min(funds.amount);
                    Sum::of(&RuleFunds {
                        amount,
                        recent: since.min(funds.recent),
                        ..RuleFunds::default()
                    })
                }
                _ => Sum::of(funds),
            };
            if matching().all(|claim| claim.unasked) { sum.as_unasked() } else { sum }
        };
        self.view.funds.iter().map(of).collect()
    }

    /// The index of the claim by which a selection of conditions selects funds: of several claims the riskiest.
    fn selecting(&self, selection: &Selection, funds: &RuleFunds) -> usize {
        let claims = funds.claims.iter().enumerate();
        let matching = claims.filter(|(_, claim)| self.matches(selection, **claim));
        let risk = |claim: &RuleClaim| {
            self.policy.risk(self.policy.severity(claim.category), claim.confidence)
        };
        // Of equal ones the first.
        let riskiest = matching.min_by_key(|(_, claim)| Reverse(risk(claim)));
        riskiest.map_or(0, |(index, _)| index)
    }

    fn matches(&self, selection: &Selection, claim: RuleClaim) -> bool {
        let Selection { categories, severity_from, direct, hops_up_to, tier_from, role, .. } =
            selection;
        let role_of = || Role::towards(claim.category, self.view.direction, claim.paid_back);
        categories.as_ref().is_none_or(|categories| categories.contains(&claim.category))
            && severity_from.is_none_or(|from| self.policy.severity(claim.category) >= from)
            && (!direct || claim.direct)
            && hops_up_to.is_none_or(|most| claim.hops.is_some_and(|hops| hops <= u16::from(most)))
            && tier_from.is_none_or(|weakest| claim.tier.at_least(weakest))
            && role.is_none_or(|role| role == role_of())
            && (!selection.since_listing || claim.listed)
            && self.admits_claim(selection, claim)
    }

    /// True if a claim counts for the rule: a listing, a joint transaction, or a label that by itself leads to a review
    /// of its own address. Nobody is reviewed for dealings with an address that itself would be allowed. For a custom
    /// rule, labels of the categories that the rule names count from 50 % confidence on, because some categories have
    /// no label that leads to a review.
    fn admits_claim(&self, selection: &Selection, claim: RuleClaim) -> bool {
        let is_named = !self.rule.is_default && selection.categories.is_some();
        claim.listed
            || claim.joint
            || self.policy.would_review(claim.category, claim.tier, claim.confidence)
            || (is_named && claim.confidence.percent() >= NAMED_FROM)
    }

    /// All funds that match none of the rule's alternatives (condition groups), as far as they were outstanding.
    fn other(&self, selected: &[Vec<Sum>]) -> Sum {
        let funds = self.view.funds.iter().enumerate().map(|(index, funds)| {
            let taken = selected.iter().filter_map(|sums| sums.get(index)).copied();
            let taken = taken.fold(Sum::default(), Sum::or);
            let all = Sum::of(funds);
            let rest = Sum {
                amount: all.amount.saturating_sub(taken.amount),
                recent: all.recent.saturating_sub(taken.recent),
                unasked: U256::ZERO,
            };
            rest.outstanding(funds)
        });
        funds.sum()
    }

    fn holds(&self, alternative: &Alternative, sum: &Sum, other: &Sum) -> bool {
        let all = [*sum, *other].into_iter().sum::<Sum>();
        // Older money that the rule selects does not make the recent money less.
        let without_older = sum.recent.saturating_add(other.amount);
        let thresholds = &alternative.thresholds;
        let amount = |from: crate::policy::Quantity| {
            sum.amount >= U256::from(from.base_units(self.view.decimals))
        };
        !sum.amount.is_zero()
            && thresholds.share.is_none_or(|from| reaches(sum.amount, all.amount, from))
            && thresholds.recent_share.is_none_or(|from| {
                // The share of recent funds times min(1, recent / (all but older selected funds / 10)).
                !sum.recent.is_zero()
                    && reaches(sum.recent, all.recent, from)
                    && reaches(sum.recent.saturating_mul(U256::from(10)), without_older, from)
            })
            && thresholds.recent_part.is_none_or(|from| {
                let recent = all.moved_lately();
                let whole = without_older.saturating_add(sum.unasked);
                !recent.is_zero() && reaches(recent, whole, from)
            })
            && (thresholds.amounts.is_empty()
                || Policy::amount_in(&thresholds.amounts, self.view.unit).is_some_and(amount))
    }
}

impl Selection {
    /// The selection of conditions without evidence that is too weak to block.
    fn strong(self) -> Self {
        let tier = self.tier_from.unwrap_or(Tier::Investigation).min(Tier::Investigation);
        Self { tier_from: Some(tier), ..self }
    }
}

/// True if `part` is at least the share `from` of `whole`.
fn reaches(part: U256, whole: U256, from: Share) -> bool {
    part.saturating_mul(U256::from(Share::WHOLE))
        >= whole.saturating_mul(U256::from(from.millionths()))
}

/// `part / whole` in millionths, rounded down.
fn millionths(part: U256, whole: U256) -> u32 {
    let scaled = part.saturating_mul(U256::from(Share::WHOLE)).checked_div(whole);
    scaled.and_then(|share| u32::try_from(share).ok()).unwrap_or(Share::WHOLE).min(Share::WHOLE)
}

#[cfg(test)]
mod tests;
