//! Loading of the demo data set into a store, and the keys of its tenants.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_address::ChainId;
use assay_chain::{
    BlockSource,
    follow::{IngestError, IngestObserver, IngestRequest, ingest},
};
use assay_engine::{facts::Environment, ledger::BlockRef, names::SourceId};
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{AccountBlock, AccountEnds},
};
use assay_intel::{
    IntelSnapshot,
    import::{ImportError, ImportOrigin, listings, prices},
    plan::ImportOptions,
    prices::PriceSet,
};
use assay_service::{
    Databases,
    keys::{NewKey, issue},
    manifests::{self, AllowedSourcePaths, ApplyError},
};
use assay_store::{ControlStore, Store, StoreError, control::KeyRecord, intel::LabelImport};
use assay_system::Clock;
use assay_tenancy::{
    Name,
    key::{ApiKey, KeyEnvironment, Scope},
};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{
    accounts::{self, SampleAccounts},
    chain::{SampleChain, ScenarioError},
    world,
};

/// Policy and tenants of the demo data set.
const MANIFESTS: &str = include_str!("../manifests/sample.yaml");
/// File with the keys of the demo tenants, which give access to demo data only.
const KEYS_FILE: &str = "sample-keys";

/// Error of loading the demo data set.
#[derive(Debug, thiserror::Error)]
pub enum SampleLoadError {
    /// The store holds real data.
    #[error(
        "this data directory holds real data: choose another one for the sample with --data-dir"
    )]
    RealData,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A list could not be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The manifests could not be read.
    #[error(transparent)]
    Manifests(#[from] manifests::ReadError),
    /// The manifests could not be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A payment of the scenario is impossible.
    #[error("failed to build the demo chain: {0}")]
    Scenario(#[from] ScenarioError),
    /// The chain could not be ingested.
    #[error(transparent)]
    Chain(#[from] IngestError),
    /// The transfers could not be recorded.
    #[error(transparent)]
    Transfers(#[from] GraphError),
    /// The keys could not be stored.
    #[error("failed to store the demo tenants' keys in {path}: {source}")]
    Keys {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
}

/// API key of a demo tenant.
#[derive(Clone, Debug)]
pub struct SampleKey {
    /// The tenant.
    pub tenant: Name,
    /// The tenant's key.
    pub key: ApiKey,
}

/// Loads the demo data set into a store created for it. A second call changes nothing. The keys are random;
/// they are issued once and stored in the data directory.
///
/// # Errors
///
/// Returns an error if the store holds real data or fails.
pub async fn load(
    databases: &Databases,
    directory: &Path,
    clock: &Clock,
) -> Result<Vec<SampleKey>, SampleLoadError> {
    let now = clock.now();
    let store = &*databases.store;
    if store.environment().await? != Environment::Sample {
        return Err(SampleLoadError::RealData);
    }
    for (source, publication) in world::publications() {
        let digest = hex_digest(&format!("{publication:?}"));
        let provenance = ImportOrigin {
            source,
            sample: true,
            format: "sample".into(),
            origin: "the sample world".into(),
            file_digest: digest.clone(),
            digest,
            fetched: None,
        };
        let options = ImportOptions { history: true, ..ImportOptions::default() };
        listings::record(store, &publication, &provenance, &options, now).await?;
    }
    if let Some((source, published_on, labels)) = world::labels() {
        let import = LabelImport {
            source,
            sample: true,
            published_on,
            digest: hex_digest(&format!("{labels:?}")),
            format: "sample".into(),
            origin: "the sample world".into(),
            fetched: None,
            labels,
            report: serde_json::Value::Null,
            planned_after: None,
            at: now,
        };
        store.record_labels(&import).await?;
    }
    ingest_chain(&databases.graphs, clock).await?;
    for accounts in accounts::account_chains()? {
        record_transfers(databases, accounts, now).await?;
    }
    record_prices(store, now).await?;
    let documents = manifests::parse("sample.yaml", MANIFESTS)?;
    // They name no files.
    manifests::apply(store, documents, &AllowedSourcePaths::default(), now).await?;
    load_or_issue_keys(store, directory, now).await
}

/// Ingests the demo chain like a real one.
async fn ingest_chain(graphs: &EmbeddedGraphs, clock: &Clock) -> Result<(), SampleLoadError> {
    let chain = ChainId::BTC;
    let mut source = Box::new(SampleChain::new()?);
    // A newer release has other blocks from early on: they replace those of an earlier one.
    let newest = source.tip().map_err(IngestError::from)?;
    let request = IngestRequest {
        chain,
        from: None,
        to: None,
        follow: None,
        sample: true,
        accept_branch: Some(newest.hash),
    };
    match ingest(graphs, source, request, clock, &NoticeLogger).await {
        Ok(_) => Ok(()),
        // Other blocks in the graph stay; another program that loads the sample loads the same
        // blocks.
        Err(IngestError::Graph(
            error @ (GraphError::TooDeep { .. }
            | GraphError::OtherStart { .. }
            | GraphError::Busy(_)),
        )) => {
            tracing::warn!(%error, %chain, "the sample's own blocks were not loaded");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Records the transfers of one of the demo data set's account chains, unless some are recorded.
async fn record_transfers(
    databases: &Databases,
    accounts: SampleAccounts,
    now: Timestamp,
) -> Result<(), SampleLoadError> {
    let SampleAccounts { chain, transactions, lookalike_symbols } = accounts;
    let graphs = &databases.graphs;
    if let Some(known) = graphs.account_snapshot(chain)? {
        if usize::try_from(known.recorded().transactions).ok() != Some(transactions.len()) {
            tracing::warn!(%chain, "the sample's own transfers were not loaded: others are recorded");
        }
        return Ok(());
    }
    let intel = IntelSnapshot::load(&*databases.store, None).await?;
    let ends = intel.account_ends(chain, intel.day(now)).collect::<AccountEnds>();
    let ends = ends.with_prices(Arc::clone(intel.prices()));
    let mut writer = match graphs.account_writer(chain, true, &ends) {
        Ok(writer) => writer,
        // Another program loads the same transfers.
        Err(GraphError::Busy(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let blocks = transactions.into_iter().map(|transaction| {
        let (height, time) = (transaction.block, transaction.time);
        let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
        AccountBlock::new(reference, vec![transaction])
    });
    let blocks: Vec<AccountBlock> = blocks.collect();
    let settled = blocks.last().map_or(0, |last| last.reference.height + 1);
    writer.append(&blocks, settled, now)?;
    writer.note_lookalike_symbols(&lookalike_symbols)?;
    Ok(())
}

/// Records the prices of the coins of the demo data set's account chains.
async fn record_prices(store: &dyn Store, now: Timestamp) -> Result<(), SampleLoadError> {
    let Ok(source) = "sample-prices".parse::<SourceId>() else { return Ok(()) };
    let set = PriceSet { prices: accounts::prices(), repeated: 0 };
    let digest = hex_digest(&format!("{:?}", set.prices));
    let provenance = ImportOrigin {
        source,
        sample: true,
        format: "sample".into(),
        origin: "the sample world".into(),
        file_digest: digest.clone(),
        digest,
        fetched: None,
    };
    prices::record(store, &set, 1, &provenance, &ImportOptions::default(), now).await?;
    Ok(())
}

/// Observer that logs notices only.
struct NoticeLogger;

impl IngestObserver for NoticeLogger {
    fn reached(&self, _height: u64, _target: u64, _blocks: u64) {}

    fn notice(&self, message: &str) {
        tracing::info!(chain = %ChainId::BTC, "{message}");
    }
}

fn hex_digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// Returns the keys stored in the data directory, and issues keys for tenants without one.
async fn load_or_issue_keys(
    store: &dyn ControlStore,
    directory: &Path,
    now: Timestamp,
) -> Result<Vec<SampleKey>, SampleLoadError> {
    let path = directory.join(KEYS_FILE);
    let failed = |source| SampleLoadError::Keys { path: path.clone(), source };
    let control = store.control().await?;
    let kept = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut keys: Vec<SampleKey> = kept
        .lines()
        .filter_map(|line| {
            let (tenant, key) = line.split_once(' ')?;
            let key: ApiKey = key.parse().ok()?;
            let good = |record: &&KeyRecord| record.id == *key.id() && record.is_active(now);
            control.keys.iter().find(good)?;
            Some(SampleKey { tenant: tenant.parse().ok()?, key })
        })
        .collect();
    for tenant in ["sample-business", "sample-enterprise"] {
        let Ok(tenant) = tenant.parse::<Name>() else {
            continue;
        };
        if keys.iter().any(|key| key.tenant == tenant) {
            continue;
        }
        let new_key = NewKey {
            tenant: tenant.clone(),
            name: "sample".into(),
            scopes: Scope::ALL.to_vec(),
            expires_at: None,
        };
        let (key, record) = issue(KeyEnvironment::Sample, new_key, now);
        store.add_key(&record, None).await?;
        keys.push(SampleKey { tenant, key });
    }
    let lines: Vec<String> =
        keys.iter().map(|key| format!("{} {}", key.tenant, key.key.expose())).collect();
    write_private(&path, &(lines.join("\n") + "\n")).map_err(failed)?;
    Ok(keys)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
