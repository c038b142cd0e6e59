//! `assay sources`: the sources of lists, labels, prices and chains, and those that come with Assay.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use assay_address::{ChainId, LedgerKind};
use assay_engine::{
    account::AccountView as _, assess_never_fetched, assess_sources, assess_tip,
    assessment::AssessedSource,
};
use assay_graph::EmbeddedGraphs;
use assay_intel::{IntelSnapshot, LabelIndex};
use assay_service::{
    background::fetch_failures::{FetchFailure, FetchFailures},
    chains::registry::ChainReaders,
    manifests, never_fetched,
    ready_chain_sources::{self, EnableChainError, READY_CHAIN_SOURCES},
    ready_sources::{EnableError, READY_SOURCES, ReadySource, by_name},
};
use assay_tenancy::manifest::Document;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    CommandOutcome, Context, Failure,
    check::{directory, policy},
    locations::warn_of_locations,
    output, print_json,
    terminal::{output_row, output_width},
};
use crate::render::{ago, table};

const EXAMPLES: &str = "\
Examples:
  assay sources
  assay sources available
  assay sources enable uk eu un fr-gels ch-seco
  assay sources enable il-nbctf --location nbctf/
  assay sources enable etherscan --chain eth --key-file /etc/assay/sources/etherscan.key";

/// List the sources with their publication, last verification and freshness; enable ready-made sources
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct SourcesArgs {
    #[command(subcommand)]
    command: Option<SourcesCommand>,
    /// Risk policy that names the mandatory sources [default: default; with --sample: sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum SourcesCommand {
    /// List the sources that come with Assay, with their terms
    Available {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Enable sources that come with Assay: they are fetched on their schedules from then on
    ///
    /// With `--chain`, the sources are APIs of explorers, from which the histories of a chain's accounts are read when checks need
    /// them. Enabling a source again discards the changes of its manifest.
    Enable {
        /// Names of the sources, as `assay sources available` lists them
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// File, folder or URL to read in place of the source's own; for one source
        #[arg(long, value_name = "PATH|URL")]
        location: Option<String>,
        /// States that you have the licence that a source's data needs for commercial use
        #[arg(long)]
        licensed: bool,
        /// Chain whose histories are read on demand from the API of an explorer, such as `etherscan`
        #[arg(long, value_name = "CHAIN", conflicts_with = "licensed")]
        chain: Option<String>,
        /// File with the key of the API in one line, below the `source-dir` or one of the `credentials-dirs`
        #[arg(long, value_name = "PATH", requires = "chain")]
        key_file: Option<PathBuf>,
    },
}

impl From<EnableChainError> for Failure {
    fn from(error: EnableChainError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<EnableError> for Failure {
    fn from(error: EnableError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Lists the ready-made sources.
async fn available(json: bool, context: &Context) -> Result<CommandOutcome, Failure> {
    if json {
        return print_json(&READY_SOURCES);
    }
    // Before the database exists, only what a new installation starts with is enabled.
    let enabled: Vec<String> = match context.open().await {
        Ok(store) => {
            directory(&*store).await?.feeds.into_keys().map(|name| name.to_string()).collect()
        }
        Err(_) => vec!["ofac-sdn".to_owned()],
    };
    let state = |source: &ReadySource| {
        if enabled.iter().any(|name| name == source.name) {
            "enabled"
        } else if source.commercial {
            "off: needs a licence"
        } else {
            "off"
        }
    };
    let header = ["SOURCE", "PUBLISHER", "FORMAT", "TERMS", "STATE"].map(str::to_owned);
    let rows = READY_SOURCES.iter().map(|source| {
        [source.name, source.publisher, source.format, source.licence, state(source)]
            .map(str::to_owned)
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    writeln!(output(), "\nHistories on demand (`assay sources enable NAME --chain CHAIN`):\n")?;
    let header = ["API", "CHAINS", "KEY", "TERMS"].map(str::to_owned);
    let rows = READY_CHAIN_SOURCES.iter().map(|source| {
        let chains: Vec<&str> = source.endpoints.iter().map(|(chain, _)| *chain).collect();
        let key = if source.needs_key { "required" } else { "optional" };
        [source.name, &chains.join(" "), key, source.terms].map(str::to_owned)
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    Ok(CommandOutcome::Success)
}

/// Stores the manifests of the APIs of explorers for a chain.
async fn enable_histories(
    names: &[String],
    (chain, key_file): (&str, Option<&Path>),
    endpoint: Option<&str>,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let [name] = names else {
        return Err(Failure::Usage("a chain has one source: name one API with --chain".into()));
    };
    let key_file = key_file.map(|path| path.to_string_lossy());
    let source = ready_chain_sources::by_name(name)?;
    let document = source.manifest(chain, endpoint, key_file.as_deref())?;
    store_manifests(vec![document], context).await?;
    writeln!(output(), "`assay serve` reads histories of {chain} from it when checks need them")?;
    Ok(CommandOutcome::Success)
}

/// Stores the manifests of ready-made sources.
async fn enable(
    names: &[String],
    location: Option<&str>,
    licensed: bool,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    if names.len() > 1 && location.is_some() {
        return Err(Failure::Usage("--location is for one source: name only that one".into()));
    }
    let documents = names
        .iter()
        .map(|name| by_name(name)?.manifest(location, licensed))
        .collect::<Result<Vec<_>, EnableError>>()?;
    store_manifests(documents, context).await?;
    writeln!(
        output(),
        "`assay serve` fetches them on their schedules; `assay ingest sanctions --all` fetches the lists now"
    )?;
    Ok(CommandOutcome::Success)
}

/// Stores manifests, and prints what became of each.
async fn store_manifests(documents: Vec<Document>, context: &Context) -> Result<(), Failure> {
    let store = context.open_or_create().await?;
    let applied =
        manifests::apply(&*store, documents, &context.allowed_source_paths(), context.clock.now())
            .await?;
    for (manifest, outcome) in &applied {
        writeln!(output(), "{} {} {}", manifest.kind.as_str(), manifest.name, outcome.as_str())?;
    }
    warn_of_locations(applied.iter().map(|(record, _)| record), context).await?;
    Ok(())
}

pub(super) async fn run(args: &SourcesArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    match &args.command {
        None => {}
        Some(SourcesCommand::Available { json }) => return available(*json, context).await,
        Some(SourcesCommand::Enable { names, location, chain: Some(chain), key_file, .. }) => {
            let place = (&**chain, key_file.as_deref());
            return enable_histories(names, place, location.as_deref(), context).await;
        }
        Some(SourcesCommand::Enable { names, location, licensed, .. }) => {
            return enable(names, location.as_deref(), *licensed, context).await;
        }
    }
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let intel = store.intel(None, None).await?;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let now = context.clock.now();
    let environment = intel.environment;
    // The snapshot has read the addresses, and counted those that no check can match.
    let snapshot = IntelSnapshot::new(intel, &LabelIndex::default());
    let mut sources = assess_sources(snapshot.sources(), &policy, now);
    sources.extend(assess_sources(snapshot.price_sources(), &policy, now));
    let directory = directory(&**store).await?;
    sources.extend(assess_never_fetched(&never_fetched(&directory, &snapshot), &policy));
    let chains = ChainReaders::open(&databases, &directory).await?;
    let tips = chains.latest_blocks().await?;
    let tips = tips.iter().filter_map(|(chain, tip)| assess_tip(*chain, environment, tip, now));
    sources.extend(tips);
    let failures = FetchFailures::read(&**store).await;
    let remarks = chain_remarks(&databases.graphs, now)?;
    if args.json {
        let row = |source| SourceRow {
            source,
            failure: failures.of(source),
            remarks: remarks.get(source.id.as_str()).cloned().unwrap_or_default(),
        };
        let rows: Vec<SourceRow<'_>> = sources.iter().map(row).collect();
        return print_json(&rows);
    }
    if sources.is_empty() && failures.is_empty() && remarks.is_empty() {
        writeln!(
            output(),
            "no sources: enable some with `assay sources enable`, or import a list with `assay ingest sanctions`"
        )?;
        return Ok(CommandOutcome::Success);
    }
    let header = ["SOURCE", "LISTS", "PUBLISHED", "VERIFIED", "ENTRIES", "STATE", "DIGEST"]
        .map(str::to_owned);
    let rows = sources.iter().map(|source| {
        let lists: Vec<&str> =
            source.lists.iter().map(assay_engine::names::ListId::as_str).collect();
        [
            source.id.to_string(),
            lists.join(" "),
            source.published_at.map(|day| day.to_string()).unwrap_or_default(),
            source.fetched_at.map_or_else(|| "never".to_owned(), |fetched| ago(fetched, now)),
            source
                .latest_block
                .as_ref()
                .map_or_else(|| source.entries.to_string(), |tip| format!("block {}", tip.height)),
            state(source),
            source.digest.chars().take(12).collect(),
        ]
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    if rows.len() > 1 {
        write!(output(), "{}", table(&rows, output_width()))?;
    }
    for (name, failure) in failures.all() {
        let source = sources.iter().find(|source| source.id.as_str() == name);
        // A source that was imported since is in order.
        if source.is_none_or(|source| failures.of(source).is_some()) {
            let FetchFailure { failed_at, last_error } = failure;
            let text = format!("{name}: fetching failed {}: {last_error}", ago(*failed_at, now));
            write!(output(), "{}", output_row(&text))?;
        }
    }
    for (name, remarks) in &remarks {
        for remark in remarks {
            write!(output(), "{}", output_row(&format!("{name}: {remark}")))?;
        }
    }
    Ok(CommandOutcome::Success)
}

/// Returns what the followers of chains noted about their sources, by the names of the sources.
fn chain_remarks(
    graphs: &EmbeddedGraphs,
    now: Timestamp,
) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut remarks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for chain in ChainId::all().filter(|chain| chain.info().has_graph()) {
        let mut of_chain = Vec::new();
        if let Some(problem) = graphs.source_problem(chain) {
            of_chain.push(format!("{} ({})", problem.text, ago(problem.at, now)));
        }
        let snapshot = match chain.info().ledger {
            LedgerKind::Account => graphs.account_snapshot(chain)?,
            LedgerKind::Utxo(_) | LedgerKind::ListsOnly => None,
        };
        if let Some(snapshot) = snapshot {
            if snapshot.source_notes()?.has_internal_transfers == Some(false) {
                of_chain.push(
                    "transfers inside of transactions are not recorded: a node had no tracer"
                        .to_owned(),
                );
            }
            if let Some((_, newest)) = snapshot.internal_gaps().last() {
                of_chain.push(format!(
                    "transfers inside of some transactions are not recorded: a node could not trace them, the \
                     newest in a block of {} ({})",
                    newest,
                    ago(*newest, now)
                ));
            }
        }
        if !of_chain.is_empty() {
            remarks.insert(format!("chain-{chain}"), of_chain);
        }
    }
    Ok(remarks)
}

/// A source, and why a server failed to fetch it since it was last verified.
#[derive(Serialize)]
struct SourceRow<'a> {
    #[serde(flatten)]
    source: &'a AssessedSource,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    failure: Option<&'a FetchFailure>,
    /// Problems of a chain's source, and limits of what it states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
}

fn state(source: &AssessedSource) -> String {
    let mut words = vec![match (source.never_fetched, source.stale) {
        (true, _) => "never fetched",
        (false, true) => "stale",
        (false, false) => "fresh",
    }];
    if source.mandatory {
        words.push("mandatory");
    }
    if source.sample {
        words.push("sample");
    }
    let mut words = words.join(", ");
    for (chain, number) in &source.unmatched {
        let _ = write!(words, ", {number} unmatched on {chain}");
    }
    words
}
