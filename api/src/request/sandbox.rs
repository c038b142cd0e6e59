//! Problems that the address or transaction of a check chooses in the sandbox.

use assay_request::problem::{Code, Problem};
use assay_sandbox::{Outcome, OutcomeReply};
use assay_service::DenialReason;
use assay_tenancy::key::Scope;

use super::gate::denied;

/// Returns the problem of an outcome, with the header fields of the real one.
pub(crate) fn problem(outcome: Outcome) -> Problem {
    let OutcomeReply::Problem(code) = outcome.reply else {
        return Problem::new(Code::InternalError, "the outcome is no problem");
    };
    let reason = match code {
        Code::InvalidKey => Some(DenialReason::InvalidKey),
        Code::TenantSuspended => Some(DenialReason::TenantSuspended),
        Code::NoApiAccess => Some(DenialReason::NoApiAccess),
        Code::InsufficientScope => Some(DenialReason::InsufficientScope),
        _ => None,
    };
    if let Some(reason) = reason {
        return denied(reason, Scope::Check);
    }
    let detail =
        format!("sandbox: the address or transaction of the check chose `{}`", outcome.name);
    let problem = Problem::new(code, &detail);
    let problem = match code {
        Code::InvalidAddress => problem.field("address", detail),
        Code::QuotaExceeded | Code::ReducedCapacity => problem.violated(vec!["sandbox".to_owned()]),
        Code::TransactionNotFound | Code::UnsupportedTransfer => {
            problem.field("transaction", detail)
        }
        Code::OutputNotFound => problem.field("output", detail),
        Code::ChainNotFollowed => problem.field("blockchain", detail),
        _ => problem,
    };
    match outcome.retry_after() {
        Some(seconds) => problem.retry_after(seconds, 0),
        None => problem,
    }
}
