//! Quotas in PostgreSQL.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;

use super::PostgresStore;
use crate::{
    StoreError,
    coordination::quotas::{QuotaCounter, QuotaGrant, QuotaRequest, QuotaReturn, QuotaStore},
    row::{self, Row},
    sql::{Backend, RowScope, SessionMode, Value},
    value,
};

/// Rows are inserted, and so locked, in the order of their keys: programs that request the same
/// counters never deadlock. An existing row is locked and read anew before it is increased;
/// `excluded.granted` is the requested number, up to the limit. The remaining time is read after
/// all waiting, so that it is too short, if anything.
const RESERVE: &str = "
    WITH clock AS MATERIALIZED
        (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now),
    given AS (
        INSERT INTO quota_windows AS q
            (payer, limit_name, window_seconds, window_number, allowed, reserved, granted)
        SELECT payer, limit_name, seconds, clock.now / (seconds * 1000000), allowed,
               least(allowed, want), least(allowed, want)
        FROM clock, unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
             AS asked (payer, limit_name, seconds, allowed, want)
        ORDER BY payer COLLATE \"C\", limit_name COLLATE \"C\", seconds
        ON CONFLICT (payer, limit_name, window_seconds, window_number) DO UPDATE SET
            allowed = excluded.allowed,
            granted = greatest(0, least(excluded.granted, excluded.allowed - q.reserved)),
            reserved = q.reserved
                + greatest(0, least(excluded.granted, excluded.allowed - q.reserved))
        RETURNING *)
    SELECT payer, limit_name, window_seconds, window_number, granted,
           greatest(0, allowed - reserved) AS remaining,
           greatest(0, (window_number + 1) * window_seconds * 1000000
               - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS until_end
    FROM given";

/// Locks rows in the same order as [`RESERVE`].
const GIVE_BACK: &str = "
    WITH given AS MATERIALIZED (
        SELECT q.payer, q.limit_name, q.window_seconds, q.window_number, back.count
        FROM quota_windows AS q
        JOIN unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
             AS back (payer, limit_name, seconds, number, count)
          ON q.payer = back.payer AND q.limit_name = back.limit_name
             AND q.window_seconds = back.seconds AND q.window_number = back.number
        ORDER BY q.payer, q.limit_name, q.window_seconds, q.window_number
        FOR NO KEY UPDATE OF q)
    UPDATE quota_windows AS q SET reserved = greatest(0, q.reserved - given.count) FROM given
    WHERE q.payer = given.payer AND q.limit_name = given.limit_name
      AND q.window_seconds = given.window_seconds AND q.window_number = given.window_number";

/// Counters stay for two days after the end of their windows, so that a clock set back by less forgets no grant.
/// Programs that purge at once skip each other's rows.
const PURGE: &str = "
    DELETE FROM quota_windows AS q USING (
        SELECT payer, limit_name, window_seconds, window_number FROM quota_windows
        WHERE (window_number + 1) * window_seconds + 172800
              < extract(epoch FROM clock_timestamp())::bigint
        FOR UPDATE SKIP LOCKED) AS ended
    WHERE q.payer = ended.payer AND q.limit_name = ended.limit_name
      AND q.window_seconds = ended.window_seconds AND q.window_number = ended.window_number";

#[async_trait]
impl QuotaStore for PostgresStore {
    async fn reserve(&self, requests: &[QuotaRequest]) -> Result<Vec<QuotaGrant>, StoreError> {
        let mut counters: BTreeMap<&QuotaCounter, &QuotaRequest> = BTreeMap::new();
        for request in requests {
            counters.entry(&request.counter).or_insert(request);
        }
        let [subjects, limits, seconds] = counter_columns(counters.keys().copied());
        let allowed =
            counters.values().map(|request| value::signed(request.allowed)).collect::<Vec<_>>();
        let wanted =
            counters.values().map(|request| value::signed(request.wanted)).collect::<Vec<_>>();
        let values = [subjects, limits, seconds, allowed.into(), wanted.into()];
        let reserving =
            async { self.session(SessionMode::Statements).await?.rows(RESERVE, &values).await };
        let rows = self.with_timeout(reserving).await?;
        let mut grants: BTreeMap<QuotaCounter, QuotaGrant> =
            rows.iter().map(grant).collect::<Result<_, _>>()?;
        requests
            .iter()
            .map(|request| {
                let grant = grants.get_mut(&request.counter).ok_or_else(|| {
                    StoreError::unreadable("quota_windows", "a counter is missing")
                })?;
                let answer = *grant;
                // Asked for again, it was given already.
                grant.granted = 0;
                Ok(answer)
            })
            .collect()
    }

    async fn give_back(&self, returns: &[QuotaReturn]) -> Result<(), StoreError> {
        let mut sums: BTreeMap<(&QuotaCounter, u64), u64> = BTreeMap::new();
        for QuotaReturn { counter, window_number, count } in returns {
            let sum = sums.entry((counter, *window_number)).or_default();
            *sum = sum.saturating_add(*count);
        }
        let [subjects, limits, seconds] = counter_columns(sums.keys().map(|(counter, _)| *counter));
        let numbers = sums.keys().map(|(_, number)| value::signed(*number)).collect::<Vec<_>>();
        let counts = sums.values().map(|count| value::signed(*count)).collect::<Vec<_>>();
        let values = [subjects, limits, seconds, numbers.into(), counts.into()];
        let giving = async {
            self.session(SessionMode::Statements).await?.execute(GIVE_BACK, &values).await?;
            Ok(())
        };
        self.with_timeout(giving).await
    }

    async fn first_epoch(&self, bucket: &str) -> Result<bool, StoreError> {
        let note = "INSERT INTO limiter_epochs_seen (bucket, first_at)
                    VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                    ON CONFLICT (bucket) DO NOTHING";
        let values = [bucket.into()];
        let noting =
            async { self.session(SessionMode::Statements).await?.execute(note, &values).await };
        Ok(self.with_timeout(noting).await? == 1)
    }

    async fn purge_quotas(&self) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let purged = session.execute(PURGE, &[]).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }
}

/// Counters, column by column: subjects, limits and lengths of windows.
fn counter_columns<'a>(counters: impl Iterator<Item = &'a QuotaCounter> + Clone) -> [Value<'a>; 3] {
    let subjects: Vec<&str> = counters.clone().map(|counter| &*counter.subject).collect();
    let limits: Vec<&str> = counters.clone().map(|counter| &*counter.limit).collect();
    let seconds: Vec<i64> = counters.map(|counter| counter.window_seconds.get().into()).collect();
    [subjects.into(), limits.into(), seconds.into()]
}

fn grant(row: &Row) -> Result<(QuotaCounter, QuotaGrant), StoreError> {
    let number =
        |column: &'static str| Ok::<_, StoreError>(value::unsigned(column, row.integer(column)?)?);
    let counter = row::usage::quota_counter(row)?;
    let grant = QuotaGrant {
        granted: number("granted")?,
        window_number: number("window_number")?,
        remaining: number("remaining")?,
        until_end: Duration::from_micros(number("until_end")?),
    };
    Ok((counter, grant))
}
