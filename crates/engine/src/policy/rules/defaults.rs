//! The rules that a policy has unless the policy replaces them.

use std::collections::BTreeMap;

use super::{ConditionGroup, Role, RuleSpec, Share};
use crate::{evidence::Direction, policy::Quantity, taxonomy::Category};

const DIRECT_LISTED: &str = "direct_listed_counterparty";
const SEVERE: &str = "severe_category_exposure";
const MIXING: &str = "direct_mixing";
const ILLICIT_INCOME: &str = "direct_illicit_income";
const MIXED_INCOME: &str = "mixed_income";

/// Ids of the default rules, which are also the codes of their reasons.
pub(super) const DEFAULT_IDS: [&str; 5] =
    [DIRECT_LISTED, SEVERE, MIXING, ILLICIT_INCOME, MIXED_INCOME];

/// The default rules.
fn default_rules() -> Vec<RuleSpec> {
    let names = |categories: &[Category]| categories.iter().map(ToString::to_string).collect();
    let percent = |percent| Some(Share::from_percent(percent));
    vec![
        RuleSpec {
            id: DIRECT_LISTED.into(),
            description: "Direct dealing with a sanctioned party since its listing".into(),
            direct: true,
            since_listing: true,
            ..RuleSpec::default()
        },
        RuleSpec {
            id: SEVERE.into(),
            description: "Exposure to sanctions or severe-crime categories".into(),
            severity_from: Some(90),
            any_of: vec![
                ConditionGroup { share_from: percent(10), ..ConditionGroup::default() },
                ConditionGroup {
                    direct: true,
                    recent_share_from: percent(10),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    recent_share_from: percent(10),
                    recent_part_from: percent(25),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    direct: true,
                    amount_from: large_amounts(),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    share_from: percent(2),
                    amount_from: large_amounts(),
                    ..ConditionGroup::default()
                },
            ],
            ..RuleSpec::default()
        },
        RuleSpec {
            id: MIXING.into(),
            description: "Direct use of mixing services or joint transactions".into(),
            categories: names(&[Category::Mixer, Category::Coinjoin]),
            direct: true,
            any_of: vec![
                ConditionGroup { share_from: percent(10), ..ConditionGroup::default() },
                ConditionGroup { amount_from: large_amounts(), ..ConditionGroup::default() },
            ],
            ..RuleSpec::default()
        },
        RuleSpec {
            id: ILLICIT_INCOME.into(),
            description: "Funds received directly from a party of a high-risk category".into(),
            direction: Some(Direction::Source),
            direct: true,
            any_of: vec![
                ConditionGroup {
                    severity_from: Some(80),
                    role: Some(Role::Counterparty),
                    share_from: percent(5),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    severity_from: Some(90),
                    share_from: percent(5),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    severity_from: Some(80),
                    share_from: percent(10),
                    ..ConditionGroup::default()
                },
            ],
            ..RuleSpec::default()
        },
        RuleSpec {
            id: MIXED_INCOME.into(),
            description:
                "Funds received of which half or more passed mixing services or joint transactions"
                    .into(),
            categories: names(&[Category::Mixer, Category::Coinjoin]),
            direction: Some(Direction::Source),
            share_from: percent(50),
            amount_from: large_amounts(),
            ..RuleSpec::default()
        },
    ]
}

/// 50,000 US dollars, one bitcoin, and round numbers of about 50,000 US dollars of every other coin, as in the default
/// amount curves.
pub(in crate::policy) fn large_amounts() -> BTreeMap<String, Quantity> {
    [
        ("USD", 50_000),
        ("BTC", 1),
        ("LTC", 500),
        ("BCH", 100),
        ("BSV", 2_000),
        ("BTG", 10_000),
        ("DOGE", 250_000),
        ("DASH", 1_000),
        ("ZEC", 500),
        ("XVG", 5_000_000),
    ]
    .map(|(unit, whole)| (unit.to_owned(), Quantity::whole(whole)))
    .into()
}

/// Normalizes the rules of a policy: first the default rules, unchanged or replaced, then custom rules by id. A
/// disabled default rule is reduced to its id; a disabled custom rule is dropped.
pub(in crate::policy) fn complete(written: &[RuleSpec]) -> Vec<RuleSpec> {
    let find = |id: &str| written.iter().find(|rule| rule.id == id).cloned();
    let defaults = default_rules().into_iter().map(|default| match find(&default.id) {
        Some(rule) if rule.enabled => rule,
        Some(RuleSpec { id, .. }) => RuleSpec { id, enabled: false, ..RuleSpec::default() },
        None => default,
    });
    let own = |rule: &&RuleSpec| rule.enabled && !DEFAULT_IDS.contains(&rule.id.as_str());
    let mut own: Vec<_> = written.iter().filter(own).cloned().collect();
    own.sort_by(|a, b| a.id.cmp(&b.id));
    let mut complete: Vec<_> = defaults.chain(own).collect();
    complete.iter_mut().for_each(sort_categories);
    complete
}

fn sort_categories(rule: &mut RuleSpec) {
    let of_groups = rule.any_of.iter_mut().map(|group| &mut group.categories);
    for categories in of_groups.chain([&mut rule.categories]) {
        categories.sort();
        categories.dedup();
    }
}

/// True if a rule of [`complete`] is an unchanged default rule.
pub(super) fn is_default(rule: &RuleSpec) -> bool {
    let mut defaults = default_rules();
    defaults.iter_mut().for_each(sort_categories);
    defaults.contains(rule)
}

#[cfg(test)]
mod tests {
    use assay_address::{ChainId, LedgerKind};

    use super::*;
    use crate::policy::PolicySpec;

    #[test]
    fn every_chain_with_flows_has_amounts() {
        let (spec, large) = (PolicySpec::default(), large_amounts());
        let with_flows =
            ChainId::all().filter(|chain| matches!(chain.info().ledger, LedgerKind::Utxo(_)));
        for chain in with_flows {
            let coin = chain.info().native().code;
            assert!(spec.amounts.contains_key(coin), "{chain}: `amounts` without {coin}");
            assert!(large.contains_key(coin), "{chain}: rules without an amount of {coin}");
        }
    }
}
