//! Queries: the stores of every kind of data over any [`Backend`], in one text for both databases.

mod checks;
mod control;
mod fetched;
mod idempotency;
mod intel;
mod jobs;
mod receivers;
mod scope;
mod session;
mod sessions;
mod usage;

use std::path::Path;

use assay_database::DatabaseError;
use assay_engine::facts::Environment;

pub(crate) use scope::RowScope;
pub(crate) use session::{Session, SessionConnection, Value};

use crate::{Revisions, StoreError, row};

/// The columns that the revisions are computed from.
const REVISIONS: &str =
    "SELECT intel_generation, control_revision, manifest_changes, key_changes FROM installation";

/// Purpose of a session with the database, which decides its connection and its transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionMode<'a> {
    /// Single statements, each a transaction of its own.
    Statements,
    /// A transaction in which every statement reads the same state.
    Read(RowScope<'a>),
    /// A transaction for writes that change no counter.
    Write(RowScope<'a>),
    /// A transaction that holds the lock on the counters from the start, so that values it read stay valid.
    Change(RowScope<'a>),
    /// Single statements that read fetched histories.
    ReadFetched,
    /// A transaction that writes fetched histories.
    WriteFetched,
}

/// A database that holds a store.
pub(crate) trait Backend: std::fmt::Debug + Send + Sync + 'static {
    /// Folder on this machine for files that follow from the store's data.
    fn cache_folder(&self) -> Option<&Path>;

    /// Begins a session.
    fn session(
        &self,
        access: SessionMode<'_>,
    ) -> impl Future<Output = Result<Session, StoreError>> + Send;

    /// Runs short statements with a timeout.
    fn with_timeout<T: Send>(
        &self,
        statements: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Runs work of any length, and ends it if the server is gone.
    fn with_liveness_probe<T: Send>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Waits for the next part of a long answer.
    fn next_part<T: Send>(
        &self,
        part: impl Future<Output = Result<T, sqlx::Error>> + Send,
    ) -> impl Future<Output = Result<T, DatabaseError>> + Send;
}

/// Environment of the data.
pub(crate) async fn environment(backend: &impl Backend) -> Result<Environment, StoreError> {
    let asking = async {
        let mut session = backend.session(SessionMode::Statements).await?;
        let row = session.row("SELECT environment FROM installation", &[]).await?;
        row::control::environment(&row)
    };
    backend.with_timeout(asking).await
}

/// The change counters.
pub(crate) async fn revisions(backend: &impl Backend) -> Result<Revisions, StoreError> {
    let asking = async {
        let mut session = backend.session(SessionMode::Statements).await?;
        row::control::revisions(&session.row(REVISIONS, &[]).await?)
    };
    backend.with_timeout(asking).await
}
