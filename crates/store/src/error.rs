//! What can go wrong with a store.

use std::{path::PathBuf, time::Duration};

use assay_engine::{
    chain::ChainId,
    coins::{OutPoint, Txid},
};
use assay_tenancy::key::KeyId;

/// What PostgreSQL says until it takes connections (`cannot_connect_now`).
const BEGINS: &str = "57P03";

/// Why a store could not do what was asked. Nothing changed then, unless the answer was lost.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The database file cannot be opened.
    #[error("failed to open the database {path}: {source}")]
    Open {
        /// The file.
        path: PathBuf,
        /// What happened.
        #[source]
        source: sqlx::Error,
    },
    /// There is no database yet.
    #[error("there is no database in {0}")]
    Missing(PathBuf),
    /// The database server cannot be reached, or does not let this program in.
    #[error("failed to connect to the database {place}: {source}")]
    Connect {
        /// Server and database, without the password.
        place: String,
        /// What happened.
        #[source]
        source: sqlx::Error,
    },
    /// The database does not answer: the network may be cut. What was to be written may be written.
    #[error("the database {place} did not answer for {} s", .limit.as_secs())]
    NoAnswer {
        /// Server and database, without the password.
        place: String,
        /// How long it was waited.
        limit: Duration,
    },
    /// None of several servers takes writes: what became of each.
    #[error("none of the database's servers takes writes: {}", told(.0))]
    NoPrimary(Vec<Self>),
    /// The server takes no writes.
    #[error(
        "the database {0} takes no writes: its server is a standby or set to be read-only; name the \
         primary"
    )]
    ReadOnly(String),
    /// A file with a URL or a password cannot be used.
    #[error("failed to read the database's credentials in {file}: {source}")]
    CredentialFile {
        /// The file.
        file: PathBuf,
        /// What happened.
        #[source]
        source: std::io::Error,
    },
    /// The URL of a database says nothing that could be used. It is not repeated: there may be a
    /// password in it.
    #[error("the database's URL is not valid: {0}")]
    DatabaseUrl(String),
    /// The database cannot hold a store.
    #[error("the database {place} is not suitable: {reason}")]
    Unsuitable {
        /// Server and database.
        place: String,
        /// Why not.
        reason: String,
    },
    /// The database holds no store yet.
    #[error("the database {0} holds no data of Assay")]
    Empty(String),
    /// The schema could not be brought up to date.
    #[error("failed to migrate the database: {0}")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// The database's schema is older than this program, whose login may not change it.
    #[error(
        "the database's schema is older than this program, and this login may not change it: run \
         `assay migrate` with one that may"
    )]
    MayNotMigrate,
    /// The database was written by a newer program.
    #[error(
        "the database has schema version {0}, with which this program cannot work: use the program \
         that wrote it, or a newer one"
    )]
    NewerSchema(i64),
    /// A stored value cannot be read.
    #[error("the database holds an unreadable {what}: {detail}")]
    Unreadable {
        /// Table and column.
        what: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// A source that holds labels was given listings, or the other way round.
    #[error("the source `{source_name}` holds {held}: import {given} under another name")]
    OtherKind {
        /// The source.
        source_name: String,
        /// What it holds.
        held: String,
        /// What it was given.
        given: &'static str,
    },
    /// Something else changed the store meanwhile.
    #[error("the data changed while the change was being prepared")]
    Conflict,
    /// No key has this id.
    #[error("there is no key `{0}`")]
    UnknownKey(KeyId),
    /// Blocks do not follow one another. Nothing was written.
    #[error("block {height} does not follow block {tip} of the {chain} chain: nothing was written")]
    Gap {
        /// The chain.
        chain: ChainId,
        /// The block that does not follow.
        height: u64,
        /// What it should have followed.
        tip: u64,
    },
    /// Blocks cannot be taken back any more.
    #[error(
        "the {chain} chain changed below height {height}, deeper than can be taken back: delete its \
         graph and ingest it again"
    )]
    TooDeep {
        /// The chain.
        chain: ChainId,
        /// The lowest height that the graph could go back to.
        height: u64,
    },
    /// A transaction moves more than any chain allows. Nothing was written.
    #[error(
        "transaction {txid} of the {chain} chain moves more than 2^63 - 1 base units: nothing was \
         written"
    )]
    Amount {
        /// The chain.
        chain: ChainId,
        /// The transaction.
        txid: Txid,
    },
    /// An output that was spent before. Nothing was written.
    #[error(
        "transaction {txid} in block {height} of the {chain} chain spends {output}, which was spent \
         before: nothing was written"
    )]
    SpentBefore {
        /// The chain.
        chain: ChainId,
        /// The transaction that spends it again.
        txid: Txid,
        /// Its block.
        height: u64,
        /// The output.
        output: OutPoint,
    },
    /// An output is spent twice by what was loaded, as is found when the indexes are built.
    #[error(
        "somewhere among the blocks of the {0} chain that were loaded, an output is spent twice: their \
         source is wrong; delete the graph and ingest it from another one"
    )]
    SpentTwice(ChainId),
    /// Somebody else writes the chain.
    #[error("another program is ingesting the {0} chain: only one can at a time")]
    Busy(ChainId),
    /// The chain was begun at another height.
    #[error("the {chain} chain was ingested from height {start} on: it cannot begin at {wanted}")]
    OtherStart {
        /// The chain.
        chain: ChainId,
        /// Where it begins.
        start: u64,
        /// Where it was to begin.
        wanted: u64,
    },
}

fn told(errors: &[StoreError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl StoreError {
    /// An unreadable value.
    #[expect(clippy::needless_pass_by_value, reason = "callers have an error to give away")]
    pub(crate) fn unreadable(what: &'static str, detail: impl ToString) -> Self {
        Self::Unreadable { what, detail: detail.to_string() }
    }

    /// Whether the database may be on its way: nobody answered, or only that it begins.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        match self {
            // What was answered by the server itself is its last word, but for this.
            Self::Connect { source: sqlx::Error::Database(error), .. } => {
                error.code().as_deref() == Some(BEGINS)
            }
            Self::Connect { .. } | Self::NoAnswer { .. } => true,
            Self::NoPrimary(each) => each.iter().any(Self::is_absence),
            _ => false,
        }
    }

    /// Whether the database refused a row because there may be only one of its kind.
    #[must_use]
    pub fn is_repetition(&self) -> bool {
        let Self::Database(error) = self else { return false };
        error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
    }
}
