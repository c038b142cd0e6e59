//! Rules that raise a score to review regardless of shares.

use ruint::aliases::U256;

use super::{
    Flows,
    parts::{Part, Way},
    view::transactions,
};
use crate::{assess::Floor, assessment::Reason, evidence::Direction, policy::Policy};

impl Flows {
    /// The rules that apply.
    pub(in crate::assess) fn floors(&self, policy: &Policy) -> Vec<Floor> {
        let direct = self.ways.iter().filter_map(Way::direct_listed);
        direct.chain(self.ways.iter().filter_map(|way| way.grave_share(policy))).collect()
    }
}

impl Way {
    /// Any direct, solicited transfer with a party on a list in force.
    fn direct_listed(&self) -> Option<Floor> {
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
        let way = match self.direction {
            Direction::Source => "received directly from",
            Direction::Destination => "sent directly to",
        };
        let list = first.flow.listed_by.as_deref().map(|list| format!(" ({list})"));
        Some(Floor {
            reason: Reason {
                code: "direct_listed_counterparty",
                message: format!("{way} a sanctioned party: {name}{}", list.unwrap_or_default()),
            },
            evidence: transactions(listed().flat_map(|part| &part.flow.transactions)),
        })
    }

    /// A share of grave categories, by any label, that reaches the policy's limit.
    ///
    /// Grave is a matter of severity and not a fixed set of categories: were it a set, calling money
    /// riskier could take it out of the set and lower the score.
    fn grave_share(&self, policy: &Policy) -> Option<Floor> {
        let rules = &policy.spec().minimum_score_rules;
        let is_grave = |part: &&Part| {
            part.counted
                && part.claims.iter().any(|claim| {
                    claim.category.is_some() && claim.severity >= rules.severe_category_from
                })
        };
        let grave = self
            .parts
            .iter()
            .filter(is_grave)
            .fold(U256::ZERO, |sum, part| sum + U256::from(part.flow.amount));
        let all = self.whole(|part| part.flow.amount);
        let limit = U256::from(rules.severe_category_share_percent);
        if grave.is_zero() || grave * U256::from(100_u32) < all * limit {
            return None;
        }
        let way = match self.direction {
            Direction::Source => "received",
            Direction::Destination => "sent",
        };
        Some(Floor {
            reason: Reason {
                code: "severe_category_exposure",
                message: format!(
                    "at least {} % of all funds {way} is exposed to sanctions or severe-crime categories",
                    rules.severe_category_share_percent
                ),
            },
            evidence: transactions(
                self.parts.iter().filter(is_grave).flat_map(|part| &part.flow.transactions),
            ),
        })
    }
}
