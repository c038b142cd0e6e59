//! Limits of what is known about a subject on an account chain, as an answer states them (`docs/model/accounts.md` B15).

use std::fmt::Write;

use super::{
    MinimumScore,
    contracts::listed_token_dealing,
    flows::{transactions, whole_units, words},
    verdict::MissingData,
};
use crate::{
    account::MOST_OTHER_TOKENS,
    assessment::{VerdictReason, Warning},
    evidence::{AccountLimits, ChainState, LookalikeAccount, TakenFunds},
    facts::Facts,
    policy::{FUNDS_TAKEN, Policy},
};

/// The limits of the subject's flows; `None` on other chains.
pub(super) fn limits(facts: &Facts) -> Option<&AccountLimits> {
    match &facts.chain {
        ChainState::Followed(chain) => chain.flows.account.as_deref(),
        ChainState::NotFollowed | ChainState::Unavailable(_) => None,
    }
}

/// The minimum scores of rules for account chains that do not measure the flows.
pub(super) fn minimum_scores(facts: &Facts, policy: &Policy) -> impl Iterator<Item = MinimumScore> {
    let taken = limits(facts).and_then(|limits| limits.taken(policy));
    taken.into_iter().chain(listed_token_dealing(facts, policy))
}

impl AccountLimits {
    /// The reasons against an `allow`.
    pub(super) fn missing(&self) -> Option<MissingData> {
        let message = "native coins may have come to the address inside of transactions: not all such transfers are \
                       recorded";
        self.may_lack_internal_transfers.then(|| MissingData {
            reason: VerdictReason { code: "internal_unseen", message: message.to_owned() },
            source: None,
        })
    }

    /// The reasons that limit what the answer shows.
    pub(super) fn remarks(&self) -> Vec<VerdictReason> {
        let mut remarks = Vec::new();
        let mut add = |code, message: String| remarks.push(VerdictReason { code, message });
        if self.has_unrecorded_money {
            add(
                "before_start",
                "the address paid out more than the records show it to have received: the rest is of unknown origin"
                    .to_owned(),
            );
        }
        if !self.exceeding_ledgers.is_empty() {
            let assets = self.exceeding_ledgers.join(", ");
            add(
                "ledger_mismatch",
                format!(
                    "a node of the chain says that the address has less {assets} than the recorded transfers give it: the \
                     token may log transfers that did not happen"
                ),
            );
        }
        if !self.unpriced.is_empty() {
            let assets = self.unpriced.join(", ");
            add(
                "unpriced",
                format!(
                    "{assets} without a price of the day: assessed by itself, and no ground for a block"
                ),
            );
        }
        if let Some(VerdictReason { code, message }) = self.contract_pool() {
            add(code, message);
        }
        if self.is_whole_not_netted {
            add(
                "whole_not_netted",
                "the address has too many payments to leave out what went round with a counterparty".to_owned(),
            );
        }
        remarks.extend(self.bridged.remarks());
        remarks
    }

    /// The minimum score for funds that were taken from the address, by labels that rules use.
    fn taken(&self, policy: &Policy) -> Option<MinimumScore> {
        let used: Vec<&TakenFunds> = self
            .taken
            .iter()
            .filter(|taken| policy.would_review(taken.category, taken.tier, taken.confidence))
            .collect();
        if used.is_empty() {
            return None;
        }
        let parties = used.iter().map(|taken| {
            let amount = whole_units(taken.amount, taken.decimals);
            let category = words(taken.category.as_str());
            let name = taken.entity.as_deref().map(|name| format!("{name}, ")).unwrap_or_default();
            format!("{amount} {} ({name}{category})", taken.unit)
        });
        let parties: Vec<String> = parties.collect();
        let what = FUNDS_TAKEN.description.trim_end_matches('.');
        let message = format!("{what}: {}; possibly as its victim", parties.join(", "));
        let evidence = transactions(used.iter().flat_map(|taken| &taken.transactions));
        Some(MinimumScore::fixed(FUNDS_TAKEN, message, evidence, policy))
    }

    /// The warnings about accounts and tokens that are not what they seem.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.lookalike_accounts().into_iter().chain(self.lookalike_tokens())
    }

    /// The warning about tokens whose name or symbol imitates a scored asset.
    fn lookalike_tokens(&self) -> Option<Warning> {
        let names = self.lookalike_tokens.join(", ");
        (!names.is_empty()).then(|| Warning {
            code: "lookalike_token",
            message: format!(
                "tokens of other contracts than the known ones have a name or symbol that reads like {names}"
            ),
        })
    }

    /// The warning about accounts that look like counterparties.
    fn lookalike_accounts(&self) -> Option<Warning> {
        let (first, others) = self.lookalike_accounts.split_first()?;
        let transaction = first.transactions.first().map(String::as_str).unwrap_or_default();
        let mut message = format!(
            "{} looks like the counterparty {}, and has worthless transfers with the address (transaction \
             {transaction}): poisoning imitates addresses so; compare every character",
            first.address, first.of
        );
        if !others.is_empty() {
            let _ = write!(message, "; and {} more", others.len());
        }
        let paid = self.lookalike_accounts.iter().filter(|lookalike| lookalike.is_paid);
        for lookalike in paid {
            let LookalikeAccount { address, of, .. } = lookalike;
            let _ = write!(message, "; the address paid {address}, possibly by mistake for {of}");
        }
        Some(Warning { code: "lookalike_account", message })
    }

    /// The details of the coverage of exposure.
    pub(super) fn details(&self) -> String {
        let mut details = String::new();
        let mut add = |text: &str| {
            details.push_str("; ");
            details.push_str(text);
        };
        if let Some(excess) = self.excess_detail() {
            add(&excess);
        }
        if let Some(bridged) = self.bridged.detail() {
            add(&bridged);
        }
        if self.summed_payments > 0 {
            add(&format!(
                "{} older payments were read as sums of their days: small payments among them count in full, and what \
                 their receivers did is not followed",
                self.summed_payments
            ));
        }
        if self.unread_payments > 0 {
            add(&format!("{} oldest payments were not read", self.unread_payments));
        }
        if self.other_tokens > 0 {
            let is_counted =
                usize::try_from(self.other_tokens).is_ok_and(|it| it < MOST_OTHER_TOKENS);
            let least = if is_counted { "" } else { "at least " };
            let tokens = self.other_tokens;
            add(&format!("{least}{tokens} transfers of tokens whose money is not followed"));
        }
        for (asset, days) in &self.carried_prices {
            add(&format!("prices of {asset} from up to {days} days before"));
        }
        if !self.has_initiators {
            add(
                "the senders of transactions are not recorded: the rule `funds_taken` was not assessed",
            );
        }
        details
    }
}
