//! `POST /api/v1/screen`: many addresses, one JSON line each, answered while they arrive; or an array of them, answered by
//! an array.
//!
//! Rows are answered in order. Backpressure applies: while the caller does not read answers, its rows are not read
//! either.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use assay_address::CanonicalAddress;
use assay_engine::{
    assessment::AssessmentScope,
    score::{RiskLevel, Score, Verdict},
    taxonomy::Category,
};
use assay_limiter::{Charge, StoreLossPolicy};
use assay_request::{
    head,
    problem::{Code, Problem},
    row::{RowFormat, RowResult, ScreenRequest, read_array},
};
use assay_sandbox::Outcome;
use assay_service::{
    Caller, DecidedBy, Screening, ScreeningResult, screen_in_sandbox, screen_subject,
};
use assay_store::usage::Operation;
use assay_tenancy::key::Scope;
use axum::{
    extract::{Extension, Query, State, rejection::QueryRejection},
    http::HeaderMap,
};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};

use crate::{
    App,
    request::{
        body::RowsBody,
        coded_body::CodedBody,
        gate::{exhausted_text, uncounted_text},
        problem::ProblemResponse,
    },
    response::JsonRows,
};

/// Largest array in bytes, after decoding.
const MAX_ARRAY_BYTES: usize = 1 << 20;
/// Longest line of a request, or row of an array, in bytes.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// Largest number of rows without flows that are answered together.
const BATCH: usize = 256;
/// Largest number of rows with flows that are answered together, because each may take as long as a check.
const FULL_BATCH: usize = 16;
/// Number of rows of one request whose flows are traced concurrently, so that single checks of other callers are not
/// delayed.
const ROWS_AT_ONCE: usize = 2;

/// Requested evidence.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScreenQuery {
    /// Evidence that rows cover: `lists_and_labels`, or `full` for flows of funds too. Default: `lists_and_labels`.
    #[serde(default = "lists_and_labels")]
    #[schemars(example = &"full")]
    pub scope: AssessmentScope,
}

const fn lists_and_labels() -> AssessmentScope {
    AssessmentScope::ListsAndLabels
}

/// Answer to one row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScreenResponse {
    /// Number of the row in the request, from 1; empty lines are not counted.
    pub row: u64,
    /// Your reference from the row.
    pub reference: Option<String>,
    /// Identifier of the blockchain, or the submitted text.
    pub blockchain: Option<String>,
    /// Address in canonical form, or the submitted text.
    pub address: Option<String>,
    /// Risk score, from 0 to 100.
    pub risk_score: Option<Score>,
    /// Band of the score.
    pub risk_level: Option<RiskLevel>,
    /// Verdict under the policy.
    pub verdict: Option<Verdict>,
    /// Categories of the address and of addresses tied to it, riskiest first.
    pub categories: Vec<Category>,
    /// True if a sanctions list names the address itself today.
    pub sanctioned: Option<bool>,
    /// Text of the reason with the largest weight.
    pub reason: Option<String>,
    /// Evidence that the row covers. `lists_and_labels`: flows of funds were not requested, or are not known. A row
    /// with `lists_and_labels` does not get the verdict `allow` on a chain whose flows are followed, or if the policy
    /// requires flows.
    pub scope: AssessmentScope,
    /// Evidence by which the row was decided: `lists_and_labels`, `trace` for all evidence of a check, or
    /// `compositions` for the address's history and the compositions of its transactions (breakdowns of their funds by
    /// origin), if the policy allows these even at their largest weight. With `compositions`, a check has the same
    /// verdict, and this score or a lower one.
    pub decided_by: Option<DecidedBy>,
    /// Reason why the row was not answered. Rows that were not answered are not charged.
    pub error: Option<String>,
}

/// Screens rows as they arrive.
///
/// # Errors
///
/// Returns an error if the `Content-Type` is neither NDJSON nor JSON, the query is not valid, the body of an array is no
/// array, or the request has an idempotency key. Errors of a row are in its answer.
pub async fn screen_rows(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    query: Result<Query<ScreenQuery>, QueryRejection>,
    headers: HeaderMap,
    body: RowsBody<ScreenRequest>,
) -> Result<JsonRows<ScreenResponse>, ProblemResponse> {
    head::refuse_idempotency_key(&headers)?;
    let Query(ScreenQuery { scope }) = query.map_err(|error| {
        let message = error.body_text();
        Problem::new(Code::InvalidRequest, &message).field("scope", message)
    })?;
    let time = app.settings.row_timeout;
    let format = body.format()?;
    let rows = match format {
        RowFormat::Lines => RowSource::Lines(RowReader::new(body.open()?, time)),
        RowFormat::Array => {
            let bytes = body.read(MAX_ARRAY_BYTES, time).await?;
            RowSource::Array(read_array(&bytes, MAX_LINE_BYTES)?.into())
        }
    };
    let state = ScreenStream { app, caller, scope, rows, row: 0, ended: false };
    let answers = futures_util::stream::unfold(state, |mut state| async move {
        let batch = state.next().await?;
        Some((batch, state))
    });
    Ok(JsonRows::new(format, answers))
}

/// A bulk request in progress.
struct ScreenStream {
    app: Arc<App>,
    caller: Caller,
    scope: AssessmentScope,
    rows: RowSource,
    row: u64,
    ended: bool,
}

impl ScreenStream {
    /// Returns the answers to the next rows; `None` after the last row.
    async fn next(&mut self) -> Option<Vec<ScreenResponse>> {
        if self.ended {
            return None;
        }
        let most = match self.scope {
            AssessmentScope::Full => FULL_BATCH,
            AssessmentScope::ListsAndLabels => BATCH,
        };
        let batch = self.rows.next(most).await;
        self.ended = batch.ended;
        let mut answers = self.answer(batch.lines.into()).await;
        if let Some(error) = batch.error {
            self.row += 1;
            answers.push(self.error_row(None, error));
            self.ended = true;
        }
        if self.ended && self.row == 0 {
            // An empty answer would look like a list without findings.
            self.row = 1;
            answers.push(self.error_row(None, "the body contains no row".into()));
        }
        (!answers.is_empty()).then_some(answers)
    }

    async fn answer(&mut self, mut lines: VecDeque<RowResult>) -> Vec<ScreenResponse> {
        let service = Arc::clone(&self.app.service);
        let now = service.clock.now();
        // The key may have been revoked since the stream began.
        let Ok(caller) = service.renew(&self.caller, Scope::Screen, now) else {
            self.row += 1;
            self.ended = true;
            let error = "the API key is no longer valid for this operation";
            return vec![self.error_row(None, error.into())];
        };
        self.caller = caller;
        let plan = &self.caller.tenant.plan;
        let (cap, limit) = match self.scope {
            AssessmentScope::Full => (plan.max_full_screen_rows, "rows with flows"),
            AssessmentScope::ListsAndLabels => (plan.max_screen_rows, "rows"),
        };
        let left = usize::try_from(cap.saturating_sub(self.row)).unwrap_or(usize::MAX);
        let exceeds_cap = lines.len() > left;
        lines.truncate(left);

        let limits = self.caller.tenant.limits(now);
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let wanted = lines.iter().filter(|line| line.is_ok()).count() as u64;
        let account = self.caller.account();
        let store_loss = StoreLossPolicy::of_plan(&self.caller.tenant.plan);
        let taken =
            service.limiter.take_checks(account, wanted, &limits, store_loss, seconds).await;
        let mut checks_left = taken.charge.count();
        let mut unanswered = UnansweredRows {
            count: taken.charge.count(),
            app: Arc::clone(&self.app),
            caller: self.caller.clone(),
            charge: taken.charge,
        };
        let rows: Vec<Row> = lines
            .into_iter()
            .map(|line| match line {
                Err(error) => Row::Wrong(None, error),
                Ok(request) if checks_left == 0 => {
                    let names: Vec<String> =
                        taken.violated.iter().map(ToString::to_string).collect();
                    let explain = if taken.unavailable { uncounted_text } else { exhausted_text };
                    Row::Wrong(Some(request), explain(&names, taken.retry_after))
                }
                Ok(request) => match screen_subject(&request.blockchain, &request.address) {
                    Err(error) => Row::Wrong(Some(request), error),
                    Ok(subject) => {
                        checks_left -= 1;
                        Row::Valid(request.reference, subject)
                    }
                },
            })
            .collect();

        let (intel, chains) = (service.intel(), service.chains());
        let policy = Arc::clone(&self.caller.tenant.policy);
        let (intel, chains, policy) = (&*intel, &*chains, &*policy);
        let intel_stale = service.is_intel_stale();
        let screening = Screening { chains, intel, policy, now, intel_stale };
        let (scope, is_sandbox) = (self.scope, self.caller.is_sandbox());
        let screened = rows.into_iter().map(async |row| match row {
            Row::Wrong(request, error) => (Row::Wrong(request, error), None),
            Row::Valid(reference, subject) if is_sandbox => {
                match screen_in_sandbox(&subject, scope, now).await {
                    Ok(found) => (Row::Valid(reference, subject), Some(found)),
                    Err(outcome) => (Row::refused_in_sandbox(reference, &subject, outcome), None),
                }
            }
            Row::Valid(reference, subject) => {
                let found = match scope {
                    AssessmentScope::ListsAndLabels => screening.by_lists_and_labels(&subject),
                    AssessmentScope::Full => screening.with_flows(&subject).await,
                };
                (Row::Valid(reference, subject), Some(found))
            }
        });
        let mut screened = futures_util::stream::iter(screened).buffered(ROWS_AT_ONCE);
        let mut answers = Vec::new();
        while let Some((row, found)) = screened.next().await {
            self.row += 1;
            answers.push(match (row, found) {
                (Row::Valid(reference, subject), Some(found)) => {
                    unanswered.count = unanswered.count.saturating_sub(1);
                    let charged_at = service.store_clock.now(now);
                    let recorder = &service.recorder;
                    recorder.charge(&self.caller, Operation::Screen, found.verdict, charged_at);
                    ScreenResponse::answered(self.row, reference, &subject, found)
                }
                (Row::Wrong(request, error), _) => self.error_row(request, error),
                (Row::Valid(..), None) => continue,
            });
        }
        drop(unanswered);
        if exceeds_cap {
            self.row += 1;
            let error =
                format!("more than {cap} {limit}: the plan allows at most {cap} in one request");
            answers.push(self.error_row(None, error));
            self.ended = true;
        }
        answers
    }

    /// Returns the answer to the present row, which cannot be screened.
    fn error_row(&self, request: Option<ScreenRequest>, error: String) -> ScreenResponse {
        let (blockchain, address, reference) = match request {
            Some(request) => (Some(request.blockchain), Some(request.address), request.reference),
            None => (None, None, None),
        };
        ScreenResponse {
            row: self.row,
            reference,
            blockchain,
            address,
            risk_score: None,
            risk_level: None,
            verdict: None,
            categories: Vec::new(),
            sanctioned: None,
            reason: None,
            scope: self.scope,
            decided_by: None,
            error: Some(error),
        }
    }
}

/// Rows that were charged and are not answered yet. Dropping the value refunds the charge for these rows, also if the
/// caller disconnects.
struct UnansweredRows {
    app: Arc<App>,
    caller: Caller,
    charge: Charge,
    count: u64,
}

impl Drop for UnansweredRows {
    fn drop(&mut self) {
        let refunded = self.charge.refund_of_checks(self.count);
        self.app.service.limiter.refund(self.caller.account(), &refunded);
    }
}

/// A row that was read.
enum Row {
    /// The caller's reference, and the address of the row.
    Valid(Option<String>, CanonicalAddress),
    /// The request of the row, if it was parsed, and the reason for which the row is not screened.
    Wrong(Option<ScreenRequest>, String),
}

impl Row {
    /// Returns the row of an address that chose a problem.
    fn refused_in_sandbox(
        reference: Option<String>,
        subject: &CanonicalAddress,
        outcome: Outcome,
    ) -> Self {
        let (blockchain, address) = (subject.chain().to_string(), subject.to_string());
        let error = format!("sandbox: the address chose `{}`", outcome.name);
        Self::Wrong(Some(ScreenRequest { blockchain, address, reference }), error)
    }
}

impl ScreenResponse {
    /// Builds the answer to a row.
    pub(crate) fn answered(
        row: u64,
        reference: Option<String>,
        subject: &CanonicalAddress,
        found: ScreeningResult,
    ) -> Self {
        Self {
            row,
            reference,
            blockchain: Some(subject.chain().to_string()),
            address: Some(subject.to_string()),
            risk_score: Some(found.risk_score),
            risk_level: Some(found.risk_level),
            verdict: Some(found.verdict),
            categories: found.categories,
            sanctioned: Some(found.sanctioned),
            reason: Some(found.reason),
            scope: found.scope,
            decided_by: Some(found.decided_by),
            error: None,
        }
    }
}

/// Rows of a request.
enum RowSource {
    /// Lines that arrive.
    Lines(RowReader),
    /// Rest of an array.
    Array(VecDeque<RowResult>),
}

impl RowSource {
    /// Returns the next rows, at most `max`, or waits for one.
    async fn next(&mut self, max: usize) -> RowBatch {
        match self {
            Self::Lines(reader) => reader.next(max).await,
            Self::Array(rows) => {
                let lines = rows.drain(..max.min(rows.len())).collect();
                RowBatch { lines, ended: rows.is_empty(), error: None }
            }
        }
    }
}

/// Reader of the lines of a body as they arrive.
struct RowReader {
    body: CodedBody,
    /// Longest time for the next complete row to arrive.
    time: Duration,
    buffer: Vec<u8>,
    body_ended: bool,
    /// True if the present line is too long, so that its rest is discarded.
    too_long: bool,
}

/// A batch of rows.
struct RowBatch {
    lines: Vec<RowResult>,
    /// True if the body has no rows after this batch.
    ended: bool,
    /// The error that ended the body early.
    error: Option<String>,
}

impl RowReader {
    const fn new(body: CodedBody, time: Duration) -> Self {
        Self { body, time, buffer: Vec::new(), body_ended: false, too_long: false }
    }

    /// Returns the lines that have arrived, at most `max`, or waits for a line.
    async fn next(&mut self, max: usize) -> RowBatch {
        let mut lines = Vec::new();
        let deadline = Instant::now() + self.time;
        loop {
            self.take_lines(&mut lines, max);
            if self.body_ended && self.buffer.is_empty() && std::mem::take(&mut self.too_long) {
                lines.push(Err(too_long()));
            }
            if !lines.is_empty() || (self.body_ended && self.buffer.is_empty()) {
                let ended = self.body_ended && self.buffer.is_empty();
                return RowBatch { lines, ended, error: None };
            }
            match timeout_at(deadline, self.body.next()).await {
                Ok(Some(Ok(data))) => self.buffer.extend_from_slice(&data),
                Ok(None) => self.body_ended = true,
                Ok(Some(Err(error))) => return self.broken(lines, error.text()),
                Err(_) => {
                    let error = format!("no row arrived for {} seconds", self.time.as_secs());
                    return self.broken(lines, error);
                }
            }
        }
    }

    fn broken(&mut self, lines: Vec<RowResult>, error: String) -> RowBatch {
        self.body_ended = true;
        self.buffer.clear();
        RowBatch { lines, ended: true, error: Some(error) }
    }

    /// Moves complete lines out of the buffer; at the body's end, the rest of the buffer counts as a line.
    fn take_lines(&mut self, lines: &mut Vec<RowResult>, max: usize) {
        let mut start = 0;
        while lines.len() < max {
            let rest = self.buffer.get(start..).unwrap_or_default();
            let length = match rest.iter().position(|byte| is_line_end(*byte)) {
                Some(length) => length,
                None if self.body_ended && !rest.is_empty() => rest.len(),
                None => break,
            };
            let line = rest.get(..length).unwrap_or_default();
            if std::mem::take(&mut self.too_long) || line.len() > MAX_LINE_BYTES {
                lines.push(Err(too_long()));
            } else if !line.trim_ascii().is_empty() {
                lines.push(ScreenRequest::read(line));
            }
            start += (length + 1).min(rest.len());
        }
        self.buffer.drain(..start);
        if self.buffer.len() > MAX_LINE_BYTES && !self.buffer.iter().any(|byte| is_line_end(*byte))
        {
            self.too_long = true;
            self.buffer.clear();
        }
    }
}

/// True for the bytes that end a line; the blank line within `\r\n` is no row.
const fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn too_long() -> String {
    format!("the line is longer than {MAX_LINE_BYTES} bytes")
}
