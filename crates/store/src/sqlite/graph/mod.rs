//! Graphs in `SQLite`: one file a chain, in a folder beside the store's own.

mod read;
mod row;
mod scan;
mod schema;
mod write;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use assay_engine::chain::ChainId;
use async_trait::async_trait;
use sqlx::{
    ConnectOptions, SqlitePool,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

use super::{BUSY_TIMEOUT, CONNECTIONS, SqliteStore};
use crate::{
    StoreError,
    graph::{Graph, GraphWriter, Graphs, WriterOptions},
};

/// The folder of the graphs in the data directory.
const FOLDER: &str = "chains";
/// What one reading connection keeps of a file in memory, in KiB.
const READER_CACHE: &str = "-16384";

/// The graphs of a store.
#[derive(Debug)]
pub(super) struct Chains {
    folder: PathBuf,
    opened: Mutex<HashMap<ChainId, Opened>>,
}

/// A graph that was opened before, and which file that was: it may be deleted and made anew.
#[derive(Debug)]
struct Opened {
    file: FileIdentity,
    graph: Arc<SqliteGraph>,
}

/// Device and number of a file, where the system tells them.
type FileIdentity = (u64, u64);

/// A chain's graph, to be read.
#[derive(Debug)]
struct SqliteGraph {
    chain: ChainId,
    pool: SqlitePool,
}

impl Chains {
    /// The graphs in the data directory `directory`.
    pub(super) fn of(directory: &Path) -> Self {
        Self { folder: directory.join(FOLDER), opened: Mutex::default() }
    }

    fn path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.sqlite"))
    }

    /// The graph that was opened before, if it is still the one that the file holds.
    fn opened(&self, chain: ChainId, file: FileIdentity) -> Option<Arc<SqliteGraph>> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = opened.get(&chain)?;
        (opened.file == file).then(|| Arc::clone(&opened.graph))
    }

    async fn open(&self, chain: ChainId) -> Result<Option<Arc<SqliteGraph>>, StoreError> {
        let path = self.path(chain);
        let Some(file) = identity(&path) else {
            return Ok(None);
        };
        if let Some(graph) = self.opened(chain, file) {
            return Ok(Some(graph));
        }
        let options = options(&path)
            .pragma("cache_size", READER_CACHE)
            // Whoever reads does not write, whatever the statement.
            .pragma("query_only", "ON");
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .connect_with(options)
            .await
            .map_err(|source| StoreError::Open { path, source })?;
        if !schema::is_there(&pool).await? {
            pool.close().await;
            return Ok(None);
        }
        let graph = Arc::new(SqliteGraph { chain, pool });
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.insert(chain, Opened { file, graph: Arc::clone(&graph) });
        Ok(Some(graph))
    }

    pub(super) async fn close(&self) {
        let opened = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *opened)
        };
        for Opened { graph, .. } in opened.into_values() {
            graph.pool.close().await;
        }
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT)
        // Loading a chain takes its time; that is no news.
        .disable_statement_logging()
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let data = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((data.dev(), data.ino()))
    }
    #[cfg(not(unix))]
    {
        let _unused = data;
        Some((0, 0))
    }
}

#[async_trait]
impl Graphs for SqliteStore {
    async fn graph_chains(&self) -> Result<Vec<ChainId>, StoreError> {
        let chains = ChainId::all();
        Ok(chains.filter(|chain| identity(&self.chains.path(*chain)).is_some()).collect())
    }

    async fn graph(&self, chain: ChainId) -> Result<Option<Arc<dyn Graph>>, StoreError> {
        let graph = self.chains.open(chain).await?;
        Ok(graph.map(|graph| graph as Arc<dyn Graph>))
    }

    async fn graph_writer(
        &self,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<Box<dyn GraphWriter>, StoreError> {
        write::open(&self.chains.folder, &self.chains.path(chain), chain, options).await
    }
}
