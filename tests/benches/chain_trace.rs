//! Cost of a check on a large chain: `cargo bench -p assay-tests --bench chain_trace`. `ASSAY_TRANSACTIONS` sets the
//! number of transactions; default 200,000, a million in `./tests/run --full`. The chain is kept in `ASSAY_CACHE`
//! (default: a temporary folder), so that it is recorded once. `ASSAY_LABELS` sets a single number of labelled
//! services, `ASSAY_SOURCE_TRANSACTIONS` sets `trace.sourceTransactions`.
//!
//! For 10,000, 100 and no labelled services, 1,000 random wallets are checked sequentially on one thread, after a first
//! round that loads the store's pages into memory. Printed: CPU time of the whole check (flows of both directions,
//! cluster, counterparties, assessment), and CPU time of the trace for each input and output that it reads; without and
//! with compositions (breakdowns of a transaction's funds by origin); and the cost of the search for patterns. Then
//! full rows of `screen` for random wallets: the number decided without a trace, and rows per second, compared with
//! checks of the same wallets. Then (with the argument `hub`: this step only) checks on a chain of a tenth of the size
//! with an unlabelled hub, which has as many inputs and outputs as the chain has transactions: of the hub, and of 1,000
//! of its customers.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    facts::Environment,
    patterns::rules::SHOWN,
    policy::{Policy, PolicySpec},
    taxonomy::Category,
    trace::{Trace, TraceRules, TraceSubject},
    utxo::ScriptOwner,
};
use assay_graph::{EmbeddedGraphs, Graph, ViewSource, run_query};
use assay_intel::IntelSnapshot;
use assay_service::{
    Databases, DecidedBy, Screening,
    chains::{
        attributed_owners::{AttributedOwners, AttributionInputs},
        behavior::{BehaviorSubject, behavior},
        ends::ends,
        facts,
        graph::GraphReader,
        reader::ChainReader,
        registry::ChainReaders,
        subject::TraceRequest,
    },
};
use assay_store::SqliteStore;
use assay_tenancy::Directory;
use assay_test_random::Random;
use assay_tests::{
    Figures,
    big_chain::{ChainShape, Hub, Person, record_chain},
    cpu_time,
    world::{Claim, Claims},
};
use jiff::{Timestamp, tz::TimeZone};

const CHAIN: ChainId = ChainId::BTC;
const SUBJECTS: u64 = 1_000;
const ROWS: u64 = 2_000;
/// Number of services that have an address of their own on the chain; labels beyond this number are on wallets.
const SERVICES: u64 = 64;

fn main() {
    let transactions = env::var("ASSAY_TRANSACTIONS").ok().and_then(|text| text.parse().ok());
    let transactions: u64 = transactions.unwrap_or(200_000);
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = env::var_os("ASSAY_CACHE").map_or(temporary.path().to_owned(), PathBuf::from);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        if !env::args().any(|argument| argument == "hub") {
            measure_wallets(transactions, &folder).await;
        }
        measure_hub(transactions / 10, &folder).await;
    });
}

/// Prints the cost of checks of wallets on a chain with the given number of transactions.
async fn measure_wallets(transactions: u64, folder: &Path) {
    let folder_of_chain = folder.join(format!("chain-of-{transactions}-transactions"));
    let (graph, wallets) =
        graph_of(ChainShape::with_transactions(transactions), &folder_of_chain).await;
    let compositions = folder_of_chain.join(format!("chains/{CHAIN}.compositions"));
    let mut dice = Random::new(77);
    let subjects: Vec<Person> =
        (0..SUBJECTS).map(|_| Person::Wallet(dice.below(wallets))).collect();
    let only: Option<u64> = env::var("ASSAY_LABELS").ok().and_then(|text| text.parse().ok());
    for labels in
        [10_000, 100, 0].into_iter().filter(|labels| only.is_none_or(|only| only == *labels))
    {
        if compositions.exists() {
            std::fs::remove_dir_all(&compositions).expect("no compositions");
        }
        println!("{labels} labelled services, {SUBJECTS} wallets, no compositions");
        check_all(&graph, &subjects, (wallets, labels)).await;
        compose(&folder_of_chain, (wallets, labels)).await;
        println!("the same with compositions");
        check_all(&graph, &subjects, (wallets, labels)).await;
        screen(&folder_of_chain, (wallets, labels)).await;
    }
}

/// Computes the compositions of the chain.
async fn compose(folder: &Path, (wallets, labels): (u64, u64)) {
    let graphs = EmbeddedGraphs::new(folder);
    let graph = graphs.graph(CHAIN).expect("a graph").expect("a recorded chain");
    let view = Arc::clone(&graph).view().await.expect("a view").expect("blocks");
    let now = view.tip().await.expect("a tip").expect("blocks").block.time;
    let (intel, today) = (intel(wallets, labels, now), now.to_zoned(TimeZone::UTC).date());
    let ends = ends(&*view, CHAIN, &intel, today).await.expect("the ends");
    drop(view);
    let graph = graphs.open(CHAIN).expect("a graph").expect("a recorded chain");
    let snapshot = graph.snapshot().expect("a state");
    let writer = graphs.composition_writer(CHAIN).expect("compositions");
    while !writer.advance(&snapshot, &ends, 200_000).expect("a slice").is_complete {}
}

/// Prints the cost of rows of `screen` with full assessments.
async fn screen(folder: &Path, (wallets, labels): (u64, u64)) {
    let policy = policy();
    let directory = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open_or_create(directory.path(), Environment::Production);
    let graphs = Arc::new(EmbeddedGraphs::new(folder));
    let databases =
        Databases::without_chain_servers(Arc::new(store.await.expect("a store")), graphs);
    let chains = ChainReaders::open(&databases, &Directory::default()).await.expect("chains");
    let graph = EmbeddedGraphs::new(folder).graph(CHAIN).expect("a graph");
    let tip = graph.expect("a recorded chain").tip().await.expect("a tip").expect("blocks");
    let now = tip.block.time;
    let intel = intel(wallets, labels, now);
    let (chains, intel, policy) = (&chains, &intel, &policy);
    let screening = Screening { chains, intel, policy, now, intel_stale: false };
    let mut dice = Random::new(78);
    let mut decided: BTreeMap<DecidedBy, Vec<CanonicalAddress>> = BTreeMap::new();
    for _ in 0..ROWS {
        let owner = Person::Wallet(dice.below(wallets)).owner();
        let subject = owner.address(CHAIN).expect("an address");
        let by = screening.with_flows(&subject).await.decided_by;
        decided.entry(by).or_default().push(subject);
    }
    for (by, subjects) in decided {
        // Rows without a trace are fast.
        let rounds = if by == DecidedBy::Compositions { 20 } else { 1 };
        let begun = cpu_time();
        for _ in 0..rounds {
            for subject in &subjects {
                let _row = screening.with_flows(subject).await;
            }
        }
        let rows = per_second(rounds * subjects.len(), cpu_time().saturating_sub(begun));
        let begun = cpu_time();
        for subject in &subjects {
            let facts = facts(chains, intel, policy, subject, now).await;
            let _assessment = assess(subject, &facts, policy, now);
        }
        let checks = per_second(subjects.len(), cpu_time().saturating_sub(begun));
        println!(
            "  {} rows of screen in full by {}: {rows:.0} a second a core; one check each: {checks:.0}",
            subjects.len(),
            by.as_str()
        );
    }
}

fn per_second(count: usize, spent: Duration) -> f64 {
    count as f64 / spent.as_secs_f64()
}

/// Prints the cost of checks of a hub with the given number of outputs, and of its customers.
async fn measure_hub(outputs: u64, folder: &Path) {
    let hub = Some(Hub { outputs, leaves: outputs / 20 });
    let shape = ChainShape { hub, ..ChainShape::with_transactions(outputs) };
    let folder_of_hub = folder.join(format!("hub-of-{outputs}-outputs"));
    let (graph, wallets) = graph_of(shape, &folder_of_hub).await;
    println!("a hub of {outputs} outputs");
    check_all(&graph, &[Person::Hub], (wallets, 100)).await;
    let customers = SUBJECTS.min(outputs / 40);
    let customers: Vec<Person> = (0..customers).map(Person::Leaf).collect();
    println!("{} customers of the hub", customers.len());
    check_all(&graph, &customers, (wallets, 100)).await;
}

/// The graph of a chain, and the number of the chain's wallets.
async fn graph_of(shape: ChainShape, folder: &Path) -> (Arc<dyn Graph>, u64) {
    let wallets = record_chain(shape, folder).await;
    let graph = EmbeddedGraphs::new(folder).graph(CHAIN);
    (graph.expect("a graph").expect("a recorded chain"), wallets)
}

async fn check_all(graph: &Arc<dyn Graph>, subjects: &[Person], (wallets, labels): (u64, u64)) {
    let policy = policy();
    let now = graph.tip().await.expect("a tip").expect("blocks").block.time;
    let intel = intel(wallets, labels, now);
    let (rules, reader) =
        (TraceRules::new(&policy, CHAIN.info()), GraphReader::new(CHAIN, Arc::clone(graph)));
    let subjects: Vec<ScriptOwner> = subjects.iter().map(|person| person.owner()).collect();
    let mut checks = Vec::new();
    let (mut entries, mut tracing) = (0, Duration::ZERO);
    for round in 0..2 {
        for owner in &subjects {
            let subject = owner.address(CHAIN).expect("an address");
            let begun = cpu_time();
            let (policy, intel) = (&policy, &intel);
            let request = TraceRequest { subject: &subject, rules, policy, intel, now };
            let traced = reader.trace(request).await.expect("flows");
            let facts = traced.added_to(intel.facts(&subject));
            let assessment = assess(&subject, &facts, policy, now);
            if round == 1 {
                checks.push(cpu_time().saturating_sub(begun));
            }
            drop(assessment);
        }
    }
    let owners = AttributedOwners::default();
    for round in 0..2 {
        for owner in &subjects {
            let view = Arc::clone(graph).view().await.expect("a view").expect("blocks");
            let Some(owner) = view.owner_number(owner).await.expect("a number") else { continue };
            let history = view.history(owner, rules.read_limits()).await.expect("a history");
            let today = now.to_zoned(TimeZone::UTC).date();
            let by = AttributionInputs { chain: CHAIN, intel: &intel, policy: &policy, today };
            let attributions = owners.for_view(&*view, by).await.expect("attributions");
            let begun = cpu_time();
            let subject = TraceSubject { chain: CHAIN, owner, history: &history, rules, today };
            let trace = view.read(|view| Trace::begin(view, subject, &attributions));
            let mut trace = trace.expect("a trace");
            run_query(&mut trace, &mut ViewSource(&*view)).await.expect("a trace");
            if round == 1 {
                tracing += cpu_time().saturating_sub(begun);
                entries += trace.entries();
            }
        }
    }
    let all: Duration = checks.iter().sum();
    let searching = patterns_of(graph, &subjects, &owners, (&policy, &intel, now)).await;
    let without = all.saturating_sub(searching);
    println!("  a whole check, ms of CPU time: {}", Figures::from_times(checks));
    println!(
        "  patterns: {:.2} ms each; a check costs {:.2} times as much as without them",
        searching.as_secs_f64() * 1e3 / subjects.len().max(1) as f64,
        all.as_secs_f64() / without.as_secs_f64()
    );
    let each =
        tracing.as_secs_f64() * 1e6 / f64::from(u32::try_from(entries.max(1)).unwrap_or(u32::MAX));
    println!("  traces: {entries} inputs and outputs, {each:.2} us of CPU time each");
}

/// CPU time of a second search for the patterns of all subjects.
async fn patterns_of(
    graph: &Arc<dyn Graph>,
    subjects: &[ScriptOwner],
    owners: &AttributedOwners,
    (policy, intel, now): (&Policy, &IntelSnapshot, Timestamp),
) -> Duration {
    let (rules, today) =
        (TraceRules::new(policy, CHAIN.info()), now.to_zoned(TimeZone::UTC).date());
    let mut searching = Duration::ZERO;
    for round in 0..2 {
        for script in subjects {
            let view = Arc::clone(graph).view().await.expect("a view").expect("blocks");
            let Some(owner) = view.owner_number(script).await.expect("a number") else { continue };
            let history = view.history(owner, rules.read_limits()).await.expect("a history");
            let clusters = view.clusters(std::slice::from_ref(script)).await.expect("a cluster");
            let cluster = clusters.into_iter().flatten().next();
            let by = AttributionInputs { chain: CHAIN, intel, policy, today };
            let attributions = owners.for_view(&*view, by).await.expect("attributions");
            let of = BehaviorSubject {
                rules: rules.patterns,
                script,
                owner,
                history: &history,
                cluster_size: cluster.map_or(1, |cluster| cluster.size),
                shown: SHOWN,
            };
            let begun = cpu_time();
            let found = behavior(&*view, of, &attributions).await.expect("patterns");
            if round == 1 {
                searching += cpu_time().saturating_sub(begun);
            }
            drop(found);
        }
    }
    searching
}

/// The default policy, with `trace.sourceTransactions` from `ASSAY_SOURCE_TRANSACTIONS` if set.
fn policy() -> Policy {
    let mut spec = PolicySpec::default();
    let transactions = env::var("ASSAY_SOURCE_TRANSACTIONS").ok();
    if let Some(transactions) = transactions.and_then(|text| text.parse().ok()) {
        spec.trace.source_transactions = transactions;
    }
    Policy::compile(spec).expect("a policy")
}

/// An intel snapshot with the given number of labels: of the chain's services, then of wallets all over the chain.
fn intel(wallets: u64, labels: u64, now: Timestamp) -> IntelSnapshot {
    let mut claims = Claims::default();
    let labelled_wallets = labels.saturating_sub(SERVICES);
    let services = (0..labels.min(SERVICES)).map(Person::Service);
    let wallets =
        (0..labelled_wallets).map(|nth| Person::Wallet(nth * wallets / labelled_wallets.max(1)));
    for service in services.chain(wallets) {
        claims.label(&service.owner(), Claim::investigated(Category::Exchange, "Exchange"));
    }
    claims.snapshot(CHAIN, now)
}
