//! Another backend, written outside the crate from public items alone: graphs in ordered maps of rows, as
//! a key-value store keeps them.

mod read;
mod tables;
mod view;
mod write;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_address::ChainId;
use assay_graph::{
    Graph, GraphError, GraphStore, GraphWriter, WriterOptions,
    backend::{GraphState, Recorder, Writer},
};
use async_trait::async_trait;

use tables::Tables;
use write::MapRecorder;

/// The graphs of one process.
#[derive(Debug, Default)]
struct OrderedMaps(Mutex<HashMap<ChainId, Arc<MapGraph>>>);

/// A chain's graph.
#[derive(Debug)]
struct MapGraph {
    tables: RwLock<Tables>,
    has_writer: AtomicBool,
}

/// A store of its own.
pub(crate) fn fresh() -> (Arc<dyn GraphStore>, ()) {
    (Arc::new(OrderedMaps::default()), ())
}

/// The failure of a store whose writer panicked.
fn poisoned<T>(_error: PoisonError<T>) -> GraphError {
    GraphError::Backend("a writer panicked".into())
}

impl OrderedMaps {
    fn find(&self, chain: ChainId) -> Result<Option<Arc<MapGraph>>, GraphError> {
        Ok(self.0.lock().map_err(poisoned)?.get(&chain).cloned())
    }
}

#[async_trait]
impl GraphStore for OrderedMaps {
    async fn chains(&self) -> Result<Vec<ChainId>, GraphError> {
        let graphs = self.0.lock().map_err(poisoned)?;
        Ok(ChainId::all().filter(|chain| graphs.contains_key(chain)).collect())
    }

    async fn graph(&self, chain: ChainId) -> Result<Option<Arc<dyn Graph>>, GraphError> {
        Ok(self.find(chain)?.map(|graph| graph as Arc<dyn Graph>))
    }

    async fn writer(
        &self,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<Box<dyn GraphWriter>, GraphError> {
        let graph = {
            let mut graphs = self.0.lock().map_err(poisoned)?;
            let graph = graphs.entry(chain).or_insert_with(|| {
                let tables = RwLock::new(Tables::new(GraphState::new(chain, options)));
                Arc::new(MapGraph { tables, has_writer: AtomicBool::new(false) })
            });
            Arc::clone(graph)
        };
        if graph.has_writer.swap(true, Ordering::AcqRel) {
            return Err(GraphError::Busy(chain));
        }
        let mut recorder = MapRecorder(graph);
        recorder.open(options)?;
        if !options.backfill {
            recorder.build_indexes().await?;
        }
        Ok(Box::new(Writer::new(Box::new(recorder)).await?))
    }

    async fn close(&self) {}
}
