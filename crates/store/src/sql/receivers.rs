//! Receivers that tenants checked. No statement changes a counter: all run in parallel with other writers.

use std::collections::BTreeMap;

use assay_address::ResemblanceKeys;
use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::Timestamp;

use super::{Backend, RowScope, SessionMode, Value};
use crate::{
    StoreError,
    receivers::{CheckedReceiver, KnownReceiver, MOST_FOUND, MOST_RECEIVERS, ReceiverStore},
    row,
};

#[async_trait]
impl<B: Backend> ReceiverStore for B {
    async fn record_receivers(&self, receivers: &[CheckedReceiver]) -> Result<(), StoreError> {
        // Each row once, as PostgreSQL requires of one statement, and in one order, so that programs never deadlock.
        let mut rows: BTreeMap<(&str, &str, &str), [Value<'_>; 9]> = BTreeMap::new();
        // The earliest of several checks of one receiver, on whatever chain, comes last and stays.
        let mut ordered: Vec<&CheckedReceiver> = receivers.iter().collect();
        ordered.sort_by_key(|receiver| std::cmp::Reverse(receiver.first_checked_at));
        for CheckedReceiver { tenant, address, first_checked_at, last_checked_at } in ordered {
            let Some(keys) = address.resemblance_keys() else { continue };
            let ResemblanceKeys { form, ends, head, tail } = keys;
            let row = [
                tenant.as_str().into(),
                form.into(),
                address.as_str().into(),
                address.chain().as_str().into(),
                ends.into(),
                head.into(),
                tail.into(),
                (*first_checked_at).into(),
                (*last_checked_at).into(),
            ];
            rows.insert((tenant.as_str(), form, address.as_str()), row);
        }
        let rows: Vec<_> = rows.into_values().collect();
        let asking = async {
            let mut session = self.session(SessionMode::Write(RowScope::Record)).await?;
            let columns =
                "tenant, form, address, chain, ends, head, tail, first_checked_at, last_checked_at";
            let otherwise = "ON CONFLICT (tenant, form, address) DO UPDATE SET
                first_checked_at = CASE WHEN receivers.first_checked_at < excluded.first_checked_at
                    THEN receivers.first_checked_at ELSE excluded.first_checked_at END,
                last_checked_at = CASE WHEN receivers.last_checked_at > excluded.last_checked_at
                    THEN receivers.last_checked_at ELSE excluded.last_checked_at END";
            session.insert("receivers", columns, &rows, otherwise).await?;
            session.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn receivers_like(
        &self,
        tenant: &Name,
        keys: &ResemblanceKeys,
    ) -> Result<Vec<KnownReceiver>, StoreError> {
        let ResemblanceKeys { form, ends, head, tail } = keys;
        let asking = async {
            let mut session = self.session(SessionMode::Read(RowScope::Tenant(tenant))).await?;
            let alike = "SELECT chain, address, first_checked_at FROM receivers
                WHERE tenant = $1 AND form = $2 AND (ends = $3 OR head = $4 OR tail = $5)
                ORDER BY first_checked_at, address LIMIT $6";
            let most = i64::try_from(MOST_FOUND).unwrap_or(i64::MAX);
            let values = [
                tenant.as_str().into(),
                (*form).into(),
                ends.as_str().into(),
                head.as_str().into(),
                tail.as_str().into(),
                most.into(),
            ];
            session.rows(alike, &values).await?.iter().map(row::receivers::receiver).collect()
        };
        self.with_timeout(asking).await
    }

    async fn purge_receivers(&self, tenant: &Name, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Tenant(tenant))).await?;
            let purge = "DELETE FROM receivers WHERE tenant = $1 AND (last_checked_at < $2
                OR last_checked_at < (SELECT last_checked_at FROM receivers WHERE tenant = $1
                    ORDER BY last_checked_at DESC LIMIT 1 OFFSET $3))";
            let values = [tenant.as_str().into(), before.into(), (MOST_RECEIVERS - 1).into()];
            let purged = session.execute(purge, &values).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }
}
