//! `assay serve`: the API server.
//!
//! - [`arguments`]: its flags
//! - [`lock`]: the lock of a data directory
//! - [`greet`]: its greeting
//! - [`listen`]: listening until a stop signal
//! - [`sign_in`]: the issuer at which people sign in to the console

mod arguments;
mod greet;
mod listen;
mod lock;
mod sign_in;

use std::{io::Write as _, net::SocketAddr, sync::Arc, time::Duration};

use assay_database::ChangeSubscription;
use tokio::{
    sync::oneshot,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

pub(super) use self::{
    arguments::ServeArgs,
    listen::{Services, bind, serve_until_stopped},
    lock::lock,
};
use assay_api::{
    AddressHashKeyError, AddressHasher, App, ConsoleChecks, Cors, HttpSettings, Load, Metrics, Tls,
    TlsError, TlsFiles,
};
use assay_console::{Console, ConsoleSettings, ExampleAddress};
use assay_service::{
    Backlog, Bounds, LoadError, QuotaUses, Refresher, Service, SharedLimits,
    administration::Administration,
    background::{self, SourceAccess},
    chains::{compositions::GraphOwner, follower, keep_breakdowns},
    revoked_keys, write_regularly,
};

use self::greet::greet;
use super::{CommandOutcome, Context, Failure, output};
use crate::settings::{CliSettings, Feeds, Switch};

/// Longest time for writing charges, returning tokens and closing connections. With the second that the admin port may
/// take to close, this time fits into the 15 s that a pod of the operator has after the last request.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(14);

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<assay_sample::SampleLoadError> for Failure {
    fn from(error: assay_sample::SampleLoadError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<AddressHashKeyError> for Failure {
    fn from(error: AddressHashKeyError) -> Self {
        Self::Failed(error.to_string())
    }
}

pub(super) async fn run(_args: ServeArgs, context: Context) -> Result<CommandOutcome, Failure> {
    let settings = &context.settings;
    let address_hasher = match &settings.log_hash_key_file {
        Some(path) => AddressHasher::read(path)?,
        None => AddressHasher::new(&assay_system::random_u128().to_be_bytes()),
    };
    let tls = tls(settings)?;
    let databases = context.open_or_create_databases().await?;
    let store = Arc::clone(&databases.store);
    // Each server counts limits by itself: one database in a folder has one server.
    let _lock = match settings.database() {
        None => Some(lock(&settings.data_dir)?),
        Some(_) => None,
    };
    let dead = context.revocations().enforce(&*store, context.clock.now()).await?;
    warn_of_revoked_keys(dead);
    let keys = if context.sample {
        assay_sample::load(&databases, &settings.data_dir, &context.clock).await?
    } else {
        Vec::new()
    };
    let redis = context.redis();
    let bounds =
        Bounds { key_data_age: settings.max_key_data_age, intel_age: settings.max_intel_age };
    let limits = match &redis {
        Some((link, prefix)) => SharedLimits::begin(&*store, link.clone(), prefix).await,
        None => None,
    };
    let limiter = QuotaUses::limiter(limits.as_ref(), &*store).await?;
    let clock = context.clock.clone();
    let service = Service::load(
        databases.clone(),
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
        address_hasher,
        settings: http_settings(settings),
    });
    let listener = bind(settings.listen, "listen", settings.listen_backlog)?;
    let admin = bind(settings.admin_listen, "admin-listen", settings.listen_backlog)?;
    let (api_address, admin_address) = (listener.local_addr()?, admin.local_addr()?);
    let console = console(&app, &context, api_address)?;
    greet(&context, &*store, &keys, api_address, admin_address, console.as_deref()).await?;

    let (stop_writing, stopped) = oneshot::channel();
    let writing = tokio::spawn(write_regularly(Arc::clone(&service), stopped));
    let acceptor = tls.as_ref().map(Tls::acceptor).transpose()?;
    let counted = Arc::clone(&app);
    let print = move || counted.metrics.print(&counted.service);
    // Tasks that run beside requests, and end when this is dropped.
    let mut beside = JoinSet::new();
    beside.spawn(Refresher::new(Arc::clone(&service), settings.refresh_interval).run());
    if let Some(changes) = databases.store.subscribe() {
        beside.spawn(refresh_on_change(Arc::clone(&service), changes));
    }
    if let Some((link, prefix)) = redis {
        beside.spawn(revoked_keys::subscribe(Arc::clone(&service), link, prefix));
    }
    let fetches_sources = fetches_sources(&context);
    let sources = fetches_sources.then(|| SourceAccess {
        files: context.allowed_source_paths(),
        networks: settings.source_networks.clone(),
    });
    let kinds = background::kinds(&service, context.revocations(), sources);
    beside.spawn(background::run(Arc::clone(&service), kinds));
    if fetches_sources {
        beside.spawn(follower::run(Arc::clone(&service), context.allowed_source_paths()));
    }
    beside.spawn(keep_breakdowns(Arc::clone(&service) as Arc<dyn GraphOwner>));
    beside.spawn(print_links(console.clone()));
    for (_, servers) in databases.chain_servers.iter() {
        servers.watch();
    }
    if let Some(tls) = tls {
        beside.spawn(tls.watch_files());
    }
    if let Some(collector) = context.collector.clone() {
        beside.spawn(collector.send_regularly(settings.otlp_interval, print.clone()));
    }
    let draining = Arc::clone(&service);
    let served = Services {
        api: assay_api::api(&app, console.as_ref()),
        admin: assay_api::admin(&app),
        draining: move || draining.start_draining(),
    };
    serve_until_stopped(served, settings, acceptor, listener, admin).await?;
    drop(beside);
    // The receiver may be gone if its task failed.
    let _ = stop_writing.send(());
    flush(writing, limits, &service).await;
    tracing::info!("stopped");
    if let Some(collector) = &context.collector {
        collector.send_last_metrics(print()).await;
    }
    Ok(CommandOutcome::Success)
}

/// True if the server fetches lists and follows chains. The demo data set has no sources to fetch or follow.
fn fetches_sources(context: &Context) -> bool {
    context.settings.feeds == Feeds::On && !context.sample
}

/// Warns of revoked keys that the database took for good.
fn warn_of_revoked_keys(dead: u64) {
    if dead > 0 {
        tracing::warn!(dead, "the database took revoked keys for good, as an old backup does");
    }
}

/// Returns the console of a server, if it has one. If people do not sign in at an issuer, the console prints sign-in links
/// to standard output.
fn console(
    app: &Arc<App>,
    context: &Context,
    api: SocketAddr,
) -> Result<Option<Arc<Console>>, Failure> {
    if !context.settings.has_console() {
        return Ok(None);
    }
    let issuer = sign_in::issuer(&context.settings)?;
    let is_secure = app.settings.tls;
    let scheme = if is_secure { "https" } else { "http" };
    let print = move |tenant: &str, path: &str| {
        // Nobody reads the link if the output is closed.
        let _ = writeln!(output(), "Console of {tenant}, good once: {scheme}://{api}{path}");
        let _ = output().flush();
    };
    let checks = Arc::new(ConsoleChecks::new(Arc::clone(app)));
    let examples = if context.sample { assay_sample::examples() } else { Vec::new() };
    let examples = examples.into_iter().map(|example| ExampleAddress {
        address: example.address,
        description: example.description,
    });
    // A database that several programs use is changed by manifests and the operator.
    let is_own_database = context.settings.database().is_none();
    let administration = is_own_database.then(|| Administration {
        revocations: context.revocations(),
        source_paths: fetches_sources(context).then(|| context.allowed_source_paths()),
    });
    let settings = ConsoleSettings {
        is_secure,
        issuer: issuer.map(Arc::new),
        printer: Box::new(print),
        examples: examples.collect(),
        administration,
    };
    Ok(Some(Console::new(Arc::clone(&app.service), checks, settings)))
}

/// Reads the metadata of the console's issuer, and prints sign-in links of tenants that get their first key later.
async fn print_links(console: Option<Arc<Console>>) {
    if let Some(console) = console {
        console.check_issuer();
        console.print_links_of_new_tenants().await;
    }
}

/// Writes charges and answers, returns tokens and closes the databases, within [`FLUSH_TIMEOUT`].
async fn flush(writing: JoinHandle<()>, limits: Option<SharedLimits>, service: &Service) {
    let giving_back = async {
        if let Some(limits) = limits {
            limits.end().await;
        }
    };
    let flush = async {
        // Side by side: each waits for a while where the network is cut.
        let (written, ()) = tokio::join!(writing, giving_back);
        if let Err(error) = written {
            tracing::error!(%error, "failed to write what was left");
        }
        service.databases.close().await;
    };
    if timeout(FLUSH_TIMEOUT, flush).await.is_err() {
        let seconds = FLUSH_TIMEOUT.as_secs();
        tracing::error!(seconds, "the last writes took too long and were given up");
    }
    let Backlog { usage, answers, .. } = service.recorder.backlog();
    if usage > 0 || answers > 0 {
        tracing::error!(
            usage,
            answers,
            "charges and answers whose writing was not confirmed may be lost"
        );
    }
}

/// Requests a refresh whenever a database notifies of a change, until the future is dropped.
async fn refresh_on_change(service: Arc<Service>, mut changes: ChangeSubscription) {
    loop {
        changes.changed().await;
        service.refresh_requested.notify_one();
    }
}

pub(super) fn tls(settings: &CliSettings) -> Result<Option<Tls>, TlsError> {
    let files = settings.tls_cert.clone().zip(settings.tls_key.clone());
    files.map(|(certificate, key)| Tls::load(TlsFiles { certificate, key })).transpose()
}

fn http_settings(settings: &CliSettings) -> HttpSettings {
    HttpSettings {
        request_timeout: settings.request_timeout,
        body_timeout: settings.body_timeout,
        row_timeout: settings.stall_timeout,
        cors: Cors::new(settings.cors_origin.clone()),
        legacy_rate_limit_headers: settings.legacy_rate_limit_headers == Switch::On,
        tls: settings.is_reached_by_tls(),
        log_sample: settings.log_sample,
    }
}
