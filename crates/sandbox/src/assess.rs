//! Assessments of made-up facts, by the engine.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use assay_address::CanonicalAddress;
use assay_engine::{
    assess, assess_planned, assess_transfer,
    assessment::{Assessment, Warning},
    evidence::ChainState,
    facts::Facts,
    planned::{EarlierReceivers, PlannedFacts, PlannedWithdrawal},
    policy::{ListEffect, MandatorySource, Policy, PolicySpec},
    transfer::{TransferDirection, TransferFacts, TransferQuery},
};
use assay_request::problem::Code;
use jiff::Timestamp;

use crate::{
    Outcome, OutcomeReply, Scenario,
    facts::{self, LIST, MAXIMUM_AGE_HOURS, TIP_HEIGHT},
    transfer,
};

/// The answer that a subject chooses.
#[derive(Clone, Debug)]
pub enum Answer {
    /// An assessment, with its scenario.
    Assessed(Box<Assessment>, Scenario),
    /// The outcome of a problem.
    Refused(Outcome),
}

/// Policy of all answers of the sandbox: the default policy, with the made-up list as the mandatory one.
static POLICY: LazyLock<Arc<Policy>> = LazyLock::new(|| {
    let mandatory = MandatorySource { name: LIST.to_owned(), maximum_age_hours: MAXIMUM_AGE_HOURS };
    let lists: BTreeMap<_, _> =
        LIST.parse().into_iter().map(|list| (list, ListEffect::Blocking)).collect();
    let spec = PolicySpec { lists, mandatory_sources: vec![mandatory], ..PolicySpec::default() };
    // The policy is valid, which a test shows.
    Arc::new(Policy::compile(spec).unwrap_or_default())
});

/// Returns the policy of all answers of the sandbox.
#[must_use]
pub fn policy() -> Arc<Policy> {
    Arc::clone(&POLICY)
}

/// Returns the answer that an address chooses.
#[must_use]
pub fn assess_address(subject: &CanonicalAddress, now: Timestamp) -> Answer {
    answer(Outcome::of_address(subject), |scenario| {
        Some(assess(subject, &facts::of_address(subject, scenario, now), &POLICY, now))
    })
}

/// Returns the answer that an address chooses, by lists and labels only.
#[must_use]
pub fn assess_listed(subject: &CanonicalAddress, now: Timestamp) -> Answer {
    answer(Outcome::of_address(subject), |scenario| {
        let facts = facts::of_address(subject, scenario, now);
        let facts = Facts { chain: ChainState::NotFollowed, ..facts };
        Some(assess(subject, &facts, &POLICY, now))
    })
}

/// Returns the answer that the receiver of a withdrawal chooses.
#[must_use]
pub fn assess_planned_withdrawal(withdrawal: &PlannedWithdrawal, now: Timestamp) -> Answer {
    let to = &withdrawal.to;
    answer(Outcome::of_address(to), |scenario| {
        let facts = PlannedFacts {
            withdrawal: withdrawal.clone(),
            receiver: facts::of_address(to, scenario, now),
            sender: None,
            earlier_receivers: EarlierReceivers::NotKept,
        };
        Some(assess_planned(&facts, &POLICY, now))
    })
}

/// Returns the answer that a transaction chooses.
#[must_use]
pub fn assess_sent_transfer(query: &TransferQuery, now: Timestamp) -> Answer {
    answer(Outcome::of_transaction(query.txid), |scenario| {
        let transfer = transfer::of_query(query, now)?;
        let receiver = match query.direction {
            TransferDirection::Deposit => facts::of_origins(query.chain, scenario, now),
            TransferDirection::Withdrawal => facts::of_address(transfer.receiver(), scenario, now),
        };
        let facts = TransferFacts {
            direction: query.direction,
            transfer,
            senders: vec![None],
            receiver,
            destinations: None,
            tip_height: TIP_HEIGHT,
        };
        Some(assess_transfer(&facts, &POLICY, now))
    })
}

/// Returns the answer of an outcome; without one, that of a subject of which the sandbox knows nothing. An assessment
/// that is `None` is one of a transfer that its chain cannot have.
fn answer(outcome: Option<Outcome>, assess: impl FnOnce(Scenario) -> Option<Assessment>) -> Answer {
    let scenario = match outcome.map(|outcome| (outcome, outcome.reply)) {
        Some((outcome, OutcomeReply::Problem(_))) => return Answer::Refused(outcome),
        Some((_, OutcomeReply::Assessment(scenario))) => scenario,
        None => Scenario::Unknown,
    };
    let Some(mut assessment) = assess(scenario) else {
        return Answer::Refused(Outcome::of_problem(Code::UnsupportedTransfer));
    };
    assessment.warnings.push(warning(scenario));
    Answer::Assessed(Box::new(assessment), scenario)
}

/// The warning of every answer of the sandbox.
fn warning(scenario: Scenario) -> Warning {
    let message = match scenario {
        Scenario::Unknown => {
            "the sandbox knows nothing of this subject and never allows it: GET /api/v1/sandbox/addresses?blockchain=btc lists those it knows"
        }
        _ => {
            "this answer is made up: the address or transaction chose it, and a sandbox key never reads real data"
        }
    };
    Warning { code: "sandbox", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;
    use assay_engine::{
        account::AccountTransferSelector, facts::Environment, planned::PlannedAsset,
        score::Verdict, transfer::TransferSelector, utxo::OutputSelector,
    };

    use super::*;

    fn now() -> Timestamp {
        "2026-11-20T12:00:00Z".parse().unwrap()
    }

    fn expected(scenario: Scenario) -> Verdict {
        match scenario {
            Scenario::Clean | Scenario::Slow => Verdict::Allow,
            Scenario::Reported => Verdict::Review,
            Scenario::Listed => Verdict::Block,
            Scenario::ListMissing | Scenario::ListStale | Scenario::Unknown => {
                Verdict::Indeterminate
            }
        }
    }

    fn check(answer: Answer, outcome: Outcome, about: &str) {
        match (answer, outcome.reply) {
            (Answer::Assessed(assessment, _), OutcomeReply::Assessment(scenario)) => {
                assert_eq!(assessment.verdict, expected(scenario), "{about}: {assessment:?}");
                assert_eq!(assessment.environment, Environment::Sandbox);
                assert!(assessment.warnings.iter().any(|warning| warning.code == "sandbox"));
            }
            (Answer::Refused(refused), OutcomeReply::Problem(_)) => assert_eq!(refused, outcome),
            (answer, _) => panic!("{about}: {answer:?}"),
        }
    }

    #[test]
    fn the_policy_is_valid_and_demands_the_made_up_list() {
        assert_eq!(policy().spec().mandatory_sources[0].name, LIST);
    }

    #[test]
    fn every_address_gives_its_outcome_in_a_check_and_a_planned_withdrawal() {
        for chain in ChainId::all() {
            for outcome in Outcome::ALL.into_iter().filter(|outcome| outcome.has_addresses) {
                for to in outcome.mark().addresses(chain) {
                    let about = format!("{} {chain} {to}", outcome.name);
                    check(assess_address(&to, now()), outcome, &about);
                    check(assess_listed(&to, now()), outcome, &about);
                    let asset = PlannedAsset::parse(chain, "native").unwrap();
                    let planned = PlannedWithdrawal { to, from: None, asset, amount: 1_000 };
                    check(assess_planned_withdrawal(&planned, now()), outcome, &about);
                }
            }
        }
    }

    #[test]
    fn every_transaction_gives_its_outcome_in_both_directions() {
        for chain in ChainId::all().filter(|chain| chain.info().has_graph()) {
            for outcome in Outcome::ALL {
                for direction in [TransferDirection::Deposit, TransferDirection::Withdrawal] {
                    let selector = if chain.info().outputs().is_some() {
                        TransferSelector::Outputs(OutputSelector::Index(3))
                    } else {
                        TransferSelector::OfAccounts(AccountTransferSelector::default())
                    };
                    let txid = outcome.transaction();
                    let query = TransferQuery { chain, txid, selector, direction };
                    let about = format!("{} {chain} {direction:?}", outcome.name);
                    check(assess_sent_transfer(&query, now()), outcome, &about);
                }
            }
        }
    }

    #[test]
    fn an_unknown_address_is_never_allowed_and_a_stale_list_is_told_as_stale() {
        let address =
            CanonicalAddress::parse(ChainId::BTC, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").unwrap();
        let Answer::Assessed(assessment, Scenario::Unknown) = assess_address(&address, now())
        else {
            panic!("an assessment")
        };
        assert_eq!(assessment.verdict, Verdict::Indeterminate);
        let stale = Outcome::ALL[4].mark().addresses(ChainId::ETH).remove(0);
        let Answer::Assessed(assessment, _) = assess_address(&stale, now()) else {
            panic!("an assessment")
        };
        assert!(assessment.reasons.iter().any(|reason| reason.code == "source_stale"));
    }
}
