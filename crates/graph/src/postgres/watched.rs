//! A writer that does not wait for ever: it gives up where its server is not there any more.

use std::collections::HashMap;

use assay_database::postgres::Connections;
use assay_engine::utxo::{OutPoint, ScriptOwner, Statistics, Txid};
use async_trait::async_trait;
use jiff::Timestamp;

use super::write::PostgresRecorder;
use crate::{
    GraphError,
    backend::{GraphState, RecordedOutput, Recorder, WritePlan, cluster::RecordedLink},
};

/// A recorder, with the connections by which the liveness of its server is probed.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) recorder: PostgresRecorder,
    pub(super) connections: Connections,
}

#[async_trait]
impl Recorder for Watched {
    async fn state(&mut self) -> Result<GraphState, GraphError> {
        self.connections.with_liveness_probe(self.recorder.state()).await
    }

    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, GraphError> {
        self.connections.with_liveness_probe(self.recorder.transactions(txids)).await
    }

    async fn owners(
        &mut self,
        owners: Vec<&ScriptOwner>,
    ) -> Result<HashMap<ScriptOwner, (i64, Statistics)>, GraphError> {
        self.connections.with_liveness_probe(self.recorder.owners(owners)).await
    }

    async fn outputs(
        &mut self,
        outputs: Vec<OutPoint>,
    ) -> Result<Vec<(OutPoint, RecordedOutput)>, GraphError> {
        self.connections.with_liveness_probe(self.recorder.outputs(outputs)).await
    }

    async fn spent(&mut self, outputs: Vec<(i64, u32)>) -> Result<Vec<(i64, u32)>, GraphError> {
        self.connections.with_liveness_probe(self.recorder.spent(outputs)).await
    }

    async fn links(&mut self, owners: Vec<i64>) -> Result<Vec<RecordedLink>, GraphError> {
        self.connections.with_liveness_probe(self.recorder.links(owners)).await
    }

    async fn record(&mut self, before: &GraphState, plan: &WritePlan) -> Result<(), GraphError> {
        self.connections.with_liveness_probe(self.recorder.record(before, plan)).await
    }

    async fn roll_back(&mut self, before: &GraphState, height: u64) -> Result<(), GraphError> {
        self.connections.with_liveness_probe(self.recorder.roll_back(before, height)).await
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        self.connections.with_liveness_probe(self.recorder.verified(at)).await
    }

    async fn build_indexes(&mut self) -> Result<(), GraphError> {
        self.connections.with_liveness_probe(self.recorder.build_indexes()).await
    }
}
