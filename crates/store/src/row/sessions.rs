//! Rows of sessions.

use assay_tenancy::key::KeyId;

use super::Row;
use crate::{
    StoreError,
    sessions::{ConsoleSession, SessionActor},
    value,
};

pub(crate) fn session(row: &Row) -> Result<ConsoleSession, StoreError> {
    let actor: KeyId = value::parsed("console_sessions.actor", row.text("actor")?)?;
    let actor = match row.text("actor_kind")? {
        "key" => SessionActor::Key(actor),
        "person" => SessionActor::Person(actor),
        other => return Err(StoreError::unreadable("console_sessions.actor_kind", other)),
    };
    Ok(ConsoleSession {
        tenant: value::parsed("console_sessions.tenant", row.text("tenant")?)?,
        digest: row.text("digest")?.to_owned(),
        actor,
        role: value::parsed("console_sessions.role", row.text("role")?)?,
        person: row.text("person")?.to_owned(),
        authority: row.text("authority")?.to_owned(),
        began_at: value::time("console_sessions.began_at", row.integer("began_at")?)?,
        used_at: value::time("console_sessions.used_at", row.integer("used_at")?)?,
    })
}

/// The identifier and the name of a person.
pub(crate) fn person(row: &Row) -> Result<(KeyId, String), StoreError> {
    let id = value::parsed("console_sessions.actor", row.text("actor")?)?;
    Ok((id, row.text("person")?.to_owned()))
}
