//! Rules that raise a score to review regardless of shares.

use ruint::aliases::U256;

use super::{
    Flows,
    parts::{DirectionalFlows, Part},
    view::transactions,
};
use crate::{assess::MinimumScore, assessment::Reason, evidence::Direction, policy::Policy};

impl Flows {
    /// The rules that apply.
    pub(in crate::assess) fn minimum_scores(&self, policy: &Policy) -> Vec<MinimumScore> {
        let direct = self.directions.iter().filter_map(DirectionalFlows::direct_listed);
        direct
            .chain(self.directions.iter().filter_map(|flows| flows.severe_share(policy)))
            .collect()
    }
}

impl DirectionalFlows {
    /// Any direct, solicited transfer with a party on a list in force.
    fn direct_listed(&self) -> Option<MinimumScore> {
        let listed = || {
            self.parts.iter().filter(|part| {
                part.flow.listed
                    && part.flow.solicited
                    && part.flow.hops <= 1
                    && part.flow.amount > 0
            })
        };
        let first = listed().next()?;
        let name = first.flow.entity.as_deref().unwrap_or("name not known");
        let verb = match self.direction {
            Direction::Source => "received directly from",
            Direction::Destination => "sent directly to",
        };
        let list = first.flow.listed_by.as_deref().map(|list| format!(" ({list})"));
        Some(MinimumScore {
            reason: Reason {
                code: "direct_listed_counterparty",
                message: format!("{verb} a sanctioned party: {name}{}", list.unwrap_or_default()),
            },
            evidence: transactions(listed().flat_map(|part| &part.flow.transactions)),
        })
    }

    /// A share of severe categories, by any label, that reaches the policy's limit.
    ///
    /// Severity defines severe categories, not a fixed set: with a set, a riskier classification of
    /// money could take it out of the set and lower the score.
    fn severe_share(&self, policy: &Policy) -> Option<MinimumScore> {
        let rules = &policy.spec().minimum_score_rules;
        let is_severe = |part: &&Part| {
            part.counted
                && part.claims.iter().any(|claim| {
                    claim.category.is_some() && claim.severity >= rules.severe_category_from
                })
        };
        let severe = self
            .parts
            .iter()
            .filter(is_severe)
            .fold(U256::ZERO, |sum, part| sum + U256::from(part.flow.amount));
        let all = self.whole(|part| part.flow.amount);
        let limit = U256::from(rules.severe_category_share_percent);
        if severe.is_zero() || severe * U256::from(100_u32) < all * limit {
            return None;
        }
        let verb = match self.direction {
            Direction::Source => "received",
            Direction::Destination => "sent",
        };
        Some(MinimumScore {
            reason: Reason {
                code: "severe_category_exposure",
                message: format!(
                    "at least {} % of all funds {verb} is exposed to sanctions or severe-crime categories",
                    rules.severe_category_share_percent
                ),
            },
            evidence: transactions(
                self.parts.iter().filter(is_severe).flat_map(|part| &part.flow.transactions),
            ),
        })
    }
}
