//! Slots of replicas in PostgreSQL: the table `seats`. Each call is one statement, by the server's clock.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use super::PostgresStore;
use crate::{
    StoreError,
    coordination::slots::{SlotLease, SlotRegistry, SlotStore},
    row::Row,
    sql::{Backend, SessionMode},
    value,
};

/// The server's time in microseconds, once for the whole statement. The time is read before the statement waits for a
/// lock, so that a lease can be shorter than requested, never longer.
const CLOCK: &str = "clock AS MATERIALIZED
    (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now)";
/// The holder's own slot, renewed.
const RENEWED: &str = "renewed AS
    (UPDATE seats SET expires_at = greatest(expires_at, clock.now + $2) FROM clock
     WHERE holder = $1 AND expires_at > clock.now RETURNING seats.*)";
/// The lowest free slot. A slot that another program is claiming is skipped.
const CLAIMED: &str = "free AS
    (SELECT number FROM seats, clock
     WHERE (holder IS NULL OR expires_at <= clock.now) AND NOT EXISTS (SELECT FROM renewed)
     ORDER BY number LIMIT 1 FOR UPDATE OF seats SKIP LOCKED),
    claimed AS
    (UPDATE seats SET holder = $1, claimed_at = clock.now, expires_at = clock.now + $2
     FROM free, clock WHERE seats.number = free.number RETURNING seats.*)";
/// All slots after this statement.
const ALL: &str = "SELECT clock.now, own.number IS NOT NULL AS is_own,
        coalesce(own.expires_at, seats.expires_at) AS expires_at
    FROM clock CROSS JOIN seats LEFT JOIN own ON own.number = seats.number ORDER BY seats.number";

#[async_trait]
impl SlotStore for PostgresStore {
    async fn claim_slot(&self, holder: &str, lease: Duration) -> Result<SlotLease, StoreError> {
        let own = "own AS (SELECT * FROM renewed UNION ALL SELECT * FROM claimed)";
        let query = format!("WITH {CLOCK}, {RENEWED}, {CLAIMED}, {own} {ALL}");
        self.query_slots(query, holder, lease).await
    }

    async fn renew_slot(&self, holder: &str, lease: Duration) -> Result<SlotLease, StoreError> {
        let own = "own AS (SELECT * FROM renewed)";
        self.query_slots(format!("WITH {CLOCK}, {RENEWED}, {own} {ALL}"), holder, lease).await
    }

    async fn release_slot(&self, holder: &str) -> Result<(), StoreError> {
        let query = format!(
            "WITH {CLOCK} UPDATE seats SET expires_at = clock.now FROM clock
             WHERE holder = $1 AND expires_at > clock.now"
        );
        let releasing = async {
            let mut session = self.session(SessionMode::Statements).await?;
            session.execute(AssertSqlSafe(query), &[holder.into()]).await?;
            Ok(())
        };
        self.with_timeout(releasing).await
    }
}

impl PostgresStore {
    async fn query_slots(
        &self,
        query: String,
        holder: &str,
        lease: Duration,
    ) -> Result<SlotLease, StoreError> {
        let lease = i64::try_from(lease.as_micros()).unwrap_or(i64::MAX / 2);
        let asking = async {
            let mut session = self.session(SessionMode::Statements).await?;
            session.rows(AssertSqlSafe(query), &[holder.into(), lease.into()]).await
        };
        slot_lease(&self.with_timeout(asking).await?)
    }
}

fn slot_lease(rows: &[Row]) -> Result<SlotLease, StoreError> {
    let Some(first) = rows.first() else {
        return Err(StoreError::unreadable("seats", "there is none"));
    };
    let now = value::microseconds("seats.now", first.integer("now")?)?;
    let mut is_held = false;
    let mut expiries = Vec::new();
    for row in rows {
        is_held |= row.flag("is_own")?;
        let expires_at = row.optional_integer("expires_at")?;
        expiries.extend(value::optional_microseconds("seats.expires_at", expires_at)?);
    }
    let total = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    Ok(SlotLease { is_held, registry: SlotRegistry { now, total, expiries } })
}
