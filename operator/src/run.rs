//! How everything is started and stopped.

use std::{io, process::ExitCode, sync::Arc, time::Duration};

use assay_database::postgres::DatabaseAddress;
use assay_engine::facts::Environment;
use assay_graph::PostgresGraphs;
use assay_store::{PostgresStore, Store, StoreError};
use assay_telemetry::{LogFormat, otlp::Collector};
use kube::Client;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
    time::sleep,
};
use tracing_subscriber::EnvFilter;

use crate::{
    api_key, backoff,
    health::{self, Health},
    in_force::InForce,
    leader::{Election, Leadership},
    publish::Publisher,
    risk_service,
    settings::Settings,
    source::{self, Observed},
    system,
    writer::Writer,
};

/// How often metrics are sent to the collector.
const METRICS_INTERVAL: Duration = Duration::from_secs(15);

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("failed to listen on {0}: {1}")]
    Listen(std::net::SocketAddr, #[source] io::Error),
    #[error("failed to hear of signals: {0}")]
    Signals(#[source] io::Error),
    #[error("found no way to reach the API server: {0}")]
    Config(#[source] kube::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the Lease could not be renewed in time: another operator may have it")]
    LostLease,
    #[error("a part of the operator ended by itself")]
    PartEnded,
}

/// Runs the operator until it is told to stop.
#[must_use]
pub fn main(settings: Settings) -> ExitCode {
    // Fails where a provider was chosen already, which is as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = settings.otlp_endpoint.as_deref();
    let collector = endpoint.map(|url| Collector::new("assay-operator", url, system::now));
    let collector = collector.transpose();
    log(settings.log_text, collector.as_ref().ok().and_then(Option::as_ref));
    let collector = match collector {
        Ok(collector) => collector,
        Err(error) => {
            tracing::error!(%error, "failed to start");
            return ExitCode::FAILURE;
        }
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "failed to start");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(run_with_telemetry(settings, collector));
    // What is under way may end at any point: whoever comes next goes on from what was written.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the operator ends");
            ExitCode::FAILURE
        }
    }
}

fn log(as_text: bool, collector: Option<&Collector>) {
    let level = EnvFilter::try_from_env("ASSAY_LOG")
        .unwrap_or_else(|_| EnvFilter::new("warn,assay_operator=info,assay_telemetry=info"));
    let format = if as_text { LogFormat::Text } else { LogFormat::Json };
    // It fails only where it was done before.
    let _ = assay_telemetry::start(level, format, system::now, collector.map(Collector::traces));
}

/// Runs, and tells a collector meanwhile and at the end how it goes.
async fn run_with_telemetry(
    settings: Settings,
    collector: Option<Collector>,
) -> Result<(), RunError> {
    let health = Health::default();
    if let Some(collector) = collector.clone() {
        let metrics = health.metrics.clone();
        tokio::spawn(collector.send_regularly(METRICS_INTERVAL, move || metrics.text()));
    }
    let ended = run(settings, &health).await;
    if let Some(collector) = collector {
        collector.send_last_metrics(health.metrics.text()).await;
        collector.finish().await;
    }
    ended
}

async fn run(settings: Settings, health: &Health) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let leadership = Leadership::default();
    tokio::select! {
        ended = run_parts(&settings, health, leadership.clone()) => ended,
        () = stop => {
            tracing::info!("told to stop");
            // Nothing is written any more when the Lease is given back.
            leadership.give_up();
            let client = Client::try_default().await.map_err(RunError::Config)?;
            election(client, &settings, leadership).release().await;
            Ok(())
        }
    }
}

fn election(client: Client, settings: &Settings, leadership: Leadership) -> Election {
    let Settings { namespace, name, lease_seconds, .. } = settings;
    Election::new(client, namespace, name, *lease_seconds, leadership)
}

async fn run_parts(
    settings: &Settings,
    health: &Health,
    leadership: Leadership,
) -> Result<(), RunError> {
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|error| RunError::Listen(settings.listen, error))?;
    tokio::spawn(health::serve(listener, health.clone()));
    let client = Client::try_default().await.map_err(RunError::Config)?;
    let opening = tokio::spawn(open(settings.clone(), health.clone()));

    let name = &settings.name;
    let mut election = election(client.clone(), settings, leadership.clone());
    election.win().await;
    tracing::info!(name, "this operator works now");
    health.metrics.set_leader(true);
    let writer = Writer::new(client.clone(), name, leadership, health.metrics.clone());
    let (sender, in_force) = watch::channel(InForce::default());
    // They end with this function.
    let mut parts = JoinSet::new();
    let services = risk_service::Context::new(
        client.clone(),
        writer.clone(),
        health.clone(),
        in_force.clone(),
    );
    parts.spawn(services.run());
    let opened = tokio::select! {
        opened = opening => opened.map_err(|_| RunError::PartEnded)??,
        () = election.hold() => return Err(RunError::LostLease),
        _ = parts.join_next() => return Err(RunError::PartEnded),
    };
    let (store, graphs, environment) = opened;
    let observed = watch::Sender::new(Observed::default());
    let publisher = Publisher::new(
        &client,
        Arc::clone(&store),
        writer.clone(),
        health.clone(),
        sender,
        observed.subscribe(),
    );
    parts.spawn(source::run(
        client.clone(),
        Arc::clone(&store),
        Arc::new(graphs),
        writer.clone(),
        health.clone(),
        settings.namespace.clone(),
        settings.workloads(),
        in_force.clone(),
        observed,
    ));
    let health = health.clone();
    let keys = api_key::Context::new(client, store, environment, writer, health, in_force);
    parts.spawn(publisher.run());
    parts.spawn(api_key::run(keys));
    tokio::select! {
        () = election.hold() => Err(RunError::LostLease),
        _ = parts.join_next() => Err(RunError::PartEnded),
    }
}

/// The store, once it can be opened: the database may come later, and its schema too, which a new
/// installation's first `RiskService` makes.
async fn open(
    settings: Settings,
    health: Health,
) -> Result<(Arc<dyn Store>, PostgresGraphs, Environment), StoreError> {
    let mut failures = 0;
    loop {
        let address = DatabaseAddress::in_file(&settings.database_url_file);
        match PostgresStore::open(address).await {
            Ok(store) => {
                let environment = store.environment().await?;
                health.is_ready(true);
                let graphs = PostgresGraphs::new(store.database().clone());
                return Ok((Arc::new(store), graphs, environment));
            }
            Err(error) => tracing::warn!(%error, "failed to open the store; it is tried again"),
        }
        sleep(backoff::delay(failures, system::jitter())).await;
        failures += 1;
    }
}
