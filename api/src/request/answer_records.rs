//! Records that an answer leaves: charges, kept checks, and receivers of withdrawals. A handler adds them to its response,
//! and they are recorded once it is certain that the answer is given.

use std::sync::Arc;

use assay_address::CanonicalAddress;
use assay_engine::score::Verdict;
use assay_service::Caller;
use assay_store::usage::KeptCheck;
use axum::response::Response;
use jiff::Timestamp;

use super::{checks_charge::ChecksCharge, frame::LoggedSubject};
use crate::App;

/// Record of one answered check.
#[derive(Clone, Debug)]
pub(crate) struct AnsweredCheck {
    /// Verdict of the answer.
    pub(crate) verdict: Verdict,
    /// Time of the answer.
    pub(crate) now: Timestamp,
    /// The answer to keep; `None` if the plan keeps none.
    pub(crate) kept: Option<KeptCheck>,
    /// Receiver of a withdrawal, by which later receivers that look like it are found.
    pub(crate) receiver: Option<CanonicalAddress>,
}

/// Response of a handler, with the values for the stages before the handler.
#[derive(Debug)]
pub(crate) struct Handled {
    /// The response.
    pub(crate) response: Response,
    /// Records of the answer.
    pub(crate) records: AnswerRecords,
    /// Assessment of the address that the request concerns.
    pub(crate) subject: Option<LoggedSubject>,
}

impl Handled {
    /// A response without such values.
    pub(crate) fn new(response: Response) -> Self {
        Self { response, records: AnswerRecords::default(), subject: None }
    }

    /// Takes the values out of the extensions of a response, to which a handler behind the router adds them.
    pub(crate) fn from_extensions(mut response: Response) -> Self {
        let records = response.extensions_mut().remove().unwrap_or_default();
        let subject = response.extensions_mut().remove();
        Self { response, records, subject }
    }

    /// Adds the values to the extensions of the response.
    pub(crate) fn into_extensions(self) -> Response {
        let Self { mut response, records, subject } = self;
        response.extensions_mut().insert(records);
        if let Some(subject) = subject {
            response.extensions_mut().insert(subject);
        }
        response
    }
}

/// Records of an answer; an extension of its response.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerRecords {
    /// The answered checks.
    pub(crate) checks: Vec<AnsweredCheck>,
    /// The charge that they settle, if the request took its checks by itself.
    pub(crate) charge: Option<Arc<ChecksCharge>>,
    /// True if the answer holds at this moment only, as one about an unconfirmed transaction: a repetition of the
    /// request is another check.
    pub(crate) is_momentary: bool,
}

impl AnswerRecords {
    /// Takes the records out of a response; none if it has none.
    pub(crate) fn take(response: &mut Response) -> Self {
        response.extensions_mut().remove().unwrap_or_default()
    }

    /// Records everything.
    pub(crate) fn commit(self, app: &App, caller: &Caller) {
        let service = &app.service;
        if let Some(charge) = &self.charge {
            charge.settle(u64::try_from(self.checks.len()).unwrap_or(u64::MAX));
        }
        for AnsweredCheck { verdict, now, kept, receiver } in self.checks {
            let charged_at = service.store_clock.now(now);
            service.recorder.record_check(caller, verdict, charged_at, kept);
            if let Some(receiver) = receiver {
                service.receivers.record(&caller.tenant.name, &receiver, now);
            }
        }
    }
}
