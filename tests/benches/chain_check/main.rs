//! Cost of a check that follows money: `cargo bench -p assay-tests --bench chain_check`. The
//! benchmark builds and runs the release program. With `ASSAY_FULL` set, the hub has a million
//! outputs instead of a hundred thousand.
//!
//! A chain with a hub is loaded into PostgreSQL. First come traces along chains of payments. Then two traces of
//! the same subjects run in turn: a trace as a check makes it, and a PL/pgSQL function that follows the same
//! rules inside the database. The amounts that reached each endpoint are compared: both are the same, or a few
//! base units apart, because they round at different steps. Last, over HTTP and each for the first time: checks
//! of some of the hub's customers, and of the hub.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a program for people at a terminal"
)]

mod function;
mod load;
mod server;
mod steps;

use std::time::Instant;

use assay_database::postgres::PostgresDatabase;
use assay_engine::{
    chain::ChainId,
    policy::Policy,
    trace::{Trace, TraceRules},
    utxo::ScriptOwner,
};
use assay_graph::{
    BATCH, Graph, GraphStore, KnownReads, PostgresGraphs, TraceCache, clusters_of_history,
    follow_known,
};
use assay_tests::{
    Figures, Postgres,
    big_chain::{BigChain, Hub, Person, Shape},
    is_full, release_program,
};
use jiff::civil::date;

use function::{Function, expect_same};
use load::Known;

const CHAIN: ChainId = ChainId::BTC;
/// Subjects of either kind whose traces are compared.
const SUBJECTS: u64 = 4;
/// Budget of the traces that are compared.
const ENTRIES: u32 = 5_000;
const LEAVES: u64 = 1_000;

fn main() {
    let full = is_full();
    let (outputs, blocks) = if full { (1_000_000, 1_000) } else { (100_000, 400) };
    let hub = Hub { outputs, leaves: LEAVES };
    let shape = Shape { seed: 3, blocks, transactions: 1_300, hub: Some(hub) };
    let shape = if full { shape } else { Shape { transactions: 400, ..shape } };
    let _built = release_program();
    let database = Postgres::start();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (chain, known) = runtime.block_on(load::load(&database, shape));
    runtime.block_on(steps::trace(&database));
    runtime.block_on(compare(&database, &chain, &known));
    server::check(&database, &chain, hub);
}

/// Wallets that appear in the last part of the chain, and customers of the hub.
fn subjects(chain: &BigChain) -> Vec<Person> {
    let (wallets, leaves) = (chain.wallets(), chain.leaves());
    let late = wallets / 2;
    let wallets = (0..SUBJECTS).map(|nth| Person::Wallet(late + nth * (wallets - late) / SUBJECTS));
    let leaves = (0..SUBJECTS.min(leaves)).map(|nth| Person::Leaf(nth * leaves / SUBJECTS));
    wallets.chain(leaves).filter(|person| person.label().is_none()).collect()
}

async fn compare(database: &Postgres, chain: &BigChain, known: &Known) {
    let connected = PostgresDatabase::connect((&database.url()).into()).await;
    let graphs = PostgresGraphs::new(connected.expect("a database"));
    let graph = graphs.graph(CHAIN).await.expect("a graph").expect("a graph");
    // Everything counts as asked for, and as old: the function knows neither. With the budget of a check, it
    // would take minutes for some of the hub's customers.
    let rules = TraceRules {
        entries: ENTRIES,
        unsolicited_below: 0,
        largest_dust: 0,
        ..TraceRules::new(&Policy::default(), CHAIN.info())
    };
    let mut function = Function::make(database, known).await;
    let tip = graph.tip().await.expect("a graph").expect("a block");
    let (mut ours, mut again, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let subjects = subjects(chain);
    for (nth, person) in subjects.iter().enumerate() {
        let owner = person.owner();
        let mut traced = None;
        let cache = TraceCache::default();
        let mut trace = async || {
            let (mut reads, begun) = (cache.at(CHAIN, &tip), Instant::now());
            traced = Some(flows(&*graph, &mut reads, &owner, rules, known).await);
            ours.push(begun.elapsed());
            reads.keep();
        };
        // The second run finds the pages in memory: each of both is the second every other time.
        if nth % 2 == 0 {
            trace().await;
        }
        let begun = Instant::now();
        let found = function.call(&owner, rules).await;
        theirs.push(begun.elapsed());
        if nth % 2 == 1 {
            trace().await;
        }
        let traced = traced.expect("a trace");
        let (mut reads, begun) = (cache.at(CHAIN, &tip), Instant::now());
        assert_eq!(flows(&*graph, &mut reads, &owner, rules, known).await, traced);
        again.push(begun.elapsed());
        expect_same(&format!("{person:?}"), &traced, &found);
    }
    println!(
        "{} subjects, both directions: at every end the same amount, or a few base units more or less",
        subjects.len()
    );
    let ours = Figures::of_times(ours);
    let again = Figures::of_times(again);
    let theirs = Figures::of_times(theirs);
    println!("trace over PostgreSQL, in ms: {ours}");
    println!("the same trace again, what it read in memory, in ms: {again}");
    println!("PL/pgSQL function, in ms: {theirs}");
    println!("ratio of the medians, function to trace: {:.2}", theirs.part(50) / ours.part(50));
    println!("ratio of the sums, function to trace: {:.2}", theirs.sum() / ours.sum());
    println!("the same to the trace again: {:.2}", theirs.sum() / again.sum());
}

async fn flows(
    graph: &dyn Graph,
    reads: &mut KnownReads<'_>,
    owner: &ScriptOwner,
    rules: TraceRules,
    known: &Known,
) -> assay_engine::evidence::FlowFacts {
    let history = graph.history(owner, rules.read_limits()).await;
    let history = history.expect("a history").expect("a subject that appears");
    let attribute = |owner: &ScriptOwner| known.attribution(owner).unwrap_or_default();
    let today = date(2030, 1, 1);
    let clusters = clusters_of_history(graph, owner, &history, BATCH).await.expect("clusters");
    let mut trace = Trace::new(CHAIN, owner, &history, clusters, rules, today, &attribute);
    follow_known(graph, reads, &mut trace, BATCH).await.expect("flows");
    trace.finish()
}
