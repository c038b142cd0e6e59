//! Search of kept checks: conditions, the properties that they test, and pages.
//!
//! Pages are by key, the time of the check and its identifier, the newest first: a check that is kept while somebody
//! reads pages moves no other check from one page to the next.

use assay_engine::{assessment::Assessment, score::Score};
use jiff::Timestamp;
use serde::Deserialize;

/// The code of the reason that nearly all answers have, so that no index leads to them by it.
pub(crate) const COMMON_RULE: &str = "no_findings";
/// The verdict that nearly all answers have.
pub(crate) const COMMON_VERDICT: &str = "allow";

/// Position of a check among all checks of its tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckKey {
    /// Time of the answer, in milliseconds since 1970.
    pub made_at: i64,
    /// The check's identifier.
    pub id: String,
}

/// Properties of a kept check by which it is found, and which a list of checks shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSummary {
    /// Identifier of the blockchain.
    pub blockchain: String,
    /// Address in canonical form; for a transfer, the receiver's.
    pub address: String,
    /// The caller's reference.
    pub reference: Option<String>,
    /// The verdict.
    pub verdict: String,
    /// The score.
    pub score: Score,
    /// Codes of the reasons, and identifiers of the minimum score rules that fired; each once, as the answer orders them.
    pub rules: Vec<String>,
}

impl CheckSummary {
    /// Reads the summary of an answer; `None` if the text is no answer to a check.
    #[must_use]
    pub fn of_answer(answer: &str) -> Option<Self> {
        let answer: Answer = serde_json::from_str(answer).ok()?;
        let codes = answer.reasons.into_iter().map(|reason| reason.code);
        let fired = answer.scoring_components.into_iter().filter_map(|component| component.rule);
        let rules = each_once(codes.chain(fired));
        Some(Self {
            blockchain: answer.blockchain,
            address: answer.address,
            reference: answer.reference.map(|reference| searchable(&reference)),
            verdict: answer.verdict,
            score: answer.risk_score,
            rules,
        })
    }

    /// Returns the summary of the answer with an assessment, without a reference.
    #[must_use]
    pub fn of_assessment(assessment: &Assessment) -> Self {
        let codes = assessment.reasons.iter().map(|reason| reason.code);
        let fired = assessment.scoring_components.iter().filter_map(|part| part.rule.as_deref());
        Self {
            blockchain: assessment.blockchain.as_str().to_owned(),
            address: assessment.address.clone(),
            reference: None,
            verdict: assessment.verdict.as_str().to_owned(),
            score: assessment.risk_score,
            rules: each_once(codes.chain(fired).map(str::to_owned)),
        }
    }

    /// Returns the summary of an answer with a reference of its caller.
    #[must_use]
    pub(crate) fn with_reference(self, reference: &str) -> Self {
        Self { reference: Some(searchable(reference)), ..self }
    }

    /// The rules as databases store them: with a space before and after each.
    pub(crate) fn rules_text(&self) -> String {
        let length = self.rules.iter().map(|rule| rule.len() + 1).sum::<usize>();
        let mut text = String::with_capacity(length + 1);
        text.push(' ');
        for rule in &self.rules {
            text.extend([rule, " "]);
        }
        text
    }
}

/// Returns the names in their order, each once.
fn each_once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// A text as databases store it. PostgreSQL has no U+0000 in texts.
fn searchable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The fields of an answer that its summary needs.
#[derive(Deserialize)]
struct Answer {
    blockchain: String,
    address: String,
    #[serde(default)]
    reference: Option<String>,
    verdict: String,
    risk_score: Score,
    #[serde(default)]
    reasons: Vec<Reason>,
    #[serde(default)]
    scoring_components: Vec<Component>,
}

#[derive(Deserialize)]
struct Reason {
    code: String,
}

#[derive(Deserialize)]
struct Component {
    #[serde(default)]
    rule: Option<String>,
}

/// Conditions on checks. A check is found if it meets all that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFilter {
    /// Identifier of the blockchain.
    pub blockchain: Option<String>,
    /// Address in canonical form.
    pub address: Option<String>,
    /// The caller's reference, as a whole.
    pub reference: Option<String>,
    /// The verdict.
    pub verdict: Option<String>,
    /// Code of a reason, or identifier of a rule.
    pub rule: Option<String>,
    /// Time from which checks are found.
    pub from: Option<Timestamp>,
    /// Time before which checks are found.
    pub to: Option<Timestamp>,
}

impl CheckFilter {
    /// True if a check meets all conditions.
    #[must_use]
    pub fn matches(&self, key: &CheckKey, summary: &CheckSummary) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| searchable(wanted) == found)
        };
        is(&self.blockchain, &summary.blockchain)
            && is(&self.address, &summary.address)
            && is(&self.verdict, &summary.verdict)
            && self.reference.as_ref().is_none_or(|wanted| {
                summary.reference.as_ref().is_some_and(|found| *found == searchable(wanted))
            })
            && self.rule.as_ref().is_none_or(|wanted| summary.rules.contains(&searchable(wanted)))
            && self.from.is_none_or(|from| key.made_at >= from.as_millisecond())
            && self.to.is_none_or(|to| key.made_at < to.as_millisecond())
    }

    /// The conditions by texts, as databases compare them.
    pub(crate) fn texts(&self) -> [(CheckColumn, Option<String>); 5] {
        let text = |text: &Option<String>| text.as_deref().map(searchable);
        [
            (CheckColumn::Reference, text(&self.reference)),
            (CheckColumn::Address, text(&self.address)),
            (CheckColumn::Rule, text(&self.rule)),
            (CheckColumn::Verdict, text(&self.verdict)),
            (CheckColumn::Chain, text(&self.blockchain)),
        ]
    }
}

/// A column that a condition is about, the most selective first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckColumn {
    Reference,
    Address,
    Rule,
    Verdict,
    Chain,
}

/// Search for one page of checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckQuery {
    /// The conditions.
    pub filter: CheckFilter,
    /// Key after which the page begins: every check of the page is older. Unset: the first page.
    pub after: Option<CheckKey>,
    /// Largest number of checks of the page.
    pub limit: usize,
}

/// A check that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCheck {
    /// The position of the check.
    pub key: CheckKey,
    /// The properties by which the check is found.
    pub summary: CheckSummary,
}

/// A page of checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckPage {
    /// The checks, the newest first.
    pub checks: Vec<FoundCheck>,
    /// Key after which the next page begins; unset if nothing older meets the conditions. A page with a next page may
    /// have fewer checks than its limit, or none, because the work for one page is bounded.
    pub next: Option<CheckKey>,
}

impl CheckPage {
    /// Adds checks that are not in the store yet and meet the conditions of the page's query; checks that are in the
    /// page already count once.
    #[must_use]
    pub fn with_unwritten(mut self, unwritten: Vec<FoundCheck>, limit: usize) -> Self {
        // What is older than the end of the page belongs to a later one.
        let next = self.next.take();
        let in_page = |found: &FoundCheck| next.as_ref().is_none_or(|next| found.key >= *next);
        self.checks.extend(unwritten.into_iter().filter(in_page));
        self.checks.sort_by(|one, other| other.key.cmp(&one.key));
        self.checks.dedup_by(|one, other| one.key == other.key);
        let is_cut = self.checks.len() > limit;
        self.checks.truncate(limit);
        let last = self.checks.last().map(|found| found.key.clone());
        Self { next: if is_cut { last } else { next }, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"check_id":"1","reference":"order \u0000 7","blockchain":"btc","address":"bc1q",
        "risk_score":75.8,"verdict":"block","reasons":[{"code":"listed","message":"m"},{"code":"exposure","message":"m"}],
        "scoring_components":[{"rule":null},{"rule":"funds_taken"},{"rule":"listed"}]}"#;

    fn key(made_at: i64) -> CheckKey {
        CheckKey { made_at, id: made_at.to_string() }
    }

    #[test]
    fn an_answer_has_each_of_its_rules_once() {
        let summary = CheckSummary::of_answer(ANSWER).unwrap();
        assert_eq!(summary.rules, ["listed", "exposure", "funds_taken"]);
        assert_eq!(summary.rules_text(), " listed exposure funds_taken ");
        assert_eq!((summary.score.tenths(), &*summary.verdict), (758, "block"));
        assert_eq!(CheckSummary::of_answer("{}"), None);
    }

    #[test]
    fn a_reference_is_found_by_its_text_whatever_its_characters() {
        let summary = CheckSummary::of_answer(ANSWER).unwrap();
        let by = |reference: &str| CheckFilter {
            reference: Some(reference.into()),
            ..CheckFilter::default()
        };
        assert!(by("order \0 7").matches(&key(1), &summary));
        assert!(!by("order 7").matches(&key(1), &summary));
    }

    #[test]
    fn unwritten_checks_belong_to_the_page_of_their_time_once() {
        let summary = CheckSummary::of_answer(ANSWER).unwrap();
        let found = |made_at| FoundCheck { key: key(made_at), summary: summary.clone() };
        let times = |page: &CheckPage| -> Vec<i64> {
            page.checks.iter().map(|found| found.key.made_at).collect()
        };
        // Given a page of the store that goes on after 5.
        let page = || CheckPage { checks: vec![found(8), found(5)], next: Some(key(5)) };
        // When three checks are not written yet, one of which was written meanwhile.
        let merged = page().with_unwritten(vec![found(8), found(9), found(3)], 4);
        // Then the page has each once, and the older one waits for its page.
        assert_eq!((times(&merged), merged.next), (vec![9, 8, 5], Some(key(5))));
        // And a page that is full goes on after its last check.
        let merged = page().with_unwritten(vec![found(9)], 2);
        assert_eq!((times(&merged), merged.next), (vec![9, 8], Some(key(8))));
    }
}
