//! Idempotency keys. A claim is one statement, for which equal claims wait.

use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::Timestamp;

use super::{Backend, RowScope, Session, SessionMode, Value};
use crate::{
    StoreError,
    idempotency::{IdempotencyStore, KeyClaim, KeyState, KeyedRequest},
};

#[async_trait]
impl<B: Backend> IdempotencyStore for B {
    async fn claim_key(
        &self,
        request: &KeyedRequest,
        claim: &KeyClaim,
        now: Timestamp,
    ) -> Result<KeyState, StoreError> {
        let asking = async {
            let scope = RowScope::Tenant(&request.tenant);
            let mut session = self.session(SessionMode::Write(scope)).await?;
            let state = if is_claimed(&mut session, request, claim, now).await? {
                KeyState::Claimed
            } else {
                state(&mut session, request).await?
            };
            session.commit(state).await
        };
        self.with_timeout(asking).await
    }

    async fn keep_answer(
        &self,
        request: &KeyedRequest,
        holder: &str,
        answer: &str,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let asking = async {
            let scope = RowScope::Tenant(&request.tenant);
            let mut session = self.session(SessionMode::Write(scope)).await?;
            let keep = "UPDATE idempotency_keys SET answer = $5, expires_at = $6
                WHERE tenant = $1 AND operation = $2 AND key = $3 AND holder = $4
                    AND answer IS NULL";
            let [tenant, operation, key] = identity(request);
            let values = [tenant, operation, key, holder.into(), answer.into(), until.into()];
            let kept = session.execute(keep, &values).await? == 1;
            session.commit(kept).await
        };
        self.with_timeout(asking).await
    }

    async fn free_key(&self, request: &KeyedRequest, holder: &str) -> Result<(), StoreError> {
        let asking = async {
            let scope = RowScope::Tenant(&request.tenant);
            let mut session = self.session(SessionMode::Write(scope)).await?;
            let free = "DELETE FROM idempotency_keys
                WHERE tenant = $1 AND operation = $2 AND key = $3 AND holder = $4
                    AND answer IS NULL";
            let [tenant, operation, key] = identity(request);
            session.execute(free, &[tenant, operation, key, holder.into()]).await?;
            session.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn purge_keys(&self, tenant: &Name, now: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Tenant(tenant))).await?;
            let purge = "DELETE FROM idempotency_keys WHERE tenant = $1 AND expires_at <= $2";
            let purged = session.execute(purge, &[tenant.as_str().into(), now.into()]).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }
}

/// The columns that identify a key.
fn identity(request: &KeyedRequest) -> [Value<'_>; 3] {
    [request.tenant.as_str().into(), request.operation.into(), request.key.as_str().into()]
}

/// Claims a key if no request has it, or its time is over. If another transaction is claiming it, the statement waits for
/// that transaction.
async fn is_claimed(
    session: &mut Session,
    request: &KeyedRequest,
    claim: &KeyClaim,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let text = "INSERT INTO idempotency_keys
            (tenant, operation, key, body_digest, holder, expires_at, answer)
        VALUES ($1, $2, $3, $4, $5, $6, NULL)
        ON CONFLICT (tenant, operation, key) DO UPDATE SET
            body_digest = excluded.body_digest, holder = excluded.holder,
            expires_at = excluded.expires_at, answer = NULL
        WHERE idempotency_keys.expires_at <= $7";
    let [tenant, operation, key] = identity(request);
    let values = [
        tenant,
        operation,
        key,
        request.body_digest.as_str().into(),
        claim.holder.as_str().into(),
        claim.until.into(),
        now.into(),
    ];
    Ok(session.execute(text, &values).await? == 1)
}

/// The state of a key that another request has. The claim before locked its row.
async fn state(session: &mut Session, request: &KeyedRequest) -> Result<KeyState, StoreError> {
    let text = "SELECT body_digest, answer FROM idempotency_keys
        WHERE tenant = $1 AND operation = $2 AND key = $3";
    let found = session.row(text, &identity(request)).await?;
    if found.text("body_digest")? != request.body_digest {
        return Ok(KeyState::OtherBody);
    }
    let answer = found.optional_text("answer")?;
    Ok(answer.map_or(KeyState::InUse, |answer| KeyState::Answered(answer.to_owned())))
}
