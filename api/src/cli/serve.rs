//! `assay serve`: the API.

use std::{
    fs::{File, TryLockError},
    io::Write,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::Duration,
};

use assay_store::{Store, watch::Hints};
use clap::Args;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{Context, Done, Failure, output};
use crate::{
    chains::follower,
    feeds,
    http::{
        self, App, Cors, HttpSettings, ListenerSettings, Load, Metrics, Patience, Tls, TlsError,
        TlsFiles,
    },
    sample::{self, SampleKey},
    serving::{Bounds, LoadError, Refresher, Service, SharedLimits, dead_keys, write_regularly},
    settings::{Feeds, Layers, Settings, Switch},
    system,
    telemetry::subject::{KeyError, SubjectKey},
};

/// One server per data directory holds this file locked.
const LOCK_FILE: &str = "serve.lock";
const ADMIN_CONNECTIONS: usize = 64;
const ADMIN_GRACE: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  assay serve --sample
  assay serve --data-dir /var/lib/assay --listen 0.0.0.0:8080";

/// Serve the API
///
/// With --sample it makes a database, loads a made-up world and prints keys to try: nothing else is
/// needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    /// Where the API listens [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Where health and metrics listen [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin_listen: Option<String>,
    /// Most connections to PostgreSQL that read chains for checks; everything else has five of its own
    /// [default: 10]
    #[arg(long, value_name = "NUMBER")]
    database_readers: Option<String>,
    /// Longest time until an answer [default: 10s]
    #[arg(long, value_name = "TIME")]
    request_timeout: Option<String>,
    /// How long to go on accepting after the signal to stop, while callers leave [default: 1s]
    #[arg(long, value_name = "TIME")]
    drain_delay: Option<String>,
    /// Longest time for requests under way to finish [default: 30s]
    #[arg(long, value_name = "TIME")]
    shutdown_grace: Option<String>,
    /// Most connections at once [default: 4096]
    #[arg(long, value_name = "NUMBER")]
    max_connections: Option<String>,
    /// Memory for answers that may be repeated [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    cache_bytes: Option<String>,
    /// How often it is looked whether the data changed [default: 250ms]
    #[arg(long, value_name = "TIME")]
    refresh_interval: Option<String>,
    /// Whether intel sources are fetched on their schedule, and chains followed: on or off [default: on]
    #[arg(long, value_name = "ON|OFF")]
    feeds: Option<String>,
    /// How long it may go unconfirmed who may ask; beyond, nobody is let in [default: 10m]
    #[arg(long, value_name = "TIME")]
    max_directory_age: Option<String>,
    /// How long lists and labels may go unconfirmed; beyond, nothing is allowed [default: 10m]
    #[arg(long, value_name = "TIME")]
    max_snapshot_age: Option<String>,
    /// Longest time for a connection to be agreed on, and for a request's head to arrive [default: 20s]
    #[arg(long, value_name = "TIME")]
    header_timeout: Option<String>,
    /// Longest time for the body of a check to arrive [default: 5s]
    #[arg(long, value_name = "TIME")]
    body_timeout: Option<String>,
    /// Longest time for a bulk request's next row to arrive, and for answers not to be taken
    /// [default: 30s]
    #[arg(long, value_name = "TIME")]
    stall_timeout: Option<String>,
    /// Most requests under way at once; strangers may take half of them, bulk requests three quarters
    /// [default: 1024]
    #[arg(long, value_name = "NUMBER")]
    max_requests: Option<String>,
    /// A certificate and those above it (PEM), to serve the API by TLS; read again when it changes
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// An origin of pages in browsers that may call the API; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Whether limits are shown as `X-RateLimit-*` too: on or off [default: off]
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, default_missing_value = "on")]
    legacy_rate_limit_headers: Option<String>,
    /// A collector to send traces and metrics to by OTLP over HTTP, such as `http://127.0.0.1:4318`
    /// [default: `OTEL_EXPORTER_OTLP_ENDPOINT`]
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// How often metrics are sent to the collector [default: 15s]
    #[arg(long, value_name = "TIME")]
    otlp_interval: Option<String>,
    /// The key of the hashes that stand for addresses in logs [default: a new one at each start]
    #[arg(long, value_name = "FILE")]
    log_hash_key_file: Option<String>,
}

impl ServeArgs {
    pub(super) fn flags(&self, layers: &mut Layers) {
        layers.flag("listen", self.listen.clone());
        layers.flag("database-readers", self.database_readers.clone());
        layers.flag("admin-listen", self.admin_listen.clone());
        layers.flag("request-timeout", self.request_timeout.clone());
        layers.flag("drain-delay", self.drain_delay.clone());
        layers.flag("shutdown-grace", self.shutdown_grace.clone());
        layers.flag("max-connections", self.max_connections.clone());
        layers.flag("cache-bytes", self.cache_bytes.clone());
        layers.flag("refresh-interval", self.refresh_interval.clone());
        layers.flag("feeds", self.feeds.clone());
        layers.flag("max-directory-age", self.max_directory_age.clone());
        layers.flag("max-snapshot-age", self.max_snapshot_age.clone());
        layers.flag("header-timeout", self.header_timeout.clone());
        layers.flag("body-timeout", self.body_timeout.clone());
        layers.flag("stall-timeout", self.stall_timeout.clone());
        layers.flag("max-requests", self.max_requests.clone());
        layers.flag("tls-cert", self.tls_cert.clone());
        layers.flag("tls-key", self.tls_key.clone());
        let origins = Some(self.cors_origin.join(",")).filter(|origins| !origins.is_empty());
        layers.flag("cors-origin", origins);
        layers.flag("legacy-rate-limit-headers", self.legacy_rate_limit_headers.clone());
        layers.flag("otlp-endpoint", self.otlp_endpoint.clone());
        layers.flag("otlp-interval", self.otlp_interval.clone());
        layers.flag("log-hash-key-file", self.log_hash_key_file.clone());
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<sample::LoadError> for Failure {
    fn from(error: sample::LoadError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::Failed(error.to_string())
    }
}

pub(super) async fn run(_args: ServeArgs, context: Context) -> Result<Done, Failure> {
    let settings = &context.settings;
    let subjects = match &settings.log_hash_key_file {
        Some(path) => SubjectKey::read(path)?,
        None => SubjectKey::new(&system::random_u128().to_be_bytes()),
    };
    let tls = tls(settings)?;
    let store = context.open_or_create().await?;
    // Each server counts limits by itself: one database in a folder has one server.
    let _lock = match settings.database() {
        None => Some(lock(&settings.data_dir)?),
        Some(_) => None,
    };
    let dead = context.revocations().enforce(&*store, context.clock.now()).await?;
    if dead > 0 {
        tracing::warn!(dead, "the database took revoked keys for good, as an old backup does");
    }
    let keys = if context.sample {
        sample::load(&*store, &settings.data_dir, &context.clock).await?
    } else {
        Vec::new()
    };
    let redis = context.redis();
    let bounds = Bounds {
        directory_age: settings.max_directory_age,
        snapshot_age: settings.max_snapshot_age,
    };
    let limits = match &redis {
        Some((link, prefix)) => SharedLimits::begin(Arc::clone(&store), link.clone(), prefix).await,
        None => None,
    };
    let limiter = limits.as_ref().map(SharedLimits::limiter).unwrap_or_default();
    let clock = context.clock.clone();
    let service = Service::load(
        Arc::clone(&store),
        clock,
        settings.cache_bytes,
        bounds,
        redis.clone(),
        limiter,
    )
    .await?;
    let app = Arc::new(App {
        service: Arc::clone(&service),
        metrics: Metrics::default(),
        load: Load::new(settings.max_requests),
        subjects,
        settings: http_settings(settings),
    });
    let listener = bind(settings.listen, "listen").await?;
    let admin = bind(settings.admin_listen, "admin-listen").await?;
    let (api_address, admin_address) = (listener.local_addr()?, admin.local_addr()?);
    greet(&context, &*store, &keys, api_address, admin_address).await?;

    let (stop_writing, stopped) = oneshot::channel();
    let writing = tokio::spawn(write_regularly(Arc::clone(&service), stopped));
    let acceptor = tls.as_ref().map(Tls::acceptor).transpose()?;
    let counted = Arc::clone(&app);
    let print = move || counted.metrics.print(&counted.service);
    // What runs beside requests, and ends when this is dropped.
    let mut beside = JoinSet::new();
    beside.spawn(Refresher::new(Arc::clone(&service), settings.refresh_interval).run());
    if let Some(hints) = store.watch() {
        beside.spawn(look_when_hinted(Arc::clone(&service), hints));
    }
    if let Some((link, prefix)) = redis {
        beside.spawn(dead_keys::hear(Arc::clone(&service), link, prefix));
    }
    // The sample world needs nothing from outside.
    if settings.feeds == Feeds::On && !context.sample {
        beside.spawn(feeds::run(Arc::clone(&service)));
        beside.spawn(follower::run(Arc::clone(&service)));
    }
    if let Some(tls) = tls {
        beside.spawn(tls.follow());
    }
    if let Some(collector) = context.collector.clone() {
        beside.spawn(collector.send_regularly(settings.otlp_interval, print.clone()));
    }
    serve_until_stopped(&app, settings, acceptor, listener, admin).await?;
    drop(beside);
    // Who waits for it may be gone, where it broke down.
    let _ = stop_writing.send(());
    let giving_back = async {
        if let Some(limits) = limits {
            limits.end().await;
        }
    };
    // Side by side: each waits for a while where the network is cut.
    let (written, ()) = tokio::join!(writing, giving_back);
    if let Err(error) = written {
        tracing::error!(%error, "failed to write what was left");
    }
    store.close().await;
    tracing::info!("stopped");
    if let Some(collector) = &context.collector {
        collector.finish(print()).await;
    }
    Ok(Done::Well)
}

/// Lets the store be looked at as soon as it says that something changed, until it is dropped.
async fn look_when_hinted(service: Arc<Service>, mut hints: Hints) {
    loop {
        hints.next().await;
        service.look_again.notify_one();
    }
}

fn tls(settings: &Settings) -> Result<Option<Tls>, TlsError> {
    let files = settings.tls_cert.clone().zip(settings.tls_key.clone());
    files.map(|(certificate, key)| Tls::load(TlsFiles { certificate, key })).transpose()
}

fn http_settings(settings: &Settings) -> HttpSettings {
    HttpSettings {
        request_timeout: settings.request_timeout,
        body_timeout: settings.body_timeout,
        row_timeout: settings.stall_timeout,
        cors: Cors::new(settings.cors_origin.clone()),
        legacy_rate_limit_headers: settings.legacy_rate_limit_headers == Switch::On,
        tls: settings.tls_cert.is_some(),
    }
}

/// Serves until SIGTERM or SIGINT; a second signal ends at once.
///
/// Health and metrics go last, so that whoever watches sees the end.
async fn serve_until_stopped(
    app: &Arc<App>,
    settings: &Settings,
    tls: Option<TlsAcceptor>,
    listener: TcpListener,
    admin: TcpListener,
) -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut signalled = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let (stop_api, api_stopped) = oneshot::channel();
    let (stop_admin, admin_stopped) = oneshot::channel();
    let patience = Patience { head: settings.header_timeout, stall: settings.stall_timeout };
    let api_settings = ListenerSettings {
        connections: settings.max_connections,
        patience,
        tls,
        drain_delay: settings.drain_delay,
        grace: settings.shutdown_grace,
    };
    let admin_settings = ListenerSettings {
        connections: ADMIN_CONNECTIONS,
        patience,
        tls: None,
        drain_delay: Duration::ZERO,
        grace: ADMIN_GRACE,
    };
    let service = Arc::clone(&app.service);
    let draining = move || {
        service.start_draining();
        tracing::info!("stopping: requests under way are finished");
    };
    let api = http::serve(listener, http::api(app), api_settings, over(api_stopped), draining);
    let admin = http::serve(admin, http::admin(app), admin_settings, over(admin_stopped), || {});
    let both = async {
        let api_then_admin = async {
            api.await;
            // Its receiver lives until it is served to the end.
            let _ = stop_admin.send(());
        };
        tokio::join!(api_then_admin, admin)
    };
    tokio::pin!(both);
    tokio::select! {
        _ = &mut both => return Ok(()),
        () = signalled() => {}
    }
    let _ = stop_api.send(());
    tokio::select! {
        _ = &mut both => {}
        () = signalled() => tracing::warn!("stopped at once on a second signal"),
    }
    Ok(())
}

/// Over once something was sent.
async fn over(receiver: oneshot::Receiver<()>) {
    // A sender that is gone without a word never happens: it lives where it is awaited.
    let _ = receiver.await;
}

async fn bind(address: SocketAddr, setting: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::Failed(format!(
            "failed to listen on {address}: {error}; choose another with --{setting}"
        ))
    })
}

/// Two servers on one database would each count limits of their own.
pub(super) fn lock(directory: &Path) -> Result<File, Failure> {
    let path = directory.join(LOCK_FILE);
    let failed = |error| Failure::Failed(format!("failed to lock {}: {error}", path.display()));
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::Failed(format!(
            "another server uses {}: stop it or choose another --data-dir",
            directory.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Says where the server listens and, for the sample, what to try.
async fn greet(
    context: &Context,
    store: &dyn Store,
    keys: &[SampleKey],
    api: SocketAddr,
    admin: SocketAddr,
) -> Result<(), Failure> {
    tracing::info!(%api, %admin, "serving");
    let mut output = output();
    let scheme = if context.settings.tls_cert.is_some() { "https" } else { "http" };
    writeln!(output, "Assay serves {scheme}://{api} (health and metrics: http://{admin})")?;
    if !context.sample {
        if store.control().await?.keys.is_empty() {
            writeln!(
                output,
                "There is no API key yet: apply a Tenant with `assay apply`, then `assay keys create`."
            )?;
        }
        output.flush()?;
        return Ok(());
    }
    writeln!(output, "\nThe sample world is made up. Its tenants' keys:")?;
    for key in keys {
        writeln!(output, "  {:<18} {}", key.tenant.as_str(), key.key.expose())?;
    }
    let examples = sample::examples();
    if let (Some(key), Some(example)) = (keys.first(), examples.first()) {
        writeln!(output, "\nTry:\n")?;
        writeln!(
            output,
            "curl -sS {scheme}://{api}/api/v1/check/address -H 'X-API-Key: {}' -H 'Content-Type: \
             application/json' -d '{{\"blockchain\":\"{}\",\"address\":\"{}\"}}'",
            key.key.expose(),
            example.address.chain(),
            example.address
        )?;
    }
    writeln!(output, "\nOther addresses to try, there or with `assay check --sample`:")?;
    for example in examples {
        let chain = example.address.chain();
        let (address, verdict) = (example.address.as_str(), example.verdict.as_str());
        writeln!(output, "  {chain:<4} {address:<44} {verdict:<7} {}", example.what)?;
    }
    writeln!(output)?;
    output.flush()?;
    Ok(())
}
