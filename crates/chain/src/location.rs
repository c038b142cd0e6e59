//! Locations of blocks, and the block source of each location.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use assay_address::ChainId;
use assay_egress::CredentialsFile;

use crate::{
    BlockSource, SourceError, TestNetworks,
    account_source::{AccountBlockSource, Tracer},
    compared::ComparedSources,
    esplora::Esplora,
    evm::{BlockTag, EvmNodeOptions, EvmNodeSource, GenesisAllocation},
    files::{FileOptions, FileSource},
    histories::{
        EsploraHistories, HistorySource,
        accounts::{
            AccountHistorySource, ApiOptions, EtherscanForm, EtherscanHistories, TronGridHistories,
            limits::{ApiPlan, RequestCounters},
        },
    },
    http::{
        Backoff, RetryDelay, RetryTimer, Server,
        client::{Client, ExplorerKey, HttpCredentials, KeyPlace, KeySource, server_of},
    },
    jsonl::JsonLinesSource,
    mempool::MempoolSource,
    node::{NodeMempool, NodeOptions, NodeSource},
    rpc::Rpc,
    tron::{TronNodeOptions, TronNodeSource},
};

/// Time limit for one answer of a server: a busy node takes long to send a large block as JSON.
const ANSWER_TIME: Duration = Duration::from_mins(1);
/// Header in which providers of TRON's API get their keys.
const TRON_KEY_HEADER: &str = "TRON-PRO-API-KEY";
/// Time for which requests for balances are repeated.
const BALANCE_TIME: Duration = Duration::from_secs(5);

/// Time limit for an answer about unconfirmed transactions, for which a check waits.
const MEMPOOL_TIME: Duration = Duration::from_secs(3);

/// Location of blocks.
#[derive(Clone, PartialEq, Eq)]
pub enum BlockLocation {
    /// A file in the JSON-lines format.
    JsonLines(PathBuf),
    /// Block files, raw blocks, or folders with them.
    Files(Vec<PathBuf>),
    /// A node's JSON-RPC.
    Node {
        /// URL of the node.
        url: String,
        /// Credentials for the node.
        credentials: NodeCredentials,
    },
    /// An Esplora server.
    Esplora(String),
}

/// Formats the server of a URL, and never its path, which may have a key.
impl fmt::Debug for BlockLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JsonLines(path) => formatter.debug_tuple("JsonLines").field(path).finish(),
            Self::Files(paths) => formatter.debug_tuple("Files").field(paths).finish(),
            Self::Node { url, credentials } => {
                formatter.debug_tuple("Node").field(&server_of(url)).field(credentials).finish()
            }
            Self::Esplora(url) => formatter.debug_tuple("Esplora").field(&server_of(url)).finish(),
        }
    }
}

/// Credentials for a node.
#[derive(Clone, PartialEq, Eq)]
pub enum NodeCredentials {
    /// No credentials.
    None,
    /// A file with `user:password`, the node's cookie or a token, read again for every request.
    File(CredentialsFile),
    /// `user:password`.
    Given(String),
}

/// Formats the kind of credentials, and never a password.
impl fmt::Debug for NodeCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "None",
            Self::File(_) => "File",
            Self::Given(_) => "Given",
        })
    }
}

/// Opens a source of blocks. The function may read files or connect to servers at once. `complete` states that the
/// graph has, or will have, every block from the chain's first, so that spent outputs need not be requested. The source
/// is verified to serve the chain, except for a file in the JSON-lines format.
///
/// # Errors
///
/// Returns an error if the source cannot be read, or has another chain or a refused test network.
pub fn open(
    chain: ChainId,
    location: &BlockLocation,
    complete: bool,
    test_networks: TestNetworks,
) -> Result<Box<dyn BlockSource>, SourceError> {
    Ok(match location {
        BlockLocation::JsonLines(path) => Box::new(JsonLinesSource::open(chain, Path::new(path))?),
        BlockLocation::Node { url, credentials } => {
            let options =
                NodeOptions { prevouts: !complete, test_networks, ..NodeOptions::default() };
            let rpc = Rpc::new(server(url, http_credentials(credentials)?)?);
            let node = NodeSource::new(chain, rpc, options)?;
            node.check_chain()?;
            Box::new(node)
        }
        BlockLocation::Esplora(url) => {
            let esplora = Esplora::new(chain, server(url, HttpCredentials::None)?, test_networks)?;
            esplora.check_chain()?;
            Box::new(esplora)
        }
        BlockLocation::Files(paths) => {
            let options = FileOptions { prevouts: !complete, test_networks };
            Box::new(FileSource::open(chain, paths, options)?)
        }
    })
}

/// Opens nodes of an account chain, which are verified to serve the chain, up to their `newest` blocks. Several nodes are compared
/// with one another. The coins of the first block are those of `genesis`; no node states them. Failed requests are retried for at
/// most `bound`; `None` for as long as a node takes to restart.
///
/// # Errors
///
/// Returns an error if a location is no node, or if a node cannot be read or has another chain or a refused test network.
pub fn open_accounts(
    chain: ChainId,
    locations: &[BlockLocation],
    genesis: Option<&GenesisAllocation>,
    (test_networks, newest): (TestNetworks, BlockTag),
    bound: Option<Duration>,
) -> Result<Box<dyn AccountBlockSource>, SourceError> {
    let usual = Backoff::default();
    let backoff = Backoff { in_all: bound.unwrap_or(usual.in_all), ..usual };
    let mut nodes = Vec::new();
    for location in locations {
        let BlockLocation::Node { url, credentials } = location else {
            let (how, instead) = ("from this kind of source", "give a node, or files of transfers");
            return Err(SourceError::Unsupported { chain, how, instead });
        };
        if chain == ChainId::TRX {
            let options = TronNodeOptions { test_networks, newest, ..TronNodeOptions::default() };
            nodes.push(tron(url, credentials, backoff, options, genesis)?);
            continue;
        }
        let rpc = ethereum(url, credentials, backoff)?;
        // Without its path, which may have a key.
        let url = rpc.url().to_owned();
        let options = EvmNodeOptions { test_networks, newest, ..EvmNodeOptions::default() };
        let mut node = EvmNodeSource::new(chain, rpc, options)?;
        if let Some(genesis) = genesis {
            node = node.with_genesis(genesis.clone());
        }
        node.check_chain()?;
        if node.abilities().tracer == Some(Tracer::None) {
            tracing::warn!(
                url,
                "the node has no tracer: transfers inside of transactions are not read"
            );
        }
        nodes.push((url, Box::new(node) as Box<dyn AccountBlockSource>));
    }
    Ok(match nodes.len() {
        1 => nodes.remove(0).1,
        _ => Box::new(ComparedSources::new(nodes)),
    })
}

/// Opens a node of an account chain for its statements of balances; `None` for another kind of source. A failed request is sent
/// again for a short time only.
///
/// # Errors
///
/// Returns an error if the location or the chain is none of such nodes.
pub fn balances(
    chain: ChainId,
    location: &BlockLocation,
    test_networks: TestNetworks,
) -> Result<Option<EvmNodeSource>, SourceError> {
    let BlockLocation::Node { url, credentials } = location else { return Ok(None) };
    if chain == ChainId::TRX {
        return Ok(None);
    }
    let rpc = ethereum(url, credentials, Backoff { in_all: BALANCE_TIME, ..Backoff::default() })?;
    let options = EvmNodeOptions { test_networks, ..EvmNodeOptions::default() };
    EvmNodeSource::new(chain, rpc, options).map(Some)
}

/// Opens a source of the unconfirmed transactions of a chain like Bitcoin; `None` for files. A failed request is not sent
/// again.
///
/// # Errors
///
/// Returns an error if the location is no URL, or the chain is not of the Bitcoin family.
pub fn mempool(
    chain: ChainId,
    location: &BlockLocation,
) -> Result<Option<Arc<dyn MempoolSource>>, SourceError> {
    let (url, credentials) = match location {
        BlockLocation::Node { url, credentials } => (url, http_credentials(credentials)?),
        BlockLocation::Esplora(url) => (url, HttpCredentials::None),
        BlockLocation::JsonLines(_) | BlockLocation::Files(_) => return Ok(None),
    };
    let client = client(url, credentials, MEMPOOL_TIME)?;
    let backoff = Backoff { in_all: Duration::ZERO, ..Backoff::default() };
    let server = Server::new(Arc::new(client), Arc::new(SleepingTimer), backoff);
    Ok(Some(match location {
        BlockLocation::Esplora(_) => Arc::new(Esplora::new(chain, server, TestNetworks::Allowed)?),
        _ => Arc::new(NodeMempool::new(chain, &Rpc::new(server))?),
    }))
}

/// A client of a node like Ethereum's.
fn ethereum(
    url: &str,
    credentials: &NodeCredentials,
    backoff: Backoff,
) -> Result<Rpc, SourceError> {
    let client = client(url, http_credentials(credentials)?, ANSWER_TIME)?;
    Ok(Rpc::ethereum(Server::new(Arc::new(client), Arc::new(SleepingTimer), backoff)))
}

/// Opens a node of TRON, or a provider that serves the API of one.
fn tron(
    url: &str,
    credentials: &NodeCredentials,
    backoff: Backoff,
    options: TronNodeOptions,
    genesis: Option<&GenesisAllocation>,
) -> Result<(String, Box<dyn AccountBlockSource>), SourceError> {
    let chain = ChainId::TRX;
    if genesis.is_some() {
        let (how, instead) = ("with a genesis file", "its first block states its coins");
        return Err(SourceError::Unsupported { chain, how, instead });
    }
    let client = client(url, http_credentials(credentials)?, ANSWER_TIME)?;
    let client = client.with_token_header(TRON_KEY_HEADER);
    let server = Server::new(Arc::new(client), Arc::new(SleepingTimer), backoff);
    let mut node = TronNodeSource::new(server, options);
    node.check_chain()?;
    // Without its path, which may have a key.
    let url = node.url().to_owned();
    if node.abilities().tracer == Some(Tracer::None) {
        tracing::warn!(
            url,
            "the node's newest blocks have no internal transfer: those inside of transactions are not read (vm.saveInternalTx)"
        );
    }
    Ok((url, Box::new(node)))
}

/// Opens an API that provides the histories of addresses. Failed requests are retried for at most `bound`.
///
/// # Errors
///
/// Returns an error if the endpoint is not a URL.
pub fn histories(
    chain: ChainId,
    endpoint: &str,
    bound: Duration,
    test_networks: TestNetworks,
) -> Result<Arc<dyn HistorySource>, SourceError> {
    let client = client(endpoint, HttpCredentials::None, bound)?;
    let backoff = Backoff { in_all: bound, ..Backoff::default() };
    let server = Server::new(Arc::new(client), Arc::new(SleepingTimer), backoff);
    Ok(Arc::new(EsploraHistories::new(Esplora::new(chain, server, test_networks)?)))
}

/// Protocol of the API of an explorer of account chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountApi {
    /// Etherscan's API, and Routescan's, whose URLs have a path of their own.
    Etherscan,
    /// Blockscout's API of the same form.
    Blockscout,
    /// TronGrid's API.
    TronGrid,
}

/// Opens an API of an explorer that provides the histories of accounts. Requests wait for at most `bound` for their turn and
/// for an answer. All clients of a key share its `counters`.
///
/// # Errors
///
/// Returns an error if the endpoint is not a URL, or if the API does not serve the chain.
pub fn account_histories(
    chain: ChainId,
    api: AccountApi,
    (endpoint, credentials): (&str, &NodeCredentials),
    bound: Duration,
    counters: &Arc<dyn RequestCounters>,
) -> Result<Arc<dyn AccountHistorySource>, SourceError> {
    let place = match api {
        AccountApi::Etherscan | AccountApi::Blockscout => KeyPlace::Query("apikey"),
        AccountApi::TronGrid => KeyPlace::Header("TRON-PRO-API-KEY"),
    };
    let key = |key| HttpCredentials::ExplorerKey(ExplorerKey { key, place });
    let credentials = match credentials {
        NodeCredentials::None => HttpCredentials::None,
        NodeCredentials::File(file) => key(KeySource::File(file.clone())),
        NodeCredentials::Given(text) => key(KeySource::Given(text.clone())),
    };
    let endpoint = endpoint.trim_end_matches('/');
    // A host alone gets the path of the API.
    let path = endpoint.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let added = match (api, path) {
        (AccountApi::Etherscan, None) => "/v2/api",
        (AccountApi::Blockscout, None) => "/api",
        _ => "",
    };
    // Blockscout hides tokens that it takes for spam, with their transfers.
    let client = client(&format!("{endpoint}{added}"), credentials, bound)?
        .with_header("show-scam-tokens", "true");
    let http = Arc::new(client);
    let etherscan = |form, plan| {
        let options = ApiOptions { plan, patience: bound };
        let source =
            EtherscanHistories::new(chain, form, http.clone(), Arc::clone(counters), options)?;
        Ok(Arc::new(source) as Arc<dyn AccountHistorySource>)
    };
    match api {
        AccountApi::Etherscan => {
            // Other APIs of the form have the number of the chain in their path.
            let is_own = endpoint.ends_with("/v2/api") || !added.is_empty();
            let form = if is_own { EtherscanForm::Etherscan } else { EtherscanForm::Compatible };
            etherscan(form, ApiPlan::ETHERSCAN)
        }
        AccountApi::Blockscout => etherscan(EtherscanForm::Blockscout, ApiPlan::BLOCKSCOUT),
        AccountApi::TronGrid => {
            let options = ApiOptions { plan: ApiPlan::TRONGRID, patience: bound };
            let source =
                TronGridHistories::new(chain, http.clone(), Arc::clone(counters), options)?;
            Ok(Arc::new(source))
        }
    }
}

fn http_credentials(credentials: &NodeCredentials) -> Result<HttpCredentials, SourceError> {
    Ok(match credentials {
        NodeCredentials::None => HttpCredentials::None,
        NodeCredentials::File(file) => HttpCredentials::File(file.clone()),
        NodeCredentials::Given(text) => {
            let (user, password) = text.split_once(':').ok_or_else(|| SourceError::Denied {
                url: "the node".into(),
                status: 401,
                hint: "write a user and a password with a colon in between",
            })?;
            HttpCredentials::Password { user: user.to_owned(), password: password.to_owned() }
        }
    })
}

/// Returns a server whose failed requests are retried.
pub(super) fn server(url: &str, credentials: HttpCredentials) -> Result<Server, SourceError> {
    let client = client(url, credentials, ANSWER_TIME)?;
    Ok(Server::new(Arc::new(client), Arc::new(SleepingTimer), Backoff::default()))
}

fn client(
    url: &str,
    credentials: HttpCredentials,
    timeout: Duration,
) -> Result<Client, SourceError> {
    Client::new(url, credentials, timeout).map_err(|error| SourceError::Unreachable {
        url: server_of(url).chars().take(100).collect(),
        reason: error.to_string(),
    })
}

/// Timer that blocks its thread and logs each pause.
#[derive(Debug)]
struct SleepingTimer;

impl RetryTimer for SleepingTimer {
    fn wait(&self, pause: &RetryDelay<'_>) -> bool {
        let seconds = pause.time.as_secs_f64();
        tracing::warn!(url = pause.url, reason = pause.reason, seconds, "asking again later");
        std::thread::sleep(pause.time);
        true
    }

    fn random(&self) -> u64 {
        assay_system::random_u64()
    }
}
