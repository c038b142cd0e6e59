//! Answers to callers of the sandbox, whose keys read no data: the address or transaction of a check chooses the answer.
//!
//! A caller of the sandbox has a tenant of its own, made of the key's tenant: without anything that the tenant keeps,
//! under a name that no tenant can have, and with the limits of short windows only, counted apart.

use std::sync::Arc;

use assay_address::CanonicalAddress;
use assay_engine::{assessment::AssessmentScope, policy::Policy};
use assay_sandbox::{
    Answer, Outcome, assess_address, assess_listed, assess_planned_withdrawal, assess_sent_transfer,
};
use assay_tenancy::{
    Period,
    directory::{Limit, Plan, Tenant},
    manifest::{Counts, Per, RetentionSpec},
};
use jiff::{SignedDuration, Timestamp};

use crate::{
    CacheStatus, CheckError, CheckOutcome, DecidedBy, ScreeningResult, SerializedAssessment,
    cache::CheckSubject,
};

/// Longest window of the limits that callers of the sandbox have, in seconds.
const LONGEST_WINDOW: u64 = 60;
/// Most rows of one request to `/screen`: slow ones take seconds each, on a server that has other callers, too.
const MOST_ROWS: u64 = 100;
/// Requests a second of a sandbox whose plan has no limit of a short window.
const REQUESTS_A_SECOND: u64 = 50;
const NONE: Period = Period::from_seconds(0);

/// Returns the tenant of a caller of a tenant's sandbox.
pub(crate) fn tenant_of_sandbox(tenant: &Tenant<Policy>) -> Tenant<Policy> {
    let plan = &*tenant.plan;
    let name = "sandbox".parse();
    Tenant {
        name: tenant.name.of_sandbox(),
        plan: Arc::new(Plan {
            name: plan.name.of_sandbox(),
            limits: limits(&plan.limits),
            max_screen_rows: plan.max_screen_rows.min(MOST_ROWS),
            max_full_screen_rows: plan.max_full_screen_rows.min(MOST_ROWS),
            cache_lifetime: NONE,
            retention: RetentionSpec { checks: NONE, usage: NONE },
            ..plan.clone()
        }),
        policy_name: name.unwrap_or_else(|_| tenant.policy_name.of_sandbox()),
        policy: assay_sandbox::policy(),
        ..tenant.clone()
    }
}

/// Returns the limits of short windows, or one of the sandbox's own, so that its load is bounded.
fn limits(of_plan: &[Limit]) -> Vec<Limit> {
    let short = of_plan.iter().filter(|limit| limit.window.seconds() <= LONGEST_WINDOW);
    let mut limits: Vec<Limit> = short.cloned().collect();
    if let (true, Ok(name)) = (limits.is_empty(), "sandbox".parse()) {
        limits.push(Limit {
            name,
            requests: REQUESTS_A_SECOND,
            ceiling: REQUESTS_A_SECOND,
            window: Period::from_seconds(1),
            counts: Counts::Requests,
            per: Per::Tenant,
        });
    }
    limits
}

/// Returns the answer that the subject of a check chooses.
///
/// # Errors
///
/// Returns the outcome of a subject that chooses a problem.
pub(crate) async fn check(
    subject: &CheckSubject,
    now: Timestamp,
) -> Result<CheckOutcome, CheckError> {
    let answer = match subject {
        CheckSubject::Address(address) => assess_address(address, now),
        CheckSubject::Planned(planned) => assess_planned_withdrawal(&planned.withdrawal, now),
        CheckSubject::Transfer(query) => assess_sent_transfer(query, now),
    };
    match answer {
        Answer::Assessed(assessment, scenario) => {
            tokio::time::sleep(scenario.delay()).await;
            let assessed = SerializedAssessment::new(&assessment, now, 0)?;
            Ok(CheckOutcome {
                assessed: Arc::new(assessed),
                cache: CacheStatus::Miss,
                time_to_live: SignedDuration::ZERO,
            })
        }
        Answer::Refused(outcome) => Err(CheckError::Sandbox(outcome)),
    }
}

/// Returns the answer that the address of a row chooses.
///
/// # Errors
///
/// Returns the outcome of an address that chooses a problem.
pub async fn screen_in_sandbox(
    subject: &CanonicalAddress,
    scope: AssessmentScope,
    now: Timestamp,
) -> Result<ScreeningResult, Outcome> {
    let answer = match scope {
        AssessmentScope::Full => assess_address(subject, now),
        AssessmentScope::ListsAndLabels => assess_listed(subject, now),
    };
    match answer {
        Answer::Assessed(assessment, scenario) => {
            tokio::time::sleep(scenario.delay()).await;
            let decided_by = match assessment.scope {
                AssessmentScope::Full => DecidedBy::Trace,
                AssessmentScope::ListsAndLabels => DecidedBy::ListsAndLabels,
            };
            Ok(ScreeningResult::new(*assessment, decided_by))
        }
        Answer::Refused(outcome) => Err(outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str, window: u64) -> Limit {
        Limit {
            name: name.parse().unwrap(),
            requests: 10,
            ceiling: 10,
            window: Period::from_seconds(window),
            counts: Counts::Requests,
            per: Per::Tenant,
        }
    }

    #[test]
    fn the_sandbox_has_the_short_limits_of_the_plan_or_one_of_its_own() {
        let [second, month] = [limit("burst", 1), limit("monthly", 30 * 86_400)];
        assert_eq!(limits(&[second.clone(), month.clone()]), [second]);
        let own = limits(&[month]);
        assert_eq!((own.len(), own[0].name.as_str(), own[0].requests), (1, "sandbox", 50));
    }
}
