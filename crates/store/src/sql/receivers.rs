//! Receivers that tenants checked. No statement changes a counter: all run in parallel with other writers.

use std::collections::BTreeMap;

use assay_address::ResemblanceKeys;
use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

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
        let mut checked: BTreeMap<(&str, &str, &str), CheckedReceiver> = BTreeMap::new();
        for receiver in receivers {
            let Some(keys) = receiver.address.resemblance_keys() else { continue };
            let key = (receiver.tenant.as_str(), keys.form, receiver.address.as_str());
            checked
                .entry(key)
                .and_modify(|known| known.join(receiver))
                .or_insert_with(|| receiver.clone());
        }
        let mut rows: Vec<[Value<'_>; 9]> = Vec::with_capacity(checked.len());
        for CheckedReceiver { tenant, address, first_checked_at, last_checked_at } in
            checked.values()
        {
            let Some(keys) = address.resemblance_keys() else { continue };
            let ResemblanceKeys { form, ends, head, tail } = keys;
            rows.push([
                tenant.as_str().into(),
                form.into(),
                address.as_str().into(),
                address.chain().as_str().into(),
                ends.into(),
                head.into(),
                tail.into(),
                (*first_checked_at).into(),
                (*last_checked_at).into(),
            ]);
        }
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
            // Each part has a limit of its own, so that many that share one crowd out none that shares another.
            let sharing = ["ends = $3", "head = $4", "tail = $5"].map(|part| {
                format!(
                    "SELECT * FROM (SELECT chain, address, first_checked_at FROM receivers
                    WHERE tenant = $1 AND form = $2 AND {part}
                    ORDER BY first_checked_at, address LIMIT $6) AS alike"
                )
            });
            let alike = format!("{} ORDER BY first_checked_at, address", sharing.join(" UNION "));
            let most = i64::try_from(MOST_FOUND).unwrap_or(i64::MAX);
            let values = [
                tenant.as_str().into(),
                (*form).into(),
                ends.as_str().into(),
                head.as_str().into(),
                tail.as_str().into(),
                most.into(),
            ];
            session
                .rows(AssertSqlSafe(alike), &values)
                .await?
                .iter()
                .map(row::receivers::receiver)
                .collect()
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
