//! Writing: the recorder of a graph.

use std::{
    collections::HashMap,
    sync::{Arc, RwLockReadGuard, atomic::Ordering},
};

use assay_engine::utxo::{OutPoint, ScriptOwner, Statistics, Txid};
use assay_graph::{
    GraphError, WriterOptions,
    backend::{GraphState, RecordedOutput, Recorder, WritePlan, cluster::RecordedLink},
};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{MapGraph, poisoned, tables::Tables};

/// The one recorder of a graph.
#[derive(Debug)]
pub(super) struct MapRecorder(pub(super) Arc<MapGraph>);

impl Drop for MapRecorder {
    fn drop(&mut self) {
        self.0.has_writer.store(false, Ordering::Release);
    }
}

impl MapRecorder {
    fn tables(&self) -> Result<RwLockReadGuard<'_, Tables>, GraphError> {
        self.0.tables.read().map_err(poisoned)
    }

    /// Changes the tables as a whole or not at all.
    fn change(
        &self,
        change: impl FnOnce(&mut Tables) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        let mut tables = self.0.tables.write().map_err(poisoned)?;
        let mut changed = tables.clone();
        change(&mut changed)?;
        *tables = changed;
        Ok(())
    }

    /// Gives a graph without blocks the options; checks the start of another one.
    pub(super) fn open(&self, options: WriterOptions) -> Result<(), GraphError> {
        self.change(|tables| {
            let GraphState { chain, start, indexed, .. } = tables.state;
            if tables.state.tip.is_none() {
                tables.state = GraphState { indexed, ..GraphState::new(chain, options) };
            } else if start != options.start {
                return Err(GraphError::OtherStart { chain, start, wanted: options.start });
            }
            Ok(())
        })
    }
}

#[async_trait]
impl Recorder for MapRecorder {
    async fn state(&mut self) -> Result<GraphState, GraphError> {
        Ok(self.tables()?.state.clone())
    }

    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, GraphError> {
        let tables = self.tables()?;
        Ok(txids.into_iter().filter_map(|txid| Some((txid, tables.newest(&txid)?))).collect())
    }

    async fn owners(
        &mut self,
        owners: Vec<&ScriptOwner>,
    ) -> Result<HashMap<ScriptOwner, (i64, Statistics)>, GraphError> {
        let tables = self.tables()?;
        let rows = owners.into_iter().filter_map(|owner| tables.owner(owner));
        Ok(rows.map(|row| (row.owner.clone(), (row.number, row.statistics))).collect())
    }

    async fn outputs(
        &mut self,
        outpoints: Vec<OutPoint>,
    ) -> Result<Vec<(OutPoint, RecordedOutput)>, GraphError> {
        let tables = self.tables()?;
        let recorded = |outpoint: OutPoint| {
            let transaction = tables.newest(&outpoint.txid)?;
            let row = tables.outputs.get(&(transaction, outpoint.index))?;
            let output = tables.output(&row.output)?;
            Some((outpoint, RecordedOutput { transaction, output }))
        };
        Ok(outpoints.into_iter().filter_map(recorded).collect())
    }

    async fn spent(&mut self, outputs: Vec<(i64, u32)>) -> Result<Vec<(i64, u32)>, GraphError> {
        let tables = self.tables()?;
        Ok(outputs.into_iter().filter(|output| tables.spender(*output).is_some()).collect())
    }

    async fn links(&mut self, owners: Vec<i64>) -> Result<Vec<RecordedLink>, GraphError> {
        Ok(self.tables()?.links(&owners))
    }

    async fn record(&mut self, before: &GraphState, plan: &WritePlan) -> Result<(), GraphError> {
        self.change(|tables| tables.record(before, plan))
    }

    async fn roll_back(&mut self, before: &GraphState, height: u64) -> Result<(), GraphError> {
        self.change(|tables| tables.roll_back(before, height))
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        self.change(|tables| {
            if let Some((_, verified_at)) = &mut tables.state.tip {
                *verified_at = at.max(*verified_at);
            }
            Ok(())
        })
    }

    async fn build_indexes(&mut self) -> Result<(), GraphError> {
        self.change(|tables| {
            tables.state.indexed = true;
            tables.expect_single_spends()
        })
    }
}
