//! The fixed rule about the coins that an address still holds: clean funds that only passed through the address do not
//! make them harmless.

use super::{
    Flows,
    minimum_scores::{first_parties, percent},
    parts::DirectionalFlows,
    rules::evaluate,
    view::{transactions, whole_units},
};
use crate::{
    assess::MinimumScore,
    policy::{
        Alternative, Policy, Quantity, Rule, RuleThresholds, RuleVerdict, SEVERE_HELD, Selection,
        Share,
    },
};

/// Lowest severity of severe categories.
const SEVERE_FROM: u8 = 90;
/// Lowest share of severe funds in the coins that the address holds, in percent.
const SHARE_FROM: u8 = 10;
/// Inverse of the lowest share of severe held funds in all received funds (1/50): less is negligible to the address. On
/// account chains, where a ring of accounts can receive the same money many times, this does not count.
const OF_RECEIVED_ONE_IN: u128 = 50;

impl Flows<'_> {
    /// The minimum score for severe funds among the coins that the address holds.
    pub(in crate::assess) fn severe_held(&self, policy: &Policy) -> Option<MinimumScore> {
        self.held.iter().find_map(|held| held.severe(policy))
    }
}

impl DirectionalFlows<'_> {
    fn severe(&self, policy: &Policy) -> Option<MinimumScore> {
        let least = if self.is_of_accounts() {
            Policy::least_held_by_account(self.unit)?
        } else {
            Policy::least_held(self.unit)?
        };
        let fired = evaluate(&rule(self.unit, least), &self.rule_view(), policy)?;
        if !self.is_of_accounts() && fired.amount.saturating_mul(OF_RECEIVED_ONE_IN) < self.received
        {
            return None;
        }
        let parts = fired.funds.iter().filter_map(|index| self.parts.get(*index));
        let parts: Vec<_> = parts.collect();
        let held = self.parts.iter().map(|part| part.flow.amount).fold(0, u128::saturating_add);
        let mut message = format!(
            "{}: {} of {} {} held ({})",
            SEVERE_HELD.description.trim_end_matches('.'),
            whole_units(fired.amount, self.decimals),
            whole_units(held, self.decimals),
            self.unit,
            percent(fired.share),
        );
        for name in first_parties(&parts, &fired.claims) {
            message.push_str("; ");
            message.push_str(&name);
        }
        let evidence = transactions(parts.iter().flat_map(|part| &part.flow.transactions));
        Some(MinimumScore::fixed(SEVERE_HELD, message, evidence, policy))
    }
}

/// The rule in the form in which it is evaluated.
fn rule(unit: &str, least: Quantity) -> Rule {
    let alternative = Alternative {
        selection: Selection { severity_from: Some(SEVERE_FROM), ..Selection::default() },
        thresholds: RuleThresholds {
            share: Some(Share::from_percent(SHARE_FROM)),
            amounts: [(unit.to_owned(), least)].into(),
            ..RuleThresholds::default()
        },
        ..Alternative::default()
    };
    Rule {
        id: SEVERE_HELD.id.to_owned(),
        description: SEVERE_HELD.description.to_owned(),
        verdict: RuleVerdict::Review,
        is_default: true,
        alternatives: vec![alternative],
    }
}
