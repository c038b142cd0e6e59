//! `PostgreSQL` servers: version 15 or newer, one primary among any number of standbys.

mod address;
mod connections;
mod server;
mod subscribe;
mod suitability;

pub use address::DatabaseAddress;
pub use connections::Connections;
pub use server::addresses;
use sqlx::PgConnection;
pub use suitability::expect_suitable;

use crate::{ChangeSubscription, DatabaseError};

/// Begins a transaction in which every statement reads the same state. The isolation level is stated because a server
/// may have another default; the same holds for [`BEGIN_WRITE`].
pub const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Begins a transaction that writes. Each statement sees the transactions that were committed before it, so that rows
/// read under a lock are current. A writer waits for another writer as long as in `SQLite`. The timeout holds for one
/// transaction: poolers between this program and the server do not keep settings of a connection. `assay.transaction`
/// tells a connection in an open transaction from others.
pub const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
    SET LOCAL lock_timeout = '15s'; SET LOCAL assay.transaction = 'open'";

/// Number of connections for short statements, and for a statement that loads or imports.
const CONTROL_CONNECTIONS: u32 = 5;

/// A database with two pools of connections. Limits, revocations and usage have connections of their own, so that
/// they never wait for checks that read histories of on-demand chains.
#[derive(Clone, Debug)]
pub struct PostgresDatabase {
    /// Connections for all other work.
    pub control: Connections,
    /// Connections for histories of chains that are read on demand.
    pub reads: Connections,
}

impl PostgresDatabase {
    /// Finds the primary, and returns the dedicated connection to it, on which a schema can be migrated: a
    /// pool would retry silently, and a failed migration must not leave its lock on a pooled connection.
    ///
    /// # Errors
    ///
    /// Returns an error if no server of the address takes writes. No error holds the password.
    pub async fn connect_to_migrate(
        address: DatabaseAddress,
    ) -> Result<(Self, PgConnection), DatabaseError> {
        let (connection, server) = connections::find_primary(&address).await?;
        let readers = address.readers;
        let control = Connections::new(server.clone(), address.clone(), CONTROL_CONNECTIONS);
        let reads = Connections::for_reads(server, address, readers);
        Ok((Self { control, reads }, connection))
    }

    /// Subscribes to changes from now on. The first notification comes when the subscription begins.
    #[must_use]
    pub fn subscribe(&self) -> ChangeSubscription {
        subscribe::subscribe(self.control.clone())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        tokio::join!(self.control.close(), self.reads.close());
    }
}
