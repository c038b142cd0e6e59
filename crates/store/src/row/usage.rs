//! Rows of usage and stored answers.

use assay_tenancy::Name;

use super::Row;
use crate::{
    StoreError,
    usage::{ChargeKey, KeptCheck, Operation, UsageCount},
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
            verdict: row.text("outcome")?.to_owned(),
        },
        count: value::unsigned("usage.count", row.integer("count")?)?,
    })
}

/// The answer `id` of `tenant`, from the other stored columns.
pub(crate) fn check(row: &Row, tenant: &Name, id: &str) -> Result<KeptCheck, StoreError> {
    Ok(KeptCheck {
        id: id.to_owned(),
        tenant: tenant.clone(),
        made_at: value::time("checks.made_at", row.integer("made_at")?)?,
        answer: row.text("answer")?.to_owned(),
    })
}
