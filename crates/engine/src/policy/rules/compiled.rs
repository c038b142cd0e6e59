//! Rules in the form in which they are evaluated.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Conditions, Role, RuleSpec, RuleVerdict, Share,
    defaults::{DEFAULT_IDS, is_default},
};
use crate::{
    evidence::{Direction, Tier},
    policy::Quantity,
    taxonomy::Category,
};

/// A rule in the form in which it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Identifier in answers.
    pub id: String,
    /// Situation in which the rule fires, in one sentence.
    pub description: String,
    /// Verdict that the rule leads to at least.
    pub verdict: RuleVerdict,
    /// True for an unchanged default rule.
    pub is_default: bool,
    /// Combinations of conditions of which at least one must hold: one combination for each group, or a single
    /// combination if the rule has no groups.
    pub alternatives: Vec<Alternative>,
}

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternative {
    /// Direction of the funds; `None` for both directions, each separately.
    pub direction: Option<Direction>,
    /// Conditions that select the flow parts to sum up.
    pub selection: Selection,
    /// Conditions of the sum.
    pub thresholds: RuleThresholds,
}

/// Conditions of a flow part. A part matches if one of the part's claims meets all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Categories; `None` for any.
    pub categories: Option<BTreeSet<Category>>,
    /// Lowest severity; `None` for any.
    pub severity_from: Option<u8>,
    /// True to select direct counterparties only.
    pub direct: bool,
    /// Most hops; `None` for any number.
    pub hops_up_to: Option<u8>,
    /// Weakest tier; `None` for any.
    pub tier_from: Option<Tier>,
    /// Role of the subject; `None` for any.
    pub role: Option<Role>,
    /// True to count only funds of parties on a list in force, from the day of their listing on.
    pub since_listing: bool,
}

/// Conditions of the sum of the flow parts that match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleThresholds {
    /// Lowest share of all funds.
    pub share: Option<Share>,
    /// Lowest weighted share of recent funds.
    pub recent_share: Option<Share>,
    /// Lowest part of all funds that is recent.
    pub recent_part: Option<Share>,
    /// Lowest amounts by unit; empty for any.
    pub amounts: BTreeMap<String, Quantity>,
}

impl Rule {
    /// Compiles the rule of a valid spec.
    pub(in crate::policy) fn compile(spec: &RuleSpec) -> Self {
        let own = Alternative::default().and(spec.conditions());
        let groups = spec.any_of.iter().map(|group| own.clone().and(group.conditions()));
        let alternatives: Vec<_> = groups.collect();
        Self {
            id: spec.id.clone(),
            description: spec.description.clone(),
            verdict: spec.verdict,
            is_default: is_default(spec),
            alternatives: if alternatives.is_empty() { vec![own] } else { alternatives },
        }
    }

    /// Identifier of the default rule that the rule is or replaces.
    #[must_use]
    pub fn default_id(&self) -> Option<&'static str> {
        DEFAULT_IDS.into_iter().find(|id| *id == self.id)
    }
}

impl Alternative {
    fn and(mut self, conditions: Conditions<'_>) -> Self {
        let selection = &mut self.selection;
        if !conditions.categories.is_empty() {
            let parsed = conditions.categories.iter().filter_map(|id| id.parse().ok());
            selection.categories = Some(parsed.collect());
        }
        selection.severity_from = conditions.severity_from.or(selection.severity_from);
        selection.direct |= conditions.direct;
        selection.hops_up_to = conditions.hops_up_to.or(selection.hops_up_to);
        selection.tier_from = conditions.tier_from.or(selection.tier_from);
        selection.role = conditions.role.or(selection.role);
        selection.since_listing |= conditions.since_listing;
        self.direction = conditions.direction.or(self.direction);
        let thresholds = &mut self.thresholds;
        thresholds.share = conditions.share_from.or(thresholds.share);
        thresholds.recent_share = conditions.recent_share_from.or(thresholds.recent_share);
        thresholds.recent_part = conditions.recent_part_from.or(thresholds.recent_part);
        if !conditions.amount_from.is_empty() {
            thresholds.amounts.clone_from(conditions.amount_from);
        }
        self
    }
}
