//! Graphs in `SQLite`: one file a chain, in a folder beside the store's own.

mod cluster;
mod insert;
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

use assay_database::{
    ChangeSubscription,
    sqlite::{options, pool},
};
use assay_engine::chain::ChainId;
use async_trait::async_trait;
use sqlx::SqlitePool;

use crate::{Graph, GraphError, GraphStore, GraphWriter, WriterOptions};

/// The folder of the graphs in the data directory.
const FOLDER: &str = "chains";
/// Page cache of one reading connection, in KiB.
const READER_CACHE: &str = "-16384";

/// The graphs in a data directory.
#[derive(Debug)]
pub struct SqliteGraphs {
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

impl SqliteGraphs {
    /// The graphs in the data directory `directory`. Nothing is read or made yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
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

    async fn open(&self, chain: ChainId) -> Result<Option<Arc<SqliteGraph>>, GraphError> {
        let path = self.path(chain);
        let Some(file) = identity(&path) else {
            return Ok(None);
        };
        if let Some(graph) = self.opened(chain, file) {
            return Ok(Some(graph));
        }
        let options = options(&path)
            .pragma("cache_size", READER_CACHE)
            // A connection for reading cannot write by any statement.
            .pragma("query_only", "ON");
        let pool = pool(path, options).await?;
        let there = match pool.acquire().await {
            Ok(mut connection) => schema::is_there(&mut connection, chain).await,
            Err(error) => Err(error.into()),
        };
        if !matches!(there, Ok(true)) {
            pool.close().await;
            return there.map(|_| None);
        }
        let graph = Arc::new(SqliteGraph { chain, pool });
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.insert(chain, Opened { file, graph: Arc::clone(&graph) });
        Ok(Some(graph))
    }
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
impl GraphStore for SqliteGraphs {
    async fn chains(&self) -> Result<Vec<ChainId>, GraphError> {
        let chains = ChainId::all();
        Ok(chains.filter(|chain| identity(&self.path(*chain)).is_some()).collect())
    }

    async fn graph(&self, chain: ChainId) -> Result<Option<Arc<dyn Graph>>, GraphError> {
        let graph = self.open(chain).await?;
        Ok(graph.map(|graph| graph as Arc<dyn Graph>))
    }

    async fn writer(
        &self,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<Box<dyn GraphWriter>, GraphError> {
        write::open(&self.folder, &self.path(chain), chain, options).await
    }

    fn subscribe(&self) -> Option<ChangeSubscription> {
        None
    }

    async fn close(&self) {
        let opened = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *opened)
        };
        for Opened { graph, .. } in opened.into_values() {
            graph.pool.close().await;
        }
    }
}
