//! The engine's answers about the members of an economy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use assay_engine::{account::AccountAddress, assessment::Assessment, score::Verdict};

use super::Economy;

/// Verdicts about one group of accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Number of accounts.
    pub count: usize,
    /// Accounts whose verdict is block.
    pub blocked: usize,
    /// Accounts whose verdict is review.
    pub reviewed: usize,
    /// Accounts whose verdict is indeterminate.
    pub indeterminate: usize,
    /// Number of accounts that are not allowed, by the code of a reason.
    pub reasons: BTreeMap<&'static str, usize>,
    /// One sentence for each reviewed or blocked account.
    pub accused: Vec<String>,
}

impl Survey {
    /// The answers about accounts of an economy.
    #[must_use]
    pub fn of(economy: &Economy, accounts: &[AccountAddress]) -> Self {
        let mut survey = Self { count: accounts.len(), ..Self::default() };
        for account in accounts {
            survey.add(&economy.world.assess(*account));
        }
        survey
    }

    fn add(&mut self, answer: &Assessment) {
        let codes: BTreeSet<_> = answer.reasons.iter().map(|it| it.code).collect();
        match answer.verdict {
            Verdict::Allow => return,
            Verdict::Review => self.reviewed += 1,
            Verdict::Block => self.blocked += 1,
            Verdict::Indeterminate => self.indeterminate += 1,
        }
        if matches!(answer.verdict, Verdict::Review | Verdict::Block) {
            let messages: Vec<_> = answer.reasons.iter().map(|it| it.message.as_str()).collect();
            self.accused.push(format!("{}: {}", answer.verdict.as_str(), messages.join("; ")));
        }
        for code in codes {
            *self.reasons.entry(code).or_default() += 1;
        }
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, blocked, reviewed, indeterminate, reasons, .. } = self;
        write!(
            formatter,
            "{count} accounts: block {blocked}, review {reviewed}, indeterminate {indeterminate}; \
             {reasons:?}"
        )
    }
}
