//! Minimum scores by the policy's rules: the flows in the form in which rules are evaluated, and the reasons of rules
//! that fire.

use super::{
    Flows,
    parts::{DirectionalFlows, Part},
    rules::{FiredRule, RuleFunds, RuleView, evaluate},
    view::{UNTOUCHED, decimal, transactions, whole_units, words},
};
use crate::{
    assess::{MeasuredFunds, MinimumScore, first_few},
    assessment::{RuleClaim, VerdictReason},
    evidence::{Direction, FlowDistance, FlowEnd, ListingPeriod},
    policy::{Policy, Rule},
};

/// Code of the reason for a custom rule of the policy; the component names the rule.
const OWN_RULE: &str = "minimum_score_rule";

/// Remark on the share of a rule's funds if other funds went round.
const ROUND: &str = ", without what went round with a counterparty";

impl Flows<'_> {
    /// The rules that fire, in the order of the policy.
    pub(in crate::assess) fn minimum_scores(&self, policy: &Policy) -> Vec<MinimumScore> {
        let views: Vec<_> =
            self.directions.iter().map(|flows| (flows, flows.rule_view())).collect();
        let fired = policy.rules().iter().flat_map(|rule| {
            views.iter().filter_map(move |(flows, view)| {
                evaluate(rule, view, policy).map(|fired| flows.minimum_score(rule, &fired, policy))
            })
        });
        fired.collect()
    }
}

impl DirectionalFlows<'_> {
    /// The address's action in a sentence, such as `received`.
    pub(super) const fn verb(&self) -> &'static str {
        match self.direction {
            Direction::Source => "received",
            Direction::Destination => "sent",
        }
    }

    pub(super) fn rule_view(&self) -> RuleView<'_> {
        RuleView {
            direction: self.direction,
            unit: self.unit,
            decimals: self.decimals,
            // Money that returned is in no share.
            funds: self
                .parts
                .iter()
                .map(
                    |part| {
                        if part.is_of_whole() { part.rule_funds() } else { RuleFunds::default() }
                    },
                )
                .collect(),
        }
    }

    /// True if funds that a rule does not select went round between the subject and a direct counterparty.
    fn others_go_round(&self, fired: &FiredRule) -> bool {
        let others =
            self.parts.iter().enumerate().filter(|(index, _)| !fired.funds.contains(index));
        others.into_iter().any(|(_, part)| part.flow.outstanding.is_some())
    }

    fn minimum_score(&self, rule: &Rule, fired: &FiredRule, policy: &Policy) -> MinimumScore {
        let parts: Vec<&Part<'_>> =
            fired.funds.iter().filter_map(|index| self.parts.get(*index)).collect();
        let verb = self.verb();
        let mut message = format!(
            "{}: {} {} {verb} ({} of all funds {verb}{})",
            rule.description.trim_end_matches('.'),
            whole_units(fired.amount, self.decimals),
            self.unit,
            percent(fired.share),
            if self.others_go_round(fired) { ROUND } else { "" },
        );
        if parts.iter().all(|part| part.is_untouched()) {
            message.push_str(UNTOUCHED);
        }
        let names = first_parties(&parts, &fired.claims);
        if !names.is_empty() {
            message.push_str("; ");
            message.push_str(&names.join(", "));
        }
        MinimumScore {
            rule: rule.id.clone(),
            score: policy.minimum_score(rule.verdict, fired.can_block),
            reason: VerdictReason { code: rule.default_id().unwrap_or(OWN_RULE), message },
            tier: None,
            measured: Some(MeasuredFunds {
                direction: self.direction,
                share: decimal(fired.share.into()),
                amount: self.amount(fired.amount),
            }),
            evidence: transactions(parts.into_iter().flat_map(|part| &part.flow.transactions)),
        }
    }
}

impl Part<'_> {
    /// The party of a claim, by the claim's index in the rule's view: the endpoint, with the list that names the
    /// endpoint, or a labelled address on the path. A label on the path is never attributed to the endpoint.
    fn accused(&self, index: usize) -> Option<String> {
        let claim = self.claims.iter().filter(|claim| claim.category.is_some()).nth(index)?;
        let category = claim.category?;
        let is_endpoint = self.claims.first().is_some_and(|first| std::ptr::eq(first, claim));
        if is_endpoint {
            let labelled = words(category.as_str());
            let unnamed = match (self.flow.end, self.flow.distance) {
                (FlowEnd::Attributed(_), FlowDistance::Hops(_)) => {
                    Some(format!("an address labelled {labelled}"))
                }
                (FlowEnd::Attributed(_), FlowDistance::Further(_)) => {
                    Some(format!("parties labelled {labelled}"))
                }
                _ => None,
            };
            return self.party_name().or(unnamed);
        }
        if let Some(kind) = claim.coinjoin {
            return Some(format!("through a CoinJoin ({})", words(kind.as_str())));
        }
        if claim.is_joint() {
            return Some("through joint transactions".to_owned());
        }
        let name = claim.entity.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        Some(format!(
            "via an address labelled {}{name} ({}, {} %)",
            words(category.as_str()),
            words(claim.tier.as_str()),
            claim.confidence.percent()
        ))
    }

    /// The name of the party at the endpoint, with the list that names the party.
    fn party_name(&self) -> Option<String> {
        let entity = self.flow.entity.as_ref()?;
        Some(match &self.flow.listed_by {
            Some(listing) => format!("{entity} ({})", listing.in_words()),
            None => entity.clone(),
        })
    }

    /// A flow part in the form in which minimum score rules are evaluated.
    pub(super) fn rule_funds(&self) -> RuleFunds {
        let claims = self.claims.iter().enumerate().filter_map(|(index, claim)| {
            Some(RuleClaim {
                category: claim.category?,
                tier: claim.tier,
                hops: claim.distance.hops(),
                direct: self.is_direct(claim),
                // The first claim is that of the endpoint, at which alone a list ends a trace.
                listed: index == 0 && self.flow.listed,
                confidence: claim.confidence,
                joint: claim.is_joint(),
                unasked: claim.is_unasked,
                paid_back: claim.is_paid_back,
            })
        });
        RuleFunds {
            amount: self.flow.amount,
            recent: self.flow.recent,
            outstanding: self.flow.outstanding,
            since_listing: self.flow.listing_period.map(|period| match period {
                ListingPeriod::Before => 0,
                ListingPeriod::Since => self.flow.amount,
            }),
            scored: self.counted,
            claims: claims.collect(),
        }
    }
}

/// The parties of the claims by which a rule selected these parts, by the indexes of the claims.
pub(super) fn first_parties(parts: &[&Part<'_>], claims: &[usize]) -> Vec<String> {
    let claims = parts.iter().zip(claims);
    first_few(claims.filter_map(|(part, index)| part.accused(*index)))
}

/// The parties with the largest amounts, each with the list that names the party.
pub(super) fn names(parts: &[&Part<'_>]) -> Vec<String> {
    first_few(parts.iter().filter_map(|part| part.party_name()))
}

/// Formats millionths as percent with one decimal; smaller shares with all decimals.
pub(in super::super) fn percent(millionths: u32) -> String {
    match millionths {
        0 => "less than 0.0001 %".to_owned(),
        1..1_000 => format!("0.{millionths:04} %"),
        _ => format!("{}.{} %", millionths / 10_000, millionths / 1_000 % 10),
    }
}
