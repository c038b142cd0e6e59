//! Startup and shutdown of the operator.

use std::{io, process::ExitCode, sync::Arc, time::Duration};

use assay_chain_protocol::{ChainServerCredentials, client::credentials::InvalidCredentials};
use assay_database::postgres::DatabaseAddress;
use assay_engine::facts::Environment;
use assay_store::{PostgresStore, Store};
use assay_system::Clock;
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
    health::{self, OperatorHealth},
    in_force::ConfigurationInForce,
    instance::{self, Instance, InstanceError},
    leader::{Election, Leadership},
    publish::Publisher,
    risk_service,
    settings::OperatorSettings,
    shared::SharedContext,
    source::{self, ChainClient},
    writer::Writer,
};

/// The interval at which metrics are sent to the collector.
const METRICS_INTERVAL: Duration = Duration::from_secs(15);

/// Error with which the operator exits.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("failed to listen on {0}: {1}")]
    Listen(std::net::SocketAddr, #[source] io::Error),
    #[error("failed to register signal handlers: {0}")]
    Signals(#[source] io::Error),
    #[error("found no kubeconfig or service account for the API server: {0}")]
    Config(#[source] kube::Error),
    #[error("--chain-token-file: {0}")]
    ChainToken(#[from] InvalidCredentials),
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error("failed to renew the Lease in time: another operator may hold it")]
    LostLease,
    #[error("a task of the operator ended unexpectedly")]
    TaskEnded,
}

/// Runs the operator until it receives SIGTERM or SIGINT.
#[must_use]
pub fn main(settings: OperatorSettings) -> ExitCode {
    // It fails only if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = settings.otlp_endpoint.as_deref();
    let collector = endpoint.map(|url| Collector::new("assay-operator", url, assay_system::now));
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
    // Reconciliations may end at any point: the next operator continues from what was written.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the operator failed");
            ExitCode::FAILURE
        }
    }
}

/// Starts logging.
pub(crate) fn log(as_text: bool, collector: Option<&Collector>) {
    let level = EnvFilter::try_from_env("ASSAY_LOG")
        .unwrap_or_else(|_| EnvFilter::new("warn,assay_operator=info,assay_telemetry=info"));
    let format = if as_text { LogFormat::Text } else { LogFormat::Json };
    // It fails only if it was called before.
    let _ =
        assay_telemetry::start(level, format, assay_system::now, collector.map(Collector::traces));
}

/// Runs the operator. Metrics are sent to the collector at an interval and at the end.
async fn run_with_telemetry(
    settings: OperatorSettings,
    collector: Option<Collector>,
) -> Result<(), RunError> {
    let health = OperatorHealth::default();
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

async fn run(settings: OperatorSettings, health: &OperatorHealth) -> Result<(), RunError> {
    let token = settings.chain_token_file.clone();
    ChainServerCredentials { token, ..ChainServerCredentials::default() }.check_token()?;
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let (leadership, clock) = (Leadership::default(), Clock::system());
    tokio::select! {
        ended = run_tasks(&settings, health, leadership.clone(), clock.clone()) => ended,
        () = stop => {
            tracing::info!("stopping on a signal");
            // Writes stop before the Lease is released.
            leadership.give_up();
            let client = Client::try_default().await.map_err(RunError::Config)?;
            election(client, &settings, leadership, clock).release().await;
            Ok(())
        }
    }
}

fn election(
    client: Client,
    settings: &OperatorSettings,
    leadership: Leadership,
    clock: Clock,
) -> Election {
    let OperatorSettings { namespace, name, lease_seconds, .. } = settings;
    Election::new(client, namespace, name, *lease_seconds, leadership, clock)
}

/// Runs health checks, the election, and the tasks of the leader.
async fn run_tasks(
    settings: &OperatorSettings,
    health: &OperatorHealth,
    leadership: Leadership,
    clock: Clock,
) -> Result<(), RunError> {
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|error| RunError::Listen(settings.listen, error))?;
    tokio::spawn(health::serve(listener, health.clone()));
    let client = Client::try_default().await.map_err(RunError::Config)?;
    let (tried_sender, mut has_tried) = watch::channel(false);
    let opening = open(client.clone(), settings.clone(), health.clone(), tried_sender);
    let opening = tokio::spawn(opening);

    let name = &settings.name;
    let mut election = election(client.clone(), settings, leadership.clone(), clock.clone());
    election.win().await;
    tracing::info!(name, "this operator is the leader");
    health.metrics.set_leader(true);
    let metrics = health.metrics.clone();
    let writer = Writer::new(client.clone(), name, leadership, settings.scope(), metrics);
    // Nothing is written before it is known that no other installation has the name, the namespace or the database.
    // A database that cannot be opened yet belongs to nobody: its schema is created for a `RiskService`.
    let registering = async {
        let _ = has_tried.wait_for(|has_tried| *has_tried).await;
        register(&client, &writer, settings).await
    };
    let instance = tokio::select! {
        instance = registering => instance,
        () = election.hold() => return Err(RunError::LostLease),
    };
    let (sender, in_force) = watch::channel(ConfigurationInForce::default());
    let shared = SharedContext {
        client,
        instance,
        writer,
        metrics: health.metrics.clone(),
        clock,
        in_force,
        scope: settings.scope(),
        networks: settings.networks(),
        resync: settings.resync(),
    };
    // The tasks end with this function.
    let mut tasks = JoinSet::new();
    tasks.spawn(risk_service::run(shared.clone(), settings.chain_servers_namespace()));
    let opened = tokio::select! {
        opened = opening => opened.map_err(|_| RunError::TaskEnded)??,
        () = election.hold() => return Err(RunError::LostLease),
        _ = tasks.join_next() => return Err(RunError::TaskEnded),
    };
    let (store, environment) = opened;
    let publisher = Publisher::new(shared.clone(), Arc::clone(&store), sender);
    tasks.spawn(source::run(
        shared.clone(),
        Arc::clone(&store),
        ChainClient::new(settings.chain_token_file.clone()),
        settings.namespace.clone(),
        settings.workloads(),
    ));
    tasks.spawn(publisher.run());
    tasks.spawn(api_key::run(shared, store, environment));
    tokio::select! {
        () = election.hold() => Err(RunError::LostLease),
        _ = tasks.join_next() => Err(RunError::TaskEnded),
    }
}

/// Registers the installation, and retries until that succeeds.
async fn register(client: &Client, writer: &Writer, settings: &OperatorSettings) -> Instance {
    let mut failures = 0;
    loop {
        match instance::register(client, writer, &settings.instance, &settings.namespace).await {
            Ok(instance) => {
                let name = instance.name();
                tracing::info!(instance = %name, "this operator works for its installation");
                return instance;
            }
            Err(error) => tracing::warn!(%error, "failed to register the installation; retrying"),
        }
        sleep(backoff::delay(failures, assay_system::random_fraction())).await;
        failures += 1;
    }
}

/// Opens the store, and retries until that succeeds: in a new installation the database may start later, and the
/// migration of the first `RiskService` creates the schema. The first attempt that is not refused because of another
/// installation sets `has_tried`; until then, a refusal is retried.
///
/// # Errors
///
/// Returns a refusal after `has_tried` was set: the operator already works, and must stop.
async fn open(
    client: Client,
    settings: OperatorSettings,
    health: OperatorHealth,
    has_tried: watch::Sender<bool>,
) -> Result<(Arc<dyn Store>, Environment), InstanceError> {
    let mut failures = 0;
    loop {
        match try_to_open(&client, &settings).await {
            Ok(opened) => {
                health.set_ready(true);
                has_tried.send_replace(true);
                return Ok(opened);
            }
            Err(error) if error.is_refusal() && *has_tried.borrow() => return Err(error),
            Err(error) if error.is_refusal() => {
                tracing::error!(%error, "the installation is refused, and nothing is written; retrying");
            }
            Err(error) => {
                tracing::warn!(%error, "failed to open the store; retrying");
                if matches!(error, InstanceError::Store(_)) {
                    has_tried.send_replace(true);
                }
            }
        }
        sleep(backoff::delay(failures, assay_system::random_fraction())).await;
        failures += 1;
    }
}

async fn try_to_open(
    client: &Client,
    settings: &OperatorSettings,
) -> Result<(Arc<dyn Store>, Environment), InstanceError> {
    instance::check(client, &settings.instance, &settings.namespace).await?;
    let address = DatabaseAddress::from_url_file(&settings.database_url_file);
    let store = PostgresStore::open(address).await?;
    instance::claim_database(&store, &settings.instance).await?;
    let environment = store.environment().await?;
    Ok((Arc::new(store), environment))
}
