//! The cases of the model's table, played on a node.
//!
//! - `transfers`: payments between accounts
//! - `thieves`: stolen money that goes through contracts
//! - `tricks`: ways to hide it that are harder to see
//! - `innocents`: people who trade beside thieves

mod innocents;
mod thieves;
mod transfers;
mod tricks;

use assay_tests::evm::{Address, address_text, genesis::ETHER};
use serde_json::Value;

use super::economy::Economy;

/// Ether that is stolen in most cases.
const LOOT: u128 = 100 * ETHER;
/// The category of the money of most cases.
const STOLEN: &str = "stolen_funds";

/// An account of a case, and the answer about it by the model's table.
pub(super) struct Outcome {
    case: &'static str,
    account: Address,
    verdict: &'static str,
    /// A category, and whether the answer's exposure names it.
    category: Option<(&'static str, bool)>,
}

/// A block for stolen money.
fn block(case: &'static str, account: Address) -> Outcome {
    Outcome { case, account, verdict: "block", category: Some((STOLEN, true)) }
}

/// A review for stolen money.
fn review(case: &'static str, account: Address) -> Outcome {
    Outcome { verdict: "review", ..block(case, account) }
}

/// An `allow`, whatever is stolen of the money.
fn allow(case: &'static str, account: Address) -> Outcome {
    Outcome { case, account, verdict: "allow", category: None }
}

/// An `allow` without any stolen money.
fn untouched(case: &'static str, account: Address) -> Outcome {
    Outcome { category: Some((STOLEN, false)), ..allow(case, account) }
}

/// An answer that withholds an `allow`.
fn indeterminate(case: &'static str, account: Address) -> Outcome {
    Outcome { verdict: "indeterminate", ..allow(case, account) }
}

impl Outcome {
    /// The same, for money of another category.
    fn of(self, category: &'static str) -> Self {
        Self { category: Some((category, true)), ..self }
    }

    /// The account.
    pub(super) fn account(&self) -> String {
        address_text(&self.account)
    }

    /// The difference between an answer and the expected one.
    pub(super) fn difference(&self, answer: &Value) -> Option<String> {
        let exposure = answer["exposure"].as_array().unwrap();
        let names = |category: &str| exposure.iter().any(|line| line["category"] == category);
        let score = answer["risk_score"].as_f64().unwrap();
        let has_score = match self.verdict {
            "block" => score >= 75.0,
            "review" => (50.0..75.0).contains(&score),
            "allow" => score < 50.0,
            _ => true,
        };
        let is_expected = answer["verdict"] == self.verdict
            && has_score
            && (answer["complete"] == true || self.verdict != "allow")
            && self.category.is_none_or(|(category, is_named)| names(category) == is_named);
        let Self { case, verdict, category, .. } = self;
        (!is_expected)
            .then(|| format!("case {case}: {verdict} ({category:?}) expected, not {answer:#}"))
    }
}

/// A case of the table.
type Case = fn(&mut Economy) -> Vec<Outcome>;

impl Economy {
    /// Plays the cases that need no prices.
    pub(super) fn play_without_prices(&mut self) -> Vec<Outcome> {
        play(self, transfers::WITHOUT_PRICES)
    }

    /// Plays a case of which traces of calls show all.
    pub(super) fn play_unseen(&mut self) -> Vec<Outcome> {
        play(self, transfers::UNSEEN)
    }

    /// Plays all other cases.
    pub(super) fn play(&mut self) -> Vec<Outcome> {
        let all = [transfers::CASES, thieves::CASES, tricks::CASES, innocents::CASES];
        all.into_iter().flat_map(|cases| play(self, cases)).collect()
    }
}

fn play(economy: &mut Economy, cases: &[Case]) -> Vec<Outcome> {
    cases.iter().flat_map(|case| case(economy)).collect()
}
