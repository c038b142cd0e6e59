//! Sessions of people. Every statement is of one tenant.

use std::collections::BTreeMap;

use assay_tenancy::{Name, key::KeyId};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{Backend, RowScope, SessionMode};
use crate::{
    StoreError, row,
    sessions::{
        ConsoleSession, MOST_OF_ACTOR, MOST_SESSIONS, SessionActor, SessionStore, SessionsOver,
    },
};

#[async_trait]
impl<B: Backend> SessionStore for B {
    async fn begin_session(
        &self,
        session: &ConsoleSession,
        over: SessionsOver,
    ) -> Result<(), StoreError> {
        let ConsoleSession { tenant, digest, actor, role, person, authority, began_at, used_at } =
            session;
        let asking = async {
            let mut statements = self.session(SessionMode::Write(RowScope::Tenant(tenant))).await?;
            let purge = "DELETE FROM console_sessions WHERE tenant = $1
                AND (used_at < $2 OR began_at < $3 OR digest IN (
                    SELECT digest FROM console_sessions WHERE tenant = $1
                    ORDER BY used_at DESC, digest LIMIT 1000000 OFFSET $4))";
            let most = |number: u32| i64::from(number - 1);
            let values = [
                tenant.as_str().into(),
                over.used_before.into(),
                over.begun_before.into(),
                most(MOST_SESSIONS).into(),
            ];
            statements.execute(purge, &values).await?;
            let purge = "DELETE FROM console_sessions WHERE tenant = $1 AND digest IN (
                SELECT digest FROM console_sessions
                WHERE tenant = $1 AND actor_kind = $2 AND actor = $3
                ORDER BY used_at DESC, digest LIMIT 1000000 OFFSET $4)";
            let values = [
                tenant.as_str().into(),
                actor.kind().into(),
                actor.id().as_str().into(),
                most(MOST_OF_ACTOR).into(),
            ];
            statements.execute(purge, &values).await?;
            let begin = "INSERT INTO console_sessions
                    (tenant, digest, actor_kind, actor, role, person, authority, began_at, used_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
            let values = [
                tenant.as_str().into(),
                digest.as_str().into(),
                actor.kind().into(),
                actor.id().as_str().into(),
                role.as_str().into(),
                person.as_str().into(),
                authority.as_str().into(),
                (*began_at).into(),
                (*used_at).into(),
            ];
            statements.execute(begin, &values).await?;
            statements.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn session(
        &self,
        tenant: &Name,
        digest: &str,
        over: SessionsOver,
    ) -> Result<Option<ConsoleSession>, StoreError> {
        let asking = async {
            let mut statements = self.session(SessionMode::Read(RowScope::Tenant(tenant))).await?;
            let find =
                "SELECT tenant, digest, actor_kind, actor, role, person, authority, began_at,
                    used_at
                FROM console_sessions
                WHERE tenant = $1 AND digest = $2 AND used_at >= $3 AND began_at >= $4";
            let values = [
                tenant.as_str().into(),
                digest.into(),
                over.used_before.into(),
                over.begun_before.into(),
            ];
            let rows = statements.rows(find, &values).await?;
            rows.first().map(row::sessions::session).transpose()
        };
        self.with_timeout(asking).await
    }

    async fn note_session_use(
        &self,
        tenant: &Name,
        digest: &str,
        used_at: Timestamp,
    ) -> Result<(), StoreError> {
        let asking = async {
            let mut statements = self.session(SessionMode::Write(RowScope::Tenant(tenant))).await?;
            let note = "UPDATE console_sessions SET used_at = $3
                WHERE tenant = $1 AND digest = $2 AND used_at < $3";
            let values = [tenant.as_str().into(), digest.into(), used_at.into()];
            statements.execute(note, &values).await?;
            statements.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn purge_sessions(&self, tenant: &Name, over: SessionsOver) -> Result<u64, StoreError> {
        let working = async {
            let mut statements = self.session(SessionMode::Write(RowScope::Tenant(tenant))).await?;
            let purge = "DELETE FROM console_sessions
                WHERE tenant = $1 AND (used_at < $2 OR began_at < $3)";
            let values =
                [tenant.as_str().into(), over.used_before.into(), over.begun_before.into()];
            let purged = statements.execute(purge, &values).await?;
            statements.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }

    async fn count_sessions(&self, tenant: &Name, over: SessionsOver) -> Result<u64, StoreError> {
        let asking = async {
            let mut statements = self.session(SessionMode::Read(RowScope::Tenant(tenant))).await?;
            let count = "SELECT count(*) AS sessions FROM console_sessions
                WHERE tenant = $1 AND used_at >= $2 AND began_at >= $3";
            let values =
                [tenant.as_str().into(), over.used_before.into(), over.begun_before.into()];
            let found = statements.row(count, &values).await?.integer("sessions")?;
            Ok(u64::try_from(found).unwrap_or_default())
        };
        self.with_timeout(asking).await
    }

    async fn names_of_people(&self, tenant: &Name) -> Result<BTreeMap<KeyId, String>, StoreError> {
        let asking = async {
            let mut statements = self.session(SessionMode::Read(RowScope::Tenant(tenant))).await?;
            // Of several names of a person, the latest counts.
            let find = "SELECT actor, person FROM console_sessions
                WHERE tenant = $1 AND actor_kind = 'person' AND person <> ''
                ORDER BY began_at, digest";
            let rows = statements.rows(find, &[tenant.as_str().into()]).await?;
            rows.iter().map(row::sessions::person).collect()
        };
        self.with_timeout(asking).await
    }

    async fn end_session(&self, tenant: &Name, digest: &str) -> Result<(), StoreError> {
        let asking = async {
            let mut statements = self.session(SessionMode::Write(RowScope::Tenant(tenant))).await?;
            let end = "DELETE FROM console_sessions WHERE tenant = $1 AND digest = $2";
            statements.execute(end, &[tenant.as_str().into(), digest.into()]).await?;
            statements.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn end_sessions(
        &self,
        tenant: &Name,
        actor: Option<&SessionActor>,
    ) -> Result<u64, StoreError> {
        let asking = async {
            let mut statements = self.session(SessionMode::Write(RowScope::Tenant(tenant))).await?;
            let ended = match actor {
                None => {
                    let end = "DELETE FROM console_sessions WHERE tenant = $1";
                    statements.execute(end, &[tenant.as_str().into()]).await?
                }
                Some(actor) => {
                    let end = "DELETE FROM console_sessions
                        WHERE tenant = $1 AND actor_kind = $2 AND actor = $3";
                    let id = actor.id().as_str();
                    let values = [tenant.as_str().into(), actor.kind().into(), id.into()];
                    statements.execute(end, &values).await?
                }
            };
            statements.commit(ended).await
        };
        self.with_timeout(asking).await
    }
}
