//! The engine's answers about the members of an economy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use assay_engine::{
    score::{Score, Verdict},
    utxo::ScriptOwner,
};

use super::{Economy, Role};

/// Scores and verdicts of one group of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssessedGroup {
    scores: Vec<Score>,
    /// Addresses whose verdict is review.
    pub reviewed: usize,
    /// Addresses whose verdict is block.
    pub blocked: usize,
    /// Addresses whose verdict is indeterminate.
    pub indeterminate: usize,
    /// Number of reviewed addresses by the code of a reason.
    pub reasons: BTreeMap<&'static str, usize>,
}

impl AssessedGroup {
    /// Assesses these addresses.
    fn assess<'a>(economy: &Economy, addresses: impl IntoIterator<Item = &'a ScriptOwner>) -> Self {
        let mut group = Self::default();
        for address in addresses {
            let assessment = economy.world.assess(address);
            group.scores.push(assessment.risk_score);
            match assessment.verdict {
                Verdict::Review => {
                    group.reviewed += 1;
                    let codes: BTreeSet<_> = assessment.reasons.iter().map(|it| it.code).collect();
                    for code in codes {
                        *group.reasons.entry(code).or_default() += 1;
                    }
                }
                Verdict::Block => group.blocked += 1,
                Verdict::Indeterminate => group.indeterminate += 1,
                Verdict::Allow => {}
            }
        }
        group.scores.sort();
        group
    }

    /// Number of addresses.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.scores.len()
    }

    /// The given percentile of the scores.
    #[must_use]
    pub fn score_at(&self, percent: usize) -> Score {
        let place = (self.scores.len() * percent).div_ceil(100).max(1) - 1;
        self.scores.get(place).copied().unwrap_or(Score::ZERO)
    }
}

impl fmt::Display for AssessedGroup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count();
        let percent = |part: usize| {
            let hundredths = part * 10_000 / count.max(1);
            format!("{}.{:02} %", hundredths / 100, hundredths % 100)
        };
        write!(
            formatter,
            "{count} addresses: review {}, block {}; score: median {}, 90th percentile {}, \
             most {}",
            percent(self.reviewed),
            percent(self.blocked),
            self.score_at(50),
            self.score_at(90),
            self.score_at(100),
        )
    }
}

/// The engine's answers about an economy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// One address of each innocent member.
    pub innocents: AssessedGroup,
    /// Every address of thieves.
    pub thieves: AssessedGroup,
    /// Accounts of criminals at exchanges.
    pub accounts: AssessedGroup,
}

impl Survey {
    /// Assesses a random address of each innocent member, and the addresses of criminals.
    #[must_use]
    pub fn assess(economy: &Economy, seed: u64) -> Self {
        let thieves = economy.members.iter().zip(&economy.addresses);
        let thieves = thieves.filter(|(member, _)| member.role == Role::Thief);
        Self {
            innocents: AssessedGroup::assess(economy, economy.innocents(seed)),
            thieves: AssessedGroup::assess(economy, thieves.flat_map(|(_, addresses)| addresses)),
            accounts: AssessedGroup::assess(economy, &economy.accounts),
        }
    }
}
