//! The context that all controllers share.

use std::{fmt, time::Duration};

use assay_system::Clock;
use kube::Client;
use tokio::sync::watch;

use crate::{
    in_force::ConfigurationInForce,
    instance::Instance,
    metrics::OperatorMetrics,
    network_policy::EgressNetworks,
    scope::WatchScope,
    writer::{WriteError, Writer},
};

/// The context that all controllers share.
#[derive(Clone)]
pub(crate) struct SharedContext {
    /// The client of the API server, for reading.
    pub(crate) client: Client,
    /// The installation that the operator belongs to.
    pub(crate) instance: Instance,
    /// The client for writes to the API server.
    pub(crate) writer: Writer,
    /// The metrics.
    pub(crate) metrics: OperatorMetrics,
    /// The clock.
    pub(crate) clock: Clock,
    /// The configuration in force.
    pub(crate) in_force: watch::Receiver<ConfigurationInForce>,
    /// The namespaces whose objects the operator reconciles.
    pub(crate) scope: WatchScope,
    /// The networks of network policies. `None`: the operator creates no network policies.
    pub(crate) networks: Option<EgressNetworks>,
    /// The interval between reconciliations while nothing changes.
    pub(crate) resync: Duration,
}

impl fmt::Debug for SharedContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedContext")
    }
}

/// Error of a reconciliation, which is retried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// An object was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The API server failed.
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
}
