//! Amounts that the policy sets for the search for patterns.

use assay_address::{Chain, LedgerKind};

use super::Policy;

/// Most thresholds of structuring.
pub const MOST_THRESHOLDS: usize = 4;
/// Decimals of a dollar in micro-dollars.
const DECIMALS_OF_DOLLARS: u8 = 6;

/// Amounts that the policy and the chain set for the search for patterns: in base units of the native coin, on account
/// chains in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternRules {
    /// Largest payment that is dust.
    pub dust: u128,
    /// Largest sum for which patterns by which the owner only receives are not scored.
    pub little: u128,
    /// Thresholds of structuring; 0 stands for no threshold.
    pub thresholds: [u128; MOST_THRESHOLDS],
}

impl PatternRules {
    /// Amounts that define no dust and no thresholds.
    pub const NONE: Self = Self { dust: 0, little: 0, thresholds: [0; MOST_THRESHOLDS] };

    /// The amounts that a policy sets for the native coin of a chain; on account chains, for dollars.
    #[must_use]
    pub fn new(policy: &Policy, chain: &Chain) -> Self {
        let (unit, decimals) = match chain.ledger {
            LedgerKind::Account => ("USD", DECIMALS_OF_DOLLARS),
            _ => (chain.native().code, chain.native().decimals),
        };
        let amounts = policy.amounts(unit);
        let mut rules = Self {
            dust: amounts.map_or(0, |curve| curve.largest_dust(decimals)),
            little: amounts.map_or(0, |curve| curve.unsolicited_ceiling(decimals)),
            ..Self::default()
        };
        let given = amounts.map(|curve| curve.structuring_thresholds(decimals));
        for (threshold, given) in rules.thresholds.iter_mut().zip(given.into_iter().flatten()) {
            *threshold = given;
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;

    use super::*;
    use crate::policy::PolicySpec;

    #[test]
    fn a_policy_sets_the_thresholds_of_structuring() {
        let thresholds = |below: Option<&str>| {
            let mut spec = PolicySpec::default();
            let amounts = spec.amounts.get_mut("BTC").unwrap();
            amounts.structuring_below = below.map(|text| serde_json::from_str(text).unwrap());
            let policy = Policy::compile(spec).map_err(|problems| problems[0].to_string())?;
            Ok::<_, String>(PatternRules::new(&policy, ChainId::BTC.info()).thresholds)
        };
        // 0.01, 0.03 and 0.1 BTC stand for 1,000, 3,000 and 10,000 dollars.
        assert_eq!(thresholds(None), Ok([1_000_000, 3_000_000, 10_000_000, 0]));
        assert_eq!(thresholds(Some("[\"0.5\", 2]")), Ok([50_000_000, 200_000_000, 0, 0]));
        assert_eq!(thresholds(Some("[]")), Ok([0; MOST_THRESHOLDS]), "not searched");
        let refused = |below| thresholds(Some(below)).unwrap_err();
        assert!(refused("[1, 0]").contains("structuringBelow[1]"), "{}", refused("[1, 0]"));
        assert!(refused("[1, 2, 3, 4, 5]").contains("4 are the most"));
    }

    #[test]
    fn amounts_on_account_chains_are_dollars() {
        let rules = PatternRules::new(&Policy::default(), ChainId::ETH.info());
        let dollars = |dollars: u128| dollars * 1_000_000;
        assert_eq!((rules.dust, rules.little), (dollars(1), dollars(1_000)));
        assert_eq!(rules.thresholds, [dollars(1_000), dollars(3_000), dollars(10_000), 0]);
    }
}
