//! Rows of usage and stored answers.

use std::num::NonZeroU32;

use assay_engine::score::Score;
use assay_tenancy::Name;

use super::Row;
use crate::{
    StoreError,
    checks::{CheckKey, CheckSummary, FoundCheck},
    coordination::quotas::QuotaCounter,
    usage::{ChargeKey, KeptCheck, Operation, QuotaUse, UsageCount},
    value,
};

pub(crate) fn count(row: &Row) -> Result<UsageCount, StoreError> {
    let operation = row.text("operation")?;
    Ok(UsageCount {
        charged: ChargeKey {
            tenant: value::parsed("usage.tenant", row.text("tenant")?)?,
            day: value::day("usage.day", row.text("day")?)?,
            key: value::parsed("usage.key_id", row.text("key_id")?)?,
            plan: value::parsed("usage.plan", row.text("plan")?)?,
            operation: Operation::ALL
                .into_iter()
                .find(|known| known.as_str() == operation)
                .ok_or_else(|| StoreError::unreadable("usage.operation", operation))?,
            verdict: row.text("outcome")?.to_owned().into(),
        },
        count: value::unsigned("usage.count", row.integer("count")?)?,
    })
}

/// The answer `id` of `tenant`, from the other stored columns.
pub(crate) fn check(row: &Row, tenant: &Name, id: &str) -> Result<KeptCheck, StoreError> {
    let made_at = value::time("checks.made_at", row.integer("made_at")?)?;
    let answer = row.text("answer")?.to_owned();
    Ok(KeptCheck::new(id.to_owned(), tenant.clone(), made_at, answer))
}

/// A check that was found.
pub(crate) fn found_check(row: &Row) -> Result<FoundCheck, StoreError> {
    let score = row.integer("score")?;
    Ok(FoundCheck {
        key: check_key(row)?,
        summary: CheckSummary {
            blockchain: row.text("chain")?.to_owned(),
            address: row.text("address")?.to_owned(),
            reference: row.optional_text("reference")?.map(str::to_owned),
            verdict: row.text("verdict")?.to_owned(),
            score: u16::try_from(score)
                .map(Score::from_tenths)
                .map_err(|error| StoreError::unreadable("check_summaries.score", error))?,
            rules: row.text("rules")?.split_whitespace().map(str::to_owned).collect(),
        },
    })
}

pub(crate) fn check_key(row: &Row) -> Result<CheckKey, StoreError> {
    Ok(CheckKey { made_at: row.integer("made_at")?, id: row.text("id")?.to_owned() })
}

/// The counter of a window, from a row of `quota_windows`.
pub(crate) fn quota_counter(row: &Row) -> Result<QuotaCounter, StoreError> {
    let window_seconds = u32::try_from(row.integer("window_seconds")?)
        .ok()
        .and_then(NonZeroU32::new)
        .ok_or_else(|| StoreError::unreadable("quota_windows.window_seconds", "no such length"))?;
    Ok(QuotaCounter {
        subject: row.text("payer")?.to_owned(),
        limit: row.text("limit_name")?.to_owned(),
        window_seconds,
    })
}

pub(crate) fn quota_use(row: &Row) -> Result<QuotaUse, StoreError> {
    let number =
        |column: &'static str| Ok::<_, StoreError>(value::unsigned(column, row.integer(column)?)?);
    let counter = quota_counter(row)?;
    Ok(QuotaUse { counter, window_number: number("window_number")?, used: number("reserved")? })
}
